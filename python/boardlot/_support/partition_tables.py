"""Rows of a partition as pyarrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from boardlot._support.partitions import Partition, Query

if TYPE_CHECKING:
    from boardlot import Client

    Decimals = Literal["float64", "decimal", "string"]


# Pages are joined to batches of about this many rows.
BATCH_ROWS = 8_192


def schema(query: Query, decimals: Decimals) -> pa.Schema:
    """The columns of a query, after that of its key."""
    # Checks that there are any.
    query.columns()
    found = query.sample().to_arrow(decimals=decimals).schema
    return found if query.key is None else found.insert(0, pa.field(query.key, pa.string()))


def table(
    partition: Partition, client: Client, columns: Sequence[str], decimals: Decimals
) -> pa.Table:
    """All rows of a partition, with these columns in this order."""
    key, rows = partition.read(client, columns)
    return _arranged(rows.to_arrow(decimals=decimals), partition.query, key, columns)


def batches(
    partition: Partition, client: Client, columns: Sequence[str], decimals: Decimals
) -> Iterator[pa.RecordBatch]:
    """The same in batches, page by page where the service returns pages."""
    key, rows = partition.read(client, columns)
    if len(partition.keys) != 1 or not partition.query.is_paged:
        whole = _arranged(rows.to_arrow(decimals=decimals), partition.query, key, columns)
        yield from whole.to_batches(max_chunksize=BATCH_ROWS)
        return
    pages: list[pa.RecordBatch] = []
    for page in rows.to_arrow(decimals=decimals, batches=True):
        pages.append(page)
        if sum(page.num_rows for page in pages) >= BATCH_ROWS:
            yield from _joined(pages, partition.query, key, columns)
            pages = []
    if pages:
        yield from _joined(pages, partition.query, key, columns)


def _joined(
    pages: list[pa.RecordBatch], query: Query, key: object, columns: Sequence[str]
) -> list[pa.RecordBatch]:
    joined = pa.Table.from_batches(pages).combine_chunks()
    found: list[pa.RecordBatch] = _arranged(joined, query, key, columns).to_batches()
    return found


def _arranged(table: pa.Table, query: Query, key: Any, columns: Sequence[str]) -> pa.Table:
    if key is not None:
        values = pa.repeat(pa.scalar(str(key), pa.string()), table.num_rows)
        table = table.append_column(query.key, values)
    return table.select(list(columns))
