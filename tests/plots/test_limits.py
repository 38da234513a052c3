"""What a chart cannot show is left out of it, and its title says so."""

from datetime import date, datetime, timedelta, timezone

import pytest
from boardlot import plots

from .test_interactive import of

matplotlib = pytest.importorskip("matplotlib.figure")
interactive = pytest.importorskip("boardlot.plots.interactive")


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


def fill(code="HK.1", time=10**15, side="BUY"):
    return {"code": code, "trd_side": side, "price": "5", "create_time": time}


def dividend(day="2025-01-31", currency="HKD"):
    return {"symbol": "HK.1", "dividend_per_share": "1", "ex_date": day, "currency": currency}


def listing(code, day):
    return {"code": code, "event": "listing", "date": day, "market": "hk", "name": ""}


def test_the_groups_with_the_most_rows_have_panels():
    groups = [f"M{n}" for n in range(60)] + ["HK"] * 2
    fills = titled("fills", [fill(f"{group}.1") for group in groups], 8)
    assert fills == "Prices of 9 fills of 8 codes; not drawn: 53 of further markets"
    dividends = titled("dividends", [dividend(currency=group) for group in groups], 8)
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
        title = titled("ipos", [listing("HK.1", far), listing("HK.2", date(2025, 1, 31))], 1)
        assert title == "1 of 2 IPOs of 1 market; not drawn: 1 date of other centuries"
        rows = [dividend(), dividend(far.isoformat())]
        assert titled("dividends", rows, 1) == "1 of 2 cash dividends of HK.1"
    # Its other date is drawn.
    subscription = listing("HK.1", date(2025, 1, 31)) | {"event": "opening", "closes": date.max}
    title = titled("ipos", [subscription], 1)
    assert title == "1 IPO of 1 market; not drawn: 1 date of other centuries"


def test_the_latest_ipos_have_a_line():
    days = [date(2025, 1, 31) + timedelta(days=n) for n in range(300)]
    rows = [listing(f"HK.{n}", day) for n, day in enumerate(days)]
    assert titled("ipos", rows, 1) == "100 of 300 IPOs of 1 market"
    _, values = of(interactive.ipos(rows))
    assert {row["days"] for row in values} == {str(day) for day in days[-100:]}
