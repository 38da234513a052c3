"""A dask DataFrame of a range of time, split into windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

import dask.dataframe as dd

from boardlot._core import _time_range
from boardlot.dask.clients import Reference, refer
from boardlot.dask.columns import empty, fitted
from boardlot.dask.keys import count
from boardlot.errors import ConfigError, ProtocolError

if TYPE_CHECKING:
    import pandas as pd

    from boardlot import AsyncClient, Client

    Time = str | int | date | datetime

__all__ = ["from_range"]

UPDATED = "updated_time"


def from_range(
    client_or_profile: Client | AsyncClient | str,
    method: Literal["fills_history"],
    *,
    acc_id: str | int,
    trd_market: str,
    start: Time | None = None,
    end: Time | None = None,
    npartitions: int,
    code: str | None = None,
    page_size: int | None = None,
    decimals: Literal["float64", "string"] = "float64",
    rate_limit: float | None = None,
    workers: int | None = None,
) -> dd.DataFrame:
    """Historical fills as a dask DataFrame, latest first: each partition is a part of the time.

    The windows are equally long, and each fill is in exactly one. The service document does not
    say whether the ends of a range belong to it, so neighbouring windows ask for their common
    boundary twice, and a fill belongs to the window that its `updated_time` falls into. A fill
    that is updated while the frame is being fetched moves to the window of its new time.

    What `start` and `end` leave open is fixed here, once for all partitions, as by
    `Client.fills_history`: 90 days after `start`, or before `end`. With neither, the range is the
    last 90 days by the service's clock, which is asked for its time.

    Args:
        client_or_profile: As for `from_keys`.
        method: `"fills_history"`, the one endpoint that pages through a range of time.
        acc_id: An account, as text or as a number.
        trd_market: Its trading market, such as `"HK"`.
        start: Start of the update time, as for `Client.fills_history`: an aware `datetime`, a
            `date` (midnight UTC), ISO 8601 text with an offset, or microseconds since 1970 (a
            whole number of any library, such as numpy's); `None` or 0 leaves it open.
        end: End of the update time, after `start`; of the same kinds.
        npartitions: Into how many windows the range is split.
        code: Only deals of this security.
        page_size: Deals a request, as for `Client.fills_history`.
        decimals: As for `from_keys`.
        rate_limit: As for `from_keys`.
        workers: As for `from_keys`.

    Returns:
        A DataFrame whose divisions are not known, with the declared columns in the types that
        `from_keys` tells.

    Raises:
        ConfigError: The client's credentials are no reference, or an argument is none of its
            values, such as a naive `datetime`; nothing was sent.
        BoardlotError: Whatever `server_time` raises, for an open range. In a worker: whatever
            `fills_history` raises; a `ProtocolError` if the service returns fills of other times
            than it was asked for.

    Example:
        >>> import boardlot.dask
        >>> key = bl.generate_key()
        >>> _ = key_file.write_text(key.private_pem)
        >>> auth = bl.ApiKey(sandbox.upload_key(key.public_pem), key_file)
        >>> client = bl.Client(sandbox.base_url, auth=auth)
        >>> now = client.server_time()
        >>> from datetime import timedelta
        >>> frame = boardlot.dask.from_range(
        ...     client, "fills_history", acc_id=sandbox.accounts["trade"][0], trd_market="HK",
        ...     start=now - timedelta(days=30), end=now, npartitions=4)
        >>> bool(frame["deal_id"].compute().is_unique)
        True
    """
    if method != "fills_history":
        raise ConfigError(f"method is {method!r}; allowed is 'fills_history'")
    reference = refer(client_or_profile, rate_limit, workers)
    query = _Query(acc_id, trd_market, code, page_size)
    arguments = query.arguments(start, end)
    parts = count(npartitions)
    with reference.open() as local:
        # The arguments are checked before the service is asked for its time.
        span = _time_range(method, arguments)
        first, last = span or _time_range(method, arguments, _now(local))
        nothing = query.pager(local, first, last).all(max_items=0)
    columns = empty(nothing, decimals, None, None)
    parts = max(1, min(parts, last - first))
    cuts = [first + (last - first) * place // parts for place in range(parts + 1)]
    windows = [
        _Window(cuts[i], cuts[i + 1], is_first=i == 0, is_last=i == parts - 1)
        for i in reversed(range(parts))
    ]
    fetch = _Fetch(reference, query, decimals, columns, parts)
    return dd.from_map(fetch, windows, meta=columns, label=method)


@dataclass(frozen=True)
class _Query:
    acc_id: str | int
    trd_market: str
    code: str | None
    page_size: int | None

    def arguments(self, start: Time | None, end: Time | None) -> list[tuple[str, Any]]:
        return [
            ("acc_id", self.acc_id), ("trd_market", self.trd_market), ("code", self.code),
            ("start", start), ("end", end), ("page_size", self.page_size),
        ]  # fmt: skip

    def pager(self, client: Client, start: int, end: int) -> Any:
        return client.fills_history(**dict(self.arguments(start, end)))


@dataclass(frozen=True)
class _Window:
    """From `start` to before `end`, in microseconds; the first and last are open outwards."""

    start: int
    end: int
    is_first: bool
    is_last: bool

    @property
    def asked(self) -> tuple[int, int]:
        """A range that holds the window whether or not the service takes in its ends."""
        return self.start - (not self.is_first), self.end

    def own(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows that belong to this window.

        Raises:
            ProtocolError: A row is not of the time that was asked for, so that it may be in no
                window or in several.
        """
        # NaT, a time that was not sent, is the smallest number.
        times = frame[UPDATED].dt.as_unit("us").astype("int64")
        low, high = self.asked
        if not times.between(low, high).all():
            raise ProtocolError(
                f"{UPDATED} of a fill is not within {low} to {high}, the range that was asked for, "
                "so that partitions cannot tell whose it is; use client.fills_history instead"
            )
        after = self.is_first | (times >= self.start)
        before = self.is_last | (times < self.end)
        own: pd.DataFrame = frame[after & before]
        return own


@dataclass(frozen=True)
class _Fetch:
    """Fetches one partition, in a worker."""

    reference: Reference
    query: _Query
    decimals: Literal["float64", "string"]
    columns: pd.DataFrame
    partitions: int

    def __call__(self, window: _Window) -> pd.DataFrame:
        client = self.reference.client(self.partitions)
        frame = self.query.pager(client, *window.asked).to_pandas(decimals=self.decimals)
        return fitted(window.own(frame), self.columns).reset_index(drop=True)

    @property
    def identity(self) -> object:
        """What is fetched, not how: with another rate limit or page size it is the same."""
        query = self.query
        what = (str(query.acc_id), query.trd_market, query.code)
        return (self.reference.base_url, "fills_history", what, self.decimals)


def _now(client: Client) -> int:
    """The service's time in microseconds, not before that of any fill that it has."""
    since = client.server_time() - datetime(1970, 1, 1, tzinfo=timezone.utc)
    # It tells whole milliseconds.
    return since // timedelta(microseconds=1) + 1_000
