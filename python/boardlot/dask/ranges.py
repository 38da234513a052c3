"""A dask DataFrame of a time range, split into windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

import dask.dataframe as dd

from boardlot._core import _time_range
from boardlot.dask.clients import Reference, refer
from boardlot.dask.columns import conformed, empty
from boardlot.dask.keys import count
from boardlot.errors import ConfigError, ProtocolError

if TYPE_CHECKING:
    import pandas as pd

    from boardlot import AsyncClient, Client, RateLimit

    Time = str | int | date | datetime

__all__ = ["from_range"]

UPDATED = "updated_time"
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


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
    rate_limit: float | RateLimit | None = None,
    workers: int | None = None,
) -> dd.DataFrame:
    """Historical fills as a dask DataFrame, latest first: each partition is a window of time.

    The windows are equally long, and each fill is in exactly one. The service document does not
    say whether a range includes its ends, so neighbouring windows both request their common
    boundary, and a fill belongs to the window that contains its `updated_time`. A fill that is
    updated while the frame is being fetched moves to the window of its new time.

    An open range is fixed here, once for all partitions, as in `Client.fills_history`: it begins 90
    days before `end`, or reaches until now by the service's clock. With neither, it is the last 90
    days.

    Args:
        client_or_profile: As for `from_keys`.
        method: `"fills_history"`, the one endpoint that pages through a range of time.
        acc_id: An account id, as text or as a number.
        trd_market: Its trading market, such as `"HK"`.
        start: Start of the update time, as for `Client.fills_history`: an aware `datetime`, a
            `date` (midnight UTC), ISO 8601 text with an offset, or microseconds since 1970 (an
            integer of any library, such as numpy's); 0 is the same as `None`.
        end: End of the update time, after `start`; of the same kinds.
        npartitions: The number of windows.
        code: Only fills of this security.
        page_size: Fills per request, as for `Client.fills_history`.
        decimals: As for `from_keys`.
        rate_limit: As for `from_keys`.
        workers: As for `from_keys`.

    Returns:
        A DataFrame with unknown divisions and the declared columns, typed as by `from_keys`.

    Raises:
        ConfigError: The client's credentials cannot be sent as a reference, or an argument is not
            valid, such as a naive `datetime`; nothing was sent.
        BoardlotError: As raised by `server_time`, for an open range. In a worker: as raised by
            `fills_history`; a `ProtocolError` if the service returns fills outside the requested
            range.

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
        raise ConfigError(f"method is {method!r}; expected 'fills_history'")
    reference = refer(client_or_profile, rate_limit, workers)
    query = _Query(acc_id, trd_market, code, page_size)
    arguments = query.arguments(start, end)
    parts = count(npartitions)
    with reference.open() as local:
        # The arguments are checked before the time is requested.
        span = _time_range(method, arguments)
        first, last = span or _time_range(method, arguments, local._service_now())
        no_records = query.pager(local, first, last).all(max_items=0)
    columns = empty(no_records, decimals, None, None)
    parts = max(1, min(parts, last - first))
    cuts = [first + (last - first) * i // parts for i in range(parts + 1)]
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
        # Not as numbers, which the client takes for times since 1990 only.
        times = (EPOCH + timedelta(microseconds=micros) for micros in (start, end))
        return client.fills_history(**dict(self.arguments(*times)))


@dataclass(frozen=True)
class _Window:
    """From `start` to before `end`, in microseconds; the first and last are unbounded outwards."""

    start: int
    end: int
    is_first: bool
    is_last: bool

    @property
    def requested(self) -> tuple[int, int]:
        """A range that contains the window whether or not the service includes its ends."""
        return self.start - (not self.is_first), self.end

    def own(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows that belong to this window.

        Raises:
            ProtocolError: A row is outside the requested range, so it may be in no window or in
                several.
        """
        # NaT, a missing time, is the smallest integer.
        times = frame[UPDATED].dt.as_unit("us").astype("int64")
        low, high = self.requested
        if not times.between(low, high).all():
            raise ProtocolError(
                f"{UPDATED} of a fill is outside the requested range {low} to {high}, so it "
                "belongs to no partition; use client.fills_history instead"
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
        frame = self.query.pager(client, *window.requested).to_pandas(decimals=self.decimals)
        return conformed(window.own(frame), self.columns).reset_index(drop=True)

    @property
    def identity(self) -> object:
        """What is fetched, not how: rate limit and page size do not matter."""
        query = self.query
        arguments = (str(query.acc_id), query.trd_market, query.code)
        return (self.reference.base_url, "fills_history", arguments, self.decimals)
