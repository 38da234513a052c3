"""A user's query of a SQLite archive, which can change nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from boardlot.archive.database import Row
from boardlot.archive.sqlite_connection import GATE, SqliteConnection
from boardlot.errors import ConfigError

__all__ = ["run_query"]

# Instructions between two looks for Ctrl-C.
STEPS = 100_000
# The actions that read; by SQLite's numbers, as the module has them all since Python 3.11 only.
FUNCTION, RECURSIVE = 31, 33
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, FUNCTION, RECURSIVE}


def run_query(
    connection: SqliteConnection, sql: str, parameters: Sequence[Any]
) -> tuple[list[str], list[Row]]:
    """The columns and rows of a query.

    Raises:
        ConfigError: The query is not valid, or would do something else than read.
    """
    with connection.driver() as driver:
        return _run(driver, sql, parameters)


def _run(
    driver: sqlite3.Connection, sql: str, parameters: Sequence[Any]
) -> tuple[list[str], list[Row]]:
    interrupts: list[BaseException] = []
    # Within it, nothing can be vacuumed into a file.
    driver.execute("begin")
    driver.execute("pragma query_only = on")
    driver.set_authorizer(_reads_only)
    driver.set_progress_handler(_watch(interrupts).__next__, STEPS)
    try:
        cursor = driver.execute(sql, parameters)
        if cursor.description is None:
            raise ConfigError("the query failed: it returns nothing; expected a SELECT")
        return [column[0] for column in cursor.description], cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError, ValueError) as error:
        if interrupts:
            raise interrupts[0] from None
        if isinstance(error, ConfigError):
            raise
        hint = "A query can read, but nothing else." if "not authorized" in str(error) else ""
        raise ConfigError(f"the query failed: {error}", hint=hint) from error
    finally:
        driver.set_progress_handler(None, 0)
        # None is accepted since Python 3.11.
        driver.set_authorizer(_allows_all)
        with suppress(sqlite3.Error):
            driver.execute("rollback")
        driver.execute("pragma query_only = off")


def _reads_only(action: int, first: Any, second: Any, *_: Any) -> int:
    allowed = action in READING and not (action == FUNCTION and second == "load_extension")
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _allows_all(*_: Any) -> int:
    return sqlite3.SQLITE_OK


def _watch(interrupts: list[BaseException]) -> Iterator[int]:
    """What SQLite calls now and then: 0 to go on, 1 to end.

    Python runs the handlers of signals when the generator resumes, within the `try`: SQLite would
    lose the exception of a function.
    """
    while True:
        try:
            # Another thread may be about to fork.
            with GATE.left():
                pass
            yield 0
        except GeneratorExit:
            return
        except BaseException as interrupt:
            interrupts.append(interrupt)
            yield 1
