"""Rows of a partition as pyarrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from boardlot import Client
from boardlot._support.engines.partitions import Partition, Query
from boardlot.frames import to_arrow
from boardlot.pager import Pager
from boardlot.records import Decimals


def schema(query: Query, decimals: Decimals) -> pa.Schema:
    """The columns of a query, after the key's column."""
    # Raises an error if the query has no columns.
    query.columns()
    found = to_arrow(query.sample(), decimals=decimals).schema
    return found if query.key is None else found.insert(0, pa.field(query.key, pa.string()))


def table(
    partition: Partition, client: Client, columns: Sequence[str], decimals: Decimals
) -> pa.Table:
    """All rows of a partition, with these columns in this order."""
    key, rows = partition.read(client, columns)
    is_pager = isinstance(rows, Pager)
    table = rows.to_arrow(decimals=decimals) if is_pager else to_arrow(rows, decimals=decimals)
    return _arranged(table, partition.query, key, columns)


def batches(
    partition: Partition, client: Client, columns: Sequence[str], decimals: Decimals
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition in batches, page by page if the service returns pages."""
    key, rows = partition.read(client, columns)
    for part in rows._row_pages() if isinstance(rows, Pager) else [rows]:
        table = to_arrow(part, decimals=decimals)
        yield from _arranged(table, partition.query, key, columns).to_batches()


def _arranged(table: pa.Table, query: Query, key: Any, columns: Sequence[str]) -> pa.Table:
    if key is not None:
        values = pa.repeat(pa.scalar(str(key), pa.string()), table.num_rows)
        table = table.append_column(query.key, values)
    return table.select(list(columns))
