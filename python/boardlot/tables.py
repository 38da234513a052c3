"""Records as a table: text for a terminal, HTML for a notebook.

Only the rows that are shown are read, by slicing, so that records of any length print at once.
Every value comes from outside: control characters are shown escaped, never sent to the terminal.
"""

from __future__ import annotations

import json
import shutil
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from html import escape
from typing import Any, NamedTuple

__all__ = ["Layout", "html", "text"]

ELLIPSIS = "…"
NULL = "–"
GAP = "  "
# As wide as a point and as a digit in a proportional font.
PUNCTUATION_SPACE, FIGURE_SPACE = "\u2008", "\u2007"
NUMERIC_KINDS = frozenset({"integer", "number", "decimal"})
# Cells are at most this wide; text goes down to the second while not all columns fit, and back to
# the third where even that is not enough and columns are left out.
WIDEST, NARROWEST, COMFORTABLE = 40, 16, 24
HTML_CAP = 60
TITLE_CAP = 500
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}

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
    is a dash. Below the names stand the units, at the end the number of rows and columns.

    Args:
        records: `Records`, or any sequence of dicts.
        max_rows: How many rows are shown: of more, the first and the last of them.
        width: Columns of the terminal; `None` asks it. What does not fit is left out in the
            middle.
        columns: Names of the columns to show; `None` for all.

    Returns:
        Lines joined by line feeds, with none at the end.
    """
    grid = _Grid.of(records, max_rows, columns)
    if not grid.columns:
        return grid.summary(0)
    layout = Layout(grid.columns, grid.rows, width or shutil.get_terminal_size().columns)
    lines = layout.lines(grid.rows)
    if grid.skipped:
        lines.insert(grid.head, layout.dots())
    return "\n".join([*layout.heading(), *lines, grid.summary(layout.hidden)])


class Layout:
    """Columns of a text table, laid out by the first rows: others can follow below them.

    A later value that is wider than its column is cut where it is text; half a number, a time or
    a date would mislead, so these push their line out instead.
    """

    def __init__(
        self,
        columns: Sequence[_Column],
        rows: Sequence[Mapping[str, Any]],
        width: int | None,
        favourites: Sequence[str] = (),
    ) -> None:
        parts = [_TextColumn(column, rows, cut=width is not None) for column in columns]
        self._parts, self.hidden = _fitted(parts, width) if width else (parts, 0)
        liked = {part.name: part for part in parts}
        some = [liked[name] for name in favourites if name in liked]
        while self.hidden and some:
            self._parts, left_out = _fitted(some, width or 0)
            if not left_out or len(some) == 1:
                self.hidden = len(parts) - len(some)
                break
            some.pop()

    @classmethod
    def of(
        cls,
        records: Sequence[Mapping[str, Any]],
        width: int | None,
        columns: Sequence[str] | None = None,
        favourites: Sequence[str] = (),
    ) -> Layout | None:
        """The layout by these records; `None` where they have no column.

        Args:
            records: `Records`, or any sequence of dicts: what the widths are taken from.
            width: Columns of the terminal; `None` where nothing is to be cut.
            columns: Names of the columns to show; `None` for all.
            favourites: Names of the columns to show where not all of them fit, the most
                important first.
        """
        grid = _Grid.of(records, len(records), columns)
        return cls(grid.columns, grid.rows, width, favourites) if grid.columns else None

    def heading(self) -> list[str]:
        """The names, the units where there are any, and a rule."""
        lines = [[part.pad(part.name) for part in self._parts]]
        if any(part.units for part in self._parts):
            lines.append([part.pad(part.units) for part in self._parts])
        lines.append(["─" * part.width for part in self._parts])
        return [GAP.join(line).rstrip() for line in lines]

    def lines(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """A line for each row."""
        cells = [[part.pad(cell) for cell in part.cells(rows)] for part in self._parts]
        return [GAP.join(line).rstrip() for line in zip(*cells, strict=True)]

    def dots(self) -> str:
        """The line that stands for rows left out."""
        return GAP.join(part.pad(ELLIPSIS) for part in self._parts).rstrip()


def html(
    records: Sequence[Mapping[str, Any]],
    max_rows: int = 20,
    columns: Sequence[str] | None = None,
) -> str:
    """Records as an HTML table for a notebook: no script, no style sheet, everything escaped.

    The title of a header cell tells kind, unit and meaning of the field, the title of a cell that
    is cut its whole text. `max_rows` and `columns` are those of `text`.
    """
    grid = _Grid.of(records, max_rows, columns)
    heads, cells = [], []
    for column in grid.columns:
        align = f"text-align:{'right' if column.numeric else 'left'}"
        units = f'<div style="{_DIM}">{escape(column.units)}</div>' if column.units else ""
        heads.append(
            f'<th title="{escape(column.title())}" style="{_CELL};{align};'
            f'border-bottom:1px solid {_LINE}">{escape(_clean(column.name))}{units}</th>'
        )
        values = _cells(column, grid.rows, PUNCTUATION_SPACE, FIGURE_SPACE)
        cells.append([_html_cell(value, f"{_CELL};{align}") for value in values])
    lines = [f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True)]
    if grid.skipped:
        span = f'<td colspan="{len(grid.columns)}" style="{_CELL};{_DIM};text-align:left">'
        lines.insert(grid.head, f"<tr>{span}{ELLIPSIS} {grid.skipped:,} more rows</td></tr>")
    # The classes keep MathJax from reading prices between two dollar signs as formulas.
    return (
        '<div class="tex2jax_ignore mathjax_ignore" style="overflow-x:auto;max-width:100%">'
        '<table style="border-collapse:collapse;border:0;margin:0;color:inherit;'
        'font-variant-numeric:tabular-nums">'
        f'<thead style="border:0"><tr>{"".join(heads)}</tr></thead>'
        f'<tbody style="border:0">{"".join(lines)}</tbody></table>'
        f'<div style="{_DIM};padding:4px 10px">{escape(grid.summary(0))}</div></div>'
    )


class _Column(NamedTuple):
    """A column as the schema declares it, or as an unknown field shows itself."""

    name: str
    kind: str
    unit: str
    doc: str

    @property
    def numeric(self) -> bool:
        return self.kind in NUMERIC_KINDS

    @property
    def units(self) -> str:
        return "UTC" if self.kind == "timestamp" else _clean(self.unit)

    def title(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        doc = f": {self.doc}" if self.doc else ""
        return _clean(f"{self.kind}{unit}{doc}")


class _Grid(NamedTuple):
    """What is shown: the columns, and the first and last rows in one list."""

    columns: list[_Column]
    rows: list[Mapping[str, Any]]
    head: int
    total: int

    @classmethod
    def of(
        cls,
        records: Sequence[Mapping[str, Any]],
        max_rows: int,
        names: Sequence[str] | None,
    ) -> _Grid:
        count = len(records)
        if count <= max_rows:
            rows, head = list(records[:count]), count
        else:
            head, tail = max_rows - max_rows // 2, max_rows // 2
            rows = list(records[:head])
            rows += list(records[count - tail :])
        columns = _columns(records, rows)
        if names is not None:
            known = {column.name: column for column in columns}
            columns = [known.get(name) or _unknown(name, rows) for name in names]
        return cls(columns, rows, head, count)

    @property
    def skipped(self) -> int:
        return self.total - len(self.rows)

    def summary(self, hidden: int) -> str:
        rows = f"{self.total:,} row{'' if self.total == 1 else 's'}"
        columns = f"{len(self.columns)} column{'' if len(self.columns) == 1 else 's'}"
        return f"{rows} × {columns}" + (f", {hidden} of them not shown" if hidden else "")


class _TextColumn:
    """One column of the text table: how it is written, and how wide it is."""

    def __init__(
        self, column: _Column | None, rows: Sequence[Mapping[str, Any]], *, cut: bool = True
    ) -> None:
        # `None` is the column that stands for those left out.
        self.column = column
        self.name = _clean(column.name) if column else ELLIPSIS
        self.units = column.units if column else ""
        self.numeric = bool(column and column.numeric)
        # Half a number, a time or a date would mislead: only text is narrowed.
        self.whole = bool(column and column.kind not in ("text", "object"))
        self.digits = _digits(column, rows) if column else 0
        self.natural = max(map(_width, [self.name, self.units, *self.cells(rows)]))
        self.width = self.natural
        self.limit: int | None = WIDEST if self.whole else self.width
        if not cut:
            self.limit = None

    def cells(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        if self.column is None:
            return [ELLIPSIS] * len(rows)
        return _cells(self.column, rows, least=self.digits)

    def cap(self, width: int) -> None:
        self.width = min(self.natural, WIDEST if self.whole else width)
        self.limit = max(self.width, WIDEST) if self.whole else self.width

    def pad(self, value: str) -> str:
        if self.limit is not None:
            value = _cut(value, self.limit)
        space = " " * (self.width - _width(value))
        return space + value if self.numeric else value + space


def _fitted(columns: list[_TextColumn], width: int) -> tuple[list[_TextColumn], int]:
    """The columns that fit, narrowed where that is enough, and how many are left out."""

    def total(some: Iterable[_TextColumn]) -> int:
        return sum(column.width + len(GAP) for column in some) - len(GAP)

    for cap in (*range(WIDEST, NARROWEST - 1, -1), COMFORTABLE):
        for column in columns:
            column.cap(cap)
        if total(columns) <= width:
            return columns, 0
    dots = _TextColumn(None, [])
    front, back = [columns[0]], list[_TextColumn]()
    rest = columns[1:]
    while rest:
        # The front gets three columns for one of the back: the first ones name the row.
        ahead = len(front) <= 3 * len(back) + 2
        for side in (ahead, not ahead):
            column = rest[0] if side else rest[-1]
            if total([*front, column, dots, *back]) <= width:
                break
        else:
            break
        rest.remove(column)
        if side:
            front.append(column)
        else:
            back.insert(0, column)
    shown = [*front, dots, *back] if rest else [*front, *back]
    if total(shown) > width:
        front[0].width = max(1, front[0].width - (total(shown) - width))
        front[0].limit = front[0].width
    return shown, len(rest)


def _columns(records: object, rows: Sequence[Mapping[str, Any]]) -> list[_Column]:
    """The declared columns, then the unknown fields of the rows shown."""
    columns = [
        _Column(field.name, field.kind, field.unit or "", field.doc or "")
        for field in getattr(records, "schema", None) or ()
    ]
    known = {column.name for column in columns}
    unknown = dict.fromkeys(key for row in rows for key in row if key not in known)
    return columns + [_unknown(name, rows) for name in unknown]


def _unknown(name: str, rows: Sequence[Mapping[str, Any]]) -> _Column:
    values = [row[name] for row in rows if row.get(name) is not None]
    numeric = values and all(type(value) in (int, float) for value in values)
    return _Column(name, "number" if numeric else "text", "", "not declared" if values else "")


def _cells(
    column: _Column,
    rows: Sequence[Mapping[str, Any]],
    point: str = " ",
    digit: str = " ",
    least: int = 0,
) -> list[str]:
    """The column's values as text; numbers are padded on the right to one decimal point.

    `least` is how many decimals, the point among them, are made room for at least.
    """
    values = [row.get(column.name) for row in rows]
    most = max(least, _digits(column, rows))
    if column.kind == "timestamp":
        return [_time(_moment(value, column.unit), most) for value in values]
    cells = [_shown(value) for value in values]
    if not column.numeric:
        return cells
    places = map(_places, cells)
    padded = [
        cell + (digit * (most - own) if own else (point + digit * (most - 1)) * (most > 0))
        for cell, own in zip(cells, places, strict=True)
    ]
    # Cells that would be cut must not lose digits to the padding.
    return padded if max(map(len, padded), default=0) <= WIDEST else cells


def _digits(column: _Column, rows: Sequence[Mapping[str, Any]]) -> int:
    """How many decimals the most precise value has: of a number with its point, or of seconds."""
    values = (row.get(column.name) for row in rows)
    if column.kind == "timestamp":
        moments = (_moment(value, column.unit) for value in values)
        fractions = [m.microsecond for m in moments if isinstance(m, datetime)]
        return 6 if any(part % 1000 for part in fractions) else 3 * any(fractions)
    return max((_places(_shown(value)) for value in values), default=0) if column.numeric else 0


def _places(number: str) -> int:
    return len(number) - number.index(".") if "." in number else 0


def _time(moment: object, digits: int) -> str:
    """A point in time as UTC, with the fraction that the most precise of its column needs."""
    if not isinstance(moment, datetime):
        return _shown(moment)
    spec = {0: "seconds", 3: "milliseconds", 6: "microseconds"}[digits]
    return moment.replace(tzinfo=None).isoformat(" ", spec)


def _moment(value: object, unit: str) -> object:
    """The point in time, `None` for none, or the value itself where it is no such count."""
    if value is None or value in ("", 0, "0"):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return value
    try:
        micros = int(value) * (1_000_000 // PER_SECOND[unit])
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
    except (KeyError, OverflowError, ValueError):
        return value


def _shown(value: object) -> str:
    if value is None:
        return NULL
    if isinstance(value, (dict, list, tuple)):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return _clean(str(value))


def _clean(value: str) -> str:
    """The text with everything escaped that could move a terminal's cursor or turn its text."""
    value = value[: TITLE_CAP * 2]
    if value.isprintable():
        return value
    return "".join(
        part
        if part.isprintable() or unicodedata.category(part) == "Zs"
        else part.encode("unicode_escape").decode("ascii")
        for part in value
    )


def _width(value: str) -> int:
    """How many cells of a terminal the text takes."""
    return len(value) if value.isascii() else sum(map(_char_width, value))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _cut(value: str, width: int) -> str:
    """The text in at most this many cells, with an ellipsis where something is missing."""
    if _width(value) <= width:
        return value
    used, kept = 1, []
    for char in value:
        used += _char_width(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept) + ELLIPSIS


def _html_cell(value: str, style: str) -> str:
    cut = _cut(value, HTML_CAP)
    title = f' title="{escape(value[:TITLE_CAP])}"' if cut != value else ""
    return f'<td{title} style="{style}">{escape(cut)}</td>'
