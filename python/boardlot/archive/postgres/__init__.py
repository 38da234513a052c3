"""An archive in a PostgreSQL database, which many processes and machines can share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo
from psycopg.pq import TransactionStatus

from boardlot._support.hidden import Hidden, without_frames
from boardlot.archive import samples, schema
from boardlot.archive.database import RESTORE, DatabaseConnection, Row, Transaction, store_error
from boardlot.archive.locks import Lock, held_by
from boardlot.archive.postgres import types as postgres_types
from boardlot.errors import ConfigError, StoreError

SCHEMA = "boardlot_archive"
CONNECT_TIMEOUT = 10
# Only one process at a time creates the tables.
PREPARING = "prepare"
# A server or role may have other defaults.
SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "bytea_output": "hex",
    "search_path": f"{SCHEMA}, public",
}
# Who may read all tables, and nothing else; since PostgreSQL 14.
READER = "pg_read_all_data"
READER_SINCE = 140_000


# Values of the types of columns, by their numbers.
SAMPLES: dict[int, Any] = {
    16: True,
    **dict.fromkeys((20, 21, 23), 0),
    **dict.fromkeys((700, 701), 0.5),
    1700: Decimal("0.5"),
    **dict.fromkeys((18, 19, 25, 1042, 1043), ""),
    1082: samples.DAY,
    1114: samples.TIME.replace(tzinfo=None),
    1184: samples.TIME,
}

# What to do, by the beginning of the server's code.
AGAIN = "run the same update again: nothing that was stored is lost."
HINTS = {
    **dict.fromkeys(("28", "3D"), "Correct the user, the password or the database of the address."),
    **dict.fromkeys(("08", "57P"), f"Check that the server runs and can be reached, then {AGAIN}"),
    "25006": "The database is read-only: make it writable, or use the primary of this standby.",
    "42501": "Check the permissions of the database user.",
    "42P01": f"Part of it is missing. {RESTORE}",
    "53300": f"Close other connections to the server, or let it accept more, then {AGAIN}",
    "53100": f"Free some space on the server, then {AGAIN}",
    **dict.fromkeys(("40", "55P03", "57014"), f"{AGAIN[0].upper()}{AGAIN[1:]}"),
}
# The server's refusal of a login has no code: too many connections, no such user or database, or
# another password.
TOO_MANY = re.compile(r"FATAL: .*too many")
REFUSED = re.compile(r'FATAL: [^"]*\b(role|user|database) "|no password supplied')


class Postgres(DatabaseConnection[psycopg.Connection[Row]]):
    """The tables are in a schema of their own, `boardlot_archive`.

    A connection that was lost is made again by the next call.
    """

    identity = "bigint generated always as identity primary key"
    driver_error: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(self, target: Hidden) -> None:
        self._target = target
        super().__init__(without_frames(_shown, target))

    def _is_lost(self, connection: psycopg.Connection[Row]) -> bool:
        if connection.info.transaction_status is TransactionStatus.IDLE:
            # The server may have ended it since it was used: with a last message, then the end.
            with suppress(psycopg.OperationalError):
                connection.pgconn.consume_input()
                connection.pgconn.consume_input()
        return bool(connection.closed)

    def _connect(self) -> psycopg.Connection[Row]:
        connection = self._connected()
        try:
            with connection.transaction():
                transaction = _Transaction(connection)
                transaction.execute("select pg_advisory_xact_lock(?)", (self._key(PREPARING),))
                query = "select tablename from pg_tables where schemaname = ?"
                tables = {name for (name,) in transaction.execute(query, (SCHEMA,))}
                if not tables:
                    transaction.execute(f"create schema if not exists {SCHEMA}")
                schema.prepare(self, transaction, tables)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connected(self) -> psycopg.Connection[Row]:
        # The server's message about a failed login may name the user, but never the password.
        connection = without_frames(_connection, self._target)
        try:
            encoding = connection.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise store_error(
                    self.name,
                    f"has the encoding {encoding}; expected UTF8",
                    hint="Create the database with: create database NAME encoding 'UTF8' "
                    "template template0",
                )
            for name, value in SETTINGS.items():
                connection.execute("select set_config(%s, %s, false)", (name, value))
        except BaseException:
            connection.close()
            raise
        return connection

    def _error(self, error: psycopg.Error) -> StoreError:
        text = " ".join(str(error).split())
        lost = isinstance(error, psycopg.OperationalError)
        login = "53300" if TOO_MANY.search(text) else "28" if REFUSED.search(text) else "08"
        code = error.sqlstate or (login if lost else "")
        hint = next((hint for state, hint in HINTS.items() if code.startswith(state)), "")
        lost = lost and not code.startswith(("28", "3D"))
        return store_error(self.name, f"cannot be used: {text}", retryable=lost, hint=hint)

    @contextmanager
    def transaction(self, lock: Lock | None = None) -> Iterator[Transaction]:
        with self._using() as connection, connection.transaction():
            if lock is not None:
                lock.check()
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

    def query(self, sql: str, parameters: Sequence[Any]) -> tuple[list[str], list[Row], list[Any]]:
        with self._using(self._for_queries, self._connected) as connection:
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute("set transaction read only")
                    self._become_reader(connection)
                    # A cursor is of a query, and of one only.
                    declared = f"declare found no scroll cursor for {sql}\n"
                    connection.execute(declared.encode(), parameters or None, prepare=True)
                    cursor = connection.execute("fetch all from found")
                    described = cursor.description or ()
                    rows = cursor.fetchall()
                # A lock of the session would outlive the transaction.
                connection.execute("select pg_advisory_unlock_all()")
                columns = [column.name for column in described]
                return columns, rows, [SAMPLES.get(column.type_code) for column in described]
            except (psycopg.Error, UnicodeError, ValueError) as error:
                if isinstance(error, psycopg.OperationalError) and not _is_of_query(error):
                    raise
                # Without the line, which is not the caller's but that of the cursor.
                reason = error.diag.message_primary if isinstance(error, psycopg.Error) else None
                text = " ".join((reason or str(error)).split())
                raise ConfigError(f"the query failed: {text}") from error
            except BaseException:
                # It may still run, or have left its locks.
                connection.close()
                raise

    def _become_reader(self, connection: psycopg.Connection[Row]) -> None:
        """Until the end of the transaction: what only a superuser may do reaches beyond it, such as
        the server's files."""
        superuser = connection.info.parameter_status("is_superuser") == "on"
        if superuser and connection.info.server_version >= READER_SINCE:
            connection.execute(f"set local role {READER}")

    def back_up(self, path: Path) -> None:
        raise ConfigError(
            f"the archive {self.name} is in PostgreSQL, whose own program copies it",
            hint=f"Run `umask 077; pg_dump --schema {SCHEMA} --format custom --file {path.name} "
            "ADDRESS`: with the umask, the file has mode 0600.",
        )

    def lock(self, name: str) -> Lock:
        return _AdvisoryLock(self, self._key(name), name)

    def _key(self, name: str) -> int:
        """The number of a lock, which is the same in every process."""
        hashed = hashlib.sha256(f"{SCHEMA}:{name}".encode()).digest()
        return int.from_bytes(hashed[:8], "big", signed=True)

    def reads(self, path: str) -> bool:
        return False

    typed = staticmethod(postgres_types.typed)
    timestamp_sql = staticmethod(postgres_types.timestamp_sql)


def _connection(target: Hidden) -> psycopg.Connection[Row]:
    return psycopg.connect(
        target.reveal(),
        autocommit=True,
        connect_timeout=CONNECT_TIMEOUT,
        client_encoding="utf8",
    )


def _shown(target: Hidden) -> str:
    """The host, port and database of an address.

    Raises:
        ConfigError: It is not valid, or one of them may be a part of the password, in which "/" or
            "@" is not escaped.
    """
    given: dict[str, Any] | None = None
    # Its error quotes the address, with the password.
    with suppress(psycopg.ProgrammingError):
        given = conninfo.conninfo_to_dict(target.reveal())
    if given is None:
        raise _not_valid()
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
        # Without parameters, a "?" is part of the statement.
        marked = _marked(sql) if parameters else sql.encode()
        cursor = self._connection.execute(marked, parameters or None)
        return cursor.fetchall() if cursor.description else []

    def execute_many(self, sql: str, rows: Sequence[Row]) -> int:
        with self._connection.cursor() as cursor:
            cursor.executemany(_marked(sql), rows)
            return cursor.rowcount

    def insert(self, into: str, rows: Sequence[Row]) -> int:
        values = ", ".join("?" * (into.count(",") + 1))
        return self.execute_many(
            f"insert into {into} values ({values}) on conflict do nothing", rows
        )

    def among(self, column: str, values: Sequence[str]) -> tuple[str, Any]:
        return f"{column} = any(?)", list(values)


class _AdvisoryLock(Lock):
    """A lock of the server, which ends with the connection."""

    def __init__(self, database: Postgres, key: int, name: str) -> None:
        super().__init__(f"{database.name}/{key}", held_by(name, database.name))
        self._database, self._key = database, key
        self._connection_number = 0

    def try_acquire(self) -> bool:
        with self._database.snapshot() as transaction:
            ((acquired,),) = transaction.execute("select pg_try_advisory_lock(?)", (self._key,))
            self._connection_number = self._database.connection_number
        return bool(acquired)

    def check(self) -> None:
        if self._connection_number != self._database.connection_number:
            raise store_error(
                self._database.name,
                "cannot be used: the connection was lost, and with it the lock of this list",
                retryable=True,
                hint="Run the same update again: nothing that was stored is lost.",
            )

    def release_others(self) -> None:
        # A lost connection has lost its locks. Its successor may have acquired them since.
        with suppress(StoreError, ConfigError), self._database.snapshot() as transaction:
            if self._connection_number == self._database.connection_number:
                transaction.execute("select pg_advisory_unlock(?)", (self._key,))


def _is_of_query(error: psycopg.OperationalError) -> bool:
    """True if the object does not support the statement, such as `delete` on a view."""
    return (error.sqlstate or "").startswith("55")


def _marked(sql: str) -> bytes:
    """The statement with psycopg's own mark of a parameter; none of ours contains another."""
    return sql.replace("?", "%s").encode()
