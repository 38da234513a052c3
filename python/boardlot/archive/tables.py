"""Writes an archive's lists to Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from boardlot import _core
from boardlot._support.crash_safe import replacing
from boardlot.archive import observations
from boardlot.archive.arguments import DATA_FILES, DATABASES, PARQUET, path_of
from boardlot.archive.database import Database
from boardlot.archive.fills import FillStore
from boardlot.archive.lists import ListSpec, Series, list_named
from boardlot.archive.query_result import unique
from boardlot.endpoint import Endpoint
from boardlot.errors import ConfigError, StoreError
from boardlot.frames import file_columns, without_empty_objects


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
        # pyarrow's errors have a text of their own, and no `strerror`.
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

    # If there is no key, a table without rows has the declared columns.
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
    return without_empty_objects(pa.concat_tables(columns, promote_options="permissive"))


def _with_keys(pa: Any, table: Any, keys: dict[str, str]) -> Any:
    """The table with a leading column for each key; a field of that name ends in `_2`."""
    names = unique([*keys, *table.column_names])
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
