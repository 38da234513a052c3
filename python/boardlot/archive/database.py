"""The interface of a database and its connection; `sqlite` and `postgres` implement it."""

from __future__ import annotations

import hashlib
import json
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from boardlot._support.per_process import PerProcess
from boardlot.archive.locks import Lock
from boardlot.archive.view import Blocked, View
from boardlot.errors import ConfigError, StoreError

Row = tuple[Any, ...]

# The error of an older version that is still connected.
MIGRATED = "migrated by a newer boardlot: update this one"

# The hint for an archive that was damaged.
RESTORE = "Restore it from a backup."


class Transaction(Protocol):
    """The operations within one transaction; parameters are marked by `?`."""

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    def execute_many(self, sql: str, rows: Sequence[Row]) -> object:
        """Run a statement once for each row of parameters."""

    def insert(self, into: str, rows: Sequence[Row]) -> int:
        """Insert rows into `table (column, ...)` unless it has them, and return how many were
        new."""

    def append(self, into: str, rows: Sequence[Row], *, has_nul: bool = False) -> None:
        """Insert rows that `table (column, ...)` does not have.

        Args:
            has_nul: A text may have U+0000, which may be stored as U+FFFD.
        """

    def new_ids(self, table: str, count: int) -> list[int]:
        """Returns `count` ascending values for a table's column `id`, greater than all that it
        has."""

    def among(self, column: str, values: Sequence[str] | Sequence[int]) -> tuple[str, Any]:
        """Returns the condition that a column has one of these values, and its parameter."""


class Database(Protocol):
    """An open database. Its methods may be called from any thread; one runs at a time.

    All values reach SQL as parameters, never as its text.
    """

    # A name for people, which never contains a password.
    name: str
    # The schema of its tables and views; what is created or dropped is named with it.
    schema_name: str
    # The type of a column of numbers that the database assigns.
    identity: str
    # The statements that refuse rows of a format before 2, by table.
    fences: Mapping[str, str]
    # True if the views have times as texts.
    times_are_texts: bool
    # The types of columns by the kinds of fields, and that of numbers of versions.
    column_types: Mapping[str, str]
    # The end of a query whose rows are to stay unchanged until the end of the transaction.
    for_share: str

    def transaction(self, lock: Lock | None = None) -> AbstractContextManager[Transaction]:
        """A transaction, committed at the end and rolled back if there was an error.

        Args:
            lock: A lock that the writer must still have.

        Raises:
            StoreError: The database cannot be read or written, or the lock was lost; nothing was
                changed.
        """

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query."""

    def snapshot(self) -> AbstractContextManager[Transaction]:
        """A transaction that only reads, and sees the data of one moment."""

    def define(self, statement: str) -> None:
        """Run a statement that creates something unless it exists, in one process at a time."""

    def defining(self) -> AbstractContextManager[Transaction]:
        """A transaction in which one process at a time changes tables or views.

        Raises:
            StoreError: Somebody is reading a table or view that is changed; see `was_locked`.
        """

    def replace_view(
        self, transaction: Transaction, name: str, view: View, *, wait: bool
    ) -> Blocked | None:
        """Create a view, or replace it in place, so that views of users that depend on it survive.

        Args:
            wait: Wait for readers, for a moment.

        Returns:
            The reason if the view could not be replaced, and is unchanged.
        """

    def share(self, transaction: Transaction, tables: Sequence[str]) -> None:
        """Grant the right to read new tables to all who may read the table of fills."""

    def drop_table(self, transaction: Transaction, name: str) -> None:
        """Drop a table, unless somebody reads it, or a view depends on it."""

    def stop_writers(self, transaction: Transaction) -> None:
        """Wait for all writers of typed columns, and keep others from writing any until the end of
        the transaction."""

    def was_locked(self, error: StoreError) -> bool:
        """True if the error says that a statement has waited too long for a reader."""

    def concat_sql(self, column: str) -> str:
        """SQL that aggregates a column of texts: its values in UTF-8, separated by commas."""

    def query(
        self, sql: str, parameters: Sequence[Any]
    ) -> tuple[list[str], list[Row], list[str | None]]:
        """Run a user's query, which cannot change anything, and return the columns, the rows and
        the type of each column; see `query_result`. A type is `None` if only the values can show
        it.

        Raises:
            ConfigError: The query is not valid.
        """

    def lock(self, name: str) -> Lock:
        """The lock of this name, shared by all processes with this database."""

    def back_up(self, path: Path) -> None:
        """Copy the archive into a new file.

        Raises:
            ConfigError: The path exists, or another program makes backups of this database.
            StoreError: The file cannot be written.
        """

    def close(self) -> None:
        """Close the database; may be called again."""

    def reads(self, path: str) -> bool:
        """True if this file belongs to the database."""

    @staticmethod
    def timestamp_sql(column: str) -> str:
        """SQL that converts a column of microseconds to a point in time."""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def canonical(text: str, ignored: Sequence[str] = ()) -> str:
    """Returns the content of a record in one spelling: members sorted by name, numbers as sent."""

    def ordered(members: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in sorted(dict(members).items()) if name not in ignored}

    try:
        # Only numbers become tuples, of their digits: JSON itself has none.
        found = json.loads(text, object_pairs_hook=ordered, parse_int=tuple, parse_float=tuple)
    except (ValueError, RecursionError):  # It was damaged.
        return text
    return ascii(found)


def format_of(transaction: Transaction) -> int:
    """The format of an archive."""
    ((version,),) = transaction.execute("select version from archive_format")
    return int(version)


def observed(text: str, seen_at: int | None, change: str) -> str:
    """Adds two members to a record, at its end: of duplicate names, the last one counts."""
    added = {"seen_at": seen_at, "change": change}
    if any(f'"{name}"' in text for name in added):
        record = json.loads(text)
        added |= {f"{name}_2": record[name] for name in [*added] if name in record}
    members = text[:-1].rstrip()
    return f"{members}{'' if members == '{' else ','}{json.dumps(added)[1:]}"


def store_error(name: str, what: str, *, retryable: bool = False, hint: str) -> StoreError:
    return StoreError(f"the archive {name} {what}", retryable=retryable, hint=hint)


C = TypeVar("C")


class Slot(Generic[C]):
    """A connection, which one thread uses at a time."""

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = threading.RLock()
        self.connection: C | None = None


class DatabaseConnection(Database, Generic[C]):
    """A database with one connection in each process, and one more for queries of users."""

    # The base classes of all errors of the driver.
    driver_error: tuple[type[Exception], ...]

    def __init__(self, name: str) -> None:
        self.name = name
        self._closed = False
        self._own: PerProcess[Slot[C]] = PerProcess(Slot)
        self._for_queries: PerProcess[Slot[C]] = PerProcess(Slot)
        # Connects here, so that an error comes now and not at the first update.
        with self._using():
            pass

    @abstractmethod
    def _connect(self) -> C:
        """A new connection, with the tables in their current format."""

    @abstractmethod
    def _is_lost(self, connection: C) -> bool:
        """True if a connection can no longer be used."""

    @abstractmethod
    def _error(self, error: Any) -> StoreError:
        """The archive's error for an error of the driver."""

    @contextmanager
    def _using(
        self, of: PerProcess[Slot[C]] | None = None, connect: Callable[[], C] | None = None
    ) -> Iterator[C]:
        """Yields the connection to one thread at a time; errors of the driver become the
        archive's."""
        slot = (of or self._own).value
        with slot.lock:
            if self._closed:
                raise ConfigError(f"the archive {self.name} is closed; open it again")
            try:
                if slot.connection is None or self._is_lost(slot.connection):
                    slot.connection = None
                    slot.connection = (connect or self._connect)()
                yield slot.connection
            except self.driver_error as error:
                raise self._error(error) from error

    def close(self) -> None:
        self._closed = True
        # The connection that may write is closed last: then SQLite removes the log of the file.
        for slots in (self._for_queries, self._own):
            slot = slots.value
            with slot.lock:
                connection: Any = slot.connection
                slot.connection = None
                if connection is not None:
                    with suppress(*self.driver_error):
                        connection.close()
