"""A dask DataFrame of one method for many keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import dask.dataframe as dd

from boardlot.dask.clients import Reference, refer
from boardlot.dask.columns import empty, fitted
from boardlot.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from boardlot import AsyncClient, Client

__all__ = ["count", "from_keys"]


def from_keys(
    client_or_profile: Client | AsyncClient | str,
    method: str,
    keys: Iterable[str | int],
    *,
    npartitions: int,
    concurrency: int = 8,
    decimals: Literal["float64", "string"] = "float64",
    meta: pd.DataFrame | None = None,
    rate_limit: float | None = None,
    workers: int | None = None,
) -> dd.DataFrame:
    """One method for many keys as a dask DataFrame, in the order of the keys.

    Each partition is a `fetch_many` over its part of the keys, with the leading column of the
    key. A key that fails fails its partition; dask's `retries=` tries that again.

    Args:
        client_or_profile: A client that pickles (its credentials are a key file, a profile or a
            token store), or the name of a profile. Nothing of it is used but its arguments.
        method: The name of a method with exactly one required argument, such as `"dividends"`.
        keys: What that argument is, one after another.
        npartitions: Into how many partitions the keys are split.
        concurrency: Requests at a time in each partition.
        decimals: `"float64"`, or `"string"` for the service's own strings. Exact decimals have
            another type in each partition: make them from the strings.
        meta: Columns and types of the result, as a frame without rows; `None` takes those that
            are declared, and leaves out others. Needed for `plate_stocks`, whose fields the
            service document does not show.
        rate_limit: Requests a second of all workers together; `None` is the client's own.
        workers: How many processes fetch at a time, which the rate limit is divided by; `None`
            asks the dask.distributed cluster when a partition begins, and is one process with
            dask's own threads.

    Returns:
        A DataFrame whose divisions are not known. Text is `string[pyarrow]`, integers are
        `Int64`, flags `boolean`, all else is of the types of `Records.to_pandas`.

    Raises:
        ConfigError: The client's credentials are no reference, there is no such method, or an
            argument is none of its values; nothing was sent. In a worker: whatever `fetch_many`
            raises.

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
    reference = refer(client_or_profile, rate_limit, workers)
    # A text would fall apart into letters: `fetch_many` refuses it.
    wrong = keys if isinstance(keys, str) else []
    with reference.open() as local:
        # No key is no request, but what is wrong with the method is told.
        nothing = local.fetch_many(method, wrong, concurrency=concurrency)
    wanted = list(keys)
    key = nothing.schema[0].name
    columns = empty(nothing, decimals, meta, key)
    parts = max(1, min(count(npartitions), len(wanted)))
    cuts = [len(wanted) * place // parts for place in range(parts + 1)]
    chunks = [tuple(wanted[cuts[i] : cuts[i + 1]]) for i in range(parts)]
    fetch = _Fetch(reference, method, concurrency, decimals, columns, parts)
    return dd.from_map(fetch, chunks, meta=columns, label=method)


def count(npartitions: int) -> int:
    """The number of partitions.

    Raises:
        ConfigError: It is none.
    """
    if type(npartitions) is not int or npartitions < 1:
        raise ConfigError(f"npartitions is {npartitions!r}; allowed is a whole number above 0")
    return npartitions


@dataclass(frozen=True)
class _Fetch:
    """Fetches one partition, in a worker."""

    reference: Reference
    method: str
    concurrency: int
    decimals: Literal["float64", "string"]
    columns: pd.DataFrame
    partitions: int

    def __call__(self, keys: tuple[str | int, ...]) -> pd.DataFrame:
        client = self.reference.client(self.partitions)
        records = client.fetch_many(self.method, keys, concurrency=self.concurrency)
        return fitted(records.to_pandas(decimals=self.decimals), self.columns)

    @property
    def identity(self) -> object:
        """What is fetched, not how: with another rate limit it is the same."""
        types = [(name, str(kind)) for name, kind in self.columns.dtypes.items()]
        return (self.reference.base_url, self.method, self.decimals, types)
