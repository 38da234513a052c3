"""A dask DataFrame of one method for many keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import dask.dataframe as dd

from boardlot.dask.clients import WorkerClients
from boardlot.dask.columns import conformed, empty
from boardlot.partitions import count, refer

if TYPE_CHECKING:
    import pandas as pd

    from boardlot import AsyncClient, Client, Endpoint, RateLimit

__all__ = ["from_keys"]


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
        keys: The values of that one.
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
        called: Any = local
        no_records = called.fetch_many(method, invalid, concurrency=concurrency, **arguments)
    all_keys = list(keys)
    key = no_records.schema[0].name
    columns = empty(no_records, decimals, meta, key)
    parts = max(1, min(count(npartitions, "npartitions"), len(all_keys)))
    cuts = [len(all_keys) * i // parts for i in range(parts + 1)]
    chunks = [tuple(all_keys[cuts[i] : cuts[i + 1]]) for i in range(parts)]
    fixed = tuple(arguments.items())
    fetch = _Fetch(clients, method, fixed, concurrency, decimals, columns, parts)
    label = method if isinstance(method, str) else method.name
    return dd.from_map(fetch, chunks, meta=columns, label=label)


@dataclass(frozen=True)
class _Fetch:
    """Fetches one partition, in a worker."""

    clients: WorkerClients
    method: str | Endpoint
    fixed: tuple[tuple[str, Any], ...]
    concurrency: int
    decimals: Literal["float64", "string"]
    columns: pd.DataFrame
    partitions: int

    def __call__(
        self, keys: tuple[str | int, ...], columns: list[str] | None = None
    ) -> pd.DataFrame:
        client: Any = self.clients.client(self.partitions)
        fixed = dict(self.fixed)
        records = client.fetch_many(self.method, keys, concurrency=self.concurrency, **fixed)
        wanted = self.columns if columns is None else self.columns[columns]
        known = set(records._names())
        records = records.select(*(name for name in wanted.columns if name in known))
        return conformed(records.to_pandas(decimals=self.decimals), wanted)

    @property
    def identity(self) -> object:
        """What is fetched, not how: the rate limit does not matter."""
        types = [(name, str(kind)) for name, kind in self.columns.dtypes.items()]
        return (self.clients.reference.base_url, str(self.method), self.fixed, self.decimals, types)
