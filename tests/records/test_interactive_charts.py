"""The interactive charts: what their specifications say, and what no chart can show."""

import json
from datetime import date, datetime, timedelta, timezone

import boardlot as bl
import pytest
from boardlot import errors, plots

from ..support.processes import run_python
from .chart_rows import event, fill, paid

interactive = pytest.importorskip("boardlot.plots.interactive")


def of(chart):
    """The specification, and the data in it."""
    spec = chart.to_dict()
    return spec, spec["datasets"][spec["data"]["name"]]


def channels(spec):
    inner = spec["spec"]
    return dict((inner["layer"][-1] if "layer" in inner else inner)["encoding"])


FILLS = [
    fill("HK.00700", price="600"),
    fill("US.AAPL", "SELL", "30", 10**15 + 1_500_000),
    fill("US.AAPL", "SELL", "31", status="GONE"),
]


def test_fills_have_a_panel_for_each_market_and_times_in_utc():
    spec, rows = of(interactive.fills(FILLS))
    assert spec["title"] == "Prices of 2 fills of 2 codes; not drawn: 1 GONE"
    assert [(row["market"], row["price"]) for row in rows] == [("HK", 600.0), ("US", 30.0)]
    assert rows[1]["time"] == "2001-09-09T01:46:41.500000+00:00"
    # In a tooltip, a browser would write a time in its own time zone.
    assert rows[1]["shown_time"] == "2001-09-09 01:46:41"
    assert not [x for x in channels(spec)["tooltip"] if x["type"] == "temporal"]
    assert spec["facet"]["row"]["field"] == "market"
    assert spec["resolve"]["scale"]["y"] == "independent"
    assert channels(spec)["x"]["scale"]["type"] == "utc"
    assert channels(spec)["color"]["scale"]["domain"] == ["BUY", "SELL"]


def test_a_label_stands_at_the_end_of_each_line_that_has_room_for_it():
    last = 10**15 + 10**9
    rows = [
        *(fill("HK.00700", price=price, time=10**15) for price in ("100", "300")),
        fill("HK.00700", price="200", time=last),
        fill("HK.00005", price="60", time=last),
        # Beside that of HK.00700, which has more turnover.
        fill("HK.00011", price="201", time=last),
    ]
    spec, values = of(interactive.fills(rows))
    labels = {(row["label"], row["price"]) for row in values if row["label"] is not None}
    assert labels == {("HK.00700", 200.0), ("HK.00005", 60.0)}
    texts = [
        layer["encoding"]["text"] for layer in spec["spec"]["layer"] if "text" in layer["encoding"]
    ]
    assert [text["field"] for text in texts] == ["label"]


def test_amounts_of_positions_have_panels_and_ratios_do_not():
    rows = [{"symbol": f"S{m}", "market": m, "mv": "5", "profit_ratio": "2"} for m in (1, 2)]
    spec, values = of(interactive.positions(rows, value="mv"))
    assert {row["market"] for row in values} == {"1", "2"}
    assert spec["title"] == "Market value of 2 positions"
    assert spec["resolve"]["scale"] == {"x": "independent", "y": "independent"}
    assert {row["market"] for row in of(interactive.positions(rows))[1]} == {""}


def test_dividends_are_summed_by_year_and_currency():
    rows = [
        paid("2025-01-31", "0.5", symbol="HK.1", currency="HKD"),
        paid("2025/06/30", "0.25", symbol="HK.1", currency="HKD"),
        paid("2025-06-30", "20", symbol="US.A", currency="USD"),
        paid("2025-06-30", "20", symbol="SH.1", currency=""),
    ]
    spec, values = of(interactive.dividends(rows))
    found = {(row["symbol"], row["paid in"]): row["amount"] for row in values}
    assert found == {("HK.1", "HKD"): 0.75, ("US.A", "USD"): 20.0, ("SH.1", "unknown"): 20.0}
    assert spec["title"] == "4 cash dividends of 3 securities"


def test_a_subscription_is_a_span_of_whole_days_and_other_events_are_marks_in_their_days():
    days = {"opening": 2, "closing": 4, "draw": 5, "ballot": 5}
    events = [event(name, day) for name, day in days.items()]
    events += [event("listing", 30, "HK.2", "hk"), event("opening", 9, "HK.1", "hk")]
    spec, rows = of(interactive.ipos(events))
    assert spec["title"] == "3 IPOs of 2 markets"
    shown = [
        (x["market"], x["ipo"], x["event"], x["days"], x.get("at") or (x["from"], x["to"]))
        for x in rows
    ]
    solar = "太阳能 SOLAR  "
    day, days = "2026-11-09 – 2026-11-09", "2026-11-02 – 2026-11-04"
    assert shown == [
        ("hk", f"{solar}HK.1", "Subscription", day, ("2026-11-09", "2026-11-10")),
        ("hk", f"{solar}HK.2", "Listing", "2026-11-30", "2026-11-30T12:00Z"),
        ("my", f"{solar}MY.1", "Subscription", days, ("2026-11-02", "2026-11-05")),
        ("my", f"{solar}MY.1", "Retail ballot", "2026-11-05", "2026-11-05T08:00Z"),
        ("my", f"{solar}MY.1", "Ballot announced", "2026-11-05", "2026-11-05T16:00Z"),
    ]
    encoding = channels(spec)
    # A browser takes the dates as days of UTC.
    assert encoding["x"]["scale"]["type"] == "utc"
    assert encoding["x"]["title"] == "Date (each market's own time zone)"
    named = ["Subscription", "Retail ballot", "Ballot announced", "Listing"]
    assert encoding["color"]["scale"]["domain"] == named


@pytest.mark.parametrize("name", ["a.b[0]", "a\\'b", "x:Q"])
def test_texts_of_the_service_are_data_and_never_part_of_the_specification(name):
    spec, values = of(interactive.ipos([event("listing", 9, name)]))
    assert values[0]["ipo"] == f"太阳能 SOLAR  {name}"
    del spec["datasets"]
    assert name not in str(spec)


def test_records_and_frames_draw_the_same():
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        records = client.dividends("HK.00700")
        fills = client.fills_history(sandbox.accounts["trade"][0], "HK").all(max_items=20)
        calendar = client.ipo_calendar()
    assert of(interactive.dividends(records)) == of(interactive.dividends(records.to_pandas()))
    assert of(interactive.ipos(calendar)) == of(interactive.ipos(calendar.to_pandas()))
    # A frame's times are in any time zone, the chart's in UTC.
    local = fills.to_pandas()
    local["create_time"] = local["create_time"].dt.tz_convert("Asia/Hong_Kong")
    assert of(interactive.fills(local)) == of(interactive.fills(fills))


def test_interactive_charts_need_altair_alone():
    """Of the libraries that draw: a position's name is not looked up in matplotlib's fonts."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from boardlot.plots import interactive\n"
        "row = {'symbol': '1', 'stock_name': '腾讯', 'profit_ratio': '2', 'market': 1}\n"
        "print(interactive.positions([row]).to_dict()['datasets'])\n"
    )
    assert "腾讯  1" in run_python(code)[0]


def test_an_unknown_value_and_a_missing_column_are_named():
    with pytest.raises(errors.ConfigError, match="profit_ratio, profit, mv"):
        interactive.positions([], value="price")
    with pytest.raises(errors.ConfigError, match="'event'"):
        interactive.ipos([{"code": "HK.1", "date": date(2026, 11, 1)}])


@pytest.mark.parametrize("text", ["</script><script>", "<!--<script>", "</SCRIPT >"])
def test_texts_of_the_service_end_no_script_of_a_page(text):
    """Nor do sides, symbols and statuses, which a scale or the title has; nor in another chart."""
    fills = [fill(f"{text}.1", text), fill(f"{text}.1", text, status=text)]
    dividends = [paid(symbol=code, currency=text) for code in (text, "HK.1")]
    position = {"symbol": text, "stock_name": text, "market": text, "mv": "5"}
    charts = [
        interactive.fills(fills),
        interactive.dividends(dividends),
        interactive.dividends(dividends[:1]),
        interactive.positions([position], value="mv"),
        interactive.ipos([event("listing", 9, text, text)]),
    ]
    for chart in [chart.copy() for chart in charts]:
        chart.config = interactive.altair.Undefined
        charts.append(interactive.altair.vconcat(chart))
    for chart in charts:
        assert text not in chart.to_html() + str(chart.to_dict()["datasets"])
    spec, values = of(charts[0])
    # Vega reads a text as its format says, and an expression as JavaScript.
    assert spec["data"]["format"] == {"type": "json"}
    assert [row["code"] for row in json.loads(values)] == [f"{text}.1"]
    (side,) = channels(spec)["color"]["scale"]["domain"]
    assert json.loads(side["expr"]) == text


matplotlib = pytest.importorskip("matplotlib.figure")


def titled(name, rows, panels, **options):
    """The title, which is the same drawn by both libraries."""
    axes = matplotlib.Figure(figsize=(8, 9)).add_subplot()
    axes = getattr(plots, name)(rows, axes, **options)
    axes.figure.draw_without_rendering()
    assert len(axes.figure.axes) == panels
    spec, values = of(getattr(interactive, name)(rows, **options))
    by = spec["facet"]["row"]["field"]
    assert len({row[by] for row in values}) == panels
    assert spec["title"] == axes.get_title()
    return axes.get_title()


def test_the_groups_with_the_most_rows_have_panels():
    groups = [f"M{n}" for n in range(60)] + ["HK"] * 2
    fills = titled("fills", [fill(f"{group}.1") for group in groups], 8)
    assert fills == "Prices of 9 fills of 8 codes; not drawn: 53 of further markets"
    rows = [paid(symbol="HK.1", currency=group) for group in groups]
    dividends = titled("dividends", rows, 8)
    assert dividends == "9 of 62 cash dividends of HK.1"
    rows = [{"symbol": f"{n}", "market": group, "mv": "5"} for n, group in enumerate(groups)]
    assert titled("positions", rows, 8, value="mv") == "Market value of 9 of 62 positions"


def test_the_sides_with_the_most_fills_have_a_mark_of_their_own():
    rows = [fill(side=f"S{n}") for n in range(60)] + [fill()] * 2
    _, values = of(interactive.fills(rows))
    sides = [row["side"] for row in values]
    assert (len(set(sides)), sides.count("other sides"), sides.count("BUY")) == (9, 53, 2)


EAST, WEST = (timezone(timedelta(hours=hours)) for hours in (8, -8))


@pytest.mark.parametrize(
    "time",
    [253_402_300_799 * 10**6, datetime(1, 1, 1, tzinfo=EAST), datetime.max.replace(tzinfo=WEST)],
)
def test_a_fill_of_another_age_is_counted_and_not_drawn(time):
    year = time.year if isinstance(time, datetime) else 9999
    title = titled("fills", [fill(), fill(time=time)], 1)
    assert title == f"Prices of 1 fill of 1 code; not drawn: 1 in year {year}"


def test_days_of_another_age_are_counted_and_not_drawn():
    for far in (date.min, date.max):
        rows = [event("listing", far, "HK.1"), event("listing", 1, "HK.2")]
        title = titled("ipos", rows, 1)
        assert title == "1 of 2 IPOs of 1 market; not drawn: 1 date of other centuries"
        rows = [paid(day, symbol="HK.1", currency="HKD") for day in ("2025-01-31", str(far))]
        assert titled("dividends", rows, 1) == "1 of 2 cash dividends of HK.1"
    # Its other date is drawn.
    subscription = event("opening", 1) | {"closes": date.max}
    title = titled("ipos", [subscription], 1)
    assert title == "1 IPO of 1 market; not drawn: 1 date of other centuries"


def test_the_latest_ipos_have_a_line():
    days = [date(2025, 1, 31) + timedelta(days=n) for n in range(300)]
    rows = [event("listing", day, f"HK.{n}") for n, day in enumerate(days)]
    assert titled("ipos", rows, 1) == "100 of 300 IPOs of 1 market"
    _, values = of(interactive.ipos(rows))
    assert {row["days"] for row in values} == {str(day) for day in days[-100:]}


def test_planned_dividends_are_not_in_a_line_and_a_year_without_one_is_a_gap():
    rows = [
        paid("2022/05/05", 1, process="Implementation"),
        paid("2024/05/05", 2, process="Implementation"),
        paid("2024/06/05", 5, process="Plan"),
    ]
    spec, values = of(interactive.dividends(rows))
    assert [(row["year"], row["amount"]) for row in values] == [(2022, 1), (2023, None), (2024, 2)]
    assert spec["title"] == "2 of 3 cash dividends"


def test_positions_of_the_same_label_are_bars_of_their_own():
    position = {"symbol": "600519", "pstn_type": 0}
    rows = [{**position, "market": n, "profit_ratio": ratio} for n, ratio in ((1, "9"), (3, "7"))]
    _, bars = of(interactive.positions(rows))
    assert {row["label"]: row["value"] for row in bars} == {"600519": 9, "600519 (2)": 7}
