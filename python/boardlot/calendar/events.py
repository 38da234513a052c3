"""The fields of a market's IPO list that are events, and their rows in the calendar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any, Literal
from urllib.parse import quote

from boardlot.errors import ProtocolError

Market = Literal["hk", "us", "cn", "sg", "my"]

ZONES = {
    "hk": "Asia/Hong_Kong",
    "us": "America/New_York",
    "cn": "Asia/Shanghai",
    "sg": "Asia/Singapore",
    "my": "Asia/Kuala_Lumpur",
}
# The service document names these with the fields; Malaysia's records have a field of their own.
CURRENCIES = {"hk": "HKD", "us": "USD", "cn": "CNY", "sg": "SGD"}
# For each market and event: the field of the date, if there is one, and that of the time.
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
    """The rows of one market's `ipo_list`: values in the order of `IpoCalendar`'s columns, then the
    event's id.

    Raises:
        ProtocolError: A value is not of its field's kind.
    """
    ipos = [_Ipo(market, number, ipo) for number, ipo in enumerate(records.to_dicts(typed=True))]
    for ipo, entry in zip(ipos, _entries(ipos), strict=True):
        currency = CURRENCIES.get(market) or ipo.text("currency") or None
        bounds = (ipo.price("ipo_price_min"), ipo.price("ipo_price_max"))
        fixed = ipo.price("ipo_price") or ipo.price("list_price")
        opens, closes = (_day_of(ipo, market, event) for event in ("opening", "closing"))
        for event, date_field, time_field in DATES[market]:
            stated, derived = _days(ipo, date_field, time_field)
            day = stated or derived
            if day is None:
                continue
            # A time of another day than the one that the service states is not that of the event.
            time = ipo.value(time_field) if day == derived else None
            source = time_field if stated is None else date_field
            event_key = (day, market, ipo.code, event, ipo.name)
            yield (
                *event_key,
                time,
                currency,
                *bounds,
                fixed,
                source,
                opens,
                closes,
                _uid(market, ipo, event, entry),
            )


def _days(ipo: _Ipo, date_field: str | None, time_field: str) -> tuple[date | None, date | None]:
    """The day that the service states, and that of its time.

    The latter also where a day is stated: `local` must work for every time of a calendar.
    """
    stated = ipo.value(date_field) if date_field else None
    return stated, None if ipo.value(time_field) is None else ipo.day(time_field)


def _day_of(ipo: _Ipo, market: str, wanted: str) -> date | None:
    """The day of an event, if the market's list has it."""
    for event, date_field, time_field in DATES[market]:
        if event == wanted:
            stated, derived = _days(ipo, date_field, time_field)
            return stated or derived
    return None


class _Ipo:
    """One typed record, whose values are checked when the calendar reads them."""

    def __init__(self, market: str, number: int, fields: Mapping[str, Any]) -> None:
        self._market, self._number, self._fields = market, number, fields
        self.code = self.text("code")
        if not self.code:
            raise self._invalid("code", "text")
        self.name = self.text("name")

    def value(self, field: str) -> Any:
        return self._fields.get(field)

    def text(self, field: str) -> str:
        value = self._fields.get(field)
        if value is None or isinstance(value, str):
            return value or ""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._invalid(field, "text")
        return str(value)

    def price(self, field: str) -> float | None:
        """The price; `None` if there is none, or if it is 0."""
        value = self._fields.get(field)
        if value is None or value == "":
            return None
        try:
            price = float(value)
        except (TypeError, ValueError, OverflowError):
            raise self._invalid(field, "a number") from None
        if isinstance(value, bool) or not isfinite(price):
            raise self._invalid(field, "a finite number")
        return price or None

    def day(self, field: str) -> date:
        """The date of a time in the market's time zone."""
        try:
            return local(self._market, self._fields[field]).date()
        except OverflowError:
            raise self._invalid(field, "a time within the years 1 to 9999") from None

    def _invalid(self, field: str, expected: str) -> ProtocolError:
        shown = repr(self._fields.get(field))[:64]
        return ProtocolError(
            f"{field} of record {self._number} is {shown}; expected {expected}",
            endpoint="ipo_list",
        )


def _entries(ipos: Iterable[_Ipo]) -> list[int]:
    """The number of each entry among those with its code, by name, so that dates may change."""
    ipos = list(ipos)
    entries, counts = [0] * len(ipos), Counter[str]()
    for index in sorted(range(len(ipos)), key=lambda index: ipos[index].name):
        counts[ipos[index].code] += 1
        entries[index] = counts[ipos[index].code]
    return entries


def _uid(market: str, ipo: _Ipo, event: str, entry: int) -> str:
    """The event's id, which does not depend on other events or on its own date."""
    prefix = ipo.code.partition(".")[0].lower()
    # A-shares have the prefixes of their exchanges.
    expected = prefix not in DATES if market == "cn" else prefix == market
    market_part = "" if expected else f"{market}-"
    number = f"-{entry}" if entry > 1 else ""
    return f"{market_part}{quote(ipo.code, safe='')}-{event}{number}@ipos.boardlot"


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows by date, those without a time first; then by market, code and stage of the IPO."""
    ranks = {name: rank for rank, name in enumerate((*DATES, *EVENTS))}

    def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        day, market, code, event, _, time, *_, uid = row
        seconds = time.timestamp() if time else float("-inf")
        return day, seconds, ranks[market], code, ranks[event], uid

    return sorted(rows, key=key)


def local(market: str, time: datetime) -> datetime:
    """The time in the market's time zone."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return time.astimezone(ZoneInfo(ZONES[market]))
    except ZoneInfoNotFoundError as missing:
        # Windows has no time zone database.
        raise ImportError(
            "the dates of IPOs need tzdata: pip install 'boardlot[calendar]'", name="tzdata"
        ) from missing
