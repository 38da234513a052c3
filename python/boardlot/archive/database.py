"""What the archive needs of a database; `sqlite` and `postgres` implement it."""

from __future__ import annotations

import hashlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from boardlot.errors import StoreError

__all__ = [
    "LATEST",
    "RESTORE",
    "WAIT",
    "Database",
    "Lock",
    "Row",
    "Transaction",
    "digest",
    "held_by",
    "store_error",
]

Row = tuple[Any, ...]

# What to do about an archive that was damaged.
RESTORE = "Restore it from a backup."

# The last microsecond of the year 9999.
LATEST = 253_402_300_799_999_999

# How often a lock that another process has is tried again, in seconds.
WAIT = 0.05


class Transaction(ABC):
    """What can be done within one transaction; parameters are marked by `?`."""

    @abstractmethod
    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run a statement once for each row of parameters."""

    @abstractmethod
    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
        """Insert those rows that the table does not have yet, and count them."""

    @abstractmethod
    def among(self, column: str, values: Sequence[str]) -> tuple[str, Any]:
        """The condition that a column has one of these values, and its parameter."""


class Database(ABC):
    """An open database. Its methods may be called from any thread; one runs at a time.

    All values reach SQL as parameters, never as its text.
    """

    # For people: never contains a password.
    name: str
    # The type of a column of numbers that the database assigns.
    identity: str

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction, committed at the end and rolled back if there was an error.

        Raises:
            StoreError: The database cannot be read or written; nothing was changed.
        """

    @abstractmethod
    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Transaction]:
        """A transaction that only reads, everything as of one moment."""

    @abstractmethod
    def define(self, statement: str) -> None:
        """Run a statement that creates something unless it exists, in one process at a time."""

    @abstractmethod
    def concat_sql(self, column: str) -> str:
        """The aggregate of a column of texts: its values in UTF-8, separated by commas."""

    @abstractmethod
    def query(
        self, sql: str, parameters: Sequence[Any], views: Sequence[str]
    ) -> tuple[list[str], list[Row]]:
        """The columns and rows of a user's query, which can change nothing.

        Args:
            views: The statements that create the views, before the first query.

        Raises:
            ConfigError: The query is not valid.
        """

    @abstractmethod
    def lock(self, name: str) -> Lock:
        """The lock of this name, shared by all processes with this database."""

    @abstractmethod
    def close(self) -> None:
        """Close the database; may be called again."""

    def create_view(self, name: str, query: str) -> str:
        """The statement that creates a view for this connection only."""
        return f"create temp view {name} as {query}"

    # The parts of a view that the two databases write in different ways.

    @abstractmethod
    def typed(self, field: str, kind: str, unit: str) -> str:
        """The expression of a declared field of the column `record`; null if it is not valid."""

    @abstractmethod
    def timestamp_sql(self, column: str) -> str:
        """The expression of a column of microseconds as a point in time."""


class Lock(ABC):
    """A lock between processes, and between the threads of this one."""

    _holders: ClassVar[dict[str, threading.Lock]] = {}
    _guard = threading.Lock()

    def __init__(self, key: str, held_by: str) -> None:
        self._held_by = held_by
        with self._guard:
            self._here = self._holders.setdefault(key, threading.Lock())

    @abstractmethod
    def try_acquire(self) -> bool:
        """Acquire it from other processes, if none has it."""

    @abstractmethod
    def release_others(self) -> None:
        """Let other processes have it."""

    def acquire(self, wait: float) -> None:
        """Acquire the lock.

        Args:
            wait: How many seconds to wait for it.

        Raises:
            StoreError: Another thread or process still has it.
        """
        end = time.monotonic() + wait
        self._try_until(end, lambda: self._here.acquire(blocking=False))
        try:
            self._try_until(end, self.try_acquire)
        except BaseException:
            self._here.release()
            raise

    def _try_until(self, end: float, attempt: Callable[[], bool]) -> None:
        # In short steps, so that Ctrl-C takes effect.
        while not attempt():
            if time.monotonic() >= end:
                raise StoreError(
                    self._held_by, retryable=True, hint="Wait until it has finished, or end it."
                )
            time.sleep(WAIT)

    def release(self) -> None:
        try:
            self.release_others()
        finally:
            self._here.release()


def held_by(kind: str) -> str:
    """What the holder of a lock does."""
    if kind == "follow":
        return "followed by another follower of this name"
    return "updated by another process"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def store_error(name: str, what: str, *, retryable: bool = False, hint: str) -> StoreError:
    return StoreError(f"the archive {name} {what}", retryable=retryable, hint=hint)
