"""Which fields of a market's IPO list are events, and the rows that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

__all__ = ["DATES", "EVENTS", "events", "in_order", "local"]

ZONES = {
    "hk": "Asia/Hong_Kong",
    "us": "America/New_York",
    "cn": "Asia/Shanghai",
    "sg": "Asia/Singapore",
    "my": "Asia/Kuala_Lumpur",
}
# The service document names these beside the fields; Malaysia's records have a field of their own.
CURRENCIES = {"hk": "HKD", "us": "USD", "cn": "CNY", "sg": "SGD"}
# Of each market and event the field of the date, where there is one, and that of the time.
OPENING = ("opening", None, "apply_start_timestamp")
CLOSING = ("closing", None, "apply_end_timestamp")
LISTING = ("listing", "list_time", "list_timestamp")
DATES: dict[str, tuple[tuple[str, str | None, str], ...]] = {
    "hk": (
        OPENING,
        ("closing", "apply_end_time", "apply_end_timestamp"),
        ("ballot", "lucky_time", "lucky_timestamp"),
        ("grey_market", "dark_trade_date", "dark_trade_start_timestamp"),
        LISTING,
    ),
    "us": (OPENING, CLOSING, ("ballot", None, "lucky_timestamp"), LISTING),
    "cn": (
        ("opening", None, "apply_timestamp"),
        ("ballot", "winning_time", "winning_timestamp"),
        LISTING,
    ),
    "sg": (OPENING, CLOSING, LISTING),
    "my": (
        OPENING,
        CLOSING,
        ("draw", None, "draw_timestamp"),
        ("ballot", None, "lucky_timestamp"),
        LISTING,
    ),
}

EVENTS = {
    "opening": "subscription opens",
    "closing": "subscription closes",
    "draw": "retail ballot",
    "ballot": "ballot announced",
    "grey_market": "grey market trading",
    "listing": "listing",
}


def events(market: str, records: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of one market's `ipo_list`, with values in the order of `IpoCalendar`'s columns."""
    for ipo in records.to_dicts(typed=True):
        currency = CURRENCIES.get(market) or ipo.get("currency")
        fixed = ipo.get("ipo_price") or ipo.get("list_price") or None
        bounds = (ipo.get("ipo_price_min") or None, ipo.get("ipo_price_max") or None)
        for event, date_field, time_field in DATES[market]:
            day, time = ipo.get(date_field), ipo.get(time_field)
            if day is None and time is None:
                continue
            named = time_field if day is None else date_field
            day = day or local(market, time).date()
            what = (day, market, ipo["code"], event, ipo["name"])
            yield (*what, time, currency, *bounds, fixed, named)


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """By date, those without a time first; then by market, code and the course of an IPO."""
    places = {name: place for place, name in enumerate((*DATES, *EVENTS))}

    def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        day, market, code, event, _, time, *_ = row
        moment = time.timestamp() if time else float("-inf")
        return day, moment, places[market], code, places[event]

    return sorted(rows, key=key)


def local(market: str, time: datetime) -> datetime:
    """The time on the market's own clock."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return time.astimezone(ZoneInfo(ZONES[market]))
    except ZoneInfoNotFoundError as missing:
        # Windows has no time zones of its own.
        raise ImportError(
            "the dates of IPOs need tzdata: pip install 'boardlot[calendar]'", name="tzdata"
        ) from missing
