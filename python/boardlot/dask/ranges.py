"""A dask DataFrame of a time range, split into windows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

import dask.dataframe as dd

from boardlot.dask.clients import WorkerClients
from boardlot.dask.columns import conformed, empty
from boardlot.errors import ConfigError
from boardlot.partitions import Partition, Query, count, plan, refer

if TYPE_CHECKING:
    import pandas as pd

    from boardlot import AsyncClient, Client, RateLimit

    Time = str | int | date | datetime

__all__ = ["from_range"]


def from_range(
    client_or_profile: Client | AsyncClient | str,
    method: Literal["fills_history"],
    *,
    acc_id: str | int | Iterable[str | int],
    trd_market: str,
    start: Time | None = None,
    end: Time | None = None,
    npartitions: int,
    concurrency: int = 8,
    code: str | None = None,
    page_size: int | None = None,
    decimals: Literal["float64", "string"] = "float64",
    rate_limit: float | RateLimit | None = None,
    workers: int | None = None,
) -> dd.DataFrame:
    """Historical fills as a dask DataFrame, latest first: each partition is a window of time.

    The windows are equally long, and each fill is in exactly one. The service's documentation does
    not say whether a range includes its ends, so neighbouring windows both request their common
    boundary, and a fill belongs to the window that contains its `updated_time`. A fill that is
    updated while the frame is being fetched moves to the window of its new time. Only the
    columns that the computation needs are made.

    With several accounts, the frame has a leading column `acc_id`. A partition has several
    accounts, or, if there are more partitions than accounts, a window of one.

    An open range is fixed here, once for all partitions, as in `Client.fills_history`: it begins 90
    days before `end`, or reaches until now by the service's clock. With neither, it is the last 90
    days.

    Args:
        client_or_profile: As for `from_keys`.
        method: `"fills_history"`, the one endpoint that pages through a range of time.
        acc_id: An account id, as text or as a number, or a list of them.
        trd_market: Its trading market, such as `"HK"`.
        start: Start of the update time, as for `Client.fills_history`: an aware `datetime`, a
            `date` (midnight UTC), ISO 8601 text with an offset, or microseconds since 1970 (an
            integer of any library, such as numpy's); 0 is the same as `None`.
        end: End of the update time, after `start`; of the same kinds.
        npartitions: The number of partitions.
        concurrency: Accounts that are fetched concurrently in each partition.
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
    clients = WorkerClients(refer(client_or_profile, rate_limit), workers)
    count(npartitions, "npartitions")
    # Of any library, such as numpy's; a client takes them as they are.
    arguments = {
        "acc_id": acc_id, "trd_market": trd_market, "code": code,
        "start": start, "end": end, "page_size": page_size,
    }  # fmt: skip
    query = Query.of(method, arguments)
    with clients.reference.open() as local:
        partitions = plan(local, query, npartitions)
    columns = empty(query.sample(), decimals, None, None)
    if query.key is not None:
        columns.insert(0, query.key, [])
        columns[query.key] = columns[query.key].astype("string[pyarrow]")
    fetch = _Fetch(clients, decimals, columns, concurrency, len(partitions))
    return dd.from_map(fetch, partitions, meta=columns, label=method)


@dataclass(frozen=True)
class _Fetch:
    """Fetches one partition, in a worker."""

    clients: WorkerClients
    decimals: Literal["float64", "string"]
    columns: pd.DataFrame
    concurrency: int
    partitions: int

    def __call__(self, partition: Partition, columns: list[str] | None = None) -> pd.DataFrame:
        client = self.clients.client(self.partitions)
        wanted = self.columns if columns is None else self.columns[columns]
        names = list(wanted.columns)
        key, rows = partition.read(client, names, concurrency=self.concurrency)
        frame = rows.to_pandas(decimals=self.decimals)
        if (name := partition.query.key) is not None and key is not None:
            frame.insert(names.index(name), name, str(key))
        return conformed(frame, wanted)

    @property
    def identity(self) -> object:
        """What is fetched, not how: rate limit and page size do not matter."""
        return (self.clients.reference.base_url, self.decimals)
