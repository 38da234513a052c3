"""The result of a query over the views of an archive."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from boardlot import _core
from boardlot.archive.database import Row
from boardlot.archive.lists import LISTS, Series

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["QueryResult", "text_of"]

# As the views of a SQLite archive write them.
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class QueryResult:
    """The `rows` of a query.

    `columns` are their names, of which a second one with the same name ends in `_2`; iteration
    yields a tuple for each row. In the result of a SQLite archive, a column whose values are all
    times or dates as the views write them becomes one of timestamps (UTC) or dates.

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

    def __init__(self, columns: list[str], rows: list[Row]) -> None:
        self.columns: list[str] = _unique(columns)
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<QueryResult of {len(self._rows):,} rows: {', '.join(self.columns)}>"

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts by the names of the columns. Raises nothing."""
        return [dict(zip(self.columns, row, strict=True)) for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame (extra `pandas`). Raises `ImportError` without it."""
        _core._import_frame_library("to_pandas")
        import pandas as pd

        frame = pd.DataFrame(self._typed_columns())
        return frame if self._rows else frame.astype(self._declared("to_pandas"))

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame (extra `polars`). Raises `ImportError` without it."""
        _core._import_frame_library("to_polars")
        import polars as pl

        types = None if self._rows else self._declared("to_polars")
        return pl.DataFrame(
            self._typed_columns(), strict=False, infer_schema_length=None, schema_overrides=types
        )

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow Table (extra `arrow`). Values without a common type become text.

        Raises:
            ImportError: pyarrow is not installed.
        """
        _core._import_frame_library("to_arrow")
        import pyarrow as pa

        table = pa.table(
            {name: _array(pa, values) for name, values in self._typed_columns().items()}
        )
        for name, of_type in ({} if self._rows else self._declared("to_arrow")).items():
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array([], of_type))
        return table

    def _declared(self, method: str) -> dict[str, Any]:
        """The types of those columns that have the same type in all views with a column so named.

        Rows show their types; a result without rows has the declared ones.
        """
        found: dict[str, list[Any]] = {}
        for records in _declaring():
            frame = getattr(records, method)()
            names = frame.column_names if method == "to_arrow" else list(frame.columns)
            types = frame.schema.types if method == "to_arrow" else list(frame.dtypes)
            for name, of_type in zip(names, types, strict=True):
                found.setdefault(name, []).append(of_type)
        return {
            name: types[0]
            for name, types in found.items()
            if name in self.columns and all(one == types[0] for one in types)
        }

    def _typed_columns(self) -> dict[str, list[Any]]:
        columns = [_typed(list(column)) for column in zip(*self._rows, strict=True)]
        return dict(zip(self.columns, columns or [[] for _ in self.columns], strict=True))


def _unique(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, unique = 2, name
        while unique in found or (unique != name and unique in names):
            unique, number = f"{name}_{number}", number + 1
        found.append(unique)
    return found


def _array(pa: Any, values: list[Any]) -> Any:
    # SQLite has no type for a column.
    try:
        return pa.array(values)
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.array([text_of(value) for value in values], pa.string())


def text_of(value: Any) -> str | None:
    """A value of a column whose values have no common type."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str)


def _typed(values: list[Any]) -> list[Any]:
    """A column of times or dates in text as such."""
    first = next((value for value in values if value is not None), None)
    for pattern, convert in ((TIMESTAMP, datetime.fromisoformat), (DATE, date.fromisoformat)):
        if isinstance(first, str) and pattern.fullmatch(first):
            try:
                return [
                    None if value is None else _matching(pattern, convert, value)
                    for value in values
                ]
            except (TypeError, ValueError):
                return values
    return values


def _matching(pattern: re.Pattern[str], convert: Any, value: Any) -> Any:
    if not pattern.fullmatch(value):
        raise ValueError
    return convert(value)


def _declaring() -> Iterator[Any]:
    """Empty records that have, between them, the columns of all views."""
    yield Series("0", "-").records([])
    for spec in LISTS.values():
        for key in spec.examples:
            yield spec.records(key, [], observed=True)
