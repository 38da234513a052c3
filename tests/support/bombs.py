"""Responses of any size, made as they are sent."""

import zlib

from .service import Response

BLOCK = 1 << 20
GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def packed_block():
    """One MiB of spaces as a deflate block that may follow itself."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    return pack.compress(b" " * BLOCK) + pack.flush(zlib.Z_FULL_FLUSH)


def bomb(size, way="gzip", status=200):
    """A response of `size` bytes of white space, as they are or compressed."""

    def chunks():
        if way == "gzip":
            yield GZIP_HEAD
        block = packed_block() if way == "gzip" else b" " * BLOCK
        for _ in range(size // BLOCK):
            yield block

    return Response(
        status, headers={"Content-Encoding": "gzip"} if way == "gzip" else {}, chunks=chunks
    )
