"""The service and time of the last read of a list, by the service's clock."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from boardlot.archive.database import Database, Row, Transaction
from boardlot.errors import BoardlotError, ConfigError


@dataclass(frozen=True)
class Fetch:
    """A complete read of a list."""

    service: str
    # The service's time before the first request, in microseconds, and how far it was ahead of a
    # clock of this machine; `None` if it could not be read.
    at: int | None
    ahead: int | None
    clock: str

    def store(self, transaction: Transaction, table: str, row: int) -> None:
        transaction.execute(
            f"update {table} set service = ?, fetched_at = ?, ahead = ?, clock = ? where id = ?",
            (self.service, self.at, self.ahead, self.clock, row),
        )


class ServiceClock:
    """The service's time during one update. The first list that needs it requests it, once."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._guard = threading.Lock()
        self._reading: int | None = None
        self._read_at = 0.0
        self._error: BoardlotError | None = None

    def reading(self) -> int:
        """Returns the service's time as of its request, which is past by now. Other requests
        contain this time, so that a cassette that has recorded the time has those requests, too.

        Raises:
            BoardlotError: The service did not tell it.
        """
        with self._guard:
            if self._error is not None:
                raise self._error
            if self._reading is None:
                try:
                    self._reading = self._client._boardlot_core.service_now()
                except BoardlotError as error:
                    self._error = error
                    raise
                self._read_at = time.monotonic()
            return self._reading

    def now(self) -> int:
        """The service's time now.

        Raises:
            BoardlotError: The service did not tell it.
        """
        return self.reading() + int((time.monotonic() - self._read_at) * 1e6)

    def fetch(self) -> Fetch:
        """Returns the `Fetch` of a read that begins now."""
        service = service_of(self._client)
        try:
            at = self.reading()
        except BoardlotError:
            return Fetch(service, None, None, "")
        clock, local = _local_clock()
        return Fetch(service, at, self.now() - local, clock)


def _local_clock() -> tuple[str, int]:
    """A clock that all processes of this machine share: its name, and its time in microseconds."""
    if sys.platform == "linux":
        # The boot clock is never set, and runs while the machine is suspended.
        with suppress(OSError):
            return _boot(), time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    return socket.gethostname(), time.time_ns() // 1000


@cache
def _boot() -> str:
    """Identifies the time since this machine was started."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def service_of(client: Any) -> str:
    """Identifies a service."""
    return str(client.base_url).rstrip("/")


# The location of a list in the database: its table, and the columns of its names with their values.
Place = tuple[str, dict[str, str]]


def row_of(database: Database, place: Place, columns: str) -> Row | None:
    rows = database.read(*_query(place, columns))
    return rows[0] if rows else None


def row_made(transaction: Transaction, place: Place, columns: str) -> Row:
    """The columns of a list's row, which is created if it does not exist."""
    table, names = place
    statement = f"insert into {table} ({', '.join(names)}, format) values (?, ?, 2)"
    transaction.execute(f"{statement} on conflict do nothing", list(names.values()))
    return transaction.execute(*_query(place, columns))[0]


def _query(place: Place, columns: str) -> tuple[str, list[str]]:
    table, names = place
    condition = " and ".join(["1 = 1", *(f"{name} = ?" for name in names)])
    return f"select {columns} from {table} where {condition}", list(names.values())


def check_service(database: Database, place: Place, what: str, client: Any) -> None:
    """Refuse to mix two services in one list.

    Raises:
        ConfigError: The archive has the list of another service.
    """
    found = row_of(database, place, "service")
    if found is not None and found[0] is not None and found[0] != service_of(client):
        raise ConfigError(
            f"{what} in the archive {database.name} is of the service {found[0]}; the client's is "
            f"{service_of(client)}",
            hint="Use an archive of its own for each service. If the service has moved, see "
            '"Two services" in docs/archive-care.md.',
        )


def service_now(database: Database) -> int:
    """The service's time now, in microseconds, by the last read on this machine; without one, this
    machine's own time."""
    clock, local = _local_clock()
    reads = [
        f"select ahead, fetched_at - ahead as read_at from {table} where clock = ?"
        for table in ("series", "lists")
    ]
    query = (
        f"select ahead from ({' union all '.join(reads)}) as reads where ahead is not null "
        "order by read_at desc"
    )
    known = database.read(f"{query} limit 1", (clock, clock))
    return local + int(known[0][0]) if known else time.time_ns() // 1000


def is_fresh(
    database: Database, place: Place, max_age: int, service_now: Callable[[], int]
) -> bool:
    """True if a list was last read completely less than `max_age` microseconds ago, by the
    service's clock.

    On the machine that read the list, the machine's clock and the stored difference tell the
    service's time, so that nothing is requested.
    """
    found = row_of(database, place, "fetched_at, ahead, clock")
    if found is None or found[0] is None:
        return False
    fetched_at, ahead, of_clock = found
    clock, local = _local_clock()
    now = local + ahead if clock == of_clock and ahead is not None else service_now()
    age: int = now - fetched_at
    # No list is read in the future: a clock has been set.
    return 0 <= age < max_age
