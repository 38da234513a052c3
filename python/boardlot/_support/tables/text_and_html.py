"""Records as a table: text for a terminal, HTML for a notebook.

Only the rows that are shown are read, by slicing, so that records of any length print at once.
Every value comes from outside: control characters are escaped, never sent to the terminal.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from boardlot._support.tables.cell_format import (
    ELLIPSIS,
    TITLE_CAP,
    WIDEST,
    Column,
    cells_of,
    clean,
    columns_of,
    counted,
    digits_of,
    truncated,
    undeclared,
    width_of,
)

GAP = "  "
# As wide as a point and as a digit in a proportional font.
PUNCTUATION_SPACE, FIGURE_SPACE = "\u2008", "\u2007"
# Text columns shrink from the widest down to the first until all columns fit; if even that is not
# enough, they get the second width, and columns are left out.
NARROWEST, COMFORTABLE = 16, 24
HTML_CAP = 60
# At most this many failed keys are named.
FAILURES = 3
# At most this many undeclared fields become columns.
MOST_UNDECLARED = 500

_DIM = "opacity:.65;font-weight:normal;font-size:85%"
_LINE = "rgba(128,128,128,.45)"
_CELL = (
    "padding:2px 10px;white-space:pre;vertical-align:baseline;line-height:1.5;"
    "background:none;border:0"
)


def text(
    records: Sequence[Mapping[str, Any]],
    max_rows: int = 20,
    width: int | None = None,
    columns: Sequence[str] | None = None,
) -> str:
    """Records as a text table.

    Timestamps are shown in UTC, other values as the service sent them; a null or missing value
    is a dash. The units are below the names; the last line has the number of rows and columns.

    Args:
        records: `Records`, or any sequence of dicts.
        max_rows: At most this many rows are shown: the first and the last ones.
        width: Width of the terminal; `None` detects it. Columns that do not fit are left out
            in the middle.
        columns: Names of the columns to show; `None` for all.

    Returns:
        Lines joined by line feeds, with none at the end.
    """
    schema = getattr(records, "schema", ())
    grid = _Grid.of(records, max_rows, columns, MOST_UNDECLARED, schema)
    width = width or shutil.get_terminal_size().columns
    failed = [line for text in failures(records) for line in wrapped(text, width)]
    if not grid.columns:
        return "\n".join([*wrapped(grid.summary(0), width), *failed])
    layout = Layout(grid.columns, grid.rows, width)
    lines = layout.lines(grid.rows)
    if grid.skipped:
        lines.insert(grid.head, layout.dots())
    summary = wrapped(grid.summary(layout.hidden), width)
    return "\n".join([*layout.heading(), *lines, *summary, *failed])


def failures(records: object) -> list[str]:
    """The number of keys of `fetch_many` that failed, and the first ones with their errors."""
    errors: Mapping[str, Any] = getattr(records, "errors", None) or {}
    if not errors:
        return []
    shown = [f"{clean(str(error))}" for error in list(errors.values())[:FAILURES]]
    more = len(errors) - len(shown)
    return [
        f"{counted(len(errors), 'key')} failed, see .errors:",
        *(f"  {line}" for line in shown),
        *([f"  and {more:,} more"] if more else []),
    ]


def wrapped(line: str, width: int | None) -> list[str]:
    """The line, wrapped to the width of the terminal."""
    return [line] if width is None else textwrap.wrap(line, width)


class Layout:
    """Columns of a text table, sized by the first rows, so that others can follow.

    A later value that is wider than its column is truncated if it is text. Half a number, a time
    or a date would mislead, so these push their line out, up to the width of the terminal.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Sequence[Mapping[str, Any]],
        width: int | None,
        key_columns: Sequence[str] = (),
    ) -> None:
        self._width = width
        parts = [_TextColumn(column, rows, limited=width is not None) for column in columns]
        self.hidden: int
        self._parts, self.hidden = _fit(parts, width) if width else (parts, 0)
        by_name = {part.name: part for part in parts}
        some = [by_name[name] for name in key_columns if name in by_name]
        while self.hidden and some:
            self._parts, left_out = _fit(some, width or 0)
            if not left_out or len(some) == 1:
                self._parts = _filled(self._parts, parts, width or 0)
                self.hidden = len(parts) - len(self._parts)
                break
            some.pop()

    @classmethod
    def of(
        cls,
        records: Sequence[Mapping[str, Any]],
        width: int | None,
        columns: Sequence[str] | None = None,
        key_columns: Sequence[str] = (),
        schema: Iterable[Any] = (),
    ) -> Layout | None:
        """The layout for these rows; `None` if they have no columns.

        Args:
            records: The rows: the widths are theirs.
            width: Width of the terminal; `None` to truncate nothing.
            columns: Names of the columns to show; `None` for all.
            key_columns: Names of the columns to show if not all fit, the most important first.
            schema: The declared fields.
        """
        most = MOST_UNDECLARED if width else None
        grid = _Grid.of(records, len(records), columns, most, schema)
        if not grid.columns:
            return None
        layout = cls(grid.columns, grid.rows, width, key_columns)
        layout.hidden += grid.left_out
        return layout

    def heading(self) -> list[str]:
        """The names, the units if there are any, and a rule."""
        lines = [[part.pad(part.name) for part in self._parts]]
        if any(part.units for part in self._parts):
            lines.append([part.pad(part.units) for part in self._parts])
        lines.append(["─" * part.width for part in self._parts])
        return [GAP.join(line).rstrip() for line in lines]

    def lines(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """A line for each row."""
        cells = [part.cells(rows) for part in self._parts]
        return [self._line(line) for line in zip(*cells, strict=True)]

    def _line(self, cells: Sequence[str]) -> str:
        pairs = list(zip(self._parts, cells, strict=True))
        line = GAP.join(part.pad(cell) for part, cell in pairs).rstrip()
        if self._width is None or width_of(line) <= self._width:
            return line
        return GAP.join(part.pad(truncated(cell, part.width)) for part, cell in pairs).rstrip()

    def dots(self) -> str:
        """The line that represents the rows left out."""
        return GAP.join(part.pad(ELLIPSIS) for part in self._parts).rstrip()


def html(
    records: Sequence[Mapping[str, Any]],
    max_rows: int = 20,
    columns: Sequence[str] | None = None,
) -> str:
    """Records as an HTML table for a notebook: no script, no style sheet, everything escaped.

    The tooltip of a header cell shows kind, unit and meaning of the field, the tooltip of a
    truncated cell its whole text. `max_rows` and `columns` are those of `text`.
    """
    schema = getattr(records, "schema", ())
    grid = _Grid.of(records, max_rows, columns, MOST_UNDECLARED, schema)
    heads, cells = [], []
    for column in grid.columns:
        align = f"text-align:{'right' if column.numeric else 'left'}"
        units = f'<div style="{_DIM}">{escape(column.units)}</div>' if column.units else ""
        heads.append(
            f'<th title="{escape(column.title())}" style="{_CELL};{align};'
            f'border-bottom:1px solid {_LINE}">{escape(clean(column.name))}{units}</th>'
        )
        values = cells_of(column, grid.rows, PUNCTUATION_SPACE, FIGURE_SPACE)
        cells.append([_html_cell(value, f"{_CELL};{align}") for value in values])
    lines = [f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True)]
    if grid.skipped:
        span = f'<td colspan="{len(grid.columns)}" style="{_CELL};{_DIM};text-align:left">'
        lines.insert(grid.head, f"<tr>{span}{ELLIPSIS} {grid.skipped:,} more rows</td></tr>")
    failed = "".join(
        f'<div style="padding:0 10px">{escape(line)}</div>' for line in failures(records)
    )
    # The classes keep MathJax from reading prices between two dollar signs as formulas.
    return (
        '<div class="tex2jax_ignore mathjax_ignore" style="overflow-x:auto;max-width:100%">'
        '<table style="border-collapse:collapse;border:0;margin:0;color:inherit;'
        'font-variant-numeric:tabular-nums">'
        f'<thead style="border:0"><tr>{"".join(heads)}</tr></thead>'
        f'<tbody style="border:0">{"".join(lines)}</tbody></table>'
        f'<div style="{_DIM};padding:4px 10px">{escape(grid.summary(0))}</div>{failed}</div>'
    )


class _Grid(NamedTuple):
    """The displayed part: the columns, and the first and last rows in one list."""

    columns: list[Column]
    rows: list[Mapping[str, Any]]
    head: int
    total: int
    # The number of fields without a column.
    left_out: int

    @classmethod
    def of(
        cls,
        records: Sequence[Mapping[str, Any]],
        max_rows: int,
        names: Sequence[str] | None,
        most: int | None,
        schema: Iterable[Any],
    ) -> _Grid:
        count = len(records)
        if count <= max_rows:
            rows, head = list(records[:count]), count
        else:
            head, tail = max_rows - max_rows // 2, max_rows // 2
            rows = list(records[:head])
            rows += list(records[count - tail :])
        columns, left_out = columns_of(schema, rows, most if names is None else None)
        if names is not None:
            known = {column.name: column for column in columns}
            columns = [known.get(name) or undeclared(name, rows) for name in names]
        return cls(columns, rows, head, count, left_out)

    @property
    def skipped(self) -> int:
        return self.total - len(self.rows)

    def summary(self, hidden: int) -> str:
        hidden += self.left_out
        columns = counted(len(self.columns) + self.left_out, "column")
        return f"{counted(self.total, 'row')} × {columns}" + (
            f", {hidden:,} of them not shown" if hidden else ""
        )


class _TextColumn:
    """One column of the text table: its format and its width."""

    def __init__(
        self, column: Column | None, rows: Sequence[Mapping[str, Any]], *, limited: bool = True
    ) -> None:
        # `None` is the column that represents the columns left out.
        self.column = column
        self.name = clean(column.name) if column else ELLIPSIS
        self.units = column.units if column else ""
        self.numeric = bool(column and column.numeric)
        # Half a number, a time or a date would mislead: only text is truncated.
        self.never_cut = bool(column and column.kind not in ("text", "object"))
        self.digits = digits_of(column, rows) if column else 0
        self.natural = max(map(width_of, [self.name, self.units, *self.cells(rows)]))
        self.width = self.natural
        self.limit: int | None = WIDEST if self.never_cut else self.width
        if not limited:
            self.limit = None

    def cells(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        if self.column is None:
            return [ELLIPSIS] * len(rows)
        return cells_of(self.column, rows, least=self.digits)

    def cap(self, width: int) -> None:
        self.width = min(self.natural, WIDEST if self.never_cut else width)
        self.limit = max(self.width, WIDEST) if self.never_cut else self.width

    def pad(self, value: str) -> str:
        if self.limit is not None:
            value = truncated(value, self.limit)
        space = " " * (self.width - width_of(value))
        return space + value if self.numeric else value + space


def _filled(shown: list[_TextColumn], columns: list[_TextColumn], width: int) -> list[_TextColumn]:
    """The columns shown, and after them as many of the others as there is room for."""
    filled = list(shown)
    for column in columns:
        if column not in shown:
            column.cap(COMFORTABLE)
            if _total([*filled, column]) <= width:
                filled.append(column)
    return filled


def _total(columns: Iterable[_TextColumn]) -> int:
    """The width of a line with these columns."""
    return sum(column.width + len(GAP) for column in columns) - len(GAP)


def _fit(columns: list[_TextColumn], width: int) -> tuple[list[_TextColumn], int]:
    """The columns that fit, narrowed if necessary, and how many are left out."""
    for cap in (*range(WIDEST, NARROWEST - 1, -1), COMFORTABLE):
        for column in columns:
            column.cap(cap)
        if _total(columns) <= width:
            return columns, 0
    dots = _TextColumn(None, [])
    front, back = [columns[0]], list[_TextColumn]()
    remaining = columns[1:]
    while remaining:
        # The front gets three columns for each one at the back: the first ones identify the row.
        front_first = len(front) <= 3 * len(back) + 2
        for to_front in (front_first, not front_first):
            column = remaining[0] if to_front else remaining[-1]
            if _total([*front, column, dots, *back]) <= width:
                break
        else:
            break
        remaining.remove(column)
        if to_front:
            front.append(column)
        else:
            back.insert(0, column)
    shown = [*front, dots, *back] if remaining else [*front, *back]
    if _total(shown) > width:
        front[0].width = max(1, front[0].width - (_total(shown) - width))
        front[0].limit = front[0].width
    return shown, len(remaining)


def _html_cell(value: str, style: str) -> str:
    short = truncated(value, HTML_CAP)
    title = f' title="{escape(value[:TITLE_CAP])}"' if short != value else ""
    return f'<td{title} style="{style}">{escape(short)}</td>'
