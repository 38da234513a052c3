"""SQL over typed views of the archive, and the result of a query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from boardlot import _core
from boardlot.archive.database import Database, Row
from boardlot.archive.fills import CURRENT
from boardlot.archive.lists import LISTS, ListSpec, Series

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["QueryResult", "views"]

# As the views of a SQLite archive write them.
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class QueryResult:
    """The rows of a query.

    `columns` are their names; iteration yields a tuple for each row. In the result of a SQLite
    archive, a column whose values are all times or dates as the views write them becomes one of
    timestamps (UTC) or dates.
    """

    def __init__(self, columns: list[str], rows: list[Row]) -> None:
        self.columns = columns
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<QueryResult of {len(self._rows):,} rows: {', '.join(self.columns)}>"

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame (extra `pandas`)."""
        _core._import_frame_library("to_pandas")
        import pandas as pd

        frame = pd.DataFrame(self._typed_columns())
        return frame if self._rows else frame.astype(self._declared("to_pandas"))

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame (extra `polars`)."""
        _core._import_frame_library("to_polars")
        import polars as pl

        types = None if self._rows else self._declared("to_polars")
        return pl.DataFrame(
            self._typed_columns(), strict=False, infer_schema_length=None, schema_overrides=types
        )

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow Table (extra `arrow`)."""
        _core._import_frame_library("to_arrow")
        import pyarrow as pa

        table = pa.table(self._typed_columns())
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
        columns = columns or [[] for _ in self.columns]
        named: dict[str, list[Any]] = {}
        for name, column in zip(self.columns, columns, strict=True):
            number = 2
            unique = name
            while unique in named:
                unique, number = f"{name}_{number}", number + 1
            named[unique] = column
        return named


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


def views(database: Database) -> list[str]:
    """The statements that create the views.

    `fills`, and for each list what it contained last and, as `..._history`, all of its changes.
    Their columns are the fields that the service document declares, typed; null for a value that
    is not of its type. `record` is the service's own text.
    """
    fills = _columns(database, _schema(Series("0", "-").records([])), {"account", "market"})
    statements = [
        database.create_view(
            "fills",
            f"select s.account as account, s.market as market, {fills}, record "
            f"from fill_versions f join series s on s.id = f.series where {CURRENT}",
        )
    ]
    for spec in LISTS.values():
        fields = _columns(database, _fields_of(spec), {spec.column, "seen_at", "change"})
        seen_at = f"{database.timestamp_sql('v.seen_at')} as seen_at"
        chosen = ", ".join([f"l.key as {spec.column}", *filter(None, [fields]), seen_at])
        join = "join versions v on v.list = r.list and v.id = r.version"
        current = (
            f"select {chosen}, record from lists l join snapshot_records r on r.list = l.id "
            f"and r.snapshot = l.snapshot {join} where l.list = '{spec.name}'"
        )
        history = (
            f"select {chosen}, v.change as change, record from lists l "
            f"join versions v on v.list = l.id where l.list = '{spec.name}'"
        )
        statements.append(database.create_view(spec.name, current))
        statements.append(database.create_view(f"{spec.name}_history", history))
    return statements


def _fields_of(spec: ListSpec) -> list[Any]:
    """The declared fields of a list; those of IPOs are of all markets."""
    schemas = [_schema(spec.records(key, [])) for key in spec.examples]
    return list({field.name: field for schema in reversed(schemas) for field in schema}.values())


def _declaring() -> Iterator[Any]:
    """Empty records that have, between them, the columns of all views."""
    yield Series("0", "-").records([])
    for spec in LISTS.values():
        for key in spec.examples:
            yield spec.records(key, [], observed=True)


def _schema(records: Any) -> list[Any]:
    return list(records.schema)


def _columns(database: Database, fields: list[Any], taken: set[str]) -> str:
    return ", ".join(
        f"{database.typed(field.name, field.kind, field.unit)} as {field.name}"
        for field in fields
        if field.name not in taken
    )
