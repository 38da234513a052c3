"""A dask DataFrame of a range of time, split into windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal

import dask.dataframe as dd
import pandas as pd

from boardlot.dask.clients import Reference, refer
from boardlot.dask.columns import empty, fitted
from boardlot.dask.keys import count
from boardlot.errors import ConfigError

if TYPE_CHECKING:
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
    start: Time,
    end: Time,
    npartitions: int,
    code: str | None = None,
    page_size: int | None = None,
    decimals: Literal["float64", "string"] = "float64",
    rate_limit: float | None = None,
    workers: int | None = None,
) -> dd.DataFrame:
    """Historical deals as a dask DataFrame, latest first: each partition is a part of the time.

    The windows are equally long, and each deal is in exactly one. Whether the service takes in
    the ends of a range its document does not say, so neighbouring windows ask for their common
    boundary twice, and a deal belongs to the window that its `updated_time` falls into. A deal
    that is updated while the frame is being fetched moves on to the window of its new time.

    Args:
        client_or_profile: As for `from_keys`.
        method: `"fills_history"`, the one endpoint that pages through a range of time.
        acc_id: An account, as text or as a number.
        trd_market: Its trading market, such as `"HK"`.
        start: Start of the update time: an aware `datetime`, a `date` (midnight UTC), ISO 8601
            text with an offset, or microseconds since 1970.
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
            values; nothing was sent. In a worker: whatever `fills_history` raises.

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
    with reference.open() as local:
        # Sends nothing, but checks the arguments.
        nothing = query.pager(local, start, end).all(max_items=0)
    columns = empty(nothing, decimals, None, None)
    first, last = _micros(start), _micros(end)
    if first == 0 or last == 0:
        raise ConfigError("a range from or to 0 is open: say its start and its end")
    parts = min(count(npartitions), last - first)
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

    def pager(self, client: Client, start: Time, end: Time) -> Any:
        more = {"code": self.code, "page_size": self.page_size}
        return client.fills_history(self.acc_id, self.trd_market, start=start, end=end, **more)  # type: ignore[arg-type]


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
        """The rows that belong to this window; one without a time belongs where it came."""
        times = frame[UPDATED]
        mine = times.isna()
        after = self.is_first | (times >= pd.Timestamp(self.start, unit="us", tz="UTC"))
        before = self.is_last | (times < pd.Timestamp(self.end, unit="us", tz="UTC"))
        return frame[mine | (after & before)]


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


def _micros(value: Time) -> int:
    """Microseconds since 1970 of what the client has accepted as a time."""
    if isinstance(value, int):
        return value
    moment = pd.Timestamp(value)
    moment = moment.tz_localize("UTC") if moment.tzinfo is None else moment
    return int((moment - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(microseconds=1))
