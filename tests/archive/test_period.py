"""The period of fills that an archive covers, wherever a person would take it for all of them."""

from datetime import datetime, timedelta, timezone

import pytest

from .service import DAY, HK, fill


@pytest.fixture
def filled(archive, book, client):
    """An archive whose first update has read 90 days of a fill a day."""
    now = book.now()
    book.fills[HK] = [fill(n, now - n * DAY + DAY // 2) for n in range(1, 401)]
    archive.report = archive.update(client, fills=[HK], ipos=["hk"])
    return archive


def days_ago(time):
    return round((datetime.now(timezone.utc) - time) / timedelta(days=1))


def test_a_report_says_which_period_is_covered(filled, client):
    report = filled.report
    first, last = report.periods["fills", HK]
    assert (days_ago(first), days_ago(last)) == (90, 0) and report.new == 90
    row, other = report.rows()
    assert (
        row["from"] == f"{first:%Y-%m-%dT%H:%M:%SZ}"
        and row["until"] == f"{last:%Y-%m-%dT%H:%M:%SZ}"
    )
    assert (other["from"], other["until"]) == ("", "")
    assert row["from"] in str(report) and "until" in str(report).splitlines()[0]
    # Without fills there is no such column.
    assert "until" not in str(filled.update(client, ipos=["hk"]))
    earlier = filled.update(client, fills=[HK], start="2020-01-01")
    assert earlier.periods["fills", HK][0] == datetime(2020, 1, 1, tzinfo=timezone.utc)
    assert filled.verify(client, fills=[HK]).periods["fills", HK][0].year == 2020


def test_status_and_check_say_it_too(filled):
    of_fills, of_ipos = filled.status()
    assert (days_ago(of_fills["from"]), days_ago(of_fills["until"])) == (90, 0)
    assert of_ipos["from"] is of_ipos["until"] is None
    found = filled.check()
    assert found == [] and found.periods == {"281756 HK": (of_fills["from"], of_fills["until"])}


def test_a_query_asks_for_it(filled):
    ((*key, _, _),) = filled.sql("select * from coverage_of_fills")
    assert tuple(key) == HK
    table = filled.sql("select covered_from, covered_until from coverage_of_fills").to_pandas()
    assert [days_ago(time) for time in table.iloc[0]] == [90, 0]


def test_an_empty_result_says_it(filled):
    with pytest.warns(
        UserWarning, match=r"has fills 281756 HK from .* until .*, and none of these"
    ):
        assert len(filled.fills(*HK, start="2020-01-01", end="2020-12-31")) == 0
    with pytest.warns(UserWarning, match="and none of these there; update"):
        assert len(filled.fills(*HK, code="HK.00001")) == 0
