"""The files of a SQLite archive: their locks, and reading one that this user cannot write."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from boardlot._core import _FileLock
from boardlot._support.per_process import PerProcess
from boardlot.archive.database import store_error
from boardlot.archive.locks import Lock
from boardlot.archive.sqlite.connection import SqliteConnection
from boardlot.errors import StoreError

# Suffixes of the names of an archive's files. An archive writes no journal, but SQLite would roll
# back the content of one.
LOG = "-wal"
ENDS = ("", LOG, "-shm", "-journal")


def files_of(path: Path) -> list[Path]:
    """The files that SQLite takes for files of an archive."""
    return [path.with_name(path.name + end) for end in ENDS]


class ReadOnlyFile:
    """An archive that this user can read, but not write.

    While somebody has the archive open, or after its writer was killed, the last commits are in its
    log, which is read as well. Without a log, SQLite could not read the archive without creating
    files beside it, unless it is told that nobody writes. Each read is then followed by a check
    that nobody has written.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._seen: Any = None

    def connect(self) -> SqliteConnection:
        seen = self._look()
        address = f"{self._path.as_uri()}?mode=ro"
        if seen[1] is None:
            self._seen = seen
            return SqliteConnection(f"{address}&immutable=1", uri=True)
        self._seen = None
        connection = SqliteConnection(f"{address}&readonly_shm=1", uri=True)
        try:
            connection.execute("select name from sqlite_master")
        except sqlite3.OperationalError as error:
            connection.close()
            if self._look()[1] is None:
                return self.connect()
            raise store_error(
                self._name,
                f"cannot be read without its log: {error}",
                retryable=True,
                hint="Let this user read the files beside it too (-wal and -shm), or open it once "
                "as a user who may write it, and close it.",
            ) from error
        return connection

    def is_outdated(self) -> bool:
        """True if the file was opened as one that nobody writes, and was written since."""
        return self._seen is not None and self._look() != self._seen

    def check(self) -> None:
        """Make sure that the file was not written while it was read.

        Raises:
            StoreError: Somebody has written meanwhile.
        """
        if self.is_outdated():
            raise store_error(
                self._name,
                "was written while it was being read",
                retryable=True,
                hint="Read it again.",
            )

    def _look(self) -> tuple[Any, Any]:
        """The state of the file, and of its log if there is one."""
        return _state(self._path), _state(self._path.with_name(self._path.name + LOG))


def _state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def identity_of(path: Path | None) -> tuple[int, ...] | None:
    """Identifies the file that a path leads to; `None` if none is there."""
    found = None if path is None else _state(path)
    return found and found[:2]


def create_private(path: Path) -> None:
    """Create the file so that only its owner can read it: it will contain accounts and trades.
    SQLite gives the files beside it the same mode."""
    # An error here also prevents the connection, whose own error names the reason.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _close_all(locks: WeakSet[FileLock]) -> None:
    for lock in locks:
        lock.close()


# A forked child closes the lock files of its parent, which stay locked: otherwise the locks would
# outlive the parent.
_OPEN: PerProcess[WeakSet[FileLock]] = PerProcess(WeakSet, _close_all)


class FileLock(Lock):
    """A lock that is a locked file next to the archive, which is removed afterwards."""

    def __init__(self, path: Path | None, key: str, held_by: tuple[str, str]) -> None:
        super().__init__(key, held_by)
        self._path = path
        self._file: _FileLock | None = None

    def try_acquire(self) -> bool:
        if self._path is None:
            return True
        try:
            self._file = _FileLock(self._path)
        except BlockingIOError:
            return False
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be created: {error.strerror}",
                hint="Make the folder writable, or copy the archive to one that is.",
            ) from error
        _OPEN.value.add(self)
        return True

    def close(self) -> None:
        """Close the file, in a child: the lock is the parent's."""
        if self._file is not None:
            self._file.close()

    def check(self) -> None:
        if self._file is not None and not self._file.is_held():
            raise StoreError(
                f"{self._path} was removed during an update",
                retryable=True,
                hint="Run the same update again: nothing that was stored is lost.",
            )

    def release_others(self) -> None:
        # These steps may be repeated after an interrupt.
        if (file := self._file) is not None:
            file.release()
            _OPEN.value.discard(self)
            self._file = None
