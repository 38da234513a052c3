"""Filters that the service can apply: a security, and bounds of the time.

They only narrow what is requested. Engines apply their whole filter to the rows again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

__all__ = ["CODE", "TIME", "Condition", "Filters"]

CODE, TIME = "code", "updated_time"
LONGEST_CODE = 32
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Condition:
    """One of several conditions that all hold: `operator` is `==`, `<`, `<=`, `>` or `>=`."""

    column: str
    operator: str
    value: Any


@dataclass(frozen=True)
class Filters:
    """What can be asked of the service. Rows that it excludes do not meet the conditions."""

    code: str | None = None
    # Bounds in microseconds since 1970; both belong to the range.
    first: int | None = None
    last: int | None = None

    @classmethod
    def of(cls, conditions: Iterable[Condition]) -> Filters:
        """Those of these conditions that the service can apply; others are left to the engine."""
        code, first, last = None, None, None
        for condition in conditions:
            operator, value = condition.operator, condition.value
            if condition.column == CODE and operator == "==" and is_code(value):
                code = value
            elif condition.column == TIME and (micros := _micros(value)) is not None:
                if operator in (">", ">=", "=="):
                    first = micros if first is None else max(first, micros)
                if operator in ("<", "<=", "=="):
                    last = micros if last is None else min(last, micros)
        return cls(code, first, last)

    def narrowed(self, start: int, end: int) -> tuple[int, int] | None:
        """The part of a range to request; `None` if no row of it meets the conditions.

        The service's documentation does not say whether a range includes its bounds, so a bound is
        a microsecond further out than the condition, unless the range ends there.
        """
        if self.first is not None:
            start = max(start, self.first - 1)
        if self.last is not None:
            end = min(end, self.last + 1)
        return (start, end) if start < end else None


def is_code(value: object) -> bool:
    """Whether the service would accept it."""
    return type(value) is str and 0 < len(value) <= LONGEST_CODE and value.isprintable()


def _micros(value: object) -> int | None:
    """A time in whole microseconds: of a finer one the fraction is cut off, for which
    the microsecond that `narrowed` adds makes up."""
    if isinstance(value, datetime):
        return (value - EPOCH) // MICROSECOND if value.tzinfo is not None else None
    if isinstance(value, date):
        return None
    return value if type(value) is int else None
