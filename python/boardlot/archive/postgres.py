"""An archive in a PostgreSQL database, which many processes and machines can share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import conninfo

from boardlot.archive import schema
from boardlot.archive.connection import DatabaseConnection
from boardlot.archive.database import LATEST, Lock, Row, Transaction, held_by, store_error
from boardlot.errors import ConfigError, StoreError
from boardlot.results.cell_format import MICROSECONDS

__all__ = ["Postgres"]

SCHEMA = "boardlot_archive"
CONNECT_TIMEOUT = 10
# Only one process at a time creates or migrates the tables.
PREPARING = "prepare"


class Postgres(DatabaseConnection[psycopg.Connection[Row]]):
    """The tables are in a schema of their own, `boardlot_archive`.

    A connection that was lost is made again by the next call.
    """

    identity = "bigint generated always as identity primary key"
    driver_error: type[Exception] = psycopg.Error

    def __init__(self, target: str) -> None:
        try:
            given = conninfo.conninfo_to_dict(target)
        except psycopg.ProgrammingError:
            raise _not_valid() from None
        self._target = target
        super().__init__(_shown(given))

    def _is_lost(self, connection: psycopg.Connection[Row]) -> bool:
        return bool(connection.closed)

    def _connect(self) -> psycopg.Connection[Row]:
        # What the server says about a failed login may name the user, but never the password.
        connection = psycopg.connect(
            self._target, autocommit=True, connect_timeout=CONNECT_TIMEOUT, client_encoding="utf8"
        )
        try:
            connection.execute("set timezone to 'UTC'")
            with connection.transaction():
                transaction = _Transaction(connection)
                transaction.execute("select pg_advisory_xact_lock(?)", (self._key(PREPARING),))
                tables = {
                    name
                    for (name,) in transaction.execute(
                        "select tablename from pg_tables where schemaname = ?", (SCHEMA,)
                    )
                }
                if not tables:
                    transaction.execute(f"create schema if not exists {SCHEMA}")
                transaction.execute(f"set search_path to {SCHEMA}, public")
                found = None
                if "archive_format" in tables:
                    rows = transaction.execute("select version from archive_format")
                    found = schema.format_of(self, rows)
                elif tables:
                    raise store_error(
                        self.name,
                        f"has a schema {SCHEMA} that is not an archive's",
                        hint="Choose another database; this one is unchanged.",
                    )
                if found != schema.FORMAT:
                    schema.prepare(self, transaction, found)
        except BaseException:
            connection.close()
            raise
        return connection

    def _error(self, error: psycopg.Error) -> StoreError:
        text = " ".join(str(error).split())
        lost = isinstance(error, psycopg.OperationalError)
        hint = (
            "Check that the server runs and can be reached, then run the same update again: "
            "nothing that was stored is lost."
            if lost
            else "Check the permissions of the database user."
        )
        return store_error(self.name, f"cannot be used: {text}", retryable=lost, hint=hint)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._using() as connection, connection.transaction():
            yield _Transaction(connection)

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._using() as connection:
            return _Transaction(connection).execute(sql, parameters)

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        with self._using() as connection, connection.transaction():
            connection.execute("set transaction isolation level repeatable read, read only")
            yield _Transaction(connection)

    def define(self, statement: str) -> None:
        with self.transaction() as transaction:
            # PostgreSQL's own `if not exists` fails if another transaction creates the same now.
            transaction.execute("select pg_advisory_xact_lock(?)", (self._key(PREPARING),))
            transaction.execute(statement)

    def concat_sql(self, column: str) -> str:
        return f"convert_to(string_agg({column}, ','), 'UTF8')"

    def query(
        self, sql: str, parameters: Sequence[Any], views: Sequence[str]
    ) -> tuple[list[str], list[Row]]:
        with self._using() as connection:
            if not self._has_views:
                with connection.transaction():
                    for view in views:
                        connection.execute(view.encode())
                self._has_views = True
            try:
                with connection.transaction():
                    connection.execute("set transaction read only")
                    # A prepared statement is one statement only.
                    cursor = connection.execute(sql.encode(), parameters or None, prepare=True)
                    if cursor.description is None:
                        raise ConfigError("the query failed: it returns nothing; expected a SELECT")
                    return [column.name for column in cursor.description], cursor.fetchall()
            except (psycopg.Error, UnicodeError) as error:
                if isinstance(error, psycopg.OperationalError) and not _is_of_query(error):
                    raise
                raise ConfigError(f"the query failed: {' '.join(str(error).split())}") from error

    def lock(self, name: str) -> Lock:
        return _AdvisoryLock(self, self._key(name), name)

    def _key(self, name: str) -> int:
        """The number of a lock, which is the same in every process."""
        hashed = hashlib.sha256(f"{SCHEMA}:{name}".encode()).digest()
        return int.from_bytes(hashed[:8], "big", signed=True)

    def typed(self, field: str, kind: str, unit: str) -> str:
        # JSON can contain U+0000, which PostgreSQL's text cannot.
        document = r"replace(record, '\u0000', '\ufffd')::json"
        value, of_type = f"({document} ->> '{field}')", f"json_typeof({document} -> '{field}')"
        integer = (
            f"case when {value} ~ '^-?[0-9]{{1,19}}$' then case when ({value})::numeric between "
            f"-9223372036854775808 and 9223372036854775807 then ({value})::bigint end end"
        )
        number = f"{value} ~ '{NUMBER}' then ({value})::double precision end"
        day = f"replace(substr({value}, 1, 10), '/', '-')"
        return {
            "integer": f"case when {of_type} = 'number' then {integer} end",
            "number": f"case when {of_type} = 'number' and {number}",
            "flag": f"case when {of_type} = 'boolean' then {value} = 'true' end",
            "decimal": f"case when {of_type} in ('number', 'string') and {number}",
            "timestamp": self.timestamp_sql(
                f"({integer})::numeric * {MICROSECONDS.get(unit, 1_000_000)}"
            ),
            "date": f"case when {day} ~ '{DATE}' then ({day})::date end",
            "text": f"case when {of_type} = 'string' then {value} end",
        }.get(kind, value)

    def timestamp_sql(self, column: str) -> str:
        since = f"timestamptz 'epoch' + (({column})::bigint * interval '1 microsecond')"
        return f"case when ({column}) between 1 and {LATEST} then {since} end"


def _shown(given: dict[str, Any]) -> str:
    """The host, port and database of an address.

    Raises:
        ConfigError: One of them may be a part of the password, in which "/" or "@" is not escaped.
    """
    host, port, database = (str(given.get(part) or "") for part in ("host", "port", "dbname"))
    host = host or str(given.get("hostaddr") or "")
    if "@" in host or "@" in database or (port and not port.replace(",", "0").isdecimal()):
        raise _not_valid()
    if ":" in host:
        host = f"[{host}]"
    return f"postgresql://{host}{port and ':'}{port}{database and '/'}{database}"


def _not_valid() -> ConfigError:
    # The address may contain a password.
    return ConfigError(
        "the address of the archive is not valid; expected postgresql://user@host:port/database",
        hint="In a password, write / as %2F and @ as %40, or keep it in ~/.pgpass.",
    )


class _Transaction(Transaction):
    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(_marked(sql), parameters or None)
        return cursor.fetchall() if cursor.description else []

    def execute_many(self, sql: str, rows: Sequence[Row]) -> None:
        self._count(sql, rows)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
        into, values = f"{table} ({', '.join(columns)})", ", ".join("?" * len(columns))
        return self._count(f"insert into {into} values ({values}) on conflict do nothing", rows)

    def _count(self, sql: str, rows: Sequence[Row]) -> int:
        """Run a statement once for each row of parameters, and count the rows that it changed."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_marked(sql), rows)
            return cursor.rowcount

    def among(self, column: str, values: Sequence[str]) -> tuple[str, Any]:
        return f"{column} = any(?)", list(values)


class _AdvisoryLock(Lock):
    """A lock of the server, which ends with the connection."""

    def __init__(self, database: Postgres, key: int, name: str) -> None:
        kind, _, shown = name.partition(":")
        what = f"{shown} in the archive {database.name} is being {held_by(kind)}"
        super().__init__(f"{database.name}/{key}", what)
        self._database, self._key = database, key

    def try_acquire(self) -> bool:
        return bool(self._database.read("select pg_try_advisory_lock(?)", (self._key,))[0][0])

    def release_others(self) -> None:
        # A lost connection has lost its locks.
        with suppress(StoreError, ConfigError):
            self._database.read("select pg_advisory_unlock(?)", (self._key,))


def _is_of_query(error: psycopg.OperationalError) -> bool:
    """Whether the object does not support the statement, such as `delete` on a view."""
    return (error.sqlstate or "").startswith("55")


def _marked(sql: str) -> bytes:
    """The statement with psycopg's own mark of a parameter; none of ours contains another."""
    return sql.replace("?", "%s").encode()


# What PostgreSQL converts without an error; the rest is null in a view.
NUMBER = "^-?[0-9]{1,200}([.][0-9]{1,200})?([eE][+-]?[0-9]{1,2})?$"
LEAP_YEAR = "([0-9][0-9](0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
DATE = (
    "^((?!0000)[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|(?!0000){LEAP_YEAR}-02-29)$"
)
