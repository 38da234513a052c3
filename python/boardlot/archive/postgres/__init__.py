"""An archive in a PostgreSQL database, which many processes and machines can share."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import conninfo
from psycopg.pq import TransactionStatus

from boardlot._support.hidden import Hidden, without_frames
from boardlot._support.postgres import reason, search_path
from boardlot.archive import schema
from boardlot.archive.database import (
    MIGRATED,
    RESTORE,
    DatabaseConnection,
    Row,
    Transaction,
    store_error,
)
from boardlot.archive.locks import Lock, held_by
from boardlot.archive.view import Blocked, View
from boardlot.errors import ConfigError, StoreError

SCHEMA = "boardlot_archive"
CONNECT_TIMEOUT = 10
# Maximum number of milliseconds that a change of tables or views waits for readers.
LOCK_TIMEOUT_MS = 500
# The columns of a view, with their types.
COLUMNS = """\
select a.attname, format_type(a.atttypid, a.atttypmod) from pg_attribute a
join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
where n.nspname = ? and c.relname = ? and a.attnum > 0 and not a.attisdropped order by a.attnum"""
# The roles that were granted the right to read fills; 0 is public.
READERS = f"""\
select distinct case a.grantee when 0 then 'public' else quote_ident(r.rolname) end
from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
where c.oid = '{SCHEMA}.fill_versions'::regclass and a.privilege_type = 'SELECT'
and a.grantee <> c.relowner"""
MAY_DEFINE = f"""\
select current_setting('transaction_read_only') = 'off' and pg_has_role(relowner, 'usage')
from pg_class where oid = '{SCHEMA}.archive_views'::regclass"""
# The statements that make a view's grants and its comment again.
KEPT = f"""\
select format('grant %%s on {SCHEMA}.%%I to %%s%%s', a.privilege_type, c.relname,
    case a.grantee when 0 then 'public' else quote_ident(r.rolname) end,
    case when a.is_grantable then ' with grant option' else '' end)
from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
where c.oid = to_regclass(?) and a.grantee <> c.relowner
union all select format('comment on view {SCHEMA}.%%I is %%L', c.relname, d.description)
from pg_class c join pg_description d on d.objoid = c.oid and d.objsubid = 0
where c.oid = to_regclass(?) and d.classoid = 'pg_class'::regclass"""
# In the detail of an error: "view mart.sums depends on view dividends".
DEPENDENT = re.compile(r"^(.+?) depends on ", re.MULTILINE)
# The rows that are inserted one by one, which takes fewer messages than to copy them.
FEW = 20
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
    "search_path": search_path(SCHEMA),
}
# Settings for one transaction, because a pooler gives the next one to another client. The function
# is named with PostgreSQL's schema, as the path is not set yet.
SET_LOCAL = "select " + ", ".join(
    f"pg_catalog.set_config('{name}', '{value}', true)" for name, value in SETTINGS.items()
)
# The role that may read all tables, and nothing else; since PostgreSQL 14.
READER = """\
select set_config('role', 'pg_read_all_data', true)
where current_setting('is_superuser') = 'on'
and current_setting('server_version_num')::int >= 140000"""


# The types of columns by the numbers of PostgreSQL's types; see `query_result`.
TYPES: dict[int, str] = {
    16: "flag",
    17: "bytes",
    **dict.fromkeys((20, 21, 23), "integer"),
    **dict.fromkeys((700, 701), "number"),
    1700: "numeric",
    **dict.fromkeys((18, 19, 25, 1042, 1043), "text"),
    **dict.fromkeys((114, 3802), "json"),
    1082: "date",
    1114: "local time",
    1184: "timestamp",
}

# Hints, by the beginning of the server's error code.
AGAIN = "run the same update again: nothing that was stored is lost."
HINTS = {
    **dict.fromkeys(("28", "3D"), "Correct the user, the password or the database of the address."),
    **dict.fromkeys(("08", "57P"), f"Check that the server runs and can be reached, then {AGAIN}"),
    "25006": "The database is read-only: make it writable, or use the primary of this standby.",
    "42501": "Check the permissions of the database user.",
    **dict.fromkeys(
        MISSING := ("42P01", "3F000"),
        f"Part of it is missing. If it is being restored, wait for that. If not: {RESTORE}",
    ),
    "53300": f"Close other connections to the server, or let it accept more, then {AGAIN}",
    "53100": f"Free some space on the server, then {AGAIN}",
    **dict.fromkeys(("40", "55P03", "57014"), f"{AGAIN[0].upper()}{AGAIN[1:]}"),
}
# The hint for a query with a name that is not one of the archive's.
OTHER_SCHEMA = (
    "The views of the archive are found by their names; write the name of another table with its "
    "schema, such as public.notes."
)
# The server's refusal of a login has no code: too many connections, no such user or database, or
# another password.
TOO_MANY = re.compile(r"FATAL: .*too many")
REFUSED = re.compile(r'FATAL: [^"]*\b(role|user|database) "|no password supplied')


class Postgres(DatabaseConnection[psycopg.Connection[Row]]):
    """The tables are in their own schema, `boardlot_archive`.

    The next call makes a lost connection again. A connection may lead to a pooler that gives each
    transaction another session, so nothing outlives a transaction: no setting, no lock, no prepared
    statement.
    """

    schema_name = SCHEMA
    identity = "bigint generated always as identity primary key"
    fences: Mapping[str, str] = {
        table: f'alter table {SCHEMA}.{table} add constraint "{MIGRATED}" check (format >= 2)'
        for table in ("series", "lists")
    }
    times_are_texts = False
    column_types: Mapping[str, str] = {
        "version": "bigint",
        "text": "text",
        "object": "text",
        "date": "date",
        "timestamp": "timestamptz",
        "integer": "bigint",
        "flag": "boolean",
        "number": "double precision",
        "decimal": "double precision",
    }
    for_share = " for share"
    driver_error: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(self, target: Hidden) -> None:
        self._target = target
        self.is_pooled: bool = False
        super().__init__(without_frames(_shown, target))

    def _is_lost(self, connection: psycopg.Connection[Row]) -> bool:
        if connection.info.transaction_status is TransactionStatus.IDLE:
            # The server may have ended the connection since it was used: the first read receives
            # the server's last message, the second one the end.
            with suppress(psycopg.OperationalError):
                connection.pgconn.consume_input()
                connection.pgconn.consume_input()
        return bool(connection.closed)

    def _connect(self) -> psycopg.Connection[Row]:
        connection = self._connected()
        try:
            with _transaction(connection):
                transaction = _Transaction(connection)
                ((pid,),) = transaction.execute("select pg_backend_pid()")
                # A pooler tells its clients process numbers of its own.
                self.is_pooled = pid != connection.info.backend_pid
                transaction.execute("select pg_advisory_xact_lock(?)", (self._key(PREPARING),))
                query = "select tablename from pg_tables where schemaname = ?"
                tables = {name for (name,) in transaction.execute(query, (SCHEMA,))}
                # A role that owns the schema may lack the right to create schemas.
                query = "select 1 from pg_namespace where nspname = ?"
                if not transaction.execute(query, (SCHEMA,)):
                    transaction.execute(f"create schema {SCHEMA}")
                is_ready = schema.is_ready(self, transaction, tables)
                # A role that may only read uses the views that exist.
                if not is_ready and (not tables or transaction.execute(MAY_DEFINE) == [(True,)]):
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
        except BaseException:
            connection.close()
            raise
        return connection

    def _error(self, error: psycopg.Error) -> StoreError:
        text = reason(error)
        lost = isinstance(error, psycopg.OperationalError)
        login = "53300" if TOO_MANY.search(text) else "28" if REFUSED.search(text) else "08"
        code = error.sqlstate or (login if lost else "")
        hint = next((hint for state, hint in HINTS.items() if code.startswith(state)), "")
        lost = (lost and not code.startswith(("28", "3D"))) or code in MISSING
        return store_error(self.name, f"cannot be used: {text}", retryable=lost, hint=hint)

    @contextmanager
    def transaction(self, lock: Lock | None = None) -> Iterator[Transaction]:
        with self._using() as connection, _transaction(connection):
            if lock is not None:
                lock.check()
            yield _Transaction(connection)

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self.snapshot() as transaction:
            return transaction.execute(sql, parameters)

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        how = "isolation level repeatable read, read only"
        with self._using() as connection, _transaction(connection, how):
            yield _Transaction(connection)

    def define(self, statement: str) -> None:
        with self.transaction() as transaction:
            # PostgreSQL's own `if not exists` fails if another transaction is creating the same
            # object.
            transaction.execute("select pg_advisory_xact_lock(?)", (self._key(PREPARING),))
            transaction.execute(statement)

    @contextmanager
    def defining(self) -> Iterator[Transaction]:
        with self.transaction() as transaction:
            transaction.execute("select pg_advisory_xact_lock(?)", (self._key(PREPARING),))
            # All other readers wait for a statement that waits for a long reader.
            transaction.execute(f"set local lock_timeout = {LOCK_TIMEOUT_MS}")
            yield transaction

    def replace_view(
        self, transaction: Transaction, name: str, view: View, *, wait: bool
    ) -> Blocked | None:
        full_name = f'{SCHEMA}."{name}"'
        existing = transaction.execute(COLUMNS, (SCHEMA, name))
        query = view.query([(column, f"null::{of_type}") for column, of_type in existing])
        # The view is replaced in place, or, if columns have other types, by a new view.
        ways = (
            (f"create or replace view {full_name} as {query}",),
            (
                f"drop view {full_name}",
                f"create view {full_name} as {query}",
                *(one for (one,) in transaction.execute(KEPT, (full_name, full_name))),
            ),
        )
        timeout = LOCK_TIMEOUT_MS if wait else 1
        for statements in ways:
            transaction.execute(f"savepoint view; set local lock_timeout = {timeout}")
            try:
                for statement in statements:
                    transaction.execute(statement)
            except psycopg.Error as error:
                transaction.execute("rollback to view")
                if isinstance(error, psycopg.errors.LockNotAvailable):
                    return Blocked(name)
                if isinstance(error, psycopg.errors.DependentObjectsStillExist):
                    detail = error.diag.message_detail or "something"
                    return Blocked(name, tuple(DEPENDENT.findall(detail)) or (detail,))
                if not isinstance(error, psycopg.errors.InvalidTableDefinition):
                    raise
            else:
                transaction.execute("release view; set local lock_timeout to default")
                self.share(transaction, [name])
                return None
        return None

    def share(self, transaction: Transaction, tables: Sequence[str]) -> None:
        names = ", ".join(f'{SCHEMA}."{table}"' for table in tables)
        for (role,) in transaction.execute(READERS):
            transaction.execute(f"grant select on {names} to {role}")

    def drop_table(self, transaction: Transaction, name: str) -> None:
        transaction.execute("savepoint unused; set local lock_timeout = 1")
        try:
            transaction.execute(f'drop table if exists {SCHEMA}."{name}"')
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DependentObjectsStillExist):
            transaction.execute("rollback to unused")
        else:
            transaction.execute("release unused; set local lock_timeout to default")

    def stop_writers(self, transaction: Transaction) -> None:
        # Writers lock rows of this table; see `check_current`.
        transaction.execute("lock table archive_columns in exclusive mode")

    def was_locked(self, error: StoreError) -> bool:
        return isinstance(error.__cause__, psycopg.errors.LockNotAvailable)

    def concat_sql(self, column: str) -> str:
        return f"convert_to(string_agg({column}, ','), 'UTF8')"

    def query(
        self, sql: str, parameters: Sequence[Any]
    ) -> tuple[list[str], list[Row], list[str | None]]:
        with self._using(self._for_queries, self._connected) as connection:
            try:
                described, rows = self._fetched(connection, sql, parameters)
                columns = [column.name for column in described]
                return columns, rows, [TYPES.get(column.type_code) for column in described]
            except psycopg.Error as error:
                if isinstance(error, psycopg.OperationalError) and not _is_of_query(error):
                    raise
                is_unknown = isinstance(error, psycopg.errors.UndefinedTable)
                hint = OTHER_SCHEMA if is_unknown else ""
                raise ConfigError(f"the query failed: {reason(error)}", hint=hint) from error
            except ValueError as error:
                text = " ".join(str(error).split())
                raise ConfigError(f"the query failed: {text}") from error
            except BaseException:
                # The query may still run.
                connection.close()
                raise

    def _fetched(
        self, connection: psycopg.Connection[Row], sql: str, parameters: Sequence[Any]
    ) -> tuple[list[psycopg.Column], list[Row]]:
        """The columns and rows of a query. Nothing that it does to its session outlives it, since
        the session may be another client's next."""
        connection.execute(f"begin read only; {SET_LOCAL}; {READER}; savepoint query".encode())
        try:
            # A cursor can only be declared for a query. The binary protocol accepts only one
            # statement.
            declared = f"declare found no scroll cursor for {sql}\n"
            connection.execute(declared.encode(), parameters or None, binary=True)
            cursor = connection.execute("fetch all from found")
            return list(cursor.description or ()), cursor.fetchall()
        finally:
            if not connection.closed:
                # A lock of the session would outlive the transaction.
                connection.execute("rollback to query; select pg_advisory_unlock_all(); rollback")

    def back_up(self, path: Path) -> None:
        raise ConfigError(
            f"the archive {self.name} is in PostgreSQL, whose own program copies it",
            hint=f"Run `umask 077; pg_dump --schema {SCHEMA} --format custom --file {path.name} "
            "ADDRESS`: with the umask, the file has mode 0600.",
        )

    def lock(self, name: str) -> Lock:
        return _LeaseLock(self, name)

    def _key(self, name: str) -> int:
        """The number of a lock, which is the same in every process."""
        hashed = hashlib.sha256(f"{SCHEMA}:{name}".encode()).digest()
        return int.from_bytes(hashed[:8], "big", signed=True)

    def reads(self, path: str) -> bool:
        return False

    @staticmethod
    def timestamp_sql(column: str) -> str:
        # An interval times a number is computed in floating point, exactly only for whole seconds.
        return (
            f"(timestamptz 'epoch' + (({column})::bigint / 1000000) * interval '1 second' "
            f"+ (({column})::bigint % 1000000) * interval '1 microsecond')"
        )


def _connection(target: Hidden) -> psycopg.Connection[Row]:
    return psycopg.connect(
        target.reveal(),
        autocommit=True,
        # Prepared statements would belong to a session.
        prepare_threshold=None,
        connect_timeout=CONNECT_TIMEOUT,
        client_encoding="utf8",
    )


def _shown(target: Hidden) -> str:
    """The host, port and database of an address.

    Raises:
        ConfigError: The address is not valid, or one of the three may be a part of the password, in
            which "/" or "@" is not escaped.
    """
    given: dict[str, Any] | None = None
    # psycopg's error quotes the address, with the password.
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


@contextmanager
def _transaction(connection: psycopg.Connection[Row], how: str = "") -> Iterator[None]:
    """Begins a transaction, unless one has begun."""
    if connection.info.transaction_status is not TransactionStatus.IDLE:
        yield
        return
    connection.execute(f"begin {how}; {SET_LOCAL}".encode())
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if not connection.closed:
            with suppress(psycopg.Error):
                connection.execute("rollback")
        raise


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
        if len(rows) > FEW and self._copied(into, rows):
            return len(rows)
        values = ", ".join("?" * (into.count(",") + 1))
        # The ids are those that `new_ids` returned.
        return self.execute_many(
            f"insert into {into} overriding system value values ({values}) on conflict do nothing",
            rows,
        )

    def _copied(self, into: str, rows: Sequence[Row]) -> bool:
        """Insert rows in half of the time; nothing, if the table has one of them."""
        self.execute("savepoint copied")
        try:
            self.append(into, rows)
        except psycopg.errors.UniqueViolation:
            self.execute("rollback to copied")
            return False
        self.execute("release copied")
        return True

    def append(self, into: str, rows: Sequence[Row], *, has_nul: bool = False) -> None:
        statement = f"copy {into} from stdin"
        with self._connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for row in rows:
                copy.write_row([_without_nul(value) for value in row] if has_nul else row)

    def new_ids(self, table: str, count: int) -> list[int]:
        found = self.execute(
            f"select nextval(pg_get_serial_sequence('{SCHEMA}.{table}', 'id')) "
            "from generate_series(1, ?)",
            (count,),
        )
        return sorted(one for (one,) in found)

    def among(self, column: str, values: Sequence[str] | Sequence[int]) -> tuple[str, Any]:
        return f"{column} = any(?)", list(values)


# Seconds for which a client of a pooler has a lock unless it renews it, and between two renewals: a
# session of a pooler says nothing about the pooler's clients.
LEASE, KEEP_EVERY = 15.0, 5.0
LOCKS = f"""\
create table if not exists {SCHEMA}.archive_locks (
    name text primary key,
    holder text not null,
    pid integer,
    started timestamptz,
    until timestamptz not null)"""
# Values of a lock's row: the server's process that the holder is connected to, or a lease.
MINE = (
    "pg_backend_pid(), "
    "(select backend_start from pg_stat_activity where pid = pg_backend_pid()), 'infinity'"
)
LEASED = f"null, null, clock_timestamp() + interval '{LEASE} s'"
# A lock of this very connection that is no longer in the queue was left behind by an interrupt.
IS_HELD = """\
(l.until > clock_timestamp() and (l.pid is null or (
    (l.pid, l.started) is distinct from (excluded.pid, excluded.started) and exists (
    select 1 from pg_stat_activity a where a.pid = l.pid
    and (a.backend_start is null or a.backend_start = l.started)))))"""


class _LeaseLock(Lock):
    """A lock that is a row of a table, for as long as its holder is connected, or, through a
    pooler, for `LEASE` seconds."""

    def __init__(self, database: Postgres, name: str) -> None:
        super().__init__(f"{database.name}/{name}", held_by(name, database.name))
        self._database, self._row = database, name
        self._holder = uuid4().hex
        self._kept_at: float | None = None

    @property
    def kept_for(self) -> float:
        return LEASE + 1.0 if self._database.is_pooled else 0.0

    @property
    def keep_every(self) -> float:
        return KEEP_EVERY if self._database.is_pooled else math.inf

    def try_acquire(self) -> bool:
        if self._kept_at is None:
            self._database.define(LOCKS)
        self._kept_at = time.monotonic()
        try:
            with self._database.transaction() as transaction:
                # The lock's holder may have been stopped within a transaction.
                transaction.execute("set local lock_timeout = '1s'")
                values = LEASED if self._database.is_pooled else MINE
                made = transaction.execute(
                    "insert into archive_locks as l (name, holder, pid, started, until) "
                    f"values (?, ?, {values}) on conflict (name) do update set "
                    "holder = excluded.holder, pid = excluded.pid, started = excluded.started, "
                    f"until = excluded.until where not {IS_HELD} returning 1",
                    (self._row, self._holder),
                )
            return bool(made)
        except StoreError as error:
            if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                return False
            raise

    def check(self) -> None:
        self._kept_at = time.monotonic()
        if self._database.is_pooled:
            # Until the end of the transaction, nobody takes the lock over.
            statement = (
                f"update archive_locks set until = clock_timestamp() + interval '{LEASE} s' "
                "where name = ? and holder = ? returning 1"
            )
        else:
            statement = (
                "select 1 from archive_locks "
                "where name = ? and holder = ? and pid = pg_backend_pid()"
            )
        with self._database.transaction() as transaction:
            held = transaction.execute(statement, (self._row, self._holder))
        if not held:
            raise store_error(
                self._database.name,
                "cannot be used: the lock of this list was lost, with the connection or by a "
                "backup that was restored",
                retryable=True,
                hint="Run the same update again: nothing that was stored is lost.",
            )

    def keep(self) -> None:
        if time.monotonic() >= (self._kept_at or 0.0) + self.keep_every:
            self.check()

    def release_others(self) -> None:
        if self._kept_at is None:
            return
        # If the connection was lost, others can have the lock already.
        with suppress(StoreError, ConfigError), self._database.transaction() as transaction:
            transaction.execute(
                "delete from archive_locks where name = ? and holder = ?",
                (self._row, self._holder),
            )


def _is_of_query(error: psycopg.OperationalError) -> bool:
    """True if the object does not support the statement, such as `delete` on a view."""
    return (error.sqlstate or "").startswith("55")


def _without_nul(value: Any) -> Any:
    """A value without U+0000, which PostgreSQL cannot store."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def _marked(sql: str) -> bytes:
    """The statement with psycopg's own mark of a parameter; none of ours contains another."""
    return sql.replace("?", "%s").encode()
