"""The calendar of IPOs: its events, their order, frames and iCalendar, also of odd responses."""

import asyncio
import math
import random
import sys
from datetime import date, datetime, timedelta, timezone
from functools import partial

import boardlot as bl
import pytest
from boardlot.calendar import IpoCalendar, ipo_calendar, ipo_calendar_async
from boardlot.calendar.events import DATES, local
from inline_snapshot import snapshot

from ..support.service import StandInService, response
from ..support.words import raises

MARKETS = ("hk", "us", "cn", "sg", "my")
STAMP = datetime(2026, 1, 1, tzinfo=timezone.utc)


def utc(*parts):
    return datetime(*parts, tzinfo=timezone.utc)


class Listed(list):
    """Records of a market's list, already typed."""

    def to_dicts(self, *, typed):
        assert typed
        return list(self)


def found(market, **fields):
    ipo = {"code": "HK.02799", "name": "ROBOTICS", **fields}
    rows = IpoCalendar.of(market, Listed([ipo]))
    return [(row["event"], row["date"], row["time"], row["field"]) for row in rows]


def priced(market, **fields):
    ipo = {"code": "X.1", "name": "X", "list_time": date(2026, 1, 1), **fields}
    return IpoCalendar.of(market, Listed([ipo]))[0]


def test_hong_kong_has_five_events_with_the_services_own_dates():
    noon = utc(2026, 11, 23, 4)
    assert found(
        "hk",
        apply_start_timestamp=utc(2026, 11, 19, 1),
        apply_end_time=date(2026, 11, 23),
        apply_end_timestamp=noon,
        lucky_time=date(2026, 11, 25),
        lucky_timestamp=None,
        dark_trade_date=date(2026, 11, 26),
        dark_trade_start_timestamp=utc(2026, 11, 26, 8, 15),
        list_time=date(2026, 11, 27),
        list_timestamp=utc(2026, 11, 26, 16),
    ) == [
        ("opening", date(2026, 11, 19), utc(2026, 11, 19, 1), "apply_start_timestamp"),
        ("closing", date(2026, 11, 23), noon, "apply_end_time"),
        ("ballot", date(2026, 11, 25), None, "lucky_time"),
        ("grey_market", date(2026, 11, 26), utc(2026, 11, 26, 8, 15), "dark_trade_date"),
        ("listing", date(2026, 11, 27), utc(2026, 11, 26, 16), "list_time"),
    ]


def test_a_date_is_that_of_the_markets_own_clock():
    # Half past eleven in the evening of New York's summer, and the next morning in Shanghai.
    late = utc(2026, 7, 2, 3, 30)
    assert found("us", apply_end_timestamp=late)[0][:2] == ("closing", date(2026, 7, 1))
    late = utc(2026, 7, 1, 16, 30)
    assert found("cn", apply_timestamp=late)[0][:2] == ("opening", date(2026, 7, 2))


def test_what_a_market_does_not_list_is_not_an_event():
    names = ("apply", "apply_start", "apply_end", "draw", "lucky", "winning", "dark_trade_start")
    everything = {f"{name}_timestamp": utc(2026, 11, 19, 1) for name in (*names, "list")}
    events = {
        market: sorted(event for event, *_ in found(market, **everything)) for market in MARKETS
    }
    assert events == {
        "hk": ["ballot", "closing", "grey_market", "listing", "opening"],
        "us": ["ballot", "closing", "listing", "opening"],
        "cn": ["ballot", "listing", "opening"],
        "sg": ["closing", "listing", "opening"],
        "my": ["ballot", "closing", "draw", "listing", "opening"],
    }
    assert all(found(market) == [] for market in MARKETS)


@pytest.mark.parametrize(
    ("market", "fields", "expected"),
    [
        ("hk", (15.2, 15.6, 0.0), ("HKD", 15.2, 15.6, None)),
        ("hk", (1.0, 2.0, 1.5), ("HKD", 1.0, 2.0, 1.5)),
        ("sg", (0.7, None, None), ("SGD", 0.7, None, None)),
        ("us", (None, None, None), ("USD", None, None, None)),
    ],
)
def test_prices_are_a_range_or_one_and_never_zero(market, fields, expected):
    names = ("ipo_price_min", "ipo_price_max", "list_price")
    row = priced(market, **dict(zip(names, fields, strict=True)))
    assert tuple(row[name] for name in ("currency", "price_min", "price_max", "price")) == expected


def test_a_single_price_is_the_price_and_a_stated_currency_its_currency():
    assert priced("cn", ipo_price=35.24)["price"] == 35.24
    assert priced("my", ipo_price=0.795, currency="USD")["currency"] == "USD"


def test_the_calendar_holds_every_ipo_of_every_market_by_date(client):
    calendar = ipo_calendar(client)
    assert [row["date"] for row in calendar] == sorted(row["date"] for row in calendar)
    for market in MARKETS:
        kind = bl.CnIpoRequest.ALL if market == "cn" else None
        listed = {ipo["code"] for ipo in client.ipo_list(market, request_type=kind)}
        assert {row["code"] for row in calendar if row["market"] == market} == listed


def test_it_reads_like_records(client):
    calendar = ipo_calendar(client, "hk")
    assert calendar == list(calendar) == calendar.to_dicts()
    assert calendar[1:3] == [calendar[1], calendar[2]] and calendar[-1] in calendar
    assert isinstance(calendar[:2], IpoCalendar)
    calendar[0]["code"] = "changed"
    assert calendar[0]["code"] != "changed"
    assert f"{len(calendar)} rows × 13 columns" in repr(calendar)
    assert "<table" in calendar._repr_html_() and "timestamp (ms)" in calendar._repr_html_()


def test_frames_have_the_types_of_records(client):
    pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    calendar = ipo_calendar(client, ["us", "cn"])
    for rows in (calendar, calendar[:0]):
        frame = rows.to_pandas()
        assert frame.shape == (len(rows), len(rows.schema))
        types = frame.dtypes.astype(str)[["date", "time", "price"]].tolist()
        assert types == ["datetime64[ms]", "datetime64[ms, UTC]", "float64"]
        assert rows.to_polars().schema["time"] == pl.Datetime("ms", "UTC")
        assert rows.to_polars().to_dicts() == rows.to_arrow().to_pylist() == rows.to_dicts()
        assert pa.table(rows).schema.field("date").type == pa.date32()


def test_polars_needs_no_pyarrow(client, monkeypatch):
    pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert ipo_calendar(client, "sg").to_polars().height


def test_an_unknown_market_is_rejected_before_anything_is_sent():
    with bl.Client("http://127.0.0.1:9") as client:
        with raises(bl.ConfigError, snapshot("market is 'jp'; expected one of hk, us, cn, sg, my")):
            ipo_calendar(client, ["hk", "jp"])
        with pytest.raises(bl.ConfigError, match="on_error is 'skip'"):
            ipo_calendar(client, on_error="skip")


def test_a_week_is_the_events_of_its_days(client):
    calendar = ipo_calendar(client)
    first = calendar[5]["date"]
    last = first + timedelta(days=6)
    week = calendar.between(first, last)
    assert list(week) == [event for event in calendar if first <= event["date"] <= last]
    assert isinstance(week, IpoCalendar) and 0 < len(week) < len(calendar)
    midnight = datetime(last.year, last.month, last.day)
    for one in (str(last), f"{last}T00:00:00Z", midnight):
        assert calendar.between(str(first), one) == week
    for wrong in ((last, first), ("yesterday", last), (first, 20260101), (f"{first}x", last)):
        with pytest.raises(bl.ConfigError, match="expected"):
            calendar.between(*wrong)


icalendar = pytest.importorskip("icalendar")

IPO = {
    "code": "HK.02590",
    "name": "Harbour Robotics",
    "list_time": "2026-09-24",
    "list_timestamp": 1_790_213_400_000,
    "ipo_price_min": 10.2,
    "ipo_price_max": 12.85,
    "list_price": 0,
    "apply_start_timestamp": 1_789_434_000_000,
    "apply_end_time": "2026-09-18",
    "apply_end_timestamp": 1_789_704_000_000,
}


def listed(*ipos):
    """A response with these as the list of every market."""
    return response({"ret_code": 0, "ret_msg": "success", "data": {"list": list(ipos)}})


def fetched(*ipos, market="hk", **options):
    with StandInService(lambda _: listed(*ipos)) as server, bl.Client(server.base_url) as client:
        return ipo_calendar(client, market, **options)


def events(calendar):
    return icalendar.Calendar.from_ical(calendar.to_ical(STAMP)).walk("VEVENT")


def ids(calendar):
    return [str(event["uid"]) for event in events(calendar)]


@pytest.mark.parametrize(
    ("price", "shown"),
    [
        *((1234.56789012, "Price: HKD 1234.56789012"), (1e-8, "Price: HKD 0.00000001")),
        *((1e22, f"Price: HKD {10**22}"), (0, "Price range: HKD 10.2 to 12.85")),
    ],
)
def test_a_price_has_all_its_digits_in_icalendar(price, shown):
    (event, *_) = events(fetched({**IPO, "list_price": price}))
    assert event["description"] == shown
    assert event["summary"] == "HK.02590 Harbour Robotics: subscription opens"


ODD = {
    "code": [5, None, "", [], "HK.\n1", "腾讯", "x" * 300],
    "name": [5, 5.5, None, True, [], {}, "", "🚀", "a\r\nBEGIN:VEVENT", "\x00"],
    "ipo_price_min": ["12.5", "", "abc", "NaN", "1e400", True, [], None, -1, "1_0", " 1 ", 10**400],
    "ipo_price_max": ["12.5", "Infinity", False],
    "list_price": ["12.50", "--", {}],
    "list_time": ["--", "", "2026/09/24", "2026-09-24 00:00:00", "24.9.2026", 5, [], "9999-12-31"],
    "apply_end_timestamp": ["1789704000000", "", 0, -1, 1.5, "soon", 253_402_300_799_999, 10**18],
    "dark_trade_date": ["2026-09-23 00:00:00", "2026/09/23", "never", True],
    "currency": [5, [], "HKD"],
}


@pytest.mark.parametrize("market", ["hk", "cn"])
@pytest.mark.parametrize("field", ODD)
def test_an_odd_value_is_a_value_or_a_protocol_error(market, field):
    times = {"apply_timestamp": 1_789_434_000_000, "winning_time": "2026-09-20"}
    for value in ODD[field]:
        try:
            calendar = fetched({**IPO, **times, field: value}, IPO, market=market)
        except bl.ProtocolError:
            continue
        assert len(set(ids(calendar))) == len(calendar)
        for row in calendar:
            assert isinstance(row["name"], str) and isinstance(row["date"], date)
            for price in (row["price"], row["price_min"], row["price_max"]):
                assert price is None or (type(price) is float and math.isfinite(price))
        assert calendar.to_pandas().shape == calendar.to_polars().shape == (len(calendar), 13)


def test_a_missing_field_is_neither_an_event_nor_a_name():
    calendar = fetched({"code": "HK.1", "list_time": "2026-09-24"})
    assert [(row["name"], row["event"]) for row in calendar] == [("", "listing")]
    with raises(bl.ProtocolError, snapshot("code of record 0 is None; expected text")):
        fetched({"list_time": "2026-09-24"})


def test_the_markets_that_failed_are_collected_or_the_first_is_raised():
    def script(request):
        if "/cn" in request.path:
            return response({"ret_code": -2, "ret_msg": "down"})
        return listed({**IPO, "code": None} if "/us" in request.path else IPO)

    async def awaited(base_url, **options):
        async with bl.AsyncClient(base_url) as client:
            return await ipo_calendar_async(client, **options)

    with StandInService(script) as server, bl.Client(server.base_url) as client:
        for fetch in (
            partial(ipo_calendar, client),
            lambda **options: asyncio.run(awaited(server.base_url, **options)),
        ):
            calendar = fetch(on_error="collect")
            assert {row["market"] for row in calendar} == {"hk", "sg", "my"}
            kinds = {market: type(error) for market, error in calendar.errors.items()}
            assert kinds == {"us": bl.ProtocolError, "cn": bl.ApiError}
            with pytest.raises((bl.ProtocolError, bl.ApiError)):
                fetch()


def test_entries_of_one_code_have_ids_of_their_own():
    calendar = fetched(IPO, {**IPO, "name": "Harbour Rights"}, IPO, {**IPO, "code": "HK.02590-2"})
    assert len(set(ids(calendar))) == len(calendar) == 12
    assert "HK.02590-listing@ipos.boardlot" in ids(calendar)


def test_ids_stay_whatever_else_moves():
    rights = {**IPO, "name": "Rights"}
    other = {**IPO, "code": "HK.1"}

    def of_rights(*ipos):
        calendar = fetched(*ipos)
        rows = zip(calendar, ids(calendar), strict=True)
        return {(row["event"], uid) for row, uid in rows if row["name"] == "Rights"}

    expected = of_rights(IPO, rights)
    moved = {"list_time": "2025-01-01", "list_timestamp": 0, "apply_end_time": "2024-01-01"}
    assert of_rights(rights, IPO) == expected
    assert of_rights(other, {**rights, **moved}, other, IPO) == expected
    assert of_rights({**IPO, **moved}, rights) == expected
    calendar = fetched(IPO, rights)
    one_by_one = [uid for row in range(len(calendar)) for uid in ids(calendar[row : row + 1])]
    assert one_by_one == ids(calendar)


def test_an_id_is_plain_ascii_whatever_the_code_is():
    codes = ["a b", "a\nb", "a\r\nEND:VEVENT", "腾讯", "a,b;c\\d", "\x00", "a%20b"]
    calendar = fetched(*({**IPO, "code": f"HK.{code}"} for code in codes))
    found = ids(calendar)
    assert len(set(found)) == len(calendar) == len(codes) * 3
    assert all(uid.isascii() and uid.isprintable() and " " not in uid for uid in found)


def test_icalendar_is_what_another_reader_of_rfc_5545_takes():
    draw = random.Random(4)
    alphabet = "AZ az09.,;:\\\"'=\t\r\n\u2028\x07腾讯🚀"
    ipos = [
        {**IPO, "code": f"HK.{n:05}", "name": "".join(draw.choices(alphabet, k=draw.randrange(90)))}
        for n in range(60)
    ]
    calendar = fetched(*ipos)
    text = calendar.to_ical(STAMP)
    assert all(len(line) <= 75 for line in text.split(b"\r\n"))
    assert b"\n" not in text.replace(b"\r\n", b"") and b"\r" not in text.replace(b"\r\n", b"")
    read = icalendar.Calendar.from_ical(text)
    assert not read.errors and read["version"] == "2.0" and read["prodid"]
    for event, row in zip(read.walk("VEVENT"), calendar, strict=True):
        assert not event.errors
        assert event["dtstart"].dt in (row["date"], row["time"])
        assert {"UID", "DTSTAMP", "DTSTART"} <= set(event) and event["dtstamp"].dt == STAMP
        assert str(event["summary"]).startswith(f"{row['code']} ")


@pytest.mark.parametrize(
    ("stamp", "words"),
    [
        (
            "2026-01-01",
            snapshot(
                "stamp is '2026-01-01'; expected an aware datetime, got str: write datetime(..., "
                "tzinfo=timezone.utc)"
            ),
        ),
        (
            datetime(2026, 1, 1),
            snapshot(
                "stamp is the naive datetime 2026-01-01 00:00:00; expected an aware one: write "
                "datetime(..., tzinfo=timezone.utc)"
            ),
        ),
    ],
)
def test_a_stamp_that_is_not_an_aware_datetime_is_rejected_with_what_to_write(stamp, words):
    with raises(bl.ConfigError, words):
        IpoCalendar([]).to_ical(stamp)


@pytest.mark.parametrize("market", ["hk", "us", "cn", "sg", "my"])
def test_the_rows_and_icalendar_show_an_event_on_the_same_day(market):
    """Whether or not the time is of the day that the service states."""
    draw = random.Random(market)
    stated = {field for _, field, _ in DATES[market] if field}
    for _ in range(40):
        ipo = {"code": f"{market.upper()}.1", "name": "x"}
        for _, _, time in DATES[market]:
            ipo[time] = draw.choice([0, 1_790_208_000_000 + draw.randrange(-60, 60) * 1_800_000])
        ipo |= {field: draw.choice(["", f"2026-09-{draw.randrange(22, 27)}"]) for field in stated}
        calendar = fetched(ipo, market=market)
        for event, row in zip(events(calendar), calendar, strict=True):
            shown = event["dtstart"].dt
            day = local(market, shown).date() if isinstance(shown, datetime) else shown
            assert day == row["date"]
            assert row["time"] is None or local(market, row["time"]).date() == row["date"]
            assert row["date"].isoformat() == ipo[row["field"]] or row["field"] not in stated
