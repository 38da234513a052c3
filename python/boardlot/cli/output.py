"""Writing records as the global options ask: to stdout or to a file, in one of five formats."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from boardlot import tables
from boardlot.cli.app import Settings

__all__ = ["emit", "replace"]

TABLE_ROWS = 40


def emit(settings: Settings, records: Any) -> None:
    """Write records as `--format` and `--out` ask.

    Args:
        settings: The global options.
        records: `Records`, or a pager, of which everything is fetched first: a failure in the
            middle writes nothing.

    `table` shows the first and last rows on a terminal and all of them in a file; `json`, `jsonl`
    and `csv` have the service's own values; `parquet` has typed columns (with pyarrow).
    """
    if hasattr(records, "pages"):
        records = records.all()
    if settings.out is None and settings.format == "parquet" and sys.stdout.isatty():
        raise click.UsageError("parquet is no text: add --out FILE")
    write: Callable[[Any, BinaryIO], None] = WRITERS[settings.format]
    if settings.format == "table" and settings.out is None:
        write = _table_to_terminal
    if settings.out is None:
        sys.stdout.flush()
        write(records, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return

    def fill(path: Path) -> None:
        with path.open("wb") as file:
            write(records, file)

    replace(settings.out, fill)
    click.echo(f"wrote {len(records):,} rows to {settings.out}", err=True)


def replace(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file beside its place and move it there: no reader ever sees half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


Rows = Sequence[Mapping[str, Any]]


def _table_to_terminal(records: Any, file: BinaryIO) -> None:
    # In the terminal's encoding: names that it lacks are escaped.
    text = tables.text(records, max_rows=TABLE_ROWS) + "\n"
    file.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))


def _table_to_file(records: Rows, file: BinaryIO) -> None:
    text = tables.text(records, max_rows=len(records), width=sys.maxsize) + "\n"
    file.write(text.encode("utf-8", "backslashreplace"))


def _json(records: Rows, file: BinaryIO) -> None:
    file.write(b"[")
    for number, row in enumerate(records):
        file.write(b",\n " if number else b"\n ")
        file.write(_compact(row))
    file.write(b"\n]\n" if len(records) else b"]\n")


def _jsonl(records: Rows, file: BinaryIO) -> None:
    for row in records:
        file.write(_compact(row) + b"\n")


def _csv(records: Rows, file: BinaryIO) -> None:
    declared = [field.name for field in getattr(records, "schema", None) or ()]
    names = list(dict.fromkeys([*declared, *(name for row in records for name in row)]))
    text = io.TextIOWrapper(file, "utf-8", errors="backslashreplace", newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(names)
    for row in records:
        rows.writerow([_plain(row.get(name)) for name in names])
    text.flush()
    text.detach()  # Or the stream would be closed with its wrapper.


def _parquet(records: Any, file: BinaryIO) -> None:
    table = records.to_arrow()
    from pyarrow import parquet

    parquet.write_table(table, file, compression="zstd")


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _compact(value).decode() if isinstance(value, (dict, list)) else value


def _compact(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


WRITERS: dict[str, Callable[[Any, BinaryIO], None]] = {
    "table": _table_to_file,
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
}
