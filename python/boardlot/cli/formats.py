"""The formats of data, each written page by page: rows go out as they come in."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Protocol

import click

from boardlot._core import Records
from boardlot.cli.settings import coloured
from boardlot.results import tables
from boardlot.results.cell_format import clean, escaped

__all__ = ["WRITERS", "Fields", "Writer", "compact", "counted", "names_of"]

# Characters that a terminal may obey, or that turn the text around them: in JSON always escaped.
MOVING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

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
        self.asked = _asked(asked)
        self.names = list(names) if names is not None else None
        self._told: set[str] = set()

    def of(self, page: Rows) -> list[str]:
        """The names, fixed by the first page."""
        if self.names is None:
            self.names = self.checked(page) or names_of(page)
        if self.asked is None:
            self._tell_new(page, self.names)
        return self.names

    def checked(self, page: Rows) -> list[str] | None:
        """The names that were asked for; refused where the first page has no such field."""
        known = names_of(page)
        wrong = [name for name in self.asked or () if known and name not in known]
        if wrong:
            raise click.UsageError(
                f"there is no column {', '.join(wrong)}; there are {', '.join(map(clean, known))}"
            )
        return self.asked

    def _tell_new(self, page: Rows, names: list[str]) -> None:
        """A column cannot be added to what is written already: nothing is dropped in silence."""
        known = {*names, *self._told}
        new = [name for name in names_of(page) if name not in known]
        for name in new:
            click.echo(
                f"boardlot: the field {clean(name)} came too late to become a column and is left "
                "out; --format jsonl keeps it",
                err=True,
            )
        self._told.update(new)


def _asked(columns: str | None) -> list[str] | None:
    """The names of `--columns`."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",")]
    twice = sorted({name for name in names if names.count(name) > 1})
    if "" in names or twice:
        what = "has an empty name" if "" in names else f"names {', '.join(twice)} twice"
        raise click.UsageError(f"--columns {columns!r} {what}; expected names such as code,price")
    return names


class Table:
    """A text table, laid out by the first page so that it can start before the last one is there.

    On a terminal no line is wider than that; elsewhere nothing is cut or left out.
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
        if not self._started and (len(page) or names_of(page)):
            self._start(page)
        self._rows += len(page)
        if self._layout is not None:
            self._put(self._layout.lines(page))

    def end(self) -> None:
        hidden = self._layout.hidden if self._layout is not None else 0
        columns = f"{hidden} columns are" if hidden > 1 else "1 column is"
        more = f"; {columns} not shown: see --columns and --format" if hidden else ""
        if self._stdout:
            line = f"{counted(self._rows)}{more}"
            width = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
            click.echo("\n".join(tables.wrapped(line, width)), err=True)

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
        for row in _json_rows(page, self._fields):
            self._file.write(self._before + row)
            self._before = b",\n "

    def end(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n " else b"\n]\n")


class JsonLines:
    """A JSON object a line."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        self._file = file
        self._fields = fields

    def write(self, page: Any) -> None:
        self._file.write(b"".join(row + b"\n" for row in _json_rows(page, self._fields)))

    def end(self) -> None:
        pass


class Csv:
    """A line of names, then the service's own values; flags are true or false, null is empty."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        self._file = file
        self._fields = fields
        # Where the names are known from before, their line is written already.
        self._started = fields.names is not None
        self._shown = file.isatty()

    def write(self, page: Any) -> None:
        names = self._fields.of(page)
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\n")
        if not self._started:
            rows.writerow(self._visible(names))
            self._started = True
        rows.writerows(map(self._visible, _text_rows(page, names)))
        self._file.write(text.getvalue().encode("utf-8", "backslashreplace"))

    def end(self) -> None:
        pass

    def _visible(self, cells: Sequence[str | None]) -> Sequence[str | None]:
        """The cells as they are, but for a terminal with nothing that it would obey."""
        return [cell and escaped(cell) for cell in cells] if self._shown else cells


def _parquet(file: BinaryIO, fields: Fields) -> Writer:
    from boardlot.cli.parquet import Parquet

    return Parquet(file, fields)


WRITERS: dict[str, Any] = {
    "table": Table,
    "json": Json,
    "jsonl": JsonLines,
    "csv": Csv,
    "parquet": _parquet,
}


def counted(rows: int) -> str:
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def compact(value: Any) -> bytes:
    """A value as JSON, in one line that no terminal obeys."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = MOVING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.encode("utf-8", "backslashreplace")


def names_of(page: Rows) -> list[str]:
    """The names of the declared fields, then those of the others."""
    if isinstance(page, Records):
        return page._names()
    declared = [field.name for field in getattr(page, "schema", None) or ()]
    return list(dict.fromkeys([*declared, *(name for row in page for name in row)]))


def _json_rows(page: Rows, fields: Fields) -> list[bytes]:
    """Each row with the fields that were asked for, or as it came, its numbers as sent."""
    names = None if fields.asked is None else fields.of(page)
    if isinstance(page, Records):
        return [row.encode() for row in page._json(names)]
    rows = page if names is None else [{name: row.get(name) for name in names} for row in page]
    return [compact(row) for row in rows]


def _text_rows(page: Rows, names: list[str]) -> list[list[str | None]]:
    """The cells of each row, its numbers as sent."""
    if isinstance(page, Records):
        return page._texts(names)
    return [[_plain(row.get(name)) for name in names] for row in page]


def _plain(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else compact(value).decode()
