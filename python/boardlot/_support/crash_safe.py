"""Writing files so that a crash leaves the old content or the new, and two writers never mix.

Only a regular file is replaced, never a device, a pipe or a link; the core decides that, for its
own files too. Used by the command line (`--out`, `--resume`), `boardlot.dask` and
`boardlot.archive`.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from boardlot import _core

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = [
    "REPLACES_OPEN_FILES",
    "is_regular",
    "locked",
    "remove",
    "replace_file",
    "replacing",
    "sync",
]

# Whether a file that is open can be replaced: its lock is then held to the end.
REPLACES_OPEN_FILES = sys.platform != "win32"
# The byte that a lock covers on Windows, where no other process can then read or write it: the last
# one for which the C library has a lock.
LOCKED_BYTE = (1 << 31) - 1


def is_regular(path: Path) -> bool | None:
    """Whether a regular file is there, links followed; `None` if nothing is there.

    Unlike the methods of `Path`, it raises no error for a path that is too long.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return None


def sync(file: BinaryIO) -> None:
    """Put everything that was written to an open file on disk."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def replacing(path: Path, force: bool = True, suffix: str = ".part") -> Iterator[BinaryIO]:
    """Write to a new file in the same folder, which then takes the place of `path`.

    No reader ever sees half of the file, two writers never share a temporary file, and if writing
    fails, an existing file is unchanged.

    Args:
        path: The file, of which links are resolved.
        force: Whether an existing file is replaced.
        suffix: The end of the temporary file's name.

    Yields:
        The temporary file, empty and open; removed if writing fails. Its name must not be opened
        again: somebody may have put a link there meanwhile.
    """
    temporary, file = _new_file_beside(path, suffix)
    try:
        with file:
            yield file
            _complete(file, temporary, path, force)
        _rename(temporary, path, force)
    finally:
        remove(temporary)


def remove(path: Path) -> None:
    """Remove a file, if there is one.

    Unlike `Path.unlink`, it waits two seconds for others that have it open, as Windows requires.
    """
    _core._remove_file(path)


def _new_file_beside(path: Path, suffix: str) -> tuple[Path, BinaryIO]:
    """An empty file with a random name, which nobody else has created.

    Other containers have processes with the same id, and somebody may have put a link there.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{suffix}")
    return temporary, temporary.open("x+b")


def replace_file(temporary: Path, path: Path, force: bool = True) -> None:
    """Give a complete file its name, once its content is on disk.

    Raises:
        FileExistsError: There is such a file, and `force` is false.
        OSError: Something else than a regular file has the name.
    """
    with temporary.open("rb+") as file:
        _complete(file, temporary, path, force)
    _rename(temporary, path, force)


def _complete(file: BinaryIO, temporary: Path, path: Path, force: bool) -> None:
    """Put the file's content on disk, and give it the mode of the file that it replaces."""
    sync(file)
    if not os.path.samestat(os.fstat(file.fileno()), temporary.lstat()):
        raise OSError(errno.EBUSY, "was replaced while it was being written", str(temporary))
    if force and path.is_file():
        mode = stat.S_IMODE(path.stat().st_mode)
        if sys.platform == "win32":
            temporary.chmod(mode)
        else:
            os.fchmod(file.fileno(), mode)


def _rename(temporary: Path, path: Path, force: bool) -> None:
    if not force:
        if _linked(temporary, path):
            remove(temporary)
            return
        if path.exists():
            raise FileExistsError(
                errno.EEXIST, "was created in the meantime and is not replaced", str(path)
            )
    _core._rename_over(temporary, path)


def _linked(temporary: Path, path: Path) -> bool:
    """Whether a link gave the file its name: unlike a rename, it never replaces another file."""
    try:
        os.link(temporary, path)
    except OSError:
        # The name is taken, perhaps by an earlier run that was ended here; or the file system does
        # not support hard links.
        try:
            return temporary.samefile(path)
        except OSError:
            return False
    return True


def locked(path: Path) -> BinaryIO:
    """The file, opened for reading and writing and locked for this process until it is closed.

    It is created if it does not exist. The lock ends with the process, however that ends.

    Raises:
        BlockingIOError: Another process has the lock, or another part of this one.
        OSError: It cannot be opened, or is not a regular file.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        file = _opened(path, flags)
        try:
            _lock(file)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BlockingIOError:
            file.close()
            raise
        except FileNotFoundError:
            pass
        # The process that had the lock has just moved or removed the file.
        file.close()


def _lock(file: BinaryIO) -> None:
    """Lock an open file.

    Raises:
        BlockingIOError: It is locked already.
    """
    if sys.platform == "win32":
        number = file.fileno()
        os.lseek(number, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(errno.EAGAIN, "is locked by another process") from error
        finally:
            os.lseek(number, 0, os.SEEK_SET)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _opened(path: Path, flags: int) -> BinaryIO:
    number = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return os.fdopen(number, "r+b")
