"""Numbers, dates and times as text, in `--where` and in columns of text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation

# ASCII, as the service writes numbers: not " 1 ", "1_000" or "NaN".
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
DAY = re.compile(r"(\d{4})([-/])(\d\d)\2(\d\d)", re.ASCII)
TIME = re.compile(
    r"(?P<day>[\d/-]{10})[Tt ](?P<minute>\d\d:\d\d)(?P<second>:\d\d)?"
    r"(\.(?P<fraction>\d{1,6}))?(?P<offset>[Zz]|[+-]\d\d:?\d\d)",
    re.ASCII,
)
# The service writes `--` for a date that it does not have.
NO_VALUE = ("", "--")
# The resolution of the service's times, and of Python's.
MICROSECOND = timedelta(microseconds=1)


def number_of(text: str) -> Decimal | None:
    """The number that a text is, with all its digits."""
    if NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # An exponent of 20 digits.
        return None


def day_of(text: str) -> date | None:
    """The date that a text is, as `2026-01-31` or `2026/01/31`."""
    found = DAY.fullmatch(text)
    if found is None:
        return None
    year, _, month, day = found.groups()
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def time_of(text: str) -> datetime | None:
    """The instant that a text is: a date and a time of day with an offset, in UTC."""
    found = TIME.fullmatch(text)
    day = day_of(found["day"]) if found else None
    if found is None or day is None:
        return None
    # Written as CPython 3.10 reads it.
    second, fraction = found["second"] or ":00", (found["fraction"] or "").ljust(6, "0")
    hours, minutes = found["offset"][:3], found["offset"][-2:]
    offset = "+00:00" if found["offset"] in "Zz" else f"{hours}:{minutes}"
    try:
        time = datetime.fromisoformat(f"{day}T{found['minute']}{second}.{fraction}{offset}")
        return time.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def span_of(text: str, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """The first and the last microsecond of a day in a zone; of a time, the time twice."""
    day = day_of(text)
    if day is None:
        time = time_of(text)
        return None if time is None else (time, time)
    try:
        # Each end is converted by itself: a day has 23 or 25 hours if clocks change.
        start, end = (
            datetime(one.year, one.month, one.day, tzinfo=zone).astimezone(timezone.utc)
            for one in (day, day + timedelta(days=1))
        )
        return start, end - MICROSECOND
    except OverflowError:  # The first or the last day that Python knows.
        return None


def kind_of(text: str | None) -> str | None:
    """`number`, `date` or `text`; `None` for no value."""
    if text is None or text in NO_VALUE:
        return None
    if number_of(text) is not None:
        return "number"
    return "text" if day_of(text) is None else "date"


def kinds_in(texts: Iterable[str | None]) -> dict[str, str]:
    """The kinds of these values, each with its first value."""
    found: dict[str, str] = {}
    for text in texts:
        kind = kind_of(text)
        if kind is not None and text is not None:
            found.setdefault(kind, text)
    return found


def as_kind(kind: str, text: str | None) -> Decimal | date | str | None:
    """A value of a column of text in which all values are of this kind; `None` for no value."""
    if not text:
        return None
    if kind == "text":
        return text
    return number_of(text) if kind == "number" else day_of(text)
