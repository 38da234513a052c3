"""The chart of fills: what it draws from records and frames, and how its axes are labelled."""

from datetime import datetime, timezone
from itertools import pairwise

import pytest
from boardlot import errors, plots

from ..support.fake_records import fills

figure = pytest.importorskip("matplotlib.figure")


def drawn(source):
    return plots.fills(source, figure.Figure(figsize=(8, 5)).add_subplot())


def markers(axes):
    return {part.get_label(): len(part.get_offsets()) for part in axes.collections}


def test_each_fill_has_a_marker_by_its_side_at_its_time_and_price():
    from matplotlib import dates

    axes = drawn(fills(41))
    assert markers(axes) == {"BUY (20)": 20, "SELL (21)": 21}
    assert len({tuple(part.get_facecolor()[0]) for part in axes.collections}) == 2
    assert axes.get_title() == "Prices of 41 fills of 1 code"
    assert axes.get_xlabel() == "Time of the fill (UTC)"
    assert axes.get_ylabel() == "Price (HKD)"
    assert drawn(list(fills(4))).get_ylabel() == "Price (trading currency of each code)"
    (x, y) = drawn(fills(1)).collections[0].get_offsets()[0]
    assert (dates.num2date(x), y) == (datetime(2026, 1, 5, 8, tzinfo=timezone.utc), 388.0)


def test_prices_far_apart_get_a_logarithmic_axis_and_labels_that_do_not_overlap():
    rows = [
        {"trd_side": "BUY", "code": f"HK.{code}", "price": str(price), "create_time": 10**15 + time}
        for code, price in [(1, "400"), (2, "4"), (3, "4.01"), (4, "4.02")]
        for time in range(3)
    ]
    axes = drawn(rows)
    assert axes.get_yscale() == "log"
    places = sorted(text.xy[1] for text in axes.texts)
    line = 12 / 72 * 100 / axes.get_window_extent().height
    assert len(places) == 4
    assert all(high - low > 0.9 * line for low, high in pairwise(places))
    assert drawn(fills(5)).get_yscale() == "linear"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_and_records_draw_the_same(library):
    module = pytest.importorskip(library)
    rows = [
        {**row, "create_time": datetime.fromtimestamp(row["create_time"] / 1e6, timezone.utc)}
        for row in fills(9)
    ]
    for kind in (str, float):
        typed = [{**row, "price": kind(row["price"])} for row in rows]
        frame = module.Table.from_pylist(typed) if library == "pyarrow" else module.DataFrame(typed)
        assert markers(drawn(frame)) == markers(drawn(fills(9)))


def test_only_executed_fills_are_drawn_and_the_title_counts_the_others():
    rows = [{**row, "status": "OK"} for row in fills(5)]
    rows[1]["status"] = rows[2]["status"] = "CANCELLED"
    rows[3]["status"] = None
    axes = drawn(rows)
    assert axes.get_title() == "Prices of 3 fills of 1 code; not drawn: 2 CANCELLED"
    assert sum(markers(axes).values()) == 3
    nothing = drawn(rows[1:3])
    assert nothing.get_title() == "Prices of 0 fills of 0 codes; not drawn: 2 CANCELLED"


@pytest.mark.parametrize("name", plots.__all__)
def test_an_empty_chart_draws_and_says_that_there_is_nothing(name):
    axes = getattr(plots, name)([], figure.Figure(figsize=(8, 5)).add_subplot())
    axes.figure.draw_without_rendering()
    assert [text.get_text() for text in axes.texts] == ["nothing to show"]


def test_a_missing_column_is_named():
    with pytest.raises(errors.ConfigError, match="needs the column 'trd_side'"):
        drawn([{"code": "HK.1", "price": "1", "create_time": 1}])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(errors.ConfigError, match="needs the columns 'trd_side' and 'create_time'"):
        drawn(pandas.DataFrame({"code": ["HK.1"], "price": [1.0]}))


def of_two_markets():
    prices = {"HK.00700": ("600", "610"), "US.AAPL": ("2", "30")}
    return [
        {"trd_side": side, "code": code, "price": price, "create_time": 10**15 + place}
        for code, two in prices.items()
        for place, (side, price) in enumerate(zip(("BUY", "SELL"), two, strict=True))
    ]


def test_each_market_has_a_panel_with_a_scale_of_the_same_kind():
    first = drawn(of_two_markets())
    hk, us = panels = first.figure.axes
    assert first is hk and [panel.get_ylabel() for panel in panels] == ["HK price", "US price"]
    assert first.get_title() == "Prices of 4 fills of 2 codes"
    assert hk.get_ylim()[0] > 100 > us.get_ylim()[1]
    # The prices of one market are far apart, so all axes are logarithmic.
    assert {panel.get_yscale() for panel in panels} == {"log"}
    codes = [[text.get_text() for text in panel.texts] for panel in panels]
    assert codes == [["HK.00700"], ["US.AAPL"]]
    assert markers(us) == {"BUY (2)": 1, "SELL (2)": 1}
