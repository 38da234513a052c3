"""The state of a rate limit in a PostgreSQL database, by the clock of its server."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from boardlot._support.hidden import Hidden, without_frames
from boardlot._support.per_process import PerProcess
from boardlot.errors import ConfigError

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    from boardlot._support.postgres import reason, search_path
except ImportError:
    raise ConfigError(
        "a rate limit in a database needs psycopg",
        hint="Install it: pip install 'boardlot[postgres]'.",
    ) from None


SCHEMA = "boardlot_rate_limits"
CREATE_SCHEMA = f"create schema if not exists {SCHEMA}"
CREATE_TABLE = f"""\
create table if not exists {SCHEMA}.limits (name text primary key, state bytea not null)"""
# A statement takes milliseconds. The server ends the transaction of a process that was stopped. The
# settings are made for each transaction, as a pooler gives the next one to another client.
BEGIN = f"""\
begin;
set local search_path = {search_path(SCHEMA)};
set local statement_timeout = '10s';
set local idle_in_transaction_session_timeout = '1s';
"""
INSERT = f"""\
{BEGIN}
insert into {SCHEMA}.limits (name, state) values (%s, '') on conflict do nothing;
commit"""
# The row is locked from the read to the write, which are two round trips.
READ = f"""\
{BEGIN}
select state, (extract(epoch from clock_timestamp()) * 1000000)::bigint
from {SCHEMA}.limits where name = %s for update"""
WRITE = f"update {SCHEMA}.limits set state = %s where name = %s; commit"

CONNECT_TIMEOUT = 5


class LimitDatabase:
    """One limit in a database; connects when it is needed, and again in a forked child.

    Args:
        url: The URL or connection string of the database.
        name: The name of the limit.

    Raises:
        ConfigError: The URL is not the URL of a PostgreSQL database.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url = Hidden(url)
        del url
        self.name = name
        self.has_password: bool = without_frames(_has_password, self._url)
        self._own = PerProcess(_Connection)

    def __repr__(self) -> str:
        return f"LimitDatabase(..., {self.name!r})"

    def change(self, apply: Callable[[bytes, int], bytes]) -> None:
        """Change the state.

        Args:
            apply: Returns the new state, given the state and the server's time in microseconds
                since 1970.
        """
        own = self._own.value
        try:
            with own.lock:
                self._change_or_reconnect(own, apply)
        except psycopg.Error as error:
            raise type(error)(reason(error)) from error

    def _change_or_reconnect(self, own: _Connection, apply: Callable[[bytes, int], bytes]) -> None:
        is_new = own.driver is None
        try:
            return self._change(own, apply)
        except psycopg.Error:
            if own.driver is not None:
                own.driver.close()
            own.driver = None
            if is_new:
                raise
        # The server was started again, or has closed an idle connection.
        return self._change(own, apply)

    def _change(self, own: _Connection, apply: Callable[[bytes, int], bytes]) -> None:
        if own.driver is None:
            own.driver = self._connect()
        found = own.driver.execute(READ, (self.name,))
        # The row is the result of the last statement.
        while found.nextset():
            pass
        row = found.fetchone()
        if row is None:
            raise psycopg.DataError(f"the limit {self.name!r} was removed from the database")
        own.driver.execute(WRITE, (apply(*row), self.name))

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(
            self._url.reveal(),
            autocommit=True,
            # A `ClientCursor` sends several statements at once.
            cursor_factory=psycopg.ClientCursor,
            connect_timeout=CONNECT_TIMEOUT,
            prepare_threshold=None,
            application_name="boardlot",
        )
        try:
            self._insert(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _insert(self, connection: psycopg.Connection[Any]) -> None:
        try:
            connection.execute(INSERT, (self.name,))
        except psycopg.errors.UndefinedTable:
            connection.execute("rollback")
            found = connection.execute(f"select pg_catalog.to_regnamespace('{SCHEMA}')").fetchone()
            # A role that owns the schema may lack the right to make one.
            if found == (None,):
                _create(connection, CREATE_SCHEMA)
            _create(connection, CREATE_TABLE)
            connection.execute(INSERT, (self.name,))


def _create(connection: psycopg.Connection[Any], statement: str) -> None:
    """Create something unless another process does so in the same moment."""
    try:
        connection.execute(f"{BEGIN} {statement}; commit")
    except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable):
        connection.execute("rollback")


def _has_password(url: Hidden) -> bool:
    parsed = None
    # psycopg's error quotes the URL, with the password.
    with contextlib.suppress(psycopg.ProgrammingError):
        parsed = conninfo_to_dict(url.reveal())
    if parsed is None or not url.reveal().startswith(("postgresql://", "postgres://")):
        # Without the value, which may have a password.
        raise ConfigError("database is not a URL such as postgresql://user@host/name")
    return parsed.get("password") is not None


class _Connection:
    """The connection, which one thread at a time uses. It is closed with the limit."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        # At most one connection. Unlike an attribute, it is not garbage before it is closed.
        self._open: list[psycopg.Connection[Any]] = []
        weakref.finalize(self, _close, self._open, os.getpid())

    @property
    def driver(self) -> psycopg.Connection[Any] | None:
        return self._open[0] if self._open else None

    @driver.setter
    def driver(self, opened: psycopg.Connection[Any] | None) -> None:
        _close(self._open, os.getpid())
        self._open[:] = [] if opened is None else [opened]


def _close(connections: list[psycopg.Connection[Any]], process: int) -> None:
    # A forked child has the same socket, and does not close it.
    if process == os.getpid():
        for connection in connections:
            connection.close()
