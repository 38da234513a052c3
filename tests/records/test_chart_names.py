"""Names in charts: drawn as they are, whatever the service or a caller calls a thing."""

import pytest
from boardlot import errors, plots

figure = pytest.importorskip("matplotlib.figure")
matplotlib = pytest.importorskip("matplotlib")
from boardlot.plots import style  # noqa: E402

from .chart_rows import event, fill, paid  # noqa: E402

NAMES = [
    r"$\frac{1}{0}$", "_hidden%s{0}", "", "腾讯控股🚀", "a\nb\t\x00\x1b[31m\ud800", "腾" * 300,
    "$^$" * 100,
]  # fmt: skip
# What is difficult about them, in fewer names: a drawing takes a second.
TOGETHER = [r"_$\frac{1}{0}$%s{0}", "", "腾🚀\n\t\x00\x1b[31m\ud800", "$^$腾" * 75]
# A layout has trouble with long names only.
WAYS = [("none", "svg"), ("constrained", "png")]


def fills(name):
    rows = [fill(code, side) for side in (name, "BUY", "SELL") for code in (name, "HK.00700")]
    return [*rows, {**rows[0], "status": name}, {**rows[0], "status": f"{name}!"}]


def dividends(name):
    return [paid(symbol=name, currency=name, process=process) for process in ("", "Plan")]


def several_dividends(name):
    return [*dividends(name), paid(symbol="HK.00700", currency="HKD")]


def positions(name):
    row = {"symbol": name, "stock_name": name, "pstn_type": 0, "profit_ratio": "1.5"}
    return [row, {**row, "symbol": "AAPL", "pstn_type": 1}]


def ipos(name):
    kinds = ("opening", "closing", "draw", "ballot", "grey_market", "listing", name)
    return [event(kind, "2026-11-05", name, name) | {"name": name} for kind in kinds]


CHARTS = [
    (plots.fills, fills),
    (plots.dividends, dividends),
    (plots.dividends, several_dividends),
    (plots.positions, positions),
    (plots.ipos, ipos),
]


def texts(axes):
    from matplotlib.text import Text

    return [text.get_text() for text in axes.figure.findobj(Text)]


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        *((name, WAYS[len(name) > 20 :][:1]) for name in TOGETHER),
        *(pytest.param(name, [*WAYS, ("none", "png")], marks=pytest.mark.slow) for name in NAMES),
    ],
)
@pytest.mark.parametrize(("chart", "rows"), CHARTS)
def test_a_name_is_drawn_as_it_is(chart, rows, name, ways, tmp_path):
    for layout, kind in ways:
        page = figure.Figure(figsize=(9, 6), layout=layout)
        axes = chart(rows(name), page.add_subplot())
        page.savefig(tmp_path / f"chart.{kind}", dpi=50)
    if 0 < len(name) < 20 and name.isprintable() and name.isascii():
        assert any(name in text for text in texts(axes))


@pytest.mark.parametrize(("chart", "rows"), CHARTS)
def test_no_text_of_the_services_is_parsed(chart, rows):
    from matplotlib.text import Text

    with matplotlib.rc_context({"text.parse_math": True}):
        axes = chart(rows("a$b_c$"), figure.Figure().add_subplot())
    named = [text for text in axes.figure.findobj(Text) if "a$b_c$" in text.get_text()]
    assert named
    assert not any(text.get_parse_math() or text.get_usetex() for text in named)


def test_a_side_with_an_underscore_is_in_the_legend():
    axes = plots.fills(fills("_net"), figure.Figure().add_subplot())
    assert " _net (2)" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_long_name_is_cut_and_one_that_the_font_lacks_shows_its_length():
    assert style.label("x" * 300) == "x" * 39 + "…"
    assert style.label("HK.00700") == style.drawable("HK.00700") == "HK.00700"
    assert style.label("US.🚀🚀") == "US.??"
    assert style.drawable("US.🚀🚀") == ""


@pytest.mark.parametrize("value", ["soon", [1]])
@pytest.mark.parametrize(("column", "kind"), [("price", "number"), ("create_time", "time")])
def test_a_value_that_is_not_a_number_or_time_is_rejected_by_name(column, kind, value):
    with pytest.raises(errors.ConfigError, match=f"not a valid {kind}"):
        plots.fills([{**fills("HK.00700")[0], column: value}], figure.Figure().add_subplot())


@pytest.mark.parametrize(
    "missing",
    [{"price": ""}, {"price": "1e999"}, {"price": float("nan")}, {"create_time": 0}],
    ids=repr,
)
def test_a_fill_without_a_finite_price_or_a_time_is_left_out(missing):
    rows = [{**fills("HK.00700")[0], **missing}, *fills("HK.00700")[:2]]
    axes = plots.fills(rows, figure.Figure().add_subplot())
    assert axes.get_title() == "Prices of 2 fills of 1 code"
