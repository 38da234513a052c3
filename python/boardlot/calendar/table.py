"""The calendar itself: its rows in order of date, its columns, and iCalendar."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, overload

from boardlot import _core, frames
from boardlot._calls import explained
from boardlot._support.clients import Day
from boardlot._support.extras import needs
from boardlot._support.tables import text_and_html as tables
from boardlot._support.tables.cell_format import EPOCH, Column
from boardlot._support.third_party import pandas, polars, pyarrow
from boardlot.calendar.events import EVENTS, events, in_order, local
from boardlot.endpoint import Endpoint
from boardlot.errors import BoardlotError, ConfigError


@explained
class IpoCalendar(Sequence[dict[str, Any]]):
    """IPO events in order of date: an immutable sequence of dicts, shown as a table.

    - `date`: a `date` in the market's time zone: the service's own if it sends one, otherwise that
      of `time`
    - `market`: the list that contains it: `hk`, `us`, `cn`, `sg` or `my`
    - `code`, with market prefix
    - `event`: `opening` and `closing` of the subscription, `draw` (the retail ballot itself,
      Malaysia only), `ballot` (its result is announced), `grey_market` (Hong Kong only),
      `listing`; A-shares have no `closing`, Singapore no `ballot`
    - `name`
    - `time`: an aware UTC `datetime` of that date, exact to the millisecond, or `None`; midnight in
      the market if the service knows only the day
    - `currency`; `price_min` and `price_max` if there is a range; `price` if there is one price
      (Hong Kong: once it is fixed); a price of 0 is `None`
    - `field`: the field of the service's record that contains the date
    - `opens` and `closes`: the dates of the subscription, on every row of an IPO, so that they
      survive a filter; `None` if the list does not have them

    Rows are in order of date. With `on_error="collect"`, `.errors` contains the markets that
    failed. International placings have separate dates, in `ipo_list("hk")`. `ipo_calendar`
    and `of` make it; `rows` and `errors` are their results.

    Example:
        >>> from boardlot.calendar import IpoCalendar, ipo_calendar
        >>> calendar = IpoCalendar.of("sg", client.ipo_list("sg"))
        >>> calendar == ipo_calendar(client, ["sg"]), calendar.to_dicts()[0]["market"]
        (True, 'sg')
        >>> calendar.to_pandas().shape == calendar.to_polars().shape == calendar.to_arrow().shape
        True
    """

    __slots__ = ("_rows", "errors")

    def __init__(
        self, rows: Iterable[tuple[Any, ...]], errors: Mapping[str, BoardlotError] | None = None
    ) -> None:
        # The values of the columns, then the event's id, which is not a column.
        self._rows = tuple(rows)
        self.errors: dict[str, BoardlotError] = dict(errors or {})
        """The markets that failed, with their errors."""

    @classmethod
    def of(cls, market: str, records: Any) -> IpoCalendar:
        """The calendar of `records`, the `ipo_list` of `market`.

        Raises:
            ProtocolError: A value cannot be read as a date or time.
        """
        return cls(in_order(events(market, records)))

    def between(self, first: Day, last: Day) -> IpoCalendar:
        """The events of these days, each with the whole subscription of its IPO.

        Args:
            first: The first day, in each market's own time zone: a `date`, the date of a
                `datetime`, or ISO 8601 text.
            last: The last day, which is included.

        Raises:
            ConfigError: One is not a day, or `last` is before `first`.

        Example:
            >>> from datetime import date, timedelta
            >>> monday = date.today() - timedelta(days=date.today().weekday())
            >>> week = client.ipo_calendar().between(monday, monday + timedelta(days=6))
            >>> all(monday <= event["date"] for event in week)
            True
        """
        first, last = _day("first", first), _day("last", last)
        if last < first:
            raise ConfigError(f"last is {last}; expected {first} or later")
        return IpoCalendar((row for row in self._rows if first <= row[0] <= last), self.errors)

    @property
    def schema(self) -> tuple[Column, ...]:
        """Name, kind, unit and description of each column."""
        return SCHEMA

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> IpoCalendar: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | IpoCalendar:
        if isinstance(index, slice):
            return IpoCalendar(self._rows[index], self.errors)
        if isinstance(index, str):
            raise TypeError(
                "a calendar is indexed by integers or slices, not str; the rows of a market are "
                f"[row for row in calendar if row['market'] == {index!r}]"
            )
        return dict(zip(NAMES, self._rows[index], strict=False))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(NAMES, row, strict=False)) for row in self._rows)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__: None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return tables.text(self)

    def _repr_html_(self) -> str:
        return tables.html(self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows, with `date`, `datetime` and `None`. Raises nothing."""
        return list(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame, typed as by `Records`. Raises `ImportError` without pandas."""
        return frames.to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame, typed as by `Records`. Raises `ImportError` without polars."""
        return frames.to_polars(self)

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow Table, typed as by `Records`. Raises `ImportError` without pyarrow."""
        return frames.to_arrow(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _arrow(self, *how: str) -> Any:
        text = json.dumps(list(self), default=_as_sent)[1:-1]
        records = _core._stored_records(ENDPOINT, [], [text.encode()] if text else [])
        return records._arrow(*how)

    def to_ical(self, stamp: datetime | None = None) -> bytes:
        """The events as iCalendar (RFC 5545), for a file that calendars import or subscribe to.

        If only the day of an event is known, it is an all-day event; otherwise it is at its time
        in UTC. Prices are written with all their digits. Each event has its own id (UID), which
        does not change with its date or time, so a later import moves the event.

        Args:
            stamp: An aware `datetime` of when this was fetched; `None` means now.

        Raises:
            ImportError: The library icalendar is not installed.
            ConfigError: `stamp` is not an aware `datetime`.

        Example:
            >>> from boardlot.calendar import ipo_calendar
            >>> ipo_calendar(client, ["sg"]).to_ical().splitlines()[0]
            b'BEGIN:VCALENDAR'
        """
        return ical(zip(self, (row[-1] for row in self._rows), strict=True), stamp)


SCHEMA = (
    Column("date", "date", "", "Date of the event, in the market's time zone"),
    Column("market", "text", "", "List that contains the IPO: hk, us, cn, sg or my"),
    Column("code", "text", "", "Code with market prefix"),
    Column("event", "text", "", "What happens: one of `EVENTS`"),
    Column("name", "text", "", "Name"),
    Column("time", "timestamp", "ms", "Time of the event; midnight in the market if only its date is known"),  # noqa: E501
    Column("currency", "text", "", "Currency of the prices"),
    Column("price_min", "number", "", "Lower bound of the price range"),
    Column("price_max", "number", "", "Upper bound of the price range"),
    Column("price", "number", "", "The price, if it is fixed"),
    Column("field", "text", "", "Field of the service's record that contains the date"),
    Column("opens", "date", "", "First day of the subscription, in the market's time zone"),
    Column("closes", "date", "", "Last day of the subscription, in the market's time zone"),
)  # fmt: skip
NAMES = tuple(field.name for field in SCHEMA)
KINDS: Any = {name: "millis" if kind == "timestamp" else kind for name, kind, *_ in SCHEMA}
ENDPOINT = Endpoint("calendar", "GET", "/rows", rows="rows", record=KINDS)


def _as_sent(value: date) -> str | int:
    """A date or a time, as a service sends it."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(milliseconds=1)
    return value.isoformat()


def ical(events: Iterable[tuple[Mapping[str, Any], str]], stamp: datetime | None) -> bytes:
    """The text of the calendar, from rows and their ids; the library escapes and folds it as
    RFC 5545 requires."""
    with needs("icalendar", "calendar", "to_ical()"):
        import icalendar
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


# Subclasses such as pendulum's have another arithmetic, and other comparisons.


def _day(name: str, day: Day) -> date:
    if isinstance(day, str):
        # Python 3.10 reads no other form.
        with suppress(ValueError):
            return date.fromisoformat(day[:10]) if len(day) == 10 else _day(name, _time(day))
    elif isinstance(day, date):
        return date(day.year, day.month, day.day)
    raise ConfigError(f"{name} is {day!r}; expected a date such as '2026-01-31'")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix("Z"))


def _aware(stamp: datetime) -> datetime:
    """The time in UTC."""
    write = "write datetime(..., tzinfo=timezone.utc)"
    if not isinstance(stamp, datetime):
        hint = "It returns bytes: Path('ipos.ics').write_bytes(calendar.to_ical()) writes a file."
        raise ConfigError(
            f"stamp is {stamp!r}; expected an aware datetime, got {type(stamp).__name__}: {write}",
            hint=hint,
        )
    if datetime.utcoffset(stamp) is None:
        raise ConfigError(f"stamp is the naive datetime {stamp}; expected an aware one: {write}")
    return EPOCH + datetime.__sub__(stamp, EPOCH)


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
