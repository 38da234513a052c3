"""The chart of dividends: years, units, plans, and several securities in one chart."""

from itertools import pairwise

import pytest
from boardlot import errors, plots

figure = pytest.importorskip("matplotlib.figure")


def paid(ex_date, amount=1.5, **fields):
    return {"dividend_per_share": amount, "ex_date": ex_date, **fields}


def drawn(source):
    return plots.dividends(source, figure.Figure(figsize=(8, 5)).add_subplot())


def bars(axes):
    return {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}


def test_the_dividends_of_a_year_are_summed_and_the_axes_name_their_units():
    axes = drawn([paid("2026/09/29"), paid("2026/01/05", 0.25), paid("2024/01/05", 2)])
    assert bars(axes) == {2024: 2.0, 2026: 1.75}
    assert axes.get_title() == "3 cash dividends"
    assert axes.get_xlabel() == "Year of the ex-dividend date (market's own time zone)"
    assert axes.get_ylabel() == "Cash dividend per share (reporting currency)"


def test_planned_dividends_are_hatched_on_top_of_paid_ones():
    rows = [paid("2026/09/29", process="Plan"), paid("2026/01/05", 1, process="Implementation")]
    settled, planned = drawn(rows).patches
    assert (settled.get_hatch(), planned.get_hatch()) == (None, "////")
    assert (planned.get_y(), planned.get_height()) == (1.0, 1.5)


def test_several_securities_get_a_line_and_a_label_each():
    axes = drawn([
        paid("2025/05/05", amount, symbol=symbol, currency="HKD")
        for symbol, amount in [("HK.1", 1), ("HK.2", 1.0001), ("HK.9", 40)]
    ])  # fmt: skip
    assert (len(axes.lines), axes.get_yscale()) == (3, "log")
    assert axes.get_ylabel() == "Cash dividend per share (HKD)"
    assert {text.get_text() for text in axes.texts} == {f"HK.{n} (HKD)" for n in (1, 2, 9)}


MIXED = [
    paid(f"{year}/05/05", amount, symbol=symbol, currency=currency)
    for symbol, currency, amount in [("US.1", "USD", 0.2), ("SG.1", None, 3), ("HK.1", "HKD", 40)]
    for year in (2023, 2025)
]


@pytest.mark.parametrize("free", [False, True], ids=["in a grid", "placed by hand"])
def test_each_currency_has_a_panel_of_its_own(free):
    page = figure.Figure(figsize=(8, 6))
    ax = page.add_axes((0.1, 0.1, 0.7, 0.8)) if free else page.add_subplot()
    assert plots.dividends(MIXED, ax) is ax is page.axes[0]
    shown = [
        (axes.get_ylabel(), [text.get_text() for text in axes.texts], *axes.lines[0].get_ydata())
        for axes in page.axes
    ]
    assert shown == [
        ("HKD per share", ["HK.1 (HKD)"], 40, 40),
        ("USD per share", ["US.1 (USD)"], 0.2, 0.2),
        ("Currency unknown", ["SG.1 (currency unknown)"], 3, 3),
    ]
    assert ax.get_title() == "6 cash dividends of 3 securities"
    extents = [axes.get_window_extent() for axes in page.axes]
    assert all(upper.y0 > lower.y1 for upper, lower in pairwise(extents))


def test_dividends_without_a_date_or_an_amount_are_left_out():
    assert drawn([paid(""), paid("--"), paid("2026/01/05", None)]).get_title() == "0 cash dividends"


def test_an_invalid_date_is_named():
    with pytest.raises(errors.ConfigError, match="'soon' is not a valid date"):
        drawn([paid("soon")])


@pytest.mark.parametrize(("background", "seventh"), [("white", "#000000"), ("#111111", "#ffffff")])
def test_no_line_has_the_colour_of_a_dark_background(background, seventh):
    axes = figure.Figure(figsize=(8, 5)).add_subplot(facecolor=background)
    many = [paid("2026/09/29", symbol=f"US.{code}", currency="USD") for code in "ABCDEFG"]
    plots.dividends(many, axes)
    assert axes.lines[6].get_color() == seventh
