"""The cells of a table: values as text that is safe to show, and their width."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any, NamedTuple

ELLIPSIS = "…"
NULL = "–"
NUMERIC_KINDS = frozenset({"integer", "number", "decimal"})
# The greatest width of a cell on a terminal, and length of a tooltip.
WIDEST = 40
TITLE_CAP = 500
# The unit of a field whose unit the service document does not show.
UNKNOWN_UNIT = "not shown"
# Only this many characters of a text are read.
LONGEST = 2 * TITLE_CAP
# The microseconds in each unit of a time.
MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def time_of(micros: int) -> datetime:
    """The time of a number of microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


def shown_time(micros: int, timespec: str = "auto") -> str:
    """The time in UTC for errors, with no more digits than it has, or in whole `"seconds"`."""
    return time_of(micros).isoformat(timespec=timespec).replace("+00:00", "Z")


def shown_second(time: datetime) -> str:
    """A time in UTC, in whole seconds."""
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


class Column(NamedTuple):
    """A column as the schema declares it, or as inferred for an unknown field."""

    name: str
    kind: str
    unit: str
    doc: str
    # The enum of its values, if the service documents them.
    values: str | None = None

    @property
    def numeric(self) -> bool:
        return self.kind in NUMERIC_KINDS and not self.names

    @property
    def names(self) -> dict[int, str]:
        return value_names(self.values) if self.values else {}

    @property
    def units(self) -> str:
        if self.kind == "timestamp":
            return "UTC"
        # An undocumented unit is not shown; the tooltip has it.
        return "" if self.unit == UNKNOWN_UNIT else clean(self.unit)

    def title(self) -> str:
        unknown = self.unit == UNKNOWN_UNIT
        unit = f" ({'unit ' * unknown}{self.unit})" if self.unit else ""
        doc = f": {self.doc}" if self.doc else ""
        return clean(f"{self.kind}{unit}{doc}")


def columns_of(
    schema: Iterable[Any], rows: Sequence[Mapping[str, Any]], most: int | None = None
) -> tuple[list[Column], int]:
    """The declared columns, then the unknown fields of the rows shown.

    Args:
        schema: The declared fields.
        rows: The rows shown.
        most: At most this many unknown fields become columns; `None` for all.

    Returns:
        The columns, and the number of unknown fields without a column.
    """
    columns = [
        Column(field.name, field.kind, field.unit or "", field.doc or "", field.values)
        for field in schema
    ]
    known = {column.name for column in columns}
    unknown = list(dict.fromkeys(key for row in rows for key in row if key not in known))
    shown = unknown[:most]
    return columns + [undeclared(name, rows) for name in shown], len(unknown) - len(shown)


def undeclared(name: str, rows: Sequence[Mapping[str, Any]]) -> Column:
    """The column of an undeclared field; its values decide whether it is numeric."""
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

    At least `least` characters are reserved for the decimal point and the decimals.
    """
    values = [row.get(column.name) for row in rows]
    most = max(least, digits_of(column, rows))
    if column.kind == "timestamp":
        return [_time(_time_of(value, column.unit), most) for value in values]
    cells = [_shown(value) for value in values]
    if names := column.names:
        return [_named(cell, value, names) for cell, value in zip(cells, values, strict=True)]
    if not column.numeric:
        return cells
    decimals = map(_decimals, cells)
    padded = [
        cell + (digit * (most - own) if own else (point + digit * (most - 1)) * (most > 0))
        for cell, own in zip(cells, decimals, strict=True)
    ]
    # Cells that would be truncated must not lose digits to the padding.
    return padded if max(map(len, padded), default=0) <= WIDEST else cells


def _named(cell: str, value: object, names: Mapping[int, str]) -> str:
    """The number with its name: `3 partially filled`."""
    name = names.get(value) if type(value) is int else None
    return f"{cell} {name}" if name else cell


def digits_of(column: Column, rows: Sequence[Mapping[str, Any]]) -> int:
    """Decimals of the most precise value: of a number, with its point, or of seconds."""
    values = (row.get(column.name) for row in rows)
    if column.kind == "timestamp":
        times = (_time_of(value, column.unit) for value in values)
        fractions = [time.microsecond for time in times if isinstance(time, datetime)]
        return 6 if any(part % 1000 for part in fractions) else 3 * any(fractions)
    return max((_decimals(_shown(value)) for value in values), default=0) if column.numeric else 0


def _decimals(number: str) -> int:
    return len(number) - number.index(".") if "." in number else 0


def _time(time: object, digits: int) -> str:
    """A time as UTC, with as many digits of a second as the most precise of its column needs."""
    if not isinstance(time, datetime):
        return _shown(time)
    spec = {0: "seconds", 3: "milliseconds", 6: "microseconds"}[digits]
    return time.replace(tzinfo=None).isoformat(" ", spec)


def _time_of(value: object, unit: str) -> object:
    """The time of a count since 1970, `None` for 0 and `""`, or any other value itself."""
    if value is None or value in ("", 0, "0"):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return value
    try:
        return time_of(int(value) * MICROSECONDS[unit])
    except (KeyError, OverflowError, ValueError):
        return value


def _shown(value: object) -> str:
    if value is None:
        return NULL
    if isinstance(value, dict) and isinstance(value.get("symbol"), str):
        # A pair is shown by its symbol, which tells its parts.
        value = value["symbol"]
    if isinstance(value, (dict, list, tuple)):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return clean(str(value))


def counted(number: int, noun: str) -> str:
    """The number with its noun: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def clean(value: str) -> str:
    """The beginning of the text, escaped."""
    return escaped(value[:LONGEST])


def escaped(value: str, allowed: str = "") -> str:
    """The text with control characters, and characters that change its direction, escaped.

    Characters in `allowed` are not escaped.
    """
    if value.isprintable():
        return value
    return "".join(
        part
        if part.isprintable() or part in allowed or unicodedata.category(part) == "Zs"
        else part.encode("unicode_escape").decode("ascii")
        for part in value
    )


def width_of(value: str) -> int:
    """The width of the text in terminal cells."""
    return len(value) if value.isascii() else sum(map(_width, value))


def _width(char: str) -> int:
    """The width that a character adds: none if it is drawn on top of the preceding one."""
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def truncated(value: str, width: int) -> str:
    """The text in at most this many cells, with an ellipsis if it is cut."""
    if width_of(value) <= width:
        return value
    used, end = width_of(ELLIPSIS), 0
    for char in value:
        used += _width(char)
        if used > width:
            break
        end += 1
    # A character is cut together with what is drawn on top of it.
    while end and not _width(value[end]):
        end -= 1
    return value[:end] + ELLIPSIS


@cache
def value_names(values: str) -> dict[int, str]:
    """The name of each number of an enum of `boardlot`; empty for an enum of texts."""
    from enum import IntEnum

    from boardlot import _records

    members = getattr(_records, values)
    if not issubclass(members, IntEnum):
        return {}
    return {int(member): member.name.lower().replace("_", " ") for member in members}
