"""The writers of the formats of `settings.FORMATS`: each writes a page as soon as it arrives."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import click

from boardlot._core import Records
from boardlot._support import tables
from boardlot._support.cell_format import counted, escaped
from boardlot.cli.output.fields import Fields, Rows, names_of
from boardlot.cli.output.terminal import coloured, coloured_json, note

# Control characters, and those that change the direction of text: always escaped in JSON.
CONTROL = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Writer:
    """Writes one stream of rows."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        self._file, self._fields = file, fields

    def write(self, page: Any) -> None:
        """Write a page of rows, `Records` or a list of dicts; it may have no rows, nor names."""
        raise NotImplementedError

    def end(self) -> None:
        """Write what follows the last row; nothing may be written after it."""


class Table(Writer):
    """A text table whose layout comes from the first page, so that it can start before the last.

    No line is wider than the terminal; elsewhere nothing is truncated or left out.
    """

    def __init__(
        self, file: BinaryIO, fields: Fields, key_columns: Sequence[str] = (), *, stdout: bool
    ) -> None:
        super().__init__(file, fields)
        self._key_columns = key_columns
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
            line = f"{counted(self._rows, 'row')}{more}"
            width = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
            note("\n".join(tables.wrapped(line, width)))

    def _start(self, page: Any) -> None:
        self._started = True
        asked = self._fields.checked(page)
        width = shutil.get_terminal_size().columns if self._terminal else None
        self._layout = tables.Layout.of(page, width, asked, self._key_columns)
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


class JsonLines(Writer):
    """One JSON object per line."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        super().__init__(file, fields)
        self._shown = _colour(file)

    def write(self, page: Any) -> None:
        self._file.write(
            b"".join(self._shown(row) + b"\n" for row in _json_rows(page, self._fields))
        )


class Json(JsonLines):
    """One array, one row per line."""

    _before = b"[\n "

    def write(self, page: Any) -> None:
        for row in _json_rows(page, self._fields):
            self._file.write(self._before + self._shown(row))
            self._before = b",\n "

    def end(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n " else b"\n]\n")


class _Lines(list[str]):
    write = list.append


class Csv(Writer):
    """A header, then the service's own values; flags are true or false, null is empty."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        super().__init__(file, fields)
        # Names that are known already are those of a resumed file, which has its header.
        self._started = fields.names is not None
        self._shown = file.isatty()

    def write(self, page: Any) -> None:
        names = self._fields.names_for(page)
        lines = _Lines()
        # Before Python 3.13, a cell is quoted for the characters of the line's end alone.
        rows = csv.writer(lines, lineterminator="\r\n")
        if names and not self._started:
            rows.writerow(self._visible(names))
            self._started = True
        rows.writerows(map(self._visible, _text_rows(page, names)))
        text = "".join(line[:-2] + "\n" for line in lines)
        self._file.write(text.encode("utf-8", "backslashreplace"))

    def _visible(self, cells: Sequence[str | None]) -> Sequence[str | None]:
        """The cells, with control characters escaped on a terminal."""
        return [cell and escaped(cell) for cell in cells] if self._shown else cells


def _colour(file: BinaryIO) -> Callable[[bytes], bytes]:
    """Returns a function that prepares a JSON text for the file: a terminal gets colours."""
    if not (file.isatty() and coloured()):
        return lambda text: text
    return lambda text: coloured_json(text.decode("utf-8", "surrogateescape")).encode(
        "utf-8", "surrogateescape"
    )


def compact(value: Any) -> bytes:
    """A value as JSON in one line, without control characters."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.encode("utf-8", "backslashreplace")


def _json_rows(page: Rows, fields: Fields) -> list[bytes]:
    """Each row, with the selected fields or unchanged, its numbers as sent."""
    names = None if fields.selected is None else fields.names_for(page)
    if isinstance(page, Records):
        return [row.encode() for row in page._json(names)]
    rows = page if names is None else [{name: row.get(name) for name in names} for row in page]
    return [compact(_finite(row)) for row in rows]


def _finite(value: Any) -> Any:
    """A value for JSON, which has no infinities: a database may."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(member) for name, member in value.items()}
    return [_finite(member) for member in value] if isinstance(value, list) else value


def _text_rows(page: Rows, names: list[str]) -> list[list[str | None]]:
    """The cells of each row, its numbers as sent."""
    if isinstance(page, Records):
        return page._texts(names)
    return [[_plain(row.get(name)) for name in names] for row in page]


def _plain(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else compact(value).decode()
