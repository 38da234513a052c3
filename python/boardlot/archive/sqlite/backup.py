"""Makes copies of a SQLite archive while it is in use, and restores them, also over a damaged
file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from uuid import uuid4

from boardlot import _core
from boardlot._core import _FileLock
from boardlot._support.tables.cell_format import shown_time
from boardlot.archive import schema
from boardlot.archive.database import Row, store_error
from boardlot.archive.sqlite.connection import SqliteConnection
from boardlot.archive.sqlite.files import ReadOnlyFile, create_private, files_of
from boardlot.errors import ConfigError, StoreError

# The start of the name of a folder with a copy that is being made.
COPY = ".boardlot-copy-"
# Number of pages that are copied between two looks for Ctrl-C: 4 MB.
PAGES = 1_000
# SQLite's error codes, for which Python has names from 3.11 on.
SQLITE_BUSY, SQLITE_LOCKED = 5, 6
MAGIC = b"SQLite format 3\0"
# The `user_version` of a backup, until an update writes to it: "bkup".
MARK = 0x626B7570

# The first bytes of files that these programs wrote.
COMPRESSED = {
    "gzip": b"\x1f\x8b",
    "zstd": b"\x28\xb5\x2f\xfd",
    "xz": b"\xfd7zXZ\x00",
    "bzip2": b"BZh",
}


def back_up(source: SqliteConnection, target: Path, wait: float) -> None:
    """Copy an archive, as of one moment, into a new file that its owner alone can read.

    Raises:
        ConfigError: The file exists.
        StoreError: The file cannot be written; then no file is left.
    """
    if target.is_dir():
        raise ConfigError(
            f"path is {str(target)!r}, a folder; expected the path of a new file, such as "
            f"{str(target / 'backup.db')!r}"
        )
    if os.path.lexists(target):
        raise ConfigError(
            f"path is {str(target)!r}, which already exists; expected the path of a new file",
            hint="A backup is never overwritten: name it after its day, or remove the old one.",
        )
    try:
        with _private_copy(source, target, wait, MARK) as copied:
            _core._replace_file(copied, target, False)
    except OSError as error:
        raise _not_written(target, error.strerror or str(error)) from error


def restore(backup: Path, target: Path, wait: float) -> None:
    """Restore an archive from a backup, in one transaction.

    Other processes may use the archive meanwhile. Files that a crash left beside the archive are
    part of it. A damaged archive is replaced, with the files beside it.

    Raises:
        ConfigError: Both are the same file, or the target is a backup or has other data: the two
            are probably swapped.
        StoreError: The backup is not that of an archive, or is damaged; or the target is not an
            archive, is being written, or cannot be written. The target is unchanged.
    """
    target = Path(os.path.realpath(target))
    backup = Path(os.path.realpath(backup))
    if backup in files_of(target):
        raise ConfigError(f"the backup {str(backup)!r} is the archive itself; expected another one")
    with closing(_opened(backup)) as source:
        _refuse_swapped(source, backup, target)
        try:
            if not target.exists() or not _put_into(source, target, wait):
                _put_in_place_of(source, target, wait)
        except OSError as error:
            raise _not_written(target, error.strerror or str(error)) from error


def _opened(backup: Path) -> SqliteConnection:
    """Returns a connection to a backup that only reads it, after a check that the backup is
    whole."""
    if not backup.is_file():
        raise store_error(str(backup), "does not exist", hint="Name the file of a backup.")
    with backup.open("rb") as file:
        head = file.read(6)
    for program, magic in COMPRESSED.items():
        if head.startswith(magic):
            hint = f"Decompress it first: `{program} -d {backup.name}`."
            raise store_error(str(backup), f"was compressed by {program}", hint=hint)
    connection = None
    try:
        connection = ReadOnlyFile(backup, str(backup)).connect()
        connection.begin()
        tables = {name for (name,) in connection.execute("select name from sqlite_master")}
        schema.check_format(str(backup), "main", connection, tables)
        ((found,),) = connection.execute("pragma quick_check(1)")
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        return connection
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.Error):
            hint = "It was damaged: use another backup. The archive is unchanged."
            raise store_error(str(backup), f"cannot be restored: {error}", hint=hint) from error
        raise


@dataclass(frozen=True)
class _Content:
    """The data that tell an archive from its backups: the mark, the lists, and the time of the last
    read."""

    is_backup: bool
    lists: set[Row]
    read_at: int

    @classmethod
    def of(cls, connection: SqliteConnection) -> _Content:
        lists = connection.execute(
            "select service, 'fills', account || ' ' || market, read_at from series "
            "where read_at is not null "
            "union all select service, list, key, read_at from lists where read_at is not null"
        )
        times = [read_at for *_, read_at in lists]
        names = {tuple(name) for *name, _ in lists}
        return cls(is_marked(connection), names, max(times, default=0))


def is_marked(connection: SqliteConnection) -> bool:
    """True for a backup that nothing has been written to."""
    return connection.execute("pragma user_version") == [(MARK,)]


def unmark(connection: SqliteConnection) -> None:
    """Remove the mark, so that the file is an archive like any other."""
    connection.execute("pragma user_version = 0")


def _refuse_swapped(source: SqliteConnection, backup: Path, target: Path) -> None:
    """Refuse to lose a backup, or data that the backup has never had.

    An archive that is restored is usually newer than its backup, and has the lists of the backup.
    """
    try:
        with closing(ReadOnlyFile(target, str(target)).connect()) as connection:
            found = _Content.of(connection)
    except (OSError, sqlite3.Error, StoreError):
        return  # It is missing, damaged or not an archive, which a later step finds out.
    own = _Content.of(source)
    has_log = files_of(target)[1].exists()  # Only an archive in use or after a crash has one.
    if found.is_backup and not has_log:
        problem = f"{target} is a backup; expected the archive that is restored"
    elif found.lists and own.lists and found.lists.isdisjoint(own.lists):
        problem = f"{target} is another archive: it has no list of the backup {backup}"
    elif not own.is_backup and found.lists and own.read_at > found.read_at:
        problem = (
            f"{target} was last read at {shown_time(found.read_at, 'seconds')}, before {backup} "
            f"({shown_time(own.read_at, 'seconds')}), so it is the older one"
        )
    else:
        return
    swapped = f"boardlot archive restore {quote(str(target))} {quote(str(backup))}"
    raise ConfigError(
        f"{problem}; nothing was written",
        hint=f"If the two are swapped, run `{swapped}`. To replace {target} all the same, move it "
        f"away first: mv {quote(str(target))} {quote(str(target) + '.old')}",
    )


def _put_into(source: SqliteConnection, target: Path, wait: float) -> bool:
    """Copy into a file that others may have open; `False` if it is too damaged for that."""
    with target.open("rb") as file:
        start = file.read(len(MAGIC))
    if not os.access(target, os.W_OK):
        raise _not_written(target, "it is read-only")
    if start not in (MAGIC, b""):
        hint = "Choose the path of an archive, or move this file away."
        raise store_error(str(target), "is not a SQLite file, and is left as it is", hint=hint)
    try:
        with closing(SqliteConnection(str(target))) as connection:
            tables = {name for (name,) in connection.execute("select name from sqlite_master")}
            if tables and "archive_format" not in tables:
                hint = "Choose the path of an archive, or a new one."
                raise store_error(str(target), "is a database, but not an archive", hint=hint)
            # A restored archive survives a loss of power.
            connection.execute("pragma synchronous = full")
            _copy(source, connection, target, wait)
            unmark(connection)
            connection.execute("pragma journal_mode = wal")
            with suppress(sqlite3.Error):
                connection.execute("pragma wal_checkpoint(truncate)")
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and not _is_damage(error):
            raise _not_written(target, str(error)) from error
        return False
    return True


def _is_damage(error: sqlite3.Error) -> bool:
    # SQLite says "readonly" of a log that belongs to another file, or of a file with pages of
    # another size.
    return any(part in str(error) for part in ("malformed", "disk I/O", "readonly"))


def _put_in_place_of(source: SqliteConnection, target: Path, wait: float) -> None:
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    with _private_copy(source, target, wait, 0) as copied:
        copied.chmod(mode)
        # SQLite would take a log of the old file for one of the new file.
        for beside in files_of(target)[1:]:
            _core._remove_file(beside)
        _core._replace_file(copied, target, True)


@contextmanager
def _private_copy(source: SqliteConnection, target: Path, wait: float, mark: int) -> Iterator[Path]:
    """Yields a copy in a folder beside the target that nobody else can enter. The folder is removed
    afterwards; if this process is killed, the next process that makes a copy there removes it."""
    _remove_left_copies(target.parent)
    lock, folder = _own_folder(target.parent)
    try:
        path = folder / "copy"
        create_private(path)
        try:
            with closing(SqliteConnection(str(path))) as connection:
                _copy(source, connection, target, wait)
                connection.execute(f"pragma user_version = {mark}")
        except sqlite3.Error as error:
            raise _not_written(target, str(error)) from error
        yield path
    finally:
        try:
            _remove_folder(folder)
        finally:
            lock.release()


def _own_folder(parent: Path) -> tuple[_FileLock, Path]:
    """A folder, and a lock that says that it is in use: it ends with this process."""
    while True:
        folder = parent / f"{COPY}{uuid4().hex}"
        try:
            lock = _FileLock(_lock_of(folder))
        except BlockingIOError:  # Another process looks if the folder was left behind.
            continue
        try:
            folder.mkdir(0o700)
        except BaseException:
            lock.release()
            raise
        return lock, folder


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _remove_left_copies(parent: Path) -> None:
    """Remove the copies of processes that were killed."""
    for found in parent.glob(f"{COPY}*"):
        folder = found.with_name(found.name.removesuffix(".lock"))
        # A copy may be in use, or that of another user.
        with suppress(OSError):
            lock = _FileLock(_lock_of(folder))
            try:
                if folder.is_dir():
                    _remove_folder(folder)
            finally:
                lock.release()


def _remove_folder(folder: Path) -> None:
    for left in folder.iterdir():
        _core._remove_file(left)
    folder.rmdir()


def _copy(source: SqliteConnection, into: SqliteConnection, target: Path, wait: float) -> None:
    end = time.monotonic() + wait

    def progress(status: int, *_: int) -> None:
        # Each call is a look for Ctrl-C, too.
        if status in (SQLITE_BUSY, SQLITE_LOCKED) and time.monotonic() >= end:
            raise store_error(
                str(target),
                "is being written by another process",
                retryable=True,
                hint="Wait until that process has finished, or end it.",
            )

    if not source._driver.in_transaction:
        source.begin()
    # After this read, the copy is of one moment, and need not begin again after each commit of
    # others.
    source.execute("select name from sqlite_master")
    source._driver.backup(into._driver, pages=PAGES, progress=progress, sleep=0.05)


def _not_written(path: Path, reason: str) -> StoreError:
    return StoreError(
        f"{path} cannot be written: {reason}",
        hint="Free some space, or choose another path; an existing file is unchanged.",
    )
