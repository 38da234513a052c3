"""Writing a file so that a crash leaves the old content or the new."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from boardlot import _core


@contextmanager
def replacing(path: Path, force: bool = True, suffix: str = ".part") -> Iterator[BinaryIO]:
    """Write to a new file in the same folder, which then takes the place of `path`.

    No reader ever sees half of the file, two writers never share a temporary file, and if writing
    fails, an existing file is unchanged.

    Args:
        path: The file, of which links are resolved.
        force: Replace an existing file.
        suffix: The end of the temporary file's name.

    Yields:
        The temporary file, empty and open; removed if writing fails. Its name must not be opened
        again: somebody may have put a link there meanwhile.
    """
    # Other containers have processes with the same id.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{suffix}")
    file = temporary.open("x+b")
    try:
        with file:
            yield file
        _core._replace_file(temporary, path, force)
    finally:
        _core._remove_file(temporary)
