"""The results of queries, with a type for each column.

A column has one of these types, which makes it in frames what it is in the frames of a client:

- `integer`, `number`, `flag`, `text`, `bytes`, `date` (in SQLite as text);
- `timestamp`: a time in UTC with microseconds (in SQLite as text); `local time`: without a zone;
- `numeric`: an integer if no value has decimal places or more than 64 bits, otherwise a number;
- `json`: the text of the JSON; `text or time`: a text, unless all values are times or dates as in
  the views;
- `computed time`: the type of the values, or, without values, a timestamp;
- `null`: without values; `other`: as the library of the frame converts its values.

A type is `None` if only the values can show it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from boardlot import _core
from boardlot._calls import explained
from boardlot._support.tables.text_and_html import html, text
from boardlot._support.third_party import pandas, polars, pyarrow
from boardlot.archive.database import Row
from boardlot.frames import pandas_frame

# Times and dates as the views of a SQLite archive write them.
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
INT64 = range(-(2**63), 2**63)


@explained
class QueryResult:
    """The `rows` of a query.

    `columns` are the names of the columns; a second column of the same name ends in `_2`. Iteration
    yields a tuple for each row, with the values of the database's driver. In frames, columns have
    the types that they have in the frames of a client, also without rows: integers of 64 bits,
    timestamps in UTC, dates. A column that SQLite computes has the type of its values; texts that
    are all times or all dates, as the views write them, become timestamps or dates.

    Args:
        columns: The names of the columns.
        rows: A tuple for each row.
        types: The type of each column.

    Example:
        >>> archive = bl.Archive(folder / "trades.db")
        >>> _ = archive.update(client, dividends=["HK.00700"])
        >>> result = archive.sql("select symbol, count(*) as n from dividends group by 1")
        >>> result.to_dicts(), result.columns
        ([{'symbol': 'HK.00700', 'n': 21}], ['symbol', 'n'])
        >>> result.to_pandas().shape, result.to_polars().shape, result.to_arrow().num_rows
        ((1, 2), (1, 2), 1)
        >>> archive.close()
    """

    def __init__(self, columns: list[str], rows: list[Row], types: Sequence[str | None]) -> None:
        self.columns: list[str] = unique(columns)
        self._rows = rows
        self._types = types

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return text(self.to_dicts(), columns=self.columns)

    def _repr_html_(self) -> str:
        return html(self.to_dicts(), columns=self.columns)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts by the names of the columns. Raises nothing."""
        return [dict(zip(self.columns, row, strict=True)) for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame (extra `pandas`). Raises `ImportError` without it."""
        _core._import_frame_library("to_pandas")
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame (extra `polars`). Raises `ImportError` without it."""
        _core._import_frame_library("to_polars")
        import polars as pl

        types: dict[str, Any] = {
            "integer": pl.Int64,
            "number": pl.Float64,
            "flag": pl.Boolean,
            "text": pl.String,
            "bytes": pl.Binary,
            "date": pl.Date,
            "timestamp": pl.Datetime("us", "UTC"),
            "local time": pl.Datetime("us"),
            "null": pl.Null,
        }

        def series(name: str, kind: str, values: list[Any]) -> polars.Series:
            if kind == OTHER and len({*map(type, values)} - {type(None)}) > 1:
                # Mixed values become texts, as in Arrow: polars would round integers beside floats.
                return pl.Series(name, [None if x is None else _as_json(x) for x in values])
            if kind not in AS_TEXT or not _are_texts(values):
                return pl.Series(name, values, types.get(kind), strict=False)
            texts = pl.Series(name, values, pl.String)
            try:
                if kind == "date":
                    return texts.str.to_date("%Y-%m-%d")
                return texts.str.to_datetime(
                    "%Y-%m-%d %H:%M:%S%.6f%z", time_unit="us", time_zone="UTC"
                )
            except pl.exceptions.InvalidOperationError:
                return texts

        return pl.DataFrame(
            [series(name, *typed) for name, typed in zip(self.columns, self._typed(), strict=True)]
        )

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow Table (extra `arrow`). Values without a common type become text.

        Raises:
            ImportError: pyarrow is not installed.
        """
        _core._import_frame_library("to_arrow")
        import pyarrow as pa

        types: dict[str, Any] = {
            "integer": pa.int64(),
            "number": pa.float64(),
            "flag": pa.bool_(),
            "text": pa.string(),
            "bytes": pa.binary(),
            "date": pa.date32(),
            "timestamp": pa.timestamp("us", "UTC"),
            "local time": pa.timestamp("us"),
            "null": pa.null(),
        }

        def array(kind: str, values: list[Any]) -> pyarrow.Array:
            if kind in AS_TEXT and _are_texts(values):
                texts = pa.array(values, pa.string())
                try:
                    return texts.cast(types[kind])
                except pa.ArrowInvalid:
                    return texts
            if kind != OTHER:
                return pa.array(values, types[kind])
            try:
                return pa.array(values)
            except (pa.ArrowTypeError, pa.ArrowInvalid):
                return pa.array([None if x is None else _as_json(x) for x in values], pa.string())

        return pa.Table.from_arrays([array(*one) for one in self._typed()], names=self.columns)

    def _typed(self) -> list[tuple[str, list[Any]]]:
        """The type of each column, and its values converted to that type."""
        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in self.columns)
        return [
            _typed(kind, list(values)) for kind, values in zip(self._types, columns, strict=True)
        ]


def unique(names: list[str]) -> list[str]:
    """Returns the names; a repeated name ends in a number."""
    found: list[str] = []
    for name in names:
        number, one = 2, name
        while one in found or (one != name and one in names):
            one, number = f"{name}_{number}", number + 1
        found.append(one)
    return found


def _typed(kind: str | None, values: list[Any]) -> tuple[str, list[Any]]:
    kinds = {*map(type, values)} - {type(None)}
    if kind in IF_EMPTY:
        kind = None if kinds else IF_EMPTY[kind]
    elif kind == "numeric":
        kind = "integer" if kinds and all(map(_is_whole, values)) else "number"
    elif kind == "json":
        return "text", [None if value is None else _as_json(value) for value in values]
    # In SQLite, a table that is not the archive's may have values of other types than its columns.
    if kind is None or not all(issubclass(one, ACCEPTED[kind]) for one in kinds):
        kind = _type_of([value for value in values if value is not None], kinds)
    plain = PLAIN.get(kind)
    if plain is None or kinds <= {plain}:
        return kind, values
    return kind, [None if value is None else plain(value) for value in values]


def _are_texts(values: list[Any]) -> bool:
    return {*map(type, values)} - {type(None)} == {str}


def _is_whole(value: Any) -> bool:
    # A whole number has the exponent 0; NaN and infinity have a letter as exponent.
    return value is None or (value.as_tuple().exponent == 0 and int(value) in INT64)


def _type_of(values: list[Any], kinds: set[type]) -> str:
    """The type of a column without one, such as one that SQLite computes, by its values' types."""
    if not kinds:
        return "null"
    if kinds == {str}:
        for pattern, kind in ((TIMESTAMP, "timestamp"), (DATE, "date")):
            if all(map(pattern.fullmatch, values)):
                return kind
    if kinds == {datetime}:
        has_zone = {value.tzinfo is not None for value in values}
        of_zone = {True: "timestamp", False: "local time"}
        return of_zone[has_zone.pop()] if len(has_zone) == 1 else OTHER
    if kinds == {int} and not all(value in INT64 for value in values):
        return OTHER
    # A float has no more digits than these.
    if kinds == {int, float} and all(abs(value) <= 2**53 for value in values):
        return "number"
    return OF_TYPES.get(next(iter(kinds)), OTHER) if len(kinds) == 1 else OTHER


OTHER = "other"
IF_EMPTY = {"text or time": "text", "computed time": "timestamp"}
OF_TYPES: dict[type[object], str] = {
    bool: "flag",
    int: "integer",
    float: "number",
    str: "text",
    bytes: "bytes",
    date: "date",
    Decimal: "number",
}
ACCEPTED: dict[str, Any] = {
    "integer": (int, Decimal),
    "number": (float, int, Decimal),
    "flag": int,
    "text": str,
    "bytes": bytes,
    "date": (date, str),
    "timestamp": (datetime, str),
    "local time": datetime,
}


def _as_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


# The Python types that the values of a column are converted to.
PLAIN: dict[str, Callable[[Any], Any]] = {"integer": int, "number": float, "flag": bool}
# Times and dates may be texts.
AS_TEXT = ("timestamp", "date")
