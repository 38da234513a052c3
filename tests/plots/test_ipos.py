"""The timeline of IPOs: bars of days, markers side by side, and what it takes."""

from datetime import date, datetime, timedelta

import boardlot as bl
import pytest
from boardlot import errors, plots
from boardlot.calendar import IpoCalendar, ipo_calendar
from boardlot.plots.ipos import ipo_lines

figure = pytest.importorskip("matplotlib.figure")
dates = pytest.importorskip("matplotlib.dates")


def event(name, day, code="MY.1", market="my"):
    when = date(2026, 11, day)
    return {"code": code, "event": name, "date": when, "market": market, "name": "SOLAR"}


def drawn(source):
    return plots.ipos(source, figure.Figure(figsize=(8, 5)).add_subplot())


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_a_subscription_lasts_from_its_first_day_to_the_end_of_its_last():
    (bar,) = drawn([event("opening", 2), event("closing", 4)]).patches
    first = dates.num2date(bar.get_x()).replace(tzinfo=None)
    assert (first, bar.get_width()) == (datetime(2026, 11, 2), timedelta(days=3).days)
    (bar,) = drawn([event("opening", 2)]).patches
    assert bar.get_width() == 1


def test_markers_of_the_same_day_are_side_by_side_within_it():
    axes = drawn([event("draw", 5), event("ballot", 5), event("listing", 9)])
    places = [part.get_offsets()[0][0] for part in axes.collections]
    day = dates.date2num(date(2026, 11, 5))
    assert day < places[0] < places[1] < day + 1
    assert places[2] == dates.date2num(date(2026, 11, 9)) + 0.5


def test_the_legend_names_what_is_there_and_the_axis_its_time_zone():
    axes = drawn([event("opening", 2), event("listing", 9)])
    assert [text.get_text() for text in axes.get_legend().texts] == ["Subscription", "Listing"]
    assert axes.get_xlabel() == "Date (each market's own time zone)"
    assert axes.get_title() == "1 IPO of 1 market"


def test_ipos_are_ordered_by_market_and_first_date():
    ipos = [("listing", 9), ("opening", 8, "HK.2", "hk"), ("opening", 7, "HK.1", "hk")]
    names = labels(drawn([event(*ipo) for ipo in ipos]))
    assert names == ["SOLAR  HK.1", "SOLAR  HK.2", "SOLAR  MY.1"]


@pytest.mark.parametrize("library", ["to_pandas", "to_polars", "to_arrow"])
def test_calendars_their_frames_and_the_lists_of_a_market_draw_the_same(library):
    pytest.importorskip(library.removeprefix("to_").replace("arrow", "pyarrow"))
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        calendar = ipo_calendar(client, ["cn"])
        listed = client.ipo_list("cn", request_type=bl.CnIpoRequest.ALL)
    assert len(labels(drawn(calendar))) == len(listed)
    assert labels(drawn(getattr(calendar, library)())) == labels(drawn(calendar))
    assert labels(drawn(listed)) == labels(drawn(calendar))


def test_no_ipos_say_so_and_other_rows_are_rejected():
    assert drawn(IpoCalendar([])).get_title() == "0 IPOs of 0 markets"
    with pytest.raises(errors.ConfigError, match="needs the column 'event'; found code, date"):
        drawn([{"code": "HK.1", "date": date(2026, 1, 1)}])


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
