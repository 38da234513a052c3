"""An archive's records as a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from boardlot import _core, crash_safe
from boardlot._core import Endpoint
from boardlot.archive import observations
from boardlot.archive.database import Database
from boardlot.archive.fills import FillStore
from boardlot.archive.lists import ListSpec, Series, list_named
from boardlot.archive.open import path_of
from boardlot.archive.sql import text_of
from boardlot.errors import ConfigError, StoreError

__all__ = ["arrow_table", "export"]


# Whoever opens such a file does not expect Parquet in it.
OTHER_FORMATS = {".csv", ".json", ".jsonl", ".tsv", ".txt", ".xls", ".xlsx"}


def export(database: Database, name: str | Endpoint, path: str | os.PathLike[str]) -> int:
    """Write a list to a file, and return the number of rows; see `Archive.export`."""
    target = Path(os.path.realpath(path_of("path", path)))
    if target.suffix.lower() in OTHER_FORMATS:
        raise ConfigError(
            f"path is {os.fspath(path)!r}; expected a Parquet file, such as "
            f"{target.with_suffix('.parquet').name!r}",
            hint="Only Parquet is written: for another format, write what `sql` returns.",
        )
    if crash_safe.is_regular(target) is False:
        raise ConfigError(
            f"path is {os.fspath(path)!r}, which is not a regular file; expected a file or a new "
            "path"
        )
    if database.reads(str(target)):
        raise ConfigError(f"path is {os.fspath(path)!r}, which is the archive itself")
    table = arrow_table(database, name)
    from pyarrow import parquet

    try:
        with crash_safe.replacing(target) as file:
            parquet.write_table(table, file, compression="zstd")
    except OSError as error:
        # pyarrow's have a text of their own, and no `strerror`.
        reason = error.strerror or str(error)
        raise StoreError(
            f"{target} cannot be written: {reason}",
            hint="Free some space, or choose another path; an existing file is unchanged.",
        ) from error
    return int(table.num_rows)


def arrow_table(database: Database, name: str | Endpoint) -> Any:
    """A list with all of its keys as a pyarrow Table."""
    if name == "fills":
        tables, empty = _fills(database), _no_fills
    else:
        spec = list_named(name, "fills")
        tables, empty = _changes(database, spec), partial(_no_changes, spec)
    _core._import_frame_library("to_arrow")
    import pyarrow as pa

    parts = [_with_keys(pa, records.to_arrow(invalid="null"), keys) for keys, records in tables]
    if not parts:
        parts = [
            _with_keys(pa, records.to_arrow(invalid="null"), keys) for keys, records in empty()
        ]
    return pa.concat_tables(_with_common_types(pa, parts), promote_options="permissive")


def _with_common_types(pa: Any, tables: list[Any]) -> list[Any]:
    """The tables, so that columns of one name have a type in common: those without any are text."""
    types: dict[str, list[Any]] = {}
    for table in tables:
        for column in table.schema:
            of_column = types.setdefault(column.name, [])
            if column.type not in of_column:
                of_column.append(column.type)
    for name in [name for name, found in types.items() if len(found) > 1]:
        # Nulls alone are of any type.
        found = [
            table.column(name).type
            for table in tables
            if name in table.column_names and table.column(name).null_count < len(table)
        ]
        as_text = not _unify(pa, found)
        for place, table in enumerate(tables):
            if name in table.column_names:
                values = _converted(pa, table.column(name), as_text)
                tables[place] = table.set_column(table.column_names.index(name), name, values)
    return tables


def _converted(pa: Any, column: Any, as_text: bool) -> Any:
    if column.null_count == len(column):
        return pa.nulls(len(column))
    if not as_text:
        return column
    return pa.array([text_of(value) for value in column.to_pylist()], pa.string())


def _unify(pa: Any, types: list[Any]) -> bool:
    schemas = [pa.schema([])] + [pa.schema([("column", of_type)]) for of_type in types]
    try:
        pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return False
    return True


def _with_keys(pa: Any, table: Any, keys: dict[str, str]) -> Any:
    """The table with a leading column for each key."""
    for place, (name, value) in enumerate(keys.items()):
        if name in table.column_names:
            table = table.drop_columns([name])
        table = table.add_column(place, name, pa.repeat(pa.scalar(value, pa.string()), len(table)))
    return table


def _fills(database: Database) -> Iterator[tuple[dict[str, str], Any]]:
    for account, market in database.read("select account, market from series order by id"):
        series = Series(account, market)
        with closing(FillStore(database, series).texts()) as texts:
            records = series.records(texts)
        yield {"account": account, "market": market}, records


def _changes(database: Database, spec: ListSpec) -> Iterator[tuple[dict[str, str], Any]]:
    rows = database.read("select key from lists where list = ? order by id", (spec.name,))
    for (key,) in rows:
        texts = observations.changes(database, spec, key)
        yield {spec.column: key}, spec.records(key, texts, observed=True)


def _no_fills() -> Iterator[tuple[dict[str, str], Any]]:
    """The declared columns of fills, of which the archive has none."""
    yield {"account": "", "market": ""}, Series("0", "-").records([])


def _no_changes(spec: ListSpec) -> Iterator[tuple[dict[str, str], Any]]:
    """The declared columns of a list of which the archive has no key."""
    for key in spec.examples:
        yield {spec.column: key}, spec.records(key, [], observed=True)
