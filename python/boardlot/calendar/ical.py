"""Events of IPOs as iCalendar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timezone
from typing import Any

from boardlot.calendar.events import EVENTS, local
from boardlot.errors import ConfigError

__all__ = ["ical"]


def ical(rows: Iterable[Mapping[str, Any]], stamp: datetime | None) -> bytes:
    """The calendar's text; its library escapes and folds it as RFC 5545 wants."""
    try:
        import icalendar
    except ImportError as missing:
        raise ImportError(
            "to_ical() needs icalendar: pip install 'boardlot[calendar]'", name=missing.name
        ) from missing
    stamp = stamp or datetime.now(timezone.utc)
    if stamp.tzinfo is None:
        raise ConfigError("stamp is naive; allowed is an aware datetime")
    calendar = icalendar.Calendar()
    calendar.add("prodid", "-//boardlot//IPO calendar//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", "IPOs")
    for row in rows:
        event = icalendar.Event()
        event.add("uid", f"{row['code']}-{row['event']}@ipos.boardlot")
        event.add("dtstamp", stamp.astimezone(timezone.utc))
        event.add("dtstart", _start(row))
        event.add("summary", _printable(f"{row['code']} {row['name']}: {EVENTS[row['event']]}"))
        if price := _price(row):
            event.add("description", price)
        event.add("categories", ["IPO", row["market"].upper()])
        # A reminder, not an appointment: it keeps no time busy.
        event.add("transp", "TRANSPARENT")
        calendar.add_component(event)
    return bytes(calendar.to_ical())


def _start(row: Mapping[str, Any]) -> date | datetime:
    """The time of the event; its date where that is all that is known."""
    time: datetime | None = row["time"]
    if time is None or local(row["market"], time).time() == datetime.min.time():
        day: date = row["date"]
        return day
    return time


def _price(row: Mapping[str, Any]) -> str:
    if row["price"]:
        return f"Price: {row['currency']} {row['price']:g}"
    bounds = [f"{bound:g}" for bound in (row["price_min"], row["price_max"]) if bound]
    return f"Price range: {row['currency']} {' to '.join(bounds)}" if bounds else ""


def _printable(value: str) -> str:
    # The library escapes what has a meaning in iCalendar; other control characters are not allowed.
    return "".join(char for char in value if char.isprintable())
