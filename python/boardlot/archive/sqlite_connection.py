"""A connection to SQLite, and the only way to use it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from boardlot.archive.database import Row
from boardlot.archive.locks import WAIT
from boardlot.per_process import ForkGate

__all__ = ["GATE", "SqliteConnection"]

# SQLite has locks of the whole process, such as that of its memory and one for each open file. A
# child that was forked while another thread had one would wait for it forever.
GATE = ForkGate()


class SqliteConnection:
    """A connection that can only be used while no thread forks.

    Args:
        address: A path, or a URI.
        uri: Whether it is a URI.
    """

    def __init__(self, address: str, *, uri: bool = False) -> None:
        # Waiting for a lock in C would delay Ctrl-C, so that is done by the caller, in short steps.
        with GATE.entered():
            self._driver = sqlite3.connect(
                address, timeout=WAIT, isolation_level=None, check_same_thread=False, uri=uri
            )

    def __del__(self) -> None:
        if hasattr(self, "_driver"):
            with suppress(sqlite3.Error):
                self.close()

    @contextmanager
    def driver(self) -> Iterator[sqlite3.Connection]:
        """The driver's connection, whose cursors have to end within the `with` statement too."""
        with GATE.entered():
            yield self._driver

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        with GATE.entered():
            return self._driver.execute(sql, parameters).fetchall()

    def change(self, sql: str, parameters: Sequence[Any]) -> int:
        """Run a statement and return how many rows it changed."""
        with GATE.entered():
            return self._driver.execute(sql, parameters).rowcount

    def execute_many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run a statement once for each row of parameters."""
        with GATE.entered():
            self._driver.executemany(sql, rows)

    def roll_back(self) -> None:
        """End a transaction, if there is one."""
        with GATE.entered(), suppress(sqlite3.Error):
            if self._driver.in_transaction:
                self._driver.execute("rollback")

    def close(self) -> None:
        """Close it, once or more often."""
        with GATE.entered():
            self._driver.close()
