"""Tables of an archive: the results of queries, and Parquet files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any

from boardlot import _core
from boardlot._calls import explained
from boardlot._support.crash_safe import replacing
from boardlot._support.tables.text_and_html import html, text
from boardlot._support.third_party import pandas, polars, pyarrow
from boardlot.archive import observations
from boardlot.archive.arguments import DATA_FILES, DATABASES, PARQUET, path_of
from boardlot.archive.database import Database, Row
from boardlot.archive.fills import FillStore
from boardlot.archive.lists import ListSpec, Series, list_named
from boardlot.endpoint import Endpoint
from boardlot.errors import ConfigError, StoreError
from boardlot.frames import file_columns

# As the views of a SQLite archive write them.
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@explained
class QueryResult:
    """The `rows` of a query.

    `columns` are their names, and a second column of the same name ends in `_2`; iteration
    yields a tuple for each row. In the result of a SQLite archive, a column whose values are all
    times or dates as the views write them becomes one of timestamps (UTC) or dates.

    Args:
        columns: The names of the columns.
        rows: A tuple for each row.
        samples: Without rows, a value of each column's type; `None` if that is not known.

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

    def __init__(self, columns: list[str], rows: list[Row], samples: list[Any]) -> None:
        self.columns: list[str] = _unique(columns)
        self._rows = rows
        # Without rows, a value of each column's type.
        self._samples = samples

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
        import pandas as pd

        return pd.DataFrame(self._typed_columns()).iloc[: len(self)]

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame (extra `polars`). Raises `ImportError` without it."""
        _core._import_frame_library("to_polars")
        import polars as pl

        frame = pl.DataFrame(self._typed_columns(), strict=False, infer_schema_length=None)
        return frame.head(len(self))

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow Table (extra `arrow`). Values without a common type become text.

        Raises:
            ImportError: pyarrow is not installed.
        """
        _core._import_frame_library("to_arrow")
        import pyarrow as pa

        columns = self._typed_columns().items()
        return pa.table({name: _array(pa, values) for name, values in columns}).slice(0, len(self))

    def _typed_columns(self) -> dict[str, list[Any]]:
        """The values of each column; without rows, one that has its type."""
        rows = self._rows or [tuple(self._samples)]
        columns = [_typed(list(column)) for column in zip(*rows, strict=True)]
        return dict(zip(self.columns, columns, strict=True))


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
        texts = (
            x if x is None or isinstance(x, str) else json.dumps(x, default=str) for x in values
        )
        return pa.array(texts, pa.string())


def _typed(values: list[Any]) -> list[Any]:
    """A column of times or dates in text as such."""
    found = [value for value in values if value is not None]
    for pattern, convert in ((TIMESTAMP, datetime.fromisoformat), (DATE, date.fromisoformat)):
        if found and all(isinstance(value, str) and pattern.fullmatch(value) for value in found):
            with suppress(ValueError):
                return [value and convert(value) for value in values]
    return values


def export(
    database: Database,
    name: str | Endpoint,
    path: str | os.PathLike[str],
    key: Any = None,
    at: int | None = None,
    history: bool = False,
) -> int:
    """Write a list to a file, and return the number of rows; see `Archive.export`."""
    target = Path(os.path.realpath(path_of("path", path)))
    if os.path.exists(target) and not os.path.isfile(target):  # noqa: PTH110, PTH113
        raise ConfigError(
            f"path is {os.fspath(path)!r}, which is not a regular file; expected a file or a new "
            "path"
        )
    if database.reads(str(target)):
        raise ConfigError(f"path is {os.fspath(path)!r}, which is the archive itself")
    # Users who open such a file do not expect Parquet in it.
    if target.suffix.lower() in (DATA_FILES | DATABASES) - PARQUET:
        raise ConfigError(
            f"path is {os.fspath(path)!r}; expected a Parquet file, such as "
            f"{str(Path(path).with_suffix('.parquet'))!r}",
            hint="Only Parquet is written. `boardlot archive sql`, with `--out`, writes the result "
            "of a query in other formats.",
        )
    table = arrow_table(database, name, key, at, history)
    from pyarrow import parquet

    try:
        with replacing(target) as file:
            parquet.write_table(table, file, compression="zstd")
    except OSError as error:
        # pyarrow's have a text of their own, and no `strerror`.
        reason = error.strerror or str(error)
        raise StoreError(
            f"{target} cannot be written: {reason}",
            hint="Free some space, or choose another path; an existing file is unchanged.",
        ) from error
    return int(table.num_rows)


def arrow_table(
    database: Database,
    name: str | Endpoint,
    key: Any = None,
    at: int | None = None,
    history: bool = False,
) -> Any:
    """A list with its keys as a pyarrow Table."""
    if history and at is not None:
        raise ConfigError("history has all times, and at is one; pass one of them")
    if name == "fills" and at is not None:
        raise ConfigError(
            "at does not apply to fills; export them as they are now, or all changes with "
            "history=True"
        )
    _core._import_frame_library("to_arrow")
    import pyarrow as pa

    # Without a key, the declared columns are those of no rows.
    if name == "fills":
        parts = list(_fills(database, None if key is None else Series.checked(key), history))
        parts = parts or [({"account": "", "market": ""}, Series("0", "-").rows([], history))]
    else:
        spec = list_named(name, "fills")
        keys = _keys(database, spec) if key is None else [spec.key_of(key)]
        parts = [({spec.column: one}, _part(database, spec, one, at, history)) for one in keys]
        samples = spec.samples(observed=history)
        parts = parts or [({spec.column: ""}, rows) for rows in samples]
    columns = [_with_keys(pa, file_columns(rows, "null"), keys) for keys, rows in parts]
    return pa.concat_tables(columns, promote_options="permissive")


def _with_keys(pa: Any, table: Any, keys: dict[str, str]) -> Any:
    """The table with a leading column for each key; a field of that name ends in `_2`."""
    names = _unique([*keys, *table.column_names])
    for place, (name, value) in enumerate(keys.items()):
        table = table.add_column(place, name, pa.repeat(pa.scalar(value, pa.string()), len(table)))
    return table.rename_columns(names)


def _fills(
    database: Database, only: Series | None, history: bool
) -> Iterator[tuple[dict[str, str], Any]]:
    stored = database.read("select account, market from series order by account, market")
    for series in [Series(*row) for row in stored] if only is None else [only]:
        if history:
            rows = series.changed(FillStore(database, series).changes())
        else:
            with closing(FillStore(database, series).texts()) as texts:
                rows = series.rows(texts)
        yield {"account": series.account, "market": series.market}, rows


def _keys(database: Database, spec: ListSpec) -> list[str]:
    rows = database.read("select key from lists where list = ? order by key", (spec.name,))
    return [key for (key,) in rows]


def _part(database: Database, spec: ListSpec, key: str, at: int | None, history: bool) -> Any:
    if history:
        return spec.rows(key, observations.changes(database, spec, key), observed=True)
    return spec.rows(key, observations.seen(database, spec, key, at))
