"""IPO events as iCalendar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from boardlot.calendar.events import EVENTS, local
from boardlot.errors import ConfigError

__all__ = ["ical"]


def ical(events: Iterable[tuple[Mapping[str, Any], str]], stamp: datetime | None) -> bytes:
    """The text of the calendar, from rows and their ids; the library escapes and folds it as
    RFC 5545 requires."""
    try:
        import icalendar
    except ImportError as missing:
        raise ImportError(
            "to_ical() needs icalendar: pip install 'boardlot[calendar]'", name=missing.name
        ) from missing
    stamp = datetime.now(timezone.utc) if stamp is None else _aware(stamp)
    calendar = icalendar.Calendar()
    calendar.add("prodid", "-//boardlot//IPO calendar//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", "IPOs")
    for row, uid in events:
        event = icalendar.Event()
        event.add("uid", uid)
        event.add("dtstamp", stamp)
        event.add("dtstart", _start(row))
        event.add("summary", _printable(f"{row['code']} {row['name']}: {EVENTS[row['event']]}"))
        if price := _price(row):
            event.add("description", price)
        event.add("categories", ["IPO", row["market"].upper()])
        # A reminder, not an appointment: it does not block time.
        event.add("transp", "TRANSPARENT")
        calendar.add_component(event)
    return bytes(calendar.to_ical())


def _aware(stamp: datetime) -> datetime:
    """The time in UTC."""
    write = "write datetime(..., tzinfo=timezone.utc)"
    if not isinstance(stamp, datetime):
        raise ConfigError(
            f"stamp is {stamp!r}; expected an aware datetime, got {type(stamp).__name__}: {write}"
        )
    if stamp.utcoffset() is None:
        raise ConfigError(f"stamp is the naive datetime {stamp}; expected an aware one: {write}")
    return stamp.astimezone(timezone.utc)


def _start(row: Mapping[str, Any]) -> date | datetime:
    """The time of the event; its date if only that is known."""
    time: datetime | None = row["time"]
    if time is None or local(row["market"], time).time() == datetime.min.time():
        day: date = row["date"]
        return day
    return time


def _price(row: Mapping[str, Any]) -> str:
    currency = f"{row['currency']} " if row["currency"] else ""
    if row["price"]:
        return _printable(f"Price: {currency}{_digits(row['price'])}")
    bounds = [_digits(bound) for bound in (row["price_min"], row["price_max"]) if bound]
    return _printable(f"Price range: {currency}{' to '.join(bounds)}") if bounds else ""


def _digits(price: float) -> str:
    """All digits of the number, without an exponent."""
    shown = format(Decimal(repr(price)), "f")
    return shown.removesuffix(".0")


def _printable(value: str) -> str:
    # The library escapes the syntax of iCalendar; other control characters are not allowed.
    return "".join(char for char in value if char.isprintable())
