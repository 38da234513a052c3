"""The writers of the formats of `settings.FORMATS`: each writes a page as soon as it arrives."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import click

from boardlot._support.tables import text_and_html as tables
from boardlot._support.tables.cell_format import counted, escaped
from boardlot.cli.output.fields import Fields, Page
from boardlot.cli.output.terminal import colored, colored_json, note


class Writer:
    """Writes one stream of rows."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        self._file, self._fields = file, fields

    def write(self, page: Page) -> None:
        """Write a page of rows; it may have no rows, nor names."""
        raise NotImplementedError

    def end(self) -> None:
        """Write the end of the output, after the last row; no more rows may be written."""

    def close(self) -> None:
        """Release the writer's resources, even if not all rows were written."""


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

    def write(self, page: Page) -> None:
        if not self._started and (len(page) or page.names()):
            self._start(page)
        self._rows += len(page)
        if self._layout is not None:
            self._put(self._layout.lines(page.dicts()))

    def end(self) -> None:
        hidden = self._layout.hidden if self._layout is not None else 0
        columns = f"{hidden} columns are" if hidden > 1 else "1 column is"
        more = f"; {columns} not shown: see --columns and --format" if hidden else ""
        if self._stdout:
            line = f"{counted(self._rows, 'row')}{more}"
            width = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
            note("\n".join(tables.wrapped(line, width)))

    def _start(self, page: Page) -> None:
        self._started = True
        asked = self._fields.checked(page)
        # Rows have their order, which is not that of the declared fields if it was selected.
        if asked is None and len(own := page.names()) <= tables.MOST_UNDECLARED:
            asked = own
        width = shutil.get_terminal_size().columns if self._terminal else None
        self._layout = tables.Layout.of(page.dicts(), width, asked, self._key_columns, page.schema)
        if self._layout is not None:
            names, *rest = self._layout.heading()
            self._put([self._styled(names, bold=True), *(self._styled(x, dim=True) for x in rest)])

    def _styled(self, text: str, **how: bool) -> str:
        return click.style(text, **how) if self._terminal and colored() else text

    def _put(self, lines: list[str]) -> None:
        # A file is UTF-8. A terminal has its own encoding: names that it lacks are escaped.
        encoding = sys.stdout.encoding if self._terminal else "utf-8"
        text = "".join(f"{line}\n" for line in lines)
        self._file.write(text.encode(encoding or "utf-8", "backslashreplace"))


class JsonLines(Writer):
    """One JSON object per line, in colors on a terminal."""

    def _rows(self, page: Page) -> Iterator[bytes]:
        """Each row, with the selected fields or unchanged, its numbers as sent."""
        names = None if self._fields.selected is None else self._fields.names_for(page)
        is_colored = self._file.isatty() and colored()
        rows = page.json(names)
        texts = map(colored_json, rows) if is_colored else rows
        # In JSON, a lone surrogate can only be escaped.
        return (text.encode("utf-8", "backslashreplace") for text in texts)

    def write(self, page: Page) -> None:
        self._file.write(b"".join(row + b"\n" for row in self._rows(page)))


class Json(JsonLines):
    """One array, one row per line."""

    _before = b"[\n "

    def write(self, page: Page) -> None:
        for row in self._rows(page):
            self._file.write(self._before + row)
            self._before = b",\n "

    def end(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n " else b"\n]\n")


class _Lines(list[str]):
    write = list.append


# Python 3.10 writes no U+0000 without an escape character: a code point that Unicode reserves for
# no character.
ESCAPE = "\U0005fffe" if sys.version_info < (3, 11) else None


class Csv(Writer):
    """A header, then the service's own values; flags are true or false, null is empty."""

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        super().__init__(file, fields)
        # Names that are known already are those of a resumed file, which has its header.
        self._started = fields.names is not None
        self._shown = file.isatty()

    def write(self, page: Page) -> None:
        names = self._fields.names_for(page)
        lines = _Lines()
        # Before Python 3.13, a cell is quoted for the characters of the line's end alone.
        rows = csv.writer(lines, lineterminator="\r\n", escapechar=ESCAPE)
        if names and not self._started:
            rows.writerow(self._visible(names))
            self._started = True
        rows.writerows(map(self._visible, page.texts(names)))
        text = "".join(line[:-2] + "\n" for line in lines)
        self._file.write(text.encode("utf-8", "backslashreplace"))

    def _visible(self, cells: Sequence[str | None]) -> Sequence[str | None]:
        """The cells, with control characters escaped on a terminal."""
        return [cell and escaped(cell) for cell in cells] if self._shown else cells
