"""The chart of positions: bars, hatches, units, and how many of them."""

import pytest
from boardlot import errors, plots

figure = pytest.importorskip("matplotlib.figure")

POSITIONS = [
    {"symbol": "AAPL", "stock_name": "Apple", "pstn_type": 0, "profit_ratio": "10.03", "mv": "5"},
    {"symbol": "NVDA", "stock_name": "NVIDIA", "pstn_type": 1, "profit_ratio": "-2.5", "mv": "-7"},
    {"symbol": "00700", "stock_name": "TENCENT", "pstn_type": 0, "profit_ratio": "", "mv": "9"},
]


def drawn(source, **options):
    return plots.positions(source, figure.Figure(figsize=(8, 5)).add_subplot(), **options)


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def numbers(axes):
    return [text.get_text() for text in axes.texts]


def test_bars_are_in_the_order_of_their_values_and_show_them():
    axes = drawn(POSITIONS)
    assert labels(axes) == ["NVIDIA  NVDA", "Apple  AAPL"]
    assert numbers(axes) == ["-2.50 %", "+10.03 %"]
    assert axes.get_xlabel() == "P&L ratio (%)"
    assert axes.get_title() == "P&L ratio of 2 positions, short ones hatched"
    short, long = axes.patches
    assert (short.get_hatch(), long.get_hatch()) == ("////", None)
    assert short.get_facecolor() != long.get_facecolor()


def test_another_value_is_shown_with_its_unit():
    axes = drawn(POSITIONS, value="mv")
    assert numbers(axes) == ["-7.00", "5.00", "9.00"]
    assert axes.get_xlabel() == "Market value (trading currency of each position)"
    with pytest.raises(errors.ConfigError, match="value is 'qty'; expected one of profit_ratio"):
        drawn(POSITIONS, value="qty")


def test_of_many_positions_those_of_the_largest_values_are_shown():
    many = [{"symbol": str(place), "profit_ratio": str(place - 50)} for place in range(90)]
    axes = drawn(many)
    assert axes.get_title() == "P&L ratio of 40 of 90 positions"
    assert labels(axes)[0] == "0" and labels(axes)[-1] == "89"


def test_a_name_that_the_font_cannot_draw_is_left_out():
    rows = [{"symbol": "00700", "stock_name": "\ue123腾讯", "profit_ratio": "1"}]
    assert labels(drawn(rows)) == ["00700"]


@pytest.mark.parametrize("value", ["mv", "profit"])
def test_amounts_of_different_markets_are_not_compared_and_ratios_are(value):
    rows = [
        {"symbol": symbol, "market": market, value: amount, "profit_ratio": "1"}
        for symbol, market, amount in [("00700", 1, "1000000"), ("AAPL", 2, "5"), ("MSFT", 2, "7")]
    ]
    hk, us = drawn(rows, value=value).figure.axes
    assert us.get_xlim()[1] < 20 < hk.get_xlim()[1] and labels(us) == ["AAPL", "MSFT"]
    assert us.get_xlabel().endswith("(trading currency of market 2)")
    assert len(drawn(rows).figure.axes) == 1
