"""Files with secrets: readable only by their owner, and never half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from boardlot.crash_safe import remove

__all__ = ["secret_file"]


@contextmanager
def secret_file(path: Path, text: str) -> Iterator[None]:
    """A new file that only its owner can read, from its first byte on.

    It is removed if it cannot be written completely, or if the block fails.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags, 0o600), "wb")
    try:
        with file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        yield
    except BaseException as error:
        remove(path)
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise
