"""A connection to SQLite, and the only way to use it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any

from boardlot.archive.database import Row, Transaction
from boardlot.archive.locks import WAIT
from boardlot.per_process import ForkGate

__all__ = ["GATE", "SqliteConnection"]

# Rows in one statement, which take two thirds of the time of as many statements. Older versions of
# SQLite accept 999 values.
ROWS = 50
# SQLite has locks of the whole process, such as that of its memory and one for each open file. A
# child that was forked while another thread had one would wait for it forever.
GATE = ForkGate()


class SqliteConnection(Transaction):
    """A connection that can only be used while no thread forks; it has one transaction at a time.

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
        with GATE.entered():
            return self._driver.execute(sql, parameters).fetchall()

    def execute_many(self, sql: str, rows: Sequence[Row]) -> None:
        with GATE.entered():
            self._driver.executemany(sql, rows)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
        into, row = f"{table} ({', '.join(columns)})", f"({', '.join('?' * len(columns))})"
        inserted = 0
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            values = ", ".join([row] * len(some))
            with GATE.entered():
                inserted += self._driver.execute(
                    f"insert into {into} values {values} on conflict do nothing",
                    list(chain.from_iterable(some)),
                ).rowcount
        return inserted

    def among(self, column: str, values: Sequence[str]) -> tuple[str, Any]:
        return f"{column} in (select value from json_each(?))", json.dumps(list(values))

    def roll_back(self) -> None:
        """End a transaction, if there is one."""
        with GATE.entered(), suppress(sqlite3.Error):
            if self._driver.in_transaction:
                self._driver.execute("rollback")

    def close(self) -> None:
        """Close it, once or more often."""
        with GATE.entered():
            self._driver.close()
