"""`RateLimit`, the `rate_limit` of a client."""

from __future__ import annotations

from typing import Any

from . import _core
from ._built import Self, Value
from ._calls import explained


@explained
class RateLimit(Value):
    """A rate limit that several clients share.

    Without a name, the clients of this process to which it is passed share it. With a name, all
    processes of this user on this machine share it, through a small file. With a database, all
    processes that use the database share it, by the clock of the database server.

    Requests are evenly spaced, first come, first served within a process, and processes take
    turns. A `Retry-After` of the service to one of them, or a request that it throttles, holds
    back all. Three percent of the rate is not used, so that no second has more requests than the
    rate plus `burst`, although some requests take longer to reach the service than others. If
    those who share a limit have different rates, the lowest one with which a request was made in
    the last ten seconds holds for all.

    `rate` is in requests per second, from 0.001 to 1,000,000. `burst` is the number of requests
    that may be sent at once after a pause. `name` is any text. `database` is the URL of a
    PostgreSQL database (extra `postgres`), and needs a name; the table
    `boardlot_rate_limits.limits` is created in it. Raises `ConfigError` if an argument is
    invalid, or the state folder or the driver is missing; a call of a client raises `StoreError`
    if the file cannot be used, and `TransportError` if the database cannot.

    >>> limit = bl.RateLimit(50, burst=5)
    >>> with sandbox.client(rate_limit=limit) as client:
    ...     len(client.dividends("HK.00700"))
    21
    >>> limit.rate, limit.burst, limit.free <= 50
    (50.0, 5, True)
    """

    __slots__ = ()
    _boardlot_core: _core._RateLimit

    def __new__(
        cls,
        rate: float,
        *,
        burst: int = 1,
        name: str | None = None,
        database: str | None = None,
    ) -> Self:
        return cls._of_core(_core._RateLimit(rate, burst, name, database))

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self._boardlot_core.rate

    @property
    def burst(self) -> int:
        """The number of requests that may be sent at once after a pause."""
        return self._boardlot_core.burst

    @property
    def name(self) -> str | None:
        """The name by which processes share the limit; None if the clients to which it is passed
        share it.
        """
        return self._boardlot_core.name

    @property
    def used(self) -> float | None:
        """The approximate number of requests that all who share the limit have sent in the last
        second; None if this process has not used the database yet.
        """
        return self._boardlot_core.used

    @property
    def free(self) -> float | None:
        """The approximate number of further requests per second that could be sent now, which is
        lower while the service throttles. None if `used` is None.
        """
        return self._boardlot_core.free

    def _boardlot_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self._boardlot_core.arguments()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RateLimit):
            return NotImplemented
        # Two limits without a name are two limits.
        return self._boardlot_core.is_same(other._boardlot_core)

    def __hash__(self) -> int:
        return hash((self.name, self.rate))

    def __repr__(self) -> str:
        if not hasattr(self, "_boardlot_core"):
            return super().__repr__()
        return f"{type(self).__name__}({self._boardlot_core.shown()})"
