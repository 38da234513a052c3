"""An archive's records as a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from boardlot import _core, crash_safe
from boardlot.archive import observations
from boardlot.archive.database import Database
from boardlot.archive.fills import FillStore
from boardlot.archive.lists import Series, list_named
from boardlot.archive.open import path_of
from boardlot.errors import ConfigError, StoreError

__all__ = ["export"]


def export(database: Database, name: str, path: str | os.PathLike[str]) -> int:
    """Write a list to a file, and return the number of rows; see `Archive.export`."""
    target = Path(os.path.realpath(path_of("path", path)))
    if crash_safe.is_regular(target) is False:
        raise ConfigError(
            f"path is {os.fspath(path)!r}, which is not a regular file; expected a file or a new "
            "path"
        )
    tables = _fills(database) if name == "fills" else _changes(database, name)
    _core._import_frame_library("to_arrow")
    import pyarrow as pa
    from pyarrow import parquet

    parts = [_with_keys(pa, records.to_arrow(invalid="null"), keys) for keys, records in tables]
    if not parts:
        parts = [
            _with_keys(pa, records.to_arrow(invalid="null"), keys) for keys, records in _empty(name)
        ]
    table = pa.concat_tables(parts, promote_options="permissive")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with crash_safe.replacing(target, temporary):
            parquet.write_table(table, temporary, compression="zstd")
    except OSError as error:
        # pyarrow's have a text of their own, and no `strerror`.
        reason = error.strerror or str(error)
        raise StoreError(
            f"{target} cannot be written: {reason}",
            hint="Free some space, or choose another path; an existing file is unchanged.",
        ) from error
    return int(table.num_rows)


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


def _changes(database: Database, name: str) -> Iterator[tuple[dict[str, str], Any]]:
    spec = list_named(name)
    rows = database.read("select key from lists where list = ? order by id", (spec.name,))
    for (key,) in rows:
        texts = observations.changes(database, spec, key)
        yield {spec.column: key}, spec.records(key, texts, observed=True)


def _empty(name: str) -> Iterator[tuple[dict[str, str], Any]]:
    """The declared columns of a list of which the archive has no key."""
    if name == "fills":
        yield {"account": "", "market": ""}, Series("0", "-").records([])
        return
    spec = list_named(name)
    for key in spec.examples:
        yield {spec.column: key}, spec.records(key, [], observed=True)
