"""Charts of 1, 6, 24 and 200 lines, at two sizes: what is drawn, where its labels stand, and what
the title says of the rest."""

import random
from functools import cache
from itertools import combinations

import pytest
from boardlot import plots

from .chart_rows import fill, paid

figure = pytest.importorskip("matplotlib.figure")
text = pytest.importorskip("matplotlib.text")

SIZES = {"large": (10, 7), "small": (6, 4)}
DAY_US = 86_400_000_000


def fills_of(count, markets):
    """Twenty fills of each code; a code with a higher number has a higher turnover."""
    chance = random.Random(7)
    for number in range(count):
        price = 10 ** chance.uniform(0.3, 2.8)
        code = f"{markets[number % len(markets)]}.{number:05}"
        for place in range(20):
            price *= chance.uniform(0.96, 1.045)
            yield fill(
                code,
                chance.choice(["BUY", "SELL"]),
                f"{price:.3f}",
                10**15 + (20 * place + chance.randrange(19)) * DAY_US,
                qty=f"{(number + 1) * 1_000 / price:.6f}",
            )


def dividends_of(count, currencies):
    """Some years of each security; one with a higher number has larger dividends."""
    chance = random.Random(7)
    for number in range(count):
        years = range(2016 + chance.randrange(4), 2027 - chance.randrange(3))
        for year in years:
            amount = (number + 1) / len(years) * (1 + 0.002 * (year % 7))
            currency = currencies[number % len(currencies)]
            yield paid(f"{year}-06-01", amount, symbol=f"HK.{number:05}", currency=currency)


CHARTS = [
    (plots.fills, fills_of, ("HK",)),
    (plots.fills, fills_of, ("HK", "SG", "US")),
    (plots.dividends, dividends_of, ("HKD",)),
    (plots.dividends, dividends_of, ("HKD", "USD")),
]


# Each is drawn once, which takes a second: no test changes it.
@cache
def drawn(chart, rows, count, panels, size):
    page = figure.Figure(figsize=SIZES[size], layout="constrained")
    axes = chart([*rows(count, panels)], page.add_subplot())
    page.draw_without_rendering()
    return axes


def labels(panel):
    return [one for one in panel.texts if one.get_text()]


def box(label):
    # Without the rule that leads to it.
    return text.Text.get_window_extent(label)


# To draw takes seconds: these are each chart, and for each every number of lines and both sizes.
SHORT = {
    "fills 1 of 1 small", "fills 6 of 1 large", "fills 200 of 1 large", "fills 24 of 3 small",
    "dividends 1 of 1 large", "dividends 6 of 1 small",
    "dividends 24 of 1 large", "dividends 24 of 2 large", "dividends 200 of 2 small",
}  # fmt: skip


def each(count, kinds=CHARTS):
    drawings = [
        (chart, rows, panels, number, size)
        for chart, rows, panels in kinds for number in count for size in SIZES
    ]  # fmt: skip
    names = [
        f"{chart.__name__} {number} of {len(panels)} {size}"
        for chart, _, panels, number, size in drawings
    ]
    return [
        pytest.param(*one, id=name, marks=[] if name in SHORT else [pytest.mark.slow])
        for one, name in zip(drawings, names, strict=True)
    ]


@pytest.mark.parametrize(("chart", "rows", "panels", "count", "size"), each((1, 6, 24, 200)))
def test_every_line_has_a_label_where_it_ends_and_nothing_overlaps(
    chart, rows, panels, count, size
):
    axes = drawn(chart, rows, count, panels, size)
    found = axes.figure.axes
    for panel in found:
        # One security alone has bars.
        assert len(labels(panel)) == len(panel.lines)
        ends = {line.get_ydata()[-1] for line in panel.lines}
        assert {label.xy[1] for label in labels(panel)} == ends
        for label in labels(panel):
            height = panel.transData.transform((0, label.xy[1]))[1]
            # The middle of the text, whose box has room below the letters.
            assert abs((box(label).y0 + box(label).y1) / 2 - height) < 3
    every = [label for panel in found for label in labels(panel)]
    for one, other in combinations(every, 2):
        # A pixel of the boxes may meet, of the letters none does.
        assert not box(one).shrunk(0.9, 0.7).overlaps(box(other).shrunk(0.9, 0.7))
    page = axes.figure.bbox
    for one in (*every, axes.title):
        assert page.x0 <= one.get_window_extent().x0 and box(one).x1 <= page.x1 + 1
    assert not any(axes.title.get_window_extent().overlaps(box(label)) for label in every)


@pytest.mark.parametrize(("chart", "rows", "panels", "count", "size"), each((24, 200)))
def test_the_largest_are_drawn_and_the_title_has_the_number_of_the_others(
    chart, rows, panels, count, size
):
    axes = drawn(chart, rows, count, panels, size)
    names = {label.get_text().split()[0] for x in axes.figure.axes for label in labels(x)}
    drawn_here = len(names)
    assert 2 * len(panels) <= drawn_here < count
    # In each panel those with the highest numbers, whose turnover or dividends are the largest.
    for panel in axes.figure.axes:
        own = sorted(int(label.get_text().split()[0].split(".")[1]) for label in labels(panel))
        rest = range(own[0], count, len(panels))
        assert len(own) == len(rest)
    title = axes.get_title().replace("\n", " ")
    rest = count - drawn_here
    if chart is plots.fills:
        assert title.startswith(
            f"Prices of {20 * drawn_here} fills of {drawn_here} codes; not drawn"
        )
        assert f"{20 * rest:,} of {rest} codes with less turnover" in title
    else:
        assert f"of {drawn_here} securities; not drawn: {rest} further securities" in title


@pytest.mark.parametrize(
    ("chart", "rows", "panels", "count", "size"), each((6, 24, 200), CHARTS[:2])
)
def test_no_fill_is_behind_the_legend(chart, rows, panels, count, size):
    axes = drawn(chart, rows, count, panels, size)
    legend = axes.get_legend().get_window_extent()
    for sides in axes.collections:
        places = axes.transData.transform(sides.get_offsets())
        assert not any(legend.contains(x, y) for x, y in places)


@pytest.mark.parametrize("count", [12, 300])
def test_labels_of_lines_that_end_together_are_below_each_other_in_the_figure(count):
    page = figure.Figure(figsize=(10, 5.5), layout="constrained")
    rows = [
        paid(f"{year}-06-01", 2 + number / 1_000 + year % 2, symbol=f"HK.{100_000 + number}")
        for number in range(count)
        for year in (2024, 2025)
    ]
    axes = plots.dividends(rows, page.add_subplot())
    page.draw_without_rendering()
    found = labels(axes)
    assert len(found) == len(axes.lines) > 8
    assert all(page.bbox.contains(*corner) for one in found for corner in box(one).corners())
    order = sorted(found, key=lambda one: one.xy[1], reverse=True)
    tops = [box(one).y1 for one in order]
    assert tops == sorted(tops, reverse=True)
    for one, other in combinations(found, 2):
        assert not box(one).shrunk(0.9, 0.7).overlaps(box(other).shrunk(0.9, 0.7))
