"""An archive in a SQLite file, with the standard library's driver."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from boardlot import crash_safe
from boardlot.archive import schema
from boardlot.archive.connection import DatabaseConnection
from boardlot.archive.database import (
    LATEST,
    RESTORE,
    WAIT,
    Lock,
    Row,
    Transaction,
    digest,
    held_by,
    store_error,
)
from boardlot.errors import ConfigError, StoreError
from boardlot.results.cell_format import MICROSECONDS

__all__ = ["Sqlite"]

MEMORY = ":memory:"
# Instructions between two looks for Ctrl-C during a user's query.
STEPS = 100_000
# Rows in one statement, which take two thirds of the time of as many statements. Older versions of
# SQLite accept 999 values.
ROWS = 50
# The size of the log, in pages, at which its content is moved to the file: 16 MB.
LOG_PAGES = 4_000


class Sqlite(DatabaseConnection[sqlite3.Connection]):
    """A file in WAL mode: readers and the writer do not block each other."""

    identity = "integer primary key"
    driver_error: type[Exception] = sqlite3.Error

    def __init__(self, target: str, wait: float) -> None:
        self.path: Path | None = Path(os.path.realpath(target)) if target != MEMORY else None
        self._wait = wait
        super().__init__(str(self.path or MEMORY))

    def _connect(self) -> sqlite3.Connection:
        connection = self._open()
        try:
            self._retrying(lambda: self._prepare(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_lost(self, connection: sqlite3.Connection) -> bool:
        return False

    def _open(self) -> sqlite3.Connection:
        # Waiting for a lock in C would delay Ctrl-C, so it is done here, in short steps.
        options: dict[str, Any] = {
            "timeout": WAIT,
            "isolation_level": None,
            "check_same_thread": False,
        }
        if self.path is None:
            return _connection(MEMORY, options)
        regular = crash_safe.is_regular(self.path)
        if regular is None:
            _create_private(self.path)
        elif not regular:
            raise store_error(
                self.name, "is not a regular file", hint="Choose the path of a file, or a new one."
            )
        elif not os.access(self.path, os.W_OK):
            address = f"file:{quote(str(self.path))}?mode=ro"
            if not os.access(self.path.parent, os.W_OK):
                address += "&immutable=1"
            return _connection(address, {**options, "uri": True})
        return _connection(self.path, options)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        tables = {name for (name,) in connection.execute("select name from sqlite_master")}
        found = None
        if "archive_format" in tables:
            found = self._format_of(connection)
        elif tables:
            raise store_error(
                self.name,
                "is a database, but not an archive",
                hint="Choose another path; the file is unchanged.",
            )
        if found != schema.FORMAT:
            if found is None and self.path is not None:
                connection.execute("pragma journal_mode = wal")
            # Another process may have been first.
            connection.execute("begin immediate")
            try:
                rows = connection.execute(
                    "select 1 from sqlite_master where name = 'archive_format'"
                ).fetchall()
                if rows:
                    found = self._format_of(connection)
                schema.prepare(self, _Transaction(connection), found)
                connection.execute("commit")
            except BaseException:
                _roll_back(connection)
                raise
        # A commit survives the end of the process, however it ends. It may be lost if the machine
        # loses power, with the position that belongs to it: then it is fetched again.
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma wal_autocheckpoint = {LOG_PAGES}")

    def _format_of(self, connection: sqlite3.Connection) -> int:
        rows = connection.execute("select version from archive_format").fetchall()
        return schema.format_of(self, rows)

    def _retrying(self, work: Any) -> Any:
        """Do what another process may be keeping us from, for as long as we are to wait."""
        end = time.monotonic() + self._wait
        while True:
            try:
                return work()
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() >= end:
                    raise
            time.sleep(WAIT)

    def _error(self, error: sqlite3.Error) -> StoreError:
        text = str(error)
        if _is_busy(error):
            return store_error(
                self.name,
                "is being written by another process",
                retryable=True,
                hint="Wait until it has finished, or end it.",
            )
        hint = "Check that the folder exists, and that you may write there."
        for part, advice in HINTS.items():
            if part in text:
                hint = advice
        return store_error(self.name, f"cannot be used: {text}", hint=hint)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._using() as connection:
            self._retrying(lambda: connection.execute("begin immediate"))
            try:
                yield _Transaction(connection)
                connection.execute("commit")
            except BaseException:
                _roll_back(connection)
                raise

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._using() as connection:
            rows: list[Row] = self._retrying(lambda: connection.execute(sql, parameters).fetchall())
            return rows

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        with self._using() as connection:
            connection.execute("begin")
            try:
                # Its moment is that of its first query.
                self._retrying(lambda: connection.execute("select 1 from series").fetchone())
                yield _Transaction(connection)
            finally:
                _roll_back(connection)

    def define(self, statement: str) -> None:
        with self.transaction() as transaction:
            transaction.execute(statement)

    def concat_sql(self, column: str) -> str:
        # As bytes, which Python does not decode.
        return f"cast(group_concat({column}, ',') as blob)"

    def query(
        self, sql: str, parameters: Sequence[Any], views: Sequence[str]
    ) -> tuple[list[str], list[Row]]:
        with self._using() as connection:
            if not self._has_views:
                for view in views:
                    connection.execute(view)
                self._has_views = True
            connection.execute("pragma query_only = on")
            # Python looks for signals whenever the handler is called.
            connection.set_progress_handler(lambda: 0, STEPS)
            try:
                cursor = connection.execute(sql, parameters)
                if cursor.description is None:
                    raise ConfigError("the query failed: it returns nothing; expected a SELECT")
                return [column[0] for column in cursor.description], cursor.fetchall()
            except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
                raise ConfigError(f"the query failed: {error}") from error
            finally:
                connection.set_progress_handler(None, 0)
                connection.execute("pragma query_only = off")

    def lock(self, name: str) -> Lock:
        # All updates write to one file, so that they share one lock.
        kind, _, rest = name.partition(":")
        suffix = f"{kind}-{digest(rest)}" if kind == "follow" else "update"
        path = self.path and self.path.with_name(f".{self.path.name}.{suffix}.lock")
        key = f"{self.name}/{suffix}/{id(self) if path is None else ''}"
        return _FileLock(path, key, self.name, held_by(kind))

    def typed(self, field: str, kind: str, unit: str) -> str:
        value = f"json_extract(record, '$.{field}')"
        of_type = f"json_type(record, '$.{field}')"
        number = f"{of_type} in ('integer', 'real')"
        text = f"case when {of_type} = 'text' and json_valid({value}) then {value} end"
        digits = f"{value} not glob '*[^0-9]*' and length({value}) between 1 and 18"
        count = (
            f"case when {of_type} = 'integer' then {value} "
            f"when {of_type} = 'text' and {digits} then cast({value} as integer) end"
        )
        day = f"replace(substr({value}, 1, 10), '/', '-')"
        # With a modifier, a day that does not exist becomes one of the next month.
        exists = f"date({day}, '+0 days') = {day}"
        return {
            "integer": f"case when {of_type} = 'integer' then {value} end",
            "number": f"case when {number} then cast({value} as real) end",
            "flag": f"case when {of_type} in ('true', 'false') then {value} end",
            "decimal": (
                f"case when {number} or json_type({text}) in ('integer', 'real') "
                f"then cast({value} as real) end"
            ),
            "timestamp": self.timestamp_sql(f"({count}) * {MICROSECONDS.get(unit, 1_000_000)}"),
            "date": f"case when {of_type} = 'text' and {exists} then {day} end",
            "text": f"case when {of_type} = 'text' then {value} end",
        }.get(kind, value)

    def timestamp_sql(self, column: str) -> str:
        seconds = f"strftime('%Y-%m-%d %H:%M:%S', ({column}) / 1000000, 'unixepoch')"
        rest = f"printf('.%06d+00:00', ({column}) % 1000000)"
        return f"case when ({column}) between 1 and {LATEST} then {seconds} || {rest} end"


class _Transaction(Transaction):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()

    def execute_many(self, sql: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(sql, rows)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
        into, row = f"{table} ({', '.join(columns)})", f"({', '.join('?' * len(columns))})"
        inserted = 0
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            values = ", ".join([row] * len(some))
            inserted += self._connection.execute(
                f"insert into {into} values {values} on conflict do nothing",
                list(chain.from_iterable(some)),
            ).rowcount
        return inserted

    def among(self, column: str, values: Sequence[str]) -> tuple[str, Any]:
        return f"{column} in (select value from json_each(?))", json.dumps(list(values))


class _FileLock(Lock):
    """A locked file next to the archive, removed afterwards."""

    def __init__(self, path: Path | None, key: str, name: str, what: str) -> None:
        super().__init__(key, f"the archive {name} is being {what}")
        self._path = path
        self._file: BinaryIO | None = None

    def try_acquire(self) -> bool:
        if self._path is None:
            return True
        try:
            self._file = crash_safe.locked(self._path)
        except BlockingIOError:
            return False
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be created: {error.strerror}",
                hint="Make the folder writable, or copy the archive to one that is.",
            ) from error
        return True

    def release_others(self) -> None:
        file, self._file = self._file, None
        if file is not None and self._path is not None:
            with file, suppress(OSError):  # Windows does not remove what is open.
                self._path.unlink()


def _create_private(path: Path) -> None:
    """Create the file for its owner alone: it will have accounts and trades. SQLite gives the files
    beside it the same mode."""
    # What prevents it also prevents the connection, whose error says so.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _connection(target: str | Path, options: dict[str, Any]) -> sqlite3.Connection:
    connection: sqlite3.Connection = sqlite3.connect(target, **options)
    return connection


def _is_busy(error: sqlite3.Error) -> bool:
    return "database is locked" in str(error) or "database table is locked" in str(error)


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("rollback")


HINTS = {
    "full": "Free some space and run the same update again: nothing that was stored is lost.",
    "readonly": "The file is read-only: make it writable to update the archive.",
    "not a database": "It is not an archive, or it was damaged: restore it from a backup.",
    "malformed": "It was damaged: restore it from a backup.",
    "no such": f"Part of it is missing: it was damaged. {RESTORE}",
}
