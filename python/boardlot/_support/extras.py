"""The purpose of a missing package, and the command that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(package: str, extra: str, what: str) -> Iterator[None]:
    """Say what to install if the block cannot import it; `package` may end with `or newer`."""
    try:
        yield
    except ImportError as missing:
        upgrade = "-U " if package.endswith("newer") else ""
        text = f"{what} needs {package}: pip install {upgrade}'boardlot[{extra}]'"
        raise ImportError(text, name=missing.name) from missing
