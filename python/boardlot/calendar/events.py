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
        days = {event: _day(ipo, stated, at) for event, stated, at in DATES[market]}
        subscription = [days.get(event, (None,))[0] for event in ("opening", "closing")]
        for event, (day, time, source) in days.items():
            if day is not None:
                shown = (time, currency, *bounds, fixed, source, *subscription)
                uid = _uid(market, ipo, event, entry)
                yield (day, market, ipo.code, event, ipo.name, *shown, uid)


def _day(ipo: _Ipo, date_field: str | None, time_field: str) -> tuple[date | None, Any, str]:
    """An event's day, its time, and the field of the day: the day that the service states,
    otherwise the day of the time. A time of another day is not the event's."""
    stated, time = ipo.stated_date(date_field) if date_field else None, ipo.value(time_field)
    # Also where a day is stated: `local` must work for every time of a calendar.
    derived = None if time is None else ipo.day(time_field)
    if date_field is None or stated is None:
        return derived, time, time_field
    return stated, time if stated == derived else None, date_field


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

    def stated_date(self, field: str) -> date | None:
        """The stated date. If the service document does not state the form of the date, its value
        is a text. A text that is written like the other dates is read; for any other text, such as
        "to be announced", there is no date.
        """
        value = self._fields.get(field)
        if not isinstance(value, str):
            return value
        try:
            return date.fromisoformat(value[:10].replace("/", "-"))
        except ValueError:
            return None

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
    """The rows by date, rows without a time first; then by market, code and stage of the IPO."""
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
