"""What stands in the cells of a table: values as text, safe to show, and how wide they are."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

__all__ = [
    "ELLIPSIS",
    "TITLE_CAP",
    "WIDEST",
    "Column",
    "cells_of",
    "clean",
    "columns_of",
    "cut",
    "digits_of",
    "escaped",
    "undeclared",
    "width_of",
]

ELLIPSIS = "…"
NULL = "–"
NUMERIC_KINDS = frozenset({"integer", "number", "decimal"})
# Cells of a terminal are at most this wide, and texts that are shown on hovering this long.
WIDEST = 40
TITLE_CAP = 500
# The selector that asks for a character's form as an emoji.
EMOJI_STYLE = "\ufe0f"
# Vowels and finals of Korean, which are drawn into the syllable that their initial began.
JOINED_JAMO = frozenset(map(chr, (*range(0x1160, 0x1200), *range(0xD7B0, 0xD7FC))))
# No more of a text is looked at.
LONGEST = 2 * TITLE_CAP
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}


class Column(NamedTuple):
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
        return "UTC" if self.kind == "timestamp" else clean(self.unit)

    def title(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        doc = f": {self.doc}" if self.doc else ""
        return clean(f"{self.kind}{unit}{doc}")


def columns_of(
    records: object, rows: Sequence[Mapping[str, Any]], most: int | None = None
) -> tuple[list[Column], int]:
    """The declared columns, then the unknown fields of the rows shown.

    Args:
        records: `Records`, or any sequence of dicts.
        rows: The rows shown.
        most: How many unknown fields become columns; `None` for all.

    Returns:
        The columns, and the number of unknown fields that are not among them.
    """
    columns = [
        Column(field.name, field.kind, field.unit or "", field.doc or "")
        for field in getattr(records, "schema", None) or ()
    ]
    known = {column.name for column in columns}
    unknown = list(dict.fromkeys(key for row in rows for key in row if key not in known))
    shown = unknown[:most]
    return columns + [undeclared(name, rows) for name in shown], len(unknown) - len(shown)


def undeclared(name: str, rows: Sequence[Mapping[str, Any]]) -> Column:
    """The column of a field that no schema declares: its values tell whether it is of numbers."""
    values = [row[name] for row in rows if row.get(name) is not None]
    numeric = values and all(type(value) in (int, float) for value in values)
    return Column(name, "number" if numeric else "text", "", "not declared" if values else "")


def cells_of(
    column: Column,
    rows: Sequence[Mapping[str, Any]],
    point: str = " ",
    digit: str = " ",
    least: int = 0,
) -> list[str]:
    """The column's values as text; numbers are padded on the right to one decimal point.

    `least` is how many decimals, the point among them, are made room for at least.
    """
    values = [row.get(column.name) for row in rows]
    most = max(least, digits_of(column, rows))
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


def digits_of(column: Column, rows: Sequence[Mapping[str, Any]]) -> int:
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
        value = _json(value)
    return clean(str(value))


def _json(value: object) -> str:
    """The JSON of a value, no more of it than is ever shown."""
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
    text = ""
    for part in encoder.iterencode(value):
        text += part[:LONGEST]
        if len(text) >= LONGEST:
            break
    return text


def clean(value: str) -> str:
    """The beginning of the text, as `escaped` has it."""
    return escaped(value[:LONGEST])


def escaped(value: str, kept: str = "") -> str:
    """The text with everything escaped that could move a terminal's cursor or turn its text.

    The characters of `kept` stay.
    """
    if value.isprintable():
        return value
    return "".join(
        part
        if part.isprintable() or part in kept or unicodedata.category(part) == "Zs"
        else part.encode("unicode_escape").decode("ascii")
        for part in value
    )


def width_of(value: str) -> int:
    """How many cells of a terminal the text takes."""
    return len(value) if value.isascii() else sum(_widths(value))


def _widths(value: str) -> Iterator[int]:
    """How many cells each character adds."""
    before = 0
    for char in value:
        if char == EMOJI_STYLE:
            # A sign that also is an emoji, such as a heart, is two cells wide as one.
            width = 1 if before == 1 else 0
        elif _joins(char):
            width = 0
        else:
            width = 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
        yield width
        before = width


def _joins(char: str) -> bool:
    """Whether the character is drawn upon the one before it."""
    return unicodedata.category(char) in ("Mn", "Me") or char in JOINED_JAMO


def cut(value: str, width: int) -> str:
    """The text in at most this many cells, with an ellipsis where something is missing."""
    if width_of(value) <= width:
        return value
    used, kept = width_of(ELLIPSIS), 0
    for own in _widths(value):
        used += own
        if used > width:
            break
        kept += 1
    # What is drawn upon a character goes with it.
    while kept and _joins(value[kept]):
        kept -= 1
    return value[:kept] + ELLIPSIS
