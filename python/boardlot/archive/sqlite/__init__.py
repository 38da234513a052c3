"""An archive in a SQLite file, with the standard library's driver."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from boardlot.archive import schema
from boardlot.archive.database import (
    MIGRATED,
    RESTORE,
    DatabaseConnection,
    Row,
    Transaction,
    digest,
    store_error,
)
from boardlot.archive.locks import WAIT, Lock, held_by
from boardlot.archive.sqlite.backup import back_up, is_marked, unmark
from boardlot.archive.sqlite.connection import SqliteConnection, is_busy, run_query
from boardlot.archive.sqlite.files import (
    FileLock,
    ReadOnlyFile,
    create_private,
    files_of,
    identity_of,
)
from boardlot.archive.view import View
from boardlot.archive.waiting import pause
from boardlot.errors import StoreError

MEMORY = ":memory:"
# The size of the log, in pages, at which its content is moved to the file: 16 MB.
LOG_PAGES = 4_000


class Sqlite(DatabaseConnection[SqliteConnection]):
    """A file in WAL mode: readers and the writer do not block each other."""

    schema_name = "main"
    identity = "integer primary key"
    fences: Mapping[str, str] = {
        table: f"create trigger main.{table}_format before insert on {table} "
        f"when new.format < 2 begin select raise(abort, '{MIGRATED}'); end"
        for table in ("series", "lists")
    }
    times_are_texts = True
    # SQLite reads the second word of a type, which decides how values are compared; `sql` reads
    # both.
    column_types: Mapping[str, str] = {
        "version": "integer",
        "text": "string text",
        "object": "object text",
        "date": "date text",
        "timestamp": "timestamp text",
        "integer": "integer",
        "flag": "flag int",
        "number": "number real",
        "decimal": "decimal real",
    }
    # One transaction writes at a time.
    for_share = ""
    # The driver decodes SQLite's messages, which may repeat bytes that are not valid UTF-8.
    driver_error: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

    def __init__(self, target: str, wait: float) -> None:
        self.path: Path | None = Path(os.path.realpath(target)) if target != MEMORY else None
        self._wait = wait
        # The identity of the file that the path led to when it was opened.
        self._identity: Any = None
        # Only set if this user cannot write the file.
        self._read_only: ReadOnlyFile | None = None
        super().__init__(str(self.path or MEMORY))

    def _connect(self) -> SqliteConnection:
        connection = self._open()
        try:
            self._retrying(lambda: self._prepare(connection))
            self._identity = identity_of(self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_lost(self, connection: SqliteConnection) -> bool:
        return self._read_only is not None and self._read_only.is_outdated()

    def _open(self) -> SqliteConnection:
        self._read_only = None
        if self.path is None:
            return SqliteConnection(MEMORY)
        # Unlike `Path`, these raise nothing for a name that is too long.
        if not os.path.exists(self.path):  # noqa: PTH110
            create_private(self.path)
        elif not os.path.isfile(self.path):  # noqa: PTH113
            raise store_error(
                self.name, "is not a regular file", hint="Choose the path of a file, or a new one."
            )
        elif not os.access(self.path, os.W_OK):
            self._read_only = ReadOnlyFile(self.path, self.name)
            return self._read_only.connect()
        return SqliteConnection(str(self.path))

    def _open_for_queries(self) -> SqliteConnection:
        if self._read_only is not None:
            return self._read_only.connect()
        assert self.path is not None
        return SqliteConnection(f"{self.path.as_uri()}?mode=ro", uri=True)

    def _prepare(self, connection: SqliteConnection) -> None:
        tables = _tables(connection)
        is_ready = schema.is_ready(self, connection, tables)
        if self._read_only is not None and tables:
            return
        if self.path is not None and self._read_only is None:
            # Another tool may have set another mode. While it uses the file, the mode cannot be
            # changed.
            with suppress(sqlite3.OperationalError) if tables else nullcontext():
                connection.execute("pragma journal_mode = wal")
        if not is_ready:
            try:
                connection.begin("begin immediate")
                # Another process may have been first.
                schema.prepare(self, connection, _tables(connection))
                connection.execute("commit")
            except BaseException:
                connection.reset()
                raise
        # A commit survives the end of the process, however the process ends. If the machine loses
        # power, a commit may be lost, with the position that belongs to it: then its data are
        # fetched again.
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma wal_autocheckpoint = {LOG_PAGES}")

    def _retrying(self, work: Any) -> Any:
        """Try work again that another process may be blocking, for the seconds that the archive
        waits."""
        end = time.monotonic() + self._wait
        while True:
            try:
                return work()
            except sqlite3.OperationalError as error:
                if not is_busy(str(error)) or time.monotonic() >= end:
                    raise
            pause(WAIT)

    def _error(self, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
        text = str(error)
        if isinstance(error, UnicodeDecodeError):
            text = error.object.decode(errors="replace")
        if is_busy(text):
            return store_error(
                self.name,
                "is being written by another process",
                retryable=True,
                hint="Wait until that process has finished, or end it. If another tool changed the "
                "journal mode, readers wait, too: opening the archive again sets WAL mode.",
            )
        if not text:  # In Python 3.10, a message that is not valid UTF-8 is lost.
            text = "the database disk image is malformed"
        hint = next((hint for part, hint in HINTS.items() if part in text), "")
        # Unlike `Path`, this raises nothing for a name that is too long.
        if self.path and not os.path.isdir(self.path.parent):  # noqa: PTH112
            hint = f"The folder {self.path.parent} does not exist: create it."
        return store_error(self.name, f"cannot be used: {text}", hint=hint)

    def _check_file(self) -> None:
        if identity_of(self.path) != self._identity:
            raise store_error(
                self.name,
                "was removed or replaced while it was open",
                hint="Open the archive again; data that was read into the old file is lost.",
            )

    @contextmanager
    def transaction(self, lock: Lock | None = None) -> Iterator[Transaction]:
        with self._using() as connection:
            self._check_file()
            try:
                self._retrying(lambda: connection.begin("begin immediate"))
                if lock is not None:
                    lock.check()
                if is_marked(connection):
                    # The file is a backup that was put in the place of the archive.
                    unmark(connection)
                yield connection
                connection.execute("commit")
            except BaseException:
                connection.reset()
                raise

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._reading() as connection:
            rows: list[Row] = self._retrying(lambda: connection.execute(sql, parameters))
            return rows

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        with self._reading() as connection:
            try:
                connection.begin()
                # The moment of a snapshot is that of its first query.
                self._retrying(lambda: connection.execute("select 1 from series limit 1"))
                yield connection
            finally:
                connection.reset()

    @contextmanager
    def _reading(self, *slots: Any) -> Iterator[SqliteConnection]:
        with self._using(*slots) as connection:
            self._check_file()
            try:
                yield connection
            finally:
                if self._read_only is not None:
                    self._read_only.check()

    def define(self, statement: str) -> None:
        with self.transaction() as transaction:
            transaction.execute(statement)

    def defining(self) -> AbstractContextManager[Transaction]:
        return self.transaction()

    def replace_view(self, transaction: Transaction, name: str, view: View, *, wait: bool) -> None:
        existing: list[Row] = []
        # A view that selects from a missing table or column has no columns.
        with suppress(sqlite3.OperationalError):
            existing = transaction.execute(f'pragma main.table_info("{name}")')
        transaction.execute(f'drop view if exists main."{name}"')
        query = view.query([(column, "null") for _, column, *_ in existing])
        transaction.execute(f'create view main."{name}" as {query}')

    def stop_writers(self, transaction: Transaction) -> None:
        # One transaction writes at a time.
        pass

    def was_locked(self, error: StoreError) -> bool:
        # Readers do not block a writer.
        return False

    def concat_sql(self, column: str) -> str:
        # The result is bytes, which Python does not decode.
        return f"cast(group_concat({column}, ',') as blob)"

    def share(self, transaction: Transaction, tables: Sequence[str]) -> None:
        # The mode of the file decides who can read it.
        pass

    def drop_table(self, transaction: Transaction, name: str) -> None:
        transaction.execute(f'drop table if exists main."{name}"')

    def query(
        self, sql: str, parameters: Sequence[Any]
    ) -> tuple[list[str], list[Row], list[str | None]]:
        with self._reading():
            # It exists and is up to date.
            slots = self._own if self.path is None else self._for_queries
        with self._reading(slots, self._open_for_queries) as connection:
            return run_query(connection, sql, parameters)

    def back_up(self, path: Path) -> None:
        with self._reading() as own:
            # It exists and is up to date.
            is_in_memory = self.path is None
            if is_in_memory:
                try:
                    back_up(own, path, self._wait)
                finally:
                    own.reset()
        if not is_in_memory:
            # A connection of its own, so that updates need not wait for the copy.
            with closing(self._open_for_queries()) as connection:
                back_up(connection, path, self._wait)

    def lock(self, name: str) -> Lock:
        kind, _, rest = name.partition(":")
        suffix = f"{kind}-{digest(rest)}"
        path = self.path and self.path.with_name(f".{self.path.name}.{suffix}.lock")
        key = f"{self.name}/{suffix}/{id(self) if path is None else ''}"
        return FileLock(path, key, held_by(name, self.name))

    def reads(self, path: str) -> bool:
        if self.path is None:
            return False
        own = files_of(self.path)
        found = identity_of(Path(path))
        return os.path.realpath(path) in map(str, own) or (
            found is not None and found in map(identity_of, own)
        )

    @staticmethod
    def timestamp_sql(column: str) -> str:
        # Seconds are rounded down, also before 1970.
        rest = f"((({column}) % 1000000 + 1000000) % 1000000)"
        seconds = f"strftime('%Y-%m-%d %H:%M:%S', (({column}) - {rest}) / 1000000, 'unixepoch')"
        return f"{seconds} || printf('.%06d+00:00', {rest})"


def _tables(connection: SqliteConnection) -> set[str]:
    return {name for (name,) in connection.execute("select name from sqlite_master")}


HINTS = {
    "unable to open": "Check that the folder exists, and that you may write there.",
    "I/O error": "Check that the disk is neither full nor damaged, and the limit of the size of "
    "files (`ulimit -f`): what was stored is kept.",
    "full": "Free some space and run the same update again: nothing that was stored is lost.",
    "readonly": "The file is read-only: make it writable to update the archive.",
    "not a database": "The file is not an archive: name a new file, such as fills.db. Restore a "
    "damaged archive from a backup.",
    "malformed": "It was damaged: restore it from a backup.",
    "has no column": f"Part of it is missing: it was damaged. {RESTORE}",
    "no such": f"Part of it is missing: it was damaged. {RESTORE}",
}
