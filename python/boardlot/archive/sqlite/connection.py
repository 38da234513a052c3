"""A connection to SQLite, the only way to use SQLite, and users' queries, which cannot change
anything."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from datetime import date, datetime
from functools import partial
from itertools import chain
from typing import Any

from boardlot._core import _authorize_reading
from boardlot._support.messages.nearest import did_you_mean
from boardlot.archive.database import Row, Transaction
from boardlot.archive.locks import WAIT
from boardlot.errors import ConfigError

# Number of rows that one statement inserts. Between two statements, other Python threads run.
ROWS = 100
# Maximum number of parameters of a statement.
PARAMETERS = 32_766


class SqliteConnection(Transaction):
    """A connection, which has one transaction at a time.

    Args:
        address: A path, or a URI.
        uri: True if the address is a URI.
    """

    def __init__(self, address: str, *, uri: bool = False) -> None:
        # Waiting for a lock in C would delay Ctrl-C, so the caller waits, in short steps.
        self._driver = sqlite3.connect(
            address, timeout=WAIT, isolation_level=None, check_same_thread=False, uri=uri
        )
        # A misspelled name in double quotes would be read as a text.
        if sys.version_info >= (3, 12):
            self._driver.setconfig(sqlite3.SQLITE_DBCONFIG_DQS_DML, False)

    def __del__(self) -> None:
        if hasattr(self, "_driver"):
            with suppress(sqlite3.Error):
                self.close()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._driver.execute(sql, parameters).fetchall()

    def execute_many(self, sql: str, rows: Sequence[Row]) -> None:
        self._driver.executemany(sql, rows)

    def insert(self, into: str, rows: Sequence[Row]) -> int:
        columns = into.count(",") + 1
        row, at_once = f"({', '.join('?' * columns)})", min(ROWS, PARAMETERS // columns)
        inserted = 0
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            values = ", ".join([row] * len(some))
            sql = f"insert into {into} values {values} on conflict do nothing"
            inserted += self._driver.execute(sql, [*chain.from_iterable(some)]).rowcount
        return inserted

    def append(self, into: str, rows: Sequence[Row], *, has_nul: bool = False) -> None:
        self.insert(into, rows)

    def new_ids(self, table: str, count: int) -> list[int]:
        # Nobody else writes during the transaction.
        ((last,),) = self.execute(f"select coalesce(max(id), 0) from {table}")
        return [*range(last + 1, last + 1 + count)]

    def among(self, column: str, values: Sequence[str] | Sequence[int]) -> tuple[str, Any]:
        return f"{column} in (select value from json_each(?))", json.dumps(list(values))

    def begin(self, how: str = "begin") -> None:
        """Begin a transaction."""
        # A query is restricted only within a transaction, so an interrupt left both or neither.
        if self._driver.in_transaction:
            self.reset()
        self._driver.execute(how)

    def reset(self) -> None:
        """End a transaction or a user's query, if there is one; an interrupt may have left it."""
        with suppress(sqlite3.Error):
            self._driver.set_progress_handler(None, 0)
            self._driver.set_authorizer(NO_AUTHORIZER)
            self._driver.execute("pragma query_only = off")
            if self._driver.in_transaction:
                self._driver.execute("rollback")

    def close(self) -> None:
        """Close the connection; may be called again."""
        self._driver.close()


def is_busy(text: str) -> bool:
    """True if this message of SQLite says that another process is writing."""
    return "database is locked" in text or "database table is locked" in text


# Number of SQLite's instructions between two looks for Ctrl-C.
STEPS = 100_000
# Python accepts None since 3.11. Before that, a C function returns 0, because an interrupt of a
# Python function would be lost.
NO_AUTHORIZER: Any = (
    None if sys.version_info >= (3, 11) else partial(min, sqlite3.SQLITE_OK, key=callable)
)


def run_query(
    connection: SqliteConnection, sql: str, parameters: Sequence[Any]
) -> tuple[list[str], list[Row], list[str | None]]:
    """The columns and rows of a query, and the type of each column.

    Raises:
        ConfigError: The query is not valid, or would do something other than read.
    """
    interrupts: list[BaseException] = []
    watch = _watch(interrupts)
    try:
        # Starts the generator: an interrupt before its first step would be lost, like that of a
        # function.
        next(watch)
        # Within a transaction, nothing can be vacuumed into a file.
        connection.begin()
        driver = connection._driver
        types = _types(driver, sql)
        driver.execute("pragma query_only = on")
        driver.set_authorizer(_authorize_reading)
        driver.set_progress_handler(watch.__next__, STEPS)
        cursor = driver.execute(sql, [_parameter(value) for value in parameters])
        if cursor.description is None:
            raise ConfigError("the query failed: it returns nothing; expected a SELECT")
        columns = [column[0] for column in cursor.description]
        if len(types) != len(columns):
            types = [None] * len(columns)
        found = columns, cursor.fetchall(), types
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError, ValueError) as error:
        if interrupts:
            raise interrupts[0] from None
        if isinstance(error, ConfigError) or is_busy(str(error)):
            raise
        hint = next((hint for part, hint in HINTS.items() if part in str(error)), "")
        text = f"the query failed: {error}"
        if str(error).startswith(NO_TABLE):
            views = [name for (name,) in connection.execute(VIEWS)]
            text += did_you_mean(str(error).removeprefix(NO_TABLE), views)
            hint = f"The views are {', '.join(views)}."
        raise ConfigError(text, hint=hint) from error
    finally:
        connection.reset()
        watch.close()
    if interrupts:
        raise interrupts[0]
    return found


# Texts, quoted names and comments of SQL, and a parameter.
NOT_SQL = (
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|(\?[0-9]*|[:@$]\w+)"
)
TOKEN = re.compile(NOT_SQL, re.DOTALL)


def _types(driver: sqlite3.Connection, sql: str) -> list[str | None]:
    """The type of each column of a query that is a column of a table. The driver does not tell the
    types, but SQLite tells those of a view."""
    # A view cannot have parameters.
    query = TOKEN.sub(lambda found: "null" if found[1] else found[0], sql)
    # The view exists until the end of the transaction at most; a query with an error creates none.
    with suppress(sqlite3.Error, sqlite3.Warning, UnicodeError, ValueError):
        driver.execute(f"create temp view boardlot_query as {query}")
        with closing(driver.execute("pragma temp.table_info(boardlot_query)")) as found:
            types = [OF_COLUMNS.get(row[2].lower(), OF_TIMES.get(row[1].lower())) for row in found]
        driver.execute("drop view temp.boardlot_query")
        return types
    return []


# Types by the declared types of columns; SQLite gives the last three to some expressions.
OF_COLUMNS = {
    "string text": "text",
    "object text": "text",
    "date text": "date",
    "timestamp text": "timestamp",
    "integer": "integer",
    "bigint": "integer",
    "flag int": "flag",
    "number real": "number",
    "decimal real": "number",
    "text": "text or time",
    "real": "number",
    "int": "integer",
}


# The times that the archive's own views compute.
OF_TIMES = dict.fromkeys(("seen_at", "covered_from", "covered_until"), "computed time")


def _parameter(value: Any) -> Any:
    """Returns a parameter for the driver; a time as a text like those of the views, with all digits
    of its microseconds."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "microseconds")
    return value.isoformat() if isinstance(value, date) else value


def _watch(interrupts: list[BaseException]) -> Generator[int, None, None]:
    """A callback for SQLite: yields 0 to continue, 1 to end.

    Python runs the handlers of signals when the generator resumes, within the `try`: SQLite would
    lose the exception of a function.
    """
    while True:
        try:
            yield 0
        except GeneratorExit:
            return
        except BaseException as interrupt:
            interrupts.append(interrupt)
            yield 1


NO_TABLE = "no such table: "
VIEWS = "select name from sqlite_master where type = 'view' order by name"
HINTS = {
    'near "%"': "The mark of a parameter is ? in SQLite, where %s is PostgreSQL's.",
    "not authorized": "A query can read, but nothing else.",
    "cannot modify": "A query can read, but nothing else.",
    "no such column": "`select * from VIEW limit 1` shows the columns of a view; a text is written "
    "in single quotes, such as 'HK.00700'.",
}
