"""The state of a rate limit in a PostgreSQL database, by the clock of its server."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from boardlot._support.per_process import PerProcess
from boardlot.errors import ConfigError

if TYPE_CHECKING:
    import psycopg


TABLE = """\
create table if not exists boardlot_rate_limits (
    name text primary key,
    arrival bigint not null default 0,
    held_until bigint not null default 0,
    slow_since bigint not null default 0,
    slow_low double precision not null default 0,
    slow_recovered double precision not null default 0,
    window_second bigint not null default 0,
    in_window bigint not null default 0,
    in_previous bigint not null default 0
)"""

# Microseconds since 1970. The time at which a statement began, whoever it then waited for.
CLOCK = (
    "with clock as materialized ("
    "select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now) "
)
# How far the server's clock was set back: what is stored is then that much too late. A statement
# that has waited for others has an earlier time than theirs, but not by more than it may wait.
BACK = (
    "(case when window_second > clock.now / 1000000 + 15"
    " then window_second * 1000000 - clock.now else 0 end)"
)
# The server's time when the row is returned, and when the reserved request may be sent.
RETURNED = """
returning (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    greatest(clock.now, held_until, arrival - %(interval)s - %(tolerance)s),
    held_until, arrival, slow_since, slow_low, slow_recovered,
    window_second, in_window, in_previous
"""
# The generic cell rate algorithm of `src/shared_limit/state.rs` in one statement: no transaction
# stays open if a process is stopped or killed.
RESERVE = f"""{CLOCK}
update boardlot_rate_limits set
    arrival = %(interval)s + greatest(
        arrival - {BACK}, clock.now, case when held_until - {BACK} > clock.now
        then greatest(held_until, arrival - %(tolerance)s) - {BACK} else 0 end),
    held_until = held_until - {BACK},
    slow_since = slow_since - {BACK},
    window_second = clock.now / 1000000,
    in_window = case when clock.now / 1000000 = window_second then in_window + 1 else 1 end,
    in_previous = case clock.now / 1000000 - window_second
        when 0 then in_previous when 1 then in_window else 0 end
from clock where name = %(name)s {RETURNED}"""
HOLD = f"""{CLOCK}
update boardlot_rate_limits set held_until = greatest(held_until, clock.now + %(wait)s)
from clock where name = %(name)s {RETURNED}"""
# Requests that were sent before the rate was lowered say nothing about the lowered rate.
SLOW_DOWN = f"""{CLOCK}
update boardlot_rate_limits set
    slow_low = case when slow_since <= clock.now - %(ago)s then %(low)s else slow_low end,
    slow_recovered =
        case when slow_since <= clock.now - %(ago)s then %(recovered)s else slow_recovered end,
    slow_since = case when slow_since <= clock.now - %(ago)s then clock.now else slow_since end
from clock where name = %(name)s {RETURNED}"""

INSERT = "insert into boardlot_rate_limits (name) values (%s) on conflict do nothing"

CONNECT_TIMEOUT = 5
# Seconds after which a statement fails: it takes milliseconds.
STATEMENT_TIMEOUT = 10


class LimitDatabase:
    """One limit in a database; connects when it is needed, and again in a forked child.

    Args:
        url: The URL or connection string of the database.
        name: The name of the limit.

    Raises:
        ConfigError: The driver is missing, or the URL is not one of a PostgreSQL database.
    """

    def __init__(self, url: str, name: str) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise ConfigError(
                "a rate limit in a database needs psycopg",
                hint="Install it: pip install 'boardlot[postgres]'.",
            ) from None
        if not url.startswith(("postgresql://", "postgres://")):
            # Without the value, which may have a password.
            raise ConfigError("database is not a URL such as postgresql://user@host/name")
        parsed = None
        # Its error quotes the URL, with the password.
        with contextlib.suppress(psycopg.ProgrammingError):
            parsed = conninfo_to_dict(url)
        if parsed is None:
            raise ConfigError("database is not a URL such as postgresql://user@host/name")
        self.url = url
        self.name = name
        self.has_password: bool = parsed.get("password") is not None
        self._own = PerProcess(_Connection)

    def __repr__(self) -> str:
        return f"LimitDatabase(..., {self.name!r})"

    def reserve(self, interval: float, tolerance: float) -> tuple[Any, ...]:
        """Reserve the time of a request; like the others, returns what `RETURNED` says."""
        return self._change(RESERVE, interval=round(interval), tolerance=round(tolerance))

    def hold(self, wait: float) -> tuple[Any, ...]:
        """Let nothing be sent for so many microseconds."""
        return self._change(HOLD, wait=round(wait))

    def slow_down(self, ago: float, low: float, recovered: float) -> tuple[Any, ...]:
        """Lower the rate, unless that was done since a request was sent."""
        return self._change(SLOW_DOWN, ago=round(ago), low=low, recovered=recovered)

    def _change(self, statement: str, **arguments: float) -> tuple[Any, ...]:
        import psycopg

        named = {"interval": 0, "tolerance": 0, "name": self.name, **arguments}
        own = self._own.value
        with own.lock:
            is_new = own.driver is None
            try:
                return self._row(own, statement, named)
            except psycopg.OperationalError:
                own.driver = None
                if is_new:
                    raise
            # The server was started again, or has closed an idle connection.
            return self._row(own, statement, named)

    def _row(self, own: _Connection, statement: str, named: dict[str, Any]) -> tuple[Any, ...]:
        import psycopg

        if own.driver is None:
            own.driver = psycopg.connect(
                self.url,
                autocommit=True,
                connect_timeout=CONNECT_TIMEOUT,
                options=f"-c statement_timeout={STATEMENT_TIMEOUT}s",
                application_name="boardlot",
            )
        connection = own.driver
        try:
            row = connection.execute(statement, named).fetchone()
        except psycopg.errors.UndefinedTable:
            # Another process may create it in the same moment.
            exists = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable)
            with contextlib.suppress(*exists):
                connection.execute(TABLE)
            row = None
        while row is None:
            connection.execute(INSERT, (self.name,))
            row = connection.execute(statement, named).fetchone()
        return tuple(row)


class _Connection:
    """The connection, which one thread at a time uses."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.driver: psycopg.Connection[Any] | None = None
