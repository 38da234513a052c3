"""Columns of records or of a frame, as plain Python values for the charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from math import isfinite
from typing import Any

from boardlot._core import Records
from boardlot.errors import ConfigError
from boardlot.results.cell_format import MICROSECONDS

__all__ = ["day", "number", "rows", "text", "time_of", "units"]


def rows(
    source: Any, names: Sequence[str], *, optional: Sequence[str] = ()
) -> Iterable[tuple[Any, ...]]:
    """The values of these columns, then of the optional ones, which are `None` if absent.

    Raises:
        ConfigError: A column that is not optional is missing.
        ProtocolError: A value of `Records` is not of its field's kind, as in `to_pandas`.
    """
    if isinstance(source, Records):
        source = _typed(source)
    columns = _columns(source)
    if columns is None:
        return (_fields(row, names, optional) for row in source)
    if absent := [name for name in names if name not in columns]:
        raise _missing(absent, columns)
    values = [_values(source, name) if name in columns else None for name in (*names, *optional)]
    # Only optional columns may be `None`, and each chart has required ones.
    count = len(next(column for column in values if column is not None))
    return zip(*(column or [None] * count for column in values), strict=True)


def _typed(records: Records[Any]) -> list[dict[str, Any]]:
    """The values that a frame has: typed, with `None` for a declared field that was not sent."""
    declared = dict.fromkeys(field.name for field in records.schema)
    return [{**declared, **row} for row in records.to_dicts(typed=True)]


def units(source: Any) -> dict[str, str]:
    """The declared units of records; frames have none, though polars frames have a `schema` too."""
    schema = () if _columns(source) is not None else getattr(source, "schema", None) or ()
    return {field.name: field.unit for field in schema}


def time_of(value: Any, unit: str = "us") -> datetime | None:
    """The time in a frame, or the one that the service sent as a count since 1970; in UTC."""
    if isinstance(value, datetime):
        # NaT is a datetime too, the only one that is not equal to itself.
        if value != value:
            return None
        return value.astimezone(timezone.utc) if value.tzinfo else value
    if value in (None, "", 0, "0") or value != value:
        return None
    try:
        since_1970 = timedelta(microseconds=int(value) * MICROSECONDS[unit])
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + since_1970
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(
            f"{str(value)[:64]!r} is not a valid time; expected a datetime, or {unit} since 1970 "
            "up to the year 9999"
        ) from None


def day(value: Any) -> date | None:
    """The date in a frame, or the one that the service sent as `YYYY-MM-DD` or `YYYY/MM/DD`."""
    if isinstance(value, datetime):
        return value.date() if value == value else None
    if isinstance(value, date):
        return value
    if value in (None, "", "--") or value != value:
        return None
    try:
        return date.fromisoformat(str(value).replace("/", "-"))
    except ValueError:
        raise ConfigError(
            f"{value!r} is not a valid date; expected one such as '2026-01-31'"
        ) from None


def number(value: Any) -> float | None:
    """The number in a frame, or the one that the service sent as text; `None` if not finite."""
    if value in (None, "") or value != value:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(
            f"{str(value)[:64]!r} is not a valid number; expected one such as '27.10'"
        ) from None
    return found if isfinite(found) else None


def text(value: Any) -> str:
    """The text, or `""` if there is none."""
    return "" if value is None or value != value else str(value)


def _columns(source: Any) -> Sequence[str] | None:
    """The names of a frame's columns; `None` for records."""
    # A pyarrow Table calls the data `columns`.
    names = getattr(source, "column_names", None)
    if names is None and hasattr(source, "columns"):
        names = list(source.columns)
    return names


def _values(frame: Any, name: str) -> list[Any]:
    column = frame[name]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _fields(
    row: Mapping[str, Any], names: Sequence[str], optional: Sequence[str]
) -> tuple[Any, ...]:
    if absent := [name for name in names if name not in row]:
        raise _missing(absent, row)
    return tuple(row.get(name) for name in (*names, *optional))


def _missing(absent: Sequence[str], present: Iterable[str]) -> ConfigError:
    columns = " and ".join(f"{name!r}" for name in absent)
    return ConfigError(
        f"needs the column{'' if len(absent) == 1 else 's'} {columns}; found {', '.join(present)}"
    )
