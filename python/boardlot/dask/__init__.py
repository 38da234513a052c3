"""Many calls as a dask DataFrame: each partition is a part of the keys or of the time range.

Nothing is fetched before the frame is computed; then the workers fetch. They receive a reference to
the credentials (the path of a key file, a profile, a token store), never a secret, and share the
rate limit: each process has one client, with `rate_limit` divided by the number of workers in the
cluster when the partition starts, or by the number of partitions if that is smaller.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from boardlot._support.extras import needs

with needs("dask", "dask", "boardlot.dask"):
    import dask.dataframe as dd

import pandas as pd

from boardlot import AsyncClient, Client, Endpoint, RateLimit
from boardlot._calls import explained
from boardlot._core import _Rows as Rows
from boardlot._support.clients import Time
from boardlot._support.engines.partitions import (
    Partition,
    Query,
    Reference,
    by_keys,
    count,
    plan,
    refer,
)
from boardlot.dask.writing import write_missing
from boardlot.errors import ConfigError
from boardlot.frames import to_pandas
from boardlot.pager import Pager
from boardlot.records import Decimals

__all__ = ["from_keys", "from_range", "write_missing"]


@explained
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
    not say whether a range includes its ends, so neighboring windows both request their common
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
    # The values may be those of any library, such as numpy; a client takes them as they are.
    arguments = {
        "acc_id": acc_id, "trd_market": trd_market, "code": code,
        "start": start, "end": end, "page_size": page_size,
    }  # fmt: skip
    query = Query.of(method, arguments)
    with clients.reference.open() as local:
        partitions = plan(local, query, npartitions) or [Partition(query, ())]
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
    # True for partitions of keys, which have no range that is read page by page.
    whole: bool = False

    def __call__(self, partition: Partition, columns: list[str] | None = None) -> pd.DataFrame:
        wanted = self.columns if columns is None else self.columns[columns]
        if not partition.keys:
            return wanted
        client = self.clients.client(self.partitions)
        names = list(wanted.columns)
        key, rows = partition.read(client, names, concurrency=self.concurrency, whole=self.whole)
        if isinstance(rows, Pager):
            frame = rows.to_pandas(decimals=self.decimals)
        else:
            frame = to_pandas(rows, decimals=self.decimals)
        if (name := partition.query.key) is not None and key is not None:
            frame.insert(names.index(name), name, str(key))
        return conformed(frame, wanted)

    @property
    def identity(self) -> object:
        """Identifies the data that is fetched: rate limit and page size do not matter."""
        types = [(name, str(kind)) for name, kind in self.columns.dtypes.items()]
        return (self.clients.reference.base_url, self.decimals, types)


@explained
def from_keys(
    client_or_profile: Client | AsyncClient | str,
    method: str | Endpoint,
    keys: Iterable[str | int],
    *,
    npartitions: int,
    concurrency: int = 8,
    decimals: Literal["float64", "string"] = "float64",
    meta: pd.DataFrame | None = None,
    rate_limit: float | RateLimit | None = None,
    workers: int | None = None,
    **arguments: Any,
) -> dd.DataFrame:
    """One method for many keys as a dask DataFrame, in the order of the keys.

    Each partition is a `fetch_many` over its part of the keys, with a leading key column. If a key
    fails, its partition fails; dask's `retries=` retries it.

    Args:
        client_or_profile: A client that can be pickled (its credentials are a key file, a profile
            or a token store), or the name of a profile. Only its arguments are used.
        method: The name of a method such as `"dividends"`, or an `Endpoint` with a `record`. All
            its required arguments but one are passed by name.
        keys: The values of the remaining argument.
        npartitions: The number of partitions.
        concurrency: Concurrent requests in each partition.
        decimals: `"float64"`, or `"string"` for the service's own strings. Exact decimals would
            have a different type in each partition: convert the strings instead.
        meta: Columns and types of the result, as a frame without rows; `None` takes the declared
            ones and leaves out others. Needed for `plate_stocks`, whose fields the service
            document does not show.
        rate_limit: Requests per second of all workers together, or a `RateLimit` with a name that
            they share; `None` is the client's own.
        workers: The number of processes that fetch concurrently, by which the rate limit is
            divided; `None` means the number in the dask.distributed cluster when a partition
            starts, or one process with dask's own threads.
        arguments: The arguments that are the same for all keys, as for `fetch_many`.

    Returns:
        A DataFrame with unknown divisions. Text is `string[pyarrow]`, integers are `Int64`, flags
        `boolean`; all other types are those of `Records.to_pandas`.

    Raises:
        ConfigError: The client's credentials cannot be sent as a reference, there is no such
            method, or an argument is not valid; nothing was sent.
        BoardlotError: In a worker, as raised by `fetch_many`.

    Example:
        >>> import boardlot.dask
        >>> key = bl.generate_key()
        >>> _ = key_file.write_text(key.private_pem)
        >>> auth = bl.ApiKey(sandbox.upload_key(key.public_pem), key_file)
        >>> client = bl.Client(sandbox.base_url, auth=auth, rate_limit=100)
        >>> symbols = ["HK.00700", "US.AAPL", "SG.D05"]
        >>> frame = boardlot.dask.from_keys(client, "dividends", symbols, npartitions=2)
        >>> frame.compute()["symbol"].unique().tolist()
        ['HK.00700', 'US.AAPL', 'SG.D05']
    """
    clients = WorkerClients(refer(client_or_profile, rate_limit), workers)
    # A string would be split into letters: `fetch_many` rejects it.
    invalid = keys if isinstance(keys, str) else []
    with clients.reference.open() as local:
        # Without keys nothing is sent, but the method is checked.
        fixed = list(arguments.items())
        no_rows, _ = local._boardlot_core.fetch_many(
            method, invalid, concurrency, "raise", None, False, fixed
        )
    key = no_rows.schema[0].name
    columns = empty(no_rows, decimals, meta, key)
    query = Query(method, tuple(arguments.items()), key, tuple(keys))
    partitions = by_keys(query, query.keys, count(npartitions, "npartitions"))
    fetch = _Fetch(clients, decimals, columns, concurrency, len(partitions), whole=True)
    return dd.from_map(fetch, partitions, meta=columns, label=query.name)


# Nullable types, so that nulls in a partition do not change its types.
NULLABLE = {"integer": "Int64", "flag": "boolean"}


def empty(
    rows: Rows, decimals: Decimals, meta: pd.DataFrame | None, key: str | None
) -> pd.DataFrame:
    """A frame without rows that has the columns of every partition.

    Args:
        rows: No rows, for their schema.
        decimals: As for `to_pandas`, except `"decimal"`.
        meta: The caller's own columns, which replace the declared ones.
        key: The name of the key column, which is not a field.

    Raises:
        ConfigError: The record declares no fields and there is no `meta`, or `decimals` is
            not one of its values.
    """
    if decimals not in ("float64", "string"):
        raise ConfigError(f'decimals is {decimals!r}; expected "float64" or "string"')
    if meta is not None:
        return meta.iloc[:0]
    if all(field.name == key for field in rows.schema):
        raise ConfigError(
            "the service's documentation does not show the fields of this record: pass meta=, an "
            "empty frame with the columns to keep, such as the frame of one key: "
            "client.fetch_many(method, [key]).to_pandas().iloc[:0]"
        )
    fields = [(field.name, field.kind) for field in rows.schema]
    texts = {"text", "decimal"} if decimals == "string" else {"text"}
    types = {name: "string[pyarrow]" for name, kind in fields if kind in texts}
    types |= {name: NULLABLE[kind] for name, kind in fields if kind in NULLABLE}
    return to_pandas(rows, decimals=decimals).astype(types)


def conformed(frame: pd.DataFrame, meta: pd.DataFrame) -> pd.DataFrame:
    """The frame with the columns and types of `meta`: other columns are left out."""
    return frame.reindex(columns=meta.columns).astype(meta.dtypes.to_dict())


@dataclass(frozen=True)
class WorkerClients:
    """Clients of workers: one in each process."""

    reference: Reference
    # The number of processes that fetch, if the caller passed it.
    workers: int | None

    def __post_init__(self) -> None:
        if self.workers is not None:
            count(self.workers, "workers")

    def client(self, partitions: int) -> Client:
        """This process's client.

        Args:
            partitions: The number of partitions of the frame: no more fetch at once.
        """
        if not isinstance(self.reference.rate_limit, (int, float)):
            return self.reference.client()
        worker, workers = _worker() if self.workers is None else (None, self.workers)
        return self.reference.client(min(workers, partitions), worker)


def _worker() -> tuple[str | None, int]:
    """The address of the worker that this runs in, and the number of workers in its cluster."""
    address = _worker_address()
    if address is not None:
        from distributed import get_client

        return address, len(get_client().nthreads())
    # The local scheduler: its threads share this process and its client.
    if multiprocessing.parent_process() is not None:
        raise ConfigError(
            "the rate limit cannot be divided in a pool of processes of unknown size: pass "
            "workers=..., or use a dask.distributed cluster"
        )
    return None, 1


def _worker_address() -> str | None:
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return None
