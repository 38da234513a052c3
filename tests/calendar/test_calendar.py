"""The calendar of IPOs: which fields are events, their order, frames, and iCalendar."""

import sys
from datetime import date, datetime, timedelta, timezone

import boardlot as bl
import pytest
from boardlot.calendar import IpoCalendar, ipo_calendar

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
        with pytest.raises(bl.ConfigError, match="market is 'jp'; expected one of hk, us, cn"):
            ipo_calendar(client, ["hk", "jp"])
        with pytest.raises(bl.ConfigError, match="on_error is 'skip'"):
            ipo_calendar(client, on_error="skip")


def test_icalendar_has_times_in_utc_and_whole_days_if_only_the_day_is_known():
    icalendar = pytest.importorskip("icalendar")
    name = "Blue; Logistics, Ltd" + "海峡蓝物流" * 12
    ipo = {
        "code": "SG.BLU",
        "name": name,
        "apply_end_timestamp": utc(2026, 11, 23, 4),
        "list_time": date(2026, 11, 26),
        "list_timestamp": utc(2026, 11, 25, 16),
        "ipo_price_min": 0.68,
        "ipo_price_max": 0.73,
    }
    text = IpoCalendar.of("sg", Listed([ipo])).to_ical(STAMP)
    closing, listing = icalendar.Calendar.from_ical(text).walk("VEVENT")
    assert (closing["dtstart"].dt, closing["dtstamp"].dt) == (utc(2026, 11, 23, 4), STAMP)
    assert listing["dtstart"].dt == date(2026, 11, 26)
    assert {name: str(closing[name]) for name in ("summary", "description", "uid")} == {
        "summary": f"SG.BLU {name}: subscription closes",
        "description": "Price range: SGD 0.68 to 0.73",
        "uid": "SG.BLU-closing@ipos.boardlot",
    }


def test_a_week_is_the_events_of_its_days(client):
    calendar = ipo_calendar(client)
    first = calendar[5]["date"]
    last = first + timedelta(days=6)
    week = calendar.between(first, last)
    assert list(week) == [event for event in calendar if first <= event["date"] <= last]
    assert isinstance(week, IpoCalendar) and 0 < len(week) < len(calendar)
    for wrong in ((last, first), (str(first), last), (first, datetime(2026, 1, 1))):
        with pytest.raises(bl.ConfigError, match="expected"):
            calendar.between(*wrong)


def test_an_event_has_the_subscription_of_its_ipo(client):
    calendar = ipo_calendar(client, ["hk", "cn"])
    days = {(event["code"], event["event"]): event["date"] for event in calendar}
    for event in calendar:
        assert event["opens"] == days.get((event["code"], "opening"))
        assert event["closes"] == days.get((event["code"], "closing"))
