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


def test_the_dividends_of_a_year_are_summed():
    axes = drawn([paid("2026/09/29"), paid("2026/01/05", 0.25), paid("2024/01/05", 2)])
    assert bars(axes) == {2024: 2.0, 2026: 1.75}
    assert axes.get_title() == "3 cash dividends"


def test_axes_name_unit_and_time_zone():
    axes = drawn([paid("2026/09/29", currency="HKD")])
    assert axes.get_xlabel() == "Year of the ex-dividend date (market's own time zone)"
    assert axes.get_ylabel() == "Cash dividend per share (HKD)"
    unknown = drawn([paid("2026/09/29")])
    assert unknown.get_ylabel() == "Cash dividend per share (reporting currency)"


def test_planned_dividends_are_hatched_on_top_of_paid_ones():
    rows = [paid("2026/09/29", process="Plan"), paid("2026/01/05", 1, process="Implementation")]
    settled, planned = drawn(rows).patches
    assert (settled.get_hatch(), planned.get_hatch()) == (None, "////")
    assert (planned.get_y(), planned.get_height()) == (1.0, 1.5)


def test_several_securities_get_a_line_each_and_labels_that_do_not_overlap():
    rows = [
        paid(f"{year}/05/05", 1 + place / 1e4, symbol=f"HK.{place}", currency="HKD")
        for place in range(4)
        for year in (2024, 2025)
    ]
    rows.append(paid("2025/05/05", 40, symbol="HK.9", currency="HKD"))
    axes = drawn(rows)
    assert len(axes.lines) == 5
    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "Cash dividend per share (HKD)"
    assert {text.get_text() for text in axes.texts} >= {"HK.0 (HKD)", "HK.9 (HKD)"}
    line = 12 / 72 * 100 / axes.get_window_extent().height
    places = sorted(text.xy[1] for text in axes.texts)
    assert all(high - low > 0.9 * line for low, high in pairwise(places))
    assert places[-1] <= 1.0


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
    units = [axes.get_ylabel() for axes in page.axes]
    assert units == ["HKD per share", "USD per share", "Currency unknown"]
    drawn_there = [[list(line.get_ydata()) for line in axes.lines] for axes in page.axes]
    assert drawn_there == [[[40, 40]], [[0.2, 0.2]], [[3, 3]]]
    labels = [[text.get_text() for text in axes.texts] for axes in page.axes]
    assert labels == [["HK.1 (HKD)"], ["US.1 (USD)"], ["SG.1 (currency unknown)"]]
    assert ax.get_title() == "6 cash dividends of 3 securities"
    tops = [axes.get_window_extent().y1 for axes in page.axes]
    bottoms = [axes.get_window_extent().y0 for axes in page.axes]
    assert all(bottom > top for bottom, top in zip(bottoms, tops[1:], strict=False))


def test_a_security_that_changed_its_currency_has_a_panel_for_each():
    rows = [paid("2024/05/05", 2, currency="HKD"), paid("2024/09/05", 1, currency="USD")]
    upper, lower = drawn(rows).figure.axes
    assert (bars(upper), bars(lower)) == ({2024: 2.0}, {2024: 1.0})


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
