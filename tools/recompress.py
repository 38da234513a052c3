"""Compresses wheels 3 % further than maturin, as far as deflate goes: `recompress.py WHEEL...`.

Each wheel takes half a minute. Its contents stay the same, bit for bit.
"""

import sys
import zipfile
from pathlib import Path
from unittest import mock

import zopfli.zlib


class Deflate:
    """A compressor for `zipfile`, which calls these two methods."""

    def __init__(self, *_: object) -> None:
        self._data = bytearray()

    def compress(self, data: bytes) -> bytes:
        self._data += data
        return b""

    def flush(self) -> bytes:
        # The data without the header and the checksum of zlib's own format.
        compressed: bytes = zopfli.zlib.compress(bytes(self._data), numiterations=5)
        return compressed[2:-4]


def recompress(wheel: Path) -> None:
    smaller = wheel.with_suffix(".smaller")
    with (
        mock.patch("zipfile._get_compressor", Deflate),
        zipfile.ZipFile(wheel) as before,
        zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for entry in before.infolist():
            after.writestr(entry, before.read(entry))
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(smaller) as after:
        for entry in before.infolist():
            if after.read(entry.filename) != before.read(entry):
                raise SystemExit(f"{wheel}: {entry.filename} is not what it was")
    smaller.replace(wheel)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        recompress(Path(name))
