"""The charts: what they draw from records and frames, their axes, units and labels."""

from datetime import date, datetime, timedelta, timezone
from itertools import pairwise

import boardlot as bl
import pytest
from boardlot import errors, plots
from boardlot.calendar import ipo_calendar
from boardlot.plots.ipos import ipo_lines
from inline_snapshot import snapshot

from ..support.fake_records import fills
from ..support.words import raises
from .chart_rows import event, fill, paid

figure = pytest.importorskip("matplotlib.figure")
dates = pytest.importorskip("matplotlib.dates")


def drawn(chart, source, **options):
    return chart(source, figure.Figure(figsize=(8, 5)).add_subplot(), **options)


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def texts(axes):
    return [text.get_text() for text in axes.texts]


# Fills


def markers(axes):
    return {part.get_label(): len(part.get_offsets()) for part in axes.collections}


def test_each_fill_has_a_marker_by_its_side_at_its_time_and_price():
    axes = drawn(plots.fills, fills(41))
    assert markers(axes) == {"BUY (20)": 20, "SELL (21)": 21}
    assert len({tuple(part.get_facecolor()[0]) for part in axes.collections}) == 2
    assert axes.get_title() == "Prices of 41 fills of 1 code"
    assert axes.get_xlabel() == "Time of the fill (UTC)"
    assert axes.get_ylabel() == "Price (HKD)"
    unknown = drawn(plots.fills, list(fills(4)))
    assert unknown.get_ylabel() == "Price (trading currency of each code)"
    (x, y) = drawn(plots.fills, fills(1)).collections[0].get_offsets()[0]
    assert (dates.num2date(x), y) == (datetime(2026, 1, 5, 8, tzinfo=timezone.utc), 388.0)


def test_prices_far_apart_get_a_logarithmic_axis():
    prices = ["400", "4", "4.01", "4.02"] * 3
    rows = [fill(f"HK.{n % 4}", price=price, time=10**15 + n) for n, price in enumerate(prices)]
    axes = drawn(plots.fills, rows)
    assert axes.get_yscale() == "log"
    assert sorted(texts(axes)) == [f"HK.{n}" for n in range(4)]
    assert drawn(plots.fills, fills(5)).get_yscale() == "linear"


@pytest.mark.parametrize("name", plots.__all__)
def test_an_empty_chart_draws_and_says_that_there_is_nothing(name):
    axes = getattr(plots, name)([], figure.Figure(figsize=(8, 5)).add_subplot())
    axes.figure.draw_without_rendering()
    assert texts(axes) == ["nothing to show"]


def test_a_missing_column_and_an_invalid_date_are_named():
    with pytest.raises(errors.ConfigError, match="'soon' is not a valid date"):
        drawn(plots.dividends, [paid("soon")])
    with pytest.raises(errors.ConfigError, match="needs the column 'trd_side'"):
        drawn(plots.fills, [{"code": "HK.1", "price": "1", "create_time": 1}])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(errors.ConfigError, match="needs the columns 'trd_side' and 'create_time'"):
        drawn(plots.fills, pandas.DataFrame({"code": ["HK.1"], "price": [1.0]}))
    frame = pandas.DataFrame([fill("HK.1")])
    with pytest.raises(errors.ConfigError, match=r"the index of the frame: pass frame.reset_index"):
        drawn(plots.fills, frame.set_index("create_time"))
    for wrong in ("HK.00700", frame["price"], frame.groupby("code")):
        with pytest.raises(errors.ConfigError, match="the chart needs Records, or a frame of them"):
            drawn(plots.fills, wrong)
    for wrong in ("profit", figure.Figure(), figure.Figure().subplots(2)):
        with pytest.raises(errors.ConfigError, match=r"ax is of type .*; expected one Axes"):
            plots.positions([], wrong)


def test_each_market_has_a_panel_with_a_scale_of_the_same_kind():
    bought = [fill("HK.00700", price="600"), fill("US.AAPL", price="2")]
    sold = [fill("HK.00700", "SELL", "610", 10**15 + 1), fill("US.AAPL", "SELL", "30", 10**15 + 1)]
    first = drawn(plots.fills, [*bought, *sold])
    hk, us = panels = first.figure.axes
    assert first is hk and [panel.get_ylabel() for panel in panels] == ["HK price", "US price"]
    assert first.get_title() == "Prices of 4 fills of 2 codes"
    assert hk.get_ylim()[0] > 100 > us.get_ylim()[1]
    # The prices of one market are far apart, so all axes are logarithmic.
    assert {panel.get_yscale() for panel in panels} == {"log"}
    codes = [texts(panel) for panel in panels]
    assert codes == [["HK.00700"], ["US.AAPL"]]
    assert markers(us) == {"BUY (2)": 1, "SELL (2)": 1}


def test_a_fill_without_a_status_is_not_drawn_among_fills_that_have_one():
    pandas = pytest.importorskip("pandas")
    rows = [fill(status=status) for status in ("OK", "", None, "CANCELLED")]
    title = drawn(plots.fills, pandas.DataFrame(rows)).get_title()
    assert title == "Prices of 1 fill of 1 code; not drawn: 2 without a status, 1 CANCELLED"
    frame = pandas.DataFrame([fill(), fill()])
    assert drawn(plots.fills, frame).get_title() == "Prices of 2 fills of 1 code"


# Dividends


def bars(axes):
    return {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}


def test_the_dividends_of_a_year_are_summed_and_the_axes_name_their_units():
    rows = [paid("2026/09/29"), paid("2026/01/05", 0.25), paid("2024/01/05", 2)]
    axes = drawn(plots.dividends, rows)
    assert bars(axes) == {2024: 2.0, 2026: 1.75}
    assert axes.get_title() == "3 cash dividends"
    assert axes.get_xlabel() == "Year of the ex-dividend date (market's own time zone)"
    assert axes.get_ylabel() == "Cash dividend per share (reporting currency)"


def test_planned_dividends_are_hatched_on_top_of_paid_ones():
    rows = [paid("2026/09/29", process="Plan"), paid("2026/01/05", 1, process="Implementation")]
    settled, planned = drawn(plots.dividends, rows).patches
    assert (settled.get_hatch(), planned.get_hatch()) == (None, "////")
    assert (planned.get_y(), planned.get_height()) == (1.0, 1.5)


def test_several_securities_get_a_line_and_a_label_each():
    amounts = {"HK.1": 1, "HK.2": 1.0001, "HK.9": 40}
    rows = [paid(amount=amount, symbol=code, currency="HKD") for code, amount in amounts.items()]
    axes = drawn(plots.dividends, rows)
    assert (len(axes.lines), axes.get_yscale()) == (3, "log")
    assert axes.get_ylabel() == "Cash dividend per share (reporting currency of each)"
    assert set(texts(axes)) == {f"HK.{n}" for n in (1, 2, 9)}


MIXED = [
    paid(f"{year}/05/05", amount, symbol=symbol, currency=currency)
    for symbol, currency, amount in [("US.1", "USD", 0.2), ("SG.1", None, 3), ("HK.1", "HKD", 40)]
    for year in (2023, 2024)
]


@pytest.mark.parametrize("free", [False, True], ids=["in a grid", "placed by hand"])
def test_each_currency_has_a_panel_of_its_own(free):
    page = figure.Figure(figsize=(8, 6))
    ax = page.add_axes((0.1, 0.1, 0.7, 0.8)) if free else page.add_subplot()
    assert plots.dividends(MIXED, ax) is ax is page.axes[0]
    shown = [(axes.get_ylabel(), texts(axes), *axes.lines[0].get_ydata()) for axes in page.axes]
    assert shown == [
        ("Reporting currency\n(paid in HKD)", ["HK.1"], 40, 40),
        ("Reporting currency\n(paid in USD)", ["US.1"], 0.2, 0.2),
        ("Reporting currency", ["SG.1"], 3, 3),
    ]
    assert ax.get_title() == "6 cash dividends of 3 securities"
    extents = [axes.get_window_extent() for axes in page.axes]
    assert all(upper.y0 > lower.y1 for upper, lower in pairwise(extents))


def test_lines_are_what_was_paid_with_a_gap_at_a_year_without_a_dividend():
    rows = [
        paid(f"{year}/05/05", amount, symbol=symbol, process=process)
        for symbol, year, amount, process in [
            ("HK.1", 2022, 1, "Implementation"),
            ("HK.1", 2024, 2, "Implementation"),
            ("HK.1", 2024, 5, "Plan"),
            ("HK.1", 2025, 5, "Plan"),
            ("HK.2", 2024, 3, "Implementation"),
            ("HK.2", 2024, 9, "Cancelled"),
        ]
    ]
    axes = drawn(plots.dividends, rows)
    first, second = (dict(zip(*line.get_data(), strict=True)) for line in axes.lines)
    assert first.pop(2023) != 2 and first == {2022: 1, 2024: 2} and second == {2024: 3}
    assert axes.get_title() == "3 of 6 cash dividends of 2 securities"


def test_dividends_without_a_date_or_an_amount_are_left_out():
    rows = [paid(""), paid("--"), paid("2026/01/05", None)]
    assert drawn(plots.dividends, rows).get_title() == "0 cash dividends"


# Positions


POSITIONS = [
    {"symbol": "AAPL", "stock_name": "Apple", "pstn_type": 0, "profit_ratio": "10.03", "mv": "5"},
    {"symbol": "NVDA", "stock_name": "NVIDIA", "pstn_type": 1, "profit_ratio": "-2.5", "mv": "-7"},
    {"symbol": "00700", "stock_name": "TENCENT", "pstn_type": 0, "profit_ratio": "", "mv": "9"},
]


def test_bars_are_in_the_order_of_their_values_and_show_them():
    axes = drawn(plots.positions, POSITIONS)
    assert labels(axes) == ["NVIDIA  NVDA", "Apple  AAPL"]
    assert texts(axes) == ["-2.50 %", "+10.03 %"]
    assert axes.get_xlabel() == "P&L ratio (%)"
    assert axes.get_title() == "P&L ratio of 2 positions, short ones hatched"
    short, long = axes.patches
    assert (short.get_hatch(), long.get_hatch()) == ("////", None)
    assert short.get_facecolor() != long.get_facecolor()


def test_another_value_is_shown_with_its_unit():
    axes = drawn(plots.positions, POSITIONS, value="mv")
    assert texts(axes) == ["-7.00", "5.00", "9.00"]
    assert axes.get_xlabel() == "Market value (trading currency of each position)"
    with raises(
        errors.ConfigError, snapshot("value is 'qty'; expected one of profit_ratio, profit, mv")
    ):
        drawn(plots.positions, POSITIONS, value="qty")


def test_of_many_positions_those_of_the_largest_values_are_shown():
    many = [{"symbol": str(place), "profit_ratio": str(place - 50)} for place in range(90)]
    axes = drawn(plots.positions, many)
    assert axes.get_title() == "P&L ratio of 40 of 90 positions"
    assert labels(axes)[0] == "0" and labels(axes)[-1] == "89"


def test_a_name_that_the_font_cannot_draw_is_left_out():
    rows = [{"symbol": "00700", "stock_name": "\ue123腾讯", "profit_ratio": "1"}]
    assert labels(drawn(plots.positions, rows)) == ["00700"]


@pytest.mark.parametrize("value", ["mv", "profit"])
def test_amounts_of_different_markets_are_not_compared_and_ratios_are(value):
    rows = [
        {"symbol": symbol, "market": market, value: amount, "profit_ratio": "1"}
        for symbol, market, amount in [("00700", 1, "1000000"), ("AAPL", 2, "5"), ("MSFT", 2, "7")]
    ]
    hk, us = drawn(plots.positions, rows, value=value).figure.axes
    assert us.get_xlim()[1] < 20 < hk.get_xlim()[1] and labels(us) == ["AAPL", "MSFT"]
    assert us.get_xlabel().endswith("(trading currency of market 2)")
    assert len(drawn(plots.positions, rows).figure.axes) == 1


# IPOs


def test_a_subscription_lasts_from_its_first_day_to_the_end_of_its_last():
    (bar,) = drawn(plots.ipos, [event("opening", 2), event("closing", 4)]).patches
    first = dates.num2date(bar.get_x()).replace(tzinfo=None)
    assert (first, bar.get_width()) == (datetime(2026, 11, 2), timedelta(days=3).days)
    (bar,) = drawn(plots.ipos, [event("opening", 2)]).patches
    assert bar.get_width() == 1


def test_markers_of_the_same_day_are_side_by_side_within_it():
    axes = drawn(plots.ipos, [event("draw", 5), event("ballot", 5), event("listing", 9)])
    places = [part.get_offsets()[0][0] for part in axes.collections]
    day = dates.date2num(date(2026, 11, 5))
    assert day < places[0] < places[1] < day + 1
    assert places[2] == dates.date2num(date(2026, 11, 9)) + 0.5


def test_the_legend_names_what_is_there_and_the_axis_its_time_zone():
    axes = drawn(plots.ipos, [event("opening", 2), event("listing", 9)])
    assert [text.get_text() for text in axes.get_legend().texts] == ["Subscription", "Listing"]
    assert axes.get_xlabel() == "Date (each market's own time zone)"
    assert axes.get_title() == "1 IPO of 1 market"


def test_ipos_are_ordered_by_market_and_first_date():
    ipos = [("listing", 9), ("opening", 8, "HK.2", "hk"), ("opening", 7, "HK.1", "hk")]
    names = labels(drawn(plots.ipos, [event(*ipo) for ipo in ipos]))
    assert [name.split()[-1] for name in names] == ["HK.1", "HK.2", "MY.1"]


@pytest.mark.parametrize("library", ["to_pandas", "to_polars", "to_arrow"])
def test_calendars_their_frames_and_the_lists_of_a_market_draw_the_same(library):
    pytest.importorskip(library.removeprefix("to_").replace("arrow", "pyarrow"))
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        calendar = ipo_calendar(client, ["cn"])
        listed = client.ipo_list("cn", request_type=bl.CnIpoRequest.ALL)
    expected = labels(drawn(plots.ipos, calendar))
    assert len(expected) == len(listed)
    for source in (listed, getattr(calendar, library)()):
        assert labels(drawn(plots.ipos, source)) == expected


def test_a_filter_by_date_does_not_shorten_subscriptions():
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        calendar = client.ipo_calendar(["hk"])
    whole = {line.code: line.subscription for line in ipo_lines(calendar)}
    listings = [event["date"] for event in calendar if event["event"] == "listing"]
    for some in (
        calendar.between(min(listings), max(listings)),
        calendar.to_pandas().query("event == 'listing'"),
    ):
        lines = ipo_lines(some)
        assert lines and all(line.subscription == whole[line.code] for line in lines)
        assert any(first < last for first, last in filter(None, (x.subscription for x in lines)))
