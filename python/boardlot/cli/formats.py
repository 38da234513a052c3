"""The formats of data, each written page by page: rows go out as they come in."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Protocol

import click

from boardlot import tables
from boardlot.cli.settings import coloured

__all__ = ["WRITERS", "Fields", "Writer", "compact", "counted"]

# Rows of one row group of Parquet: what lies in memory at most.
GROUP = 20_000

Rows = Sequence[Mapping[str, Any]]


class Writer(Protocol):
    """Writes one stream of rows."""

    def write(self, page: Any) -> None:
        """Write a page of rows, `Records` or a list of dicts."""

    def end(self) -> None:
        """Write what stands behind the last row; nothing may be written after it."""


class Fields:
    """Which fields are written: those asked for, or those declared and those of the first page."""

    def __init__(self, asked: str | None = None, names: Sequence[str] | None = None) -> None:
        self.asked = [name.strip() for name in asked.split(",")] if asked else None
        self.names = list(names) if names is not None else None
        self._told: set[str] = set()

    def of(self, page: Rows) -> list[str]:
        """The names, fixed by the first page."""
        if self.names is None:
            self.names = self.checked(page) or _names(page)
        if self.asked is None:
            self._tell_new(page, self.names)
        return self.names

    def checked(self, page: Rows) -> list[str] | None:
        """The names that were asked for; refused where the first page has no such field."""
        known = _names(page)
        wrong = [name for name in self.asked or () if known and name not in known]
        if wrong:
            raise click.UsageError(
                f"there is no column {', '.join(wrong)}; there are {', '.join(known)}"
            )
        return self.asked

    def _tell_new(self, page: Rows, names: list[str]) -> None:
        """A column cannot be added to what is written already: nothing is dropped in silence."""
        known = {*names, *self._told}
        new = dict.fromkeys(name for row in page for name in row if name not in known)
        for name in new:
            click.echo(
                f"boardlot: the field {name} came too late to become a column and is left out; "
                "--format jsonl keeps it",
                err=True,
            )
        self._told.update(new)


class Table:
    """A text table, laid out by the first page so that it can start before the last one is there.

    On a terminal it is as wide as that; elsewhere nothing is cut or left out.
    """

    def __init__(
        self, file: BinaryIO, fields: Fields, favourites: Sequence[str] = (), *, stdout: bool
    ) -> None:
        self._file = file
        self._fields = fields
        self._favourites = favourites
        self._stdout = stdout
        self._terminal = stdout and sys.stdout.isatty()
        self._layout: tables.Layout | None = None
        self._rows = 0
        self._started = False

    def write(self, page: Any) -> None:
        if not self._started and (len(page) or _names(page)):
            self._start(page)
        self._rows += len(page)
        if self._layout is not None:
            self._put(self._layout.lines(page))

    def end(self) -> None:
        hidden = self._layout.hidden if self._layout is not None else 0
        columns = f"{hidden} columns are" if hidden > 1 else "1 column is"
        more = f"; {columns} not shown: see --columns and --format" if hidden else ""
        if self._stdout:
            click.echo(f"{counted(self._rows)}{more}", err=True)

    def _start(self, page: Any) -> None:
        self._started = True
        asked = self._fields.checked(page)
        width = shutil.get_terminal_size().columns if self._terminal else None
        self._layout = tables.Layout.of(page, width, asked, self._favourites)
        if self._layout is not None:
            names, *rest = self._layout.heading()
            self._put([self._styled(names, bold=True), *(self._styled(x, dim=True) for x in rest)])

    def _styled(self, text: str, **how: bool) -> str:
        return click.style(text, **how) if self._terminal and coloured() else text

    def _put(self, lines: list[str]) -> None:
        # A file is UTF-8. A terminal has its own encoding: names that it lacks are escaped.
        encoding = sys.stdout.encoding if self._terminal else "utf-8"
        text = "".join(f"{line}\n" for line in lines)
        self._file.write(text.encode(encoding or "utf-8", "backslashreplace"))


class Json:
    """One array, a row a line."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        self._file = file
        self._fields = fields
        self._before = b"[\n "

    def write(self, page: Any) -> None:
        for row in _chosen(page, self._fields):
            self._file.write(self._before + compact(row))
            self._before = b",\n "

    def end(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n " else b"\n]\n")


class JsonLines:
    """A JSON object a line."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        self._file = file
        self._fields = fields

    def write(self, page: Any) -> None:
        self._file.write(b"".join(compact(row) + b"\n" for row in _chosen(page, self._fields)))

    def end(self) -> None:
        pass


class Csv:
    """A line of names, then the service's own values; flags are true or false, null is empty."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        self._file = file
        self._fields = fields
        # Where the names are known from before, their line is written already.
        self._started = fields.names is not None

    def write(self, page: Any) -> None:
        names = self._fields.of(page)
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\n")
        if not self._started:
            rows.writerow(names)
            self._started = True
        rows.writerows([_plain(row.get(name)) for name in names] for row in page)
        self._file.write(text.getvalue().encode("utf-8", "backslashreplace"))

    def end(self) -> None:
        pass


class Parquet:
    """Typed columns, compressed; a row group for every so many rows."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ModuleNotFoundError as missing:
            raise ImportError(
                "--format parquet needs pyarrow: pip install 'boardlot[arrow]'"
            ) from missing
        self._pyarrow = pyarrow
        self._parquet = parquet
        self._file = file
        self._fields = fields
        self._writer: Any = None
        self._pages: list[Any] = []

    def write(self, page: Any) -> None:
        names = self._fields.of(page)
        table = page.to_arrow() if hasattr(page, "to_arrow") else self._untyped(page)
        self._pages.append(table.select([name for name in names if name in table.column_names]))
        if sum(map(len, self._pages)) >= GROUP:
            self._group()

    def end(self) -> None:
        if any(map(len, self._pages)) or self._writer is None:
            self._group()
        self._writer.close()

    def _untyped(self, page: Rows) -> Any:
        return self._pyarrow.Table.from_pylist([dict(row) for row in page])

    def _group(self) -> None:
        # An undeclared field that a page lacks, or has only as null, has the type of the others.
        pages = self._pages or [self._pyarrow.table({})]
        table = self._pyarrow.concat_tables(pages, promote_options="permissive")
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._file, table.schema, compression="zstd")
        else:
            schema = self._writer.schema
            empty = schema.empty_table()
            table = self._pyarrow.concat_tables([empty, table], promote_options="permissive")
            table = table.select(schema.names).cast(schema)
        self._writer.write_table(table)
        self._pages = []


WRITERS: dict[str, Any] = {
    "table": Table,
    "json": Json,
    "jsonl": JsonLines,
    "csv": Csv,
    "parquet": Parquet,
}


def counted(rows: int) -> str:
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def compact(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _names(page: Rows) -> list[str]:
    declared = [field.name for field in getattr(page, "schema", None) or ()]
    return list(dict.fromkeys([*declared, *(name for row in page for name in row)]))


def _chosen(page: Rows, fields: Fields) -> Any:
    """The rows with the fields that were asked for, or as they came."""
    if fields.asked is None:
        return page
    names = fields.of(page)
    return ({name: row.get(name) for name in names} for row in page)


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return compact(value).decode() if isinstance(value, (dict, list)) else value
