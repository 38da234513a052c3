"""Answers of any size, made as they are sent."""

import zlib

from .relay import Relay

BLOCK = 1 << 20
GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def packed_block():
    """One MiB of spaces as a deflate block that may follow itself."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    return pack.compress(b" " * BLOCK) + pack.flush(zlib.Z_FULL_FLUSH)


class Bomb(Relay):
    """Answers every request with `size` bytes of white space, as they are or compressed."""

    def __init__(self, size, way="gzip", status=200):
        super().__init__()
        self.blocks, self.way, self.status = size // BLOCK, way, status

    async def serve(self, reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if b"content-length:" in head.lower():
                await reader.read(65536)
            await send_bomb(writer, self.blocks, self.way, self.status)


async def send_bomb(writer, blocks, way="gzip", status=200):
    lines = [f"HTTP/1.1 {status} Here", "Content-Type: application/json"]
    lines += ["Transfer-Encoding: chunked"] + ["Content-Encoding: gzip"] * (way == "gzip")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    if way == "gzip":
        writer.write(b"%x\r\n%s\r\n" % (len(GZIP_HEAD), GZIP_HEAD))
    block = packed_block() if way == "gzip" else b" " * BLOCK
    for _ in range(blocks):
        writer.write(b"%x\r\n%s\r\n" % (len(block), block))
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
