"""Lists of the service as polars LazyFrames, of which only what a query needs is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from boardlot._support.extras import needs

with needs("polars 1.22 or newer", "polars", "boardlot.polars"):
    import polars as pl
    from polars.io.plugins import register_io_source

    # Earlier versions lose filters of a source on a time with a zone.
    if tuple(int(part) for part in pl.__version__.split(".")[:2]) < (1, 22):
        raise ImportError(f"polars {pl.__version__} is too old", name="polars")

import json

from boardlot import Client, Endpoint
from boardlot._calls import explained
from boardlot._core import _Rows as Rows
from boardlot._support.engines import partitions as parts
from boardlot.errors import ConfigError
from boardlot.frames import to_polars
from boardlot.pager import Pager
from boardlot.records import Decimals

__all__ = ["scan"]

# Rows of a frame that is passed to the engine, unless it asks for another number.
BATCH_ROWS = 50_000
# The number of keys whose rows are in memory at once.
CONCURRENCY = 8


@explained
def scan(
    client: Client,
    method: str | Endpoint,
    *,
    decimals: Decimals = "float64",
    **arguments: Any,
) -> pl.LazyFrame:
    """A list of the service as a polars LazyFrame.

    Nothing is fetched before the query is collected, and then page by page: `head(10)` sends one
    request, and `sink_parquet` needs the memory of some pages. Only the columns that the query
    needs are made. A filter of `fills_history` on `code` (`==`) or on `updated_time` (`==`, `<`,
    `<=`, `>`, `>=`, `is_between`) becomes part of the request, and is applied again to the rows;
    polars applies all other filters.

    Each time that the frame is collected, the list is fetched again. An open time range then ends
    at that moment, by the service's clock.

    Args:
        client: A `Client`. The requests are sent in this process.
        method: The name of a method that returns records, such as `"fills_history"`, or an
            `Endpoint` with a `record`.
        decimals: As for `to_polars`.
        arguments: The arguments of the method. One of them can be a list, such as several
            accounts or symbols: then the frame has a leading column with its value.

    Returns:
        A LazyFrame with the declared columns, typed as by `to_polars`. Undeclared fields are left
        out.

    Raises:
        ConfigError: An argument is missing or not valid, or the record declares no fields; nothing
            was sent.
        ImportError: polars is not installed, or too old.
        BoardlotError: When the frame is collected: as raised by the method.

    Example:
        >>> import boardlot.polars
        >>> import polars as pl
        >>> account = sandbox.accounts["trade"][0]
        >>> fills = boardlot.polars.scan(client, "fills_history", acc_id=account, trd_market="HK")
        >>> fills.select("code", "qty").head(10).collect().shape
        (10, 2)
    """
    if not isinstance(client, Client):
        raise ConfigError(f"client is of type {type(client).__name__}; expected a Client")
    query = parts.Query.of(method, arguments)
    names = query.columns()
    schema = dict(to_polars(query.sample(), decimals=decimals).schema)
    if query.key is not None:
        schema = {query.key: pl.String(), **schema}
    source = _Source(client, query, {name: schema[name] for name in names}, decimals)
    return register_io_source(source.read, schema=source.schema)


@dataclass(frozen=True)
class _Source:
    client: Client
    query: parts.Query
    schema: dict[str, Any]
    decimals: Decimals

    def read(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Reads frames for polars. `n_rows` is the number of rows before the filter."""
        columns = list(self.schema) if with_columns is None else with_columns
        needed = list(columns)
        if predicate is not None:
            needed += [name for name in predicate.meta.root_names() if name not in needed]
        # The first rows are those before the filter.
        pushed = filters(predicate) if n_rows is None else parts.Filters()
        for frame in self.frames(needed, pushed, n_rows, batch_size or BATCH_ROWS):
            filtered = frame if predicate is None else frame.filter(predicate)
            yield filtered.select(columns)

    def frames(
        self, columns: list[str], pushed: parts.Filters, n_rows: int | None, batch_rows: int
    ) -> Iterator[pl.DataFrame]:
        if n_rows == 0:
            return
        keys = len(self.query.keys)
        groups = keys if n_rows is not None else -(-keys // CONCURRENCY)
        for partition in parts.plan(self.client, self.query, max(1, groups), pushed):
            if n_rows is None:
                yield from self.partition(partition, columns, batch_rows)
                continue
            frame = self.first_rows(partition, columns, n_rows)
            n_rows -= len(frame)
            yield frame
            if n_rows <= 0:
                return

    def first_rows(
        self, partition: parts.Partition, columns: list[str], n_rows: int
    ) -> pl.DataFrame:
        """Reads the first rows without fetching ahead."""
        key, rows = partition.read(self.client, columns)
        if isinstance(rows, Pager):
            rows = rows._all_rows(n_rows)
        return self.frame(rows.slice(0, n_rows), columns, key)

    def partition(
        self, partition: parts.Partition, columns: list[str], batch_rows: int
    ) -> Iterator[pl.DataFrame]:
        """Pages, joined into ever larger frames: the first ones come soon, the others are few."""
        key, rows = partition.read(self.client, columns, concurrency=CONCURRENCY)
        if not isinstance(rows, Pager):
            yield self.frame(rows, columns, key)
            return
        frames: list[pl.DataFrame] = []
        held, wanted = 0, 1
        for page in rows._row_pages():
            frames.append(self.frame(page, columns, key))
            held += len(page)
            if held >= wanted:
                yield pl.concat(frames)
                frames, held, wanted = [], 0, min(2 * max(held, wanted), batch_rows)
        if frames:
            yield pl.concat(frames)

    def frame(self, rows: Rows, columns: list[str], key: object) -> pl.DataFrame:
        frame = to_polars(rows, decimals=self.decimals)
        if key is not None:
            frame = frame.with_columns(pl.lit(str(key)).alias(str(self.query.key)))
        return frame.select(columns)


OPERATORS = {"Eq": "==", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
# Factors of each unit to and from microseconds.
UNITS = {"Nanoseconds": (1, 1_000), "Microseconds": (1, 1), "Milliseconds": (1_000, 1)}


def filters(predicate: pl.Expr | None) -> parts.Filters:
    """The part of a predicate that the service can apply: none if its form is unknown.
    polars has no other way to look into an expression than its serialized form, which may change
    with each version."""
    if predicate is None:
        return parts.Filters()
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
        return parts.Filters.of(_conditions(tree))
    # A later version may write anything: without conditions, the result is the same.
    except Exception:
        return parts.Filters()


def _conditions(tree: Any) -> Iterator[parts.Condition]:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            yield from _conditions(left)
            yield from _conditions(right)
        case {"BinaryExpr": {"left": {"Column": str(column)}, "op": operator, "right": value}}:
            yield from _condition(column, OPERATORS.get(operator), value)
        case {"BinaryExpr": {"left": value, "op": operator, "right": {"Column": str(column)}}}:
            yield from _condition(column, parts.MIRRORED.get(OPERATORS.get(operator, "")), value)
        case {
            "Function": {
                "input": [{"Column": str(column)}, low, high],
                "function": {"Boolean": {"IsBetween": {"closed": str(closed)}}},
            }
        } if closed in CLOSED:
            after, before = CLOSED[closed]
            yield from _condition(column, after, low)
            yield from _condition(column, before, high)


def _condition(column: str, operator: str | None, literal: Any) -> Iterator[parts.Condition]:
    if operator is None:
        return
    match literal:
        case {"Literal": {"Scalar": {"String": str(text)}}}:
            yield parts.Condition(column, operator, text)
        # A time without a zone is not compared with one that has a zone.
        case {"Literal": {"Scalar": {"Datetime": [int(count), str(unit), {"inner": _}]}}}:
            times, divisor = UNITS[unit]
            yield parts.Condition(column, operator, count * times // divisor)
