"""Borders between two reads, wherever they come from, and clocks that are wrong."""

import itertools
import time
from datetime import datetime, timedelta, timezone

import boardlot as bl
import pytest

from .service import DAY, HK, HOUR, PLATE, fill, path_of, unavailable

YEAR = 365 * DAY
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Days before the first read's start, and microseconds from there.
AROUND = list(itertools.product((0, 1, 3), (-1, 0, 1)))


@pytest.fixture(params=list(itertools.product((True, False), repeat=2)))
def picky(request, file, book):
    """An archive of a service whose ranges may include their start, their end, both or neither."""
    with_start, with_end = request.param

    def in_range(one, start, end):
        at = one["updated_time"]
        return start < at < end or (with_start and at == start) or (with_end and at == end)

    book.in_range = in_range
    with bl.Archive(file) as archive:
        yield archive


def test_no_border_of_two_reads_loses_a_fill(picky, book, client):
    since = book.now() - DAY
    book.fills[HK] = [fill(n, since - DAY * day + by) for n, (day, by) in enumerate(AROUND)]
    for day in (0, 1, 3, 4):
        picky.update(client, fills=[HK], start=since - day * DAY, overlap=timedelta(0))
    assert picky.gaps(*HK) == []
    assert len(picky.fills(*HK).all()) == len(AROUND)


def test_what_happens_in_the_microsecond_in_which_a_read_ends_comes_with_the_next(
    picky, book, client
):
    picky.update(client, fills=[HK])
    ((end,),) = picky._database.read("select end_at from coverage")
    book.fills[HK] = [fill(n, end + n) for n in range(2)]
    picky.update(client, fills=[HK], overlap=timedelta(0))
    assert len(picky.fills(*HK).all()) == 2


def test_a_gap_is_filled_with_both_of_its_borders(picky, book, client, service):
    picky.update(client, fills=[HK])
    start = book.now() + HOUR
    book.ahead = 2 * 3600.0
    with bl.Client(service.base_url, max_retries=0) as later:
        picky.update(later, fills=[HK], start=start)
        ((start, end),) = picky.gaps(*HK)
        assert timedelta(minutes=59) < end - start < timedelta(minutes=61)
        first, last = ((at - EPOCH) // timedelta(microseconds=1) for at in (start, end))
        times = (first, first + 1, last - 1, last)
        book.fills[HK] = [fill(n, at) for n, at in enumerate(times)]
        picky.update(later, fills=[HK], start=first - DAY, overlap=timedelta(0))
    assert picky.gaps(*HK) == []
    assert len(picky.fills(*HK).all()) == 4


@pytest.fixture
def machine(monkeypatch):
    """Sets the clock of this machine."""
    true = time.time_ns

    def ahead(micros):
        monkeypatch.setattr(time, "time_ns", lambda: true() + micros * 1000)

    return ahead


@pytest.mark.parametrize("wrong", [-YEAR, -HOUR, HOUR, YEAR])
def test_a_clock_of_a_machine_that_is_wrong_changes_no_time(archive, book, client, machine, wrong):
    path = path_of("plates", PLATE)
    before = book.now()
    for turn, ahead in enumerate((0, wrong, 0)):
        machine(ahead)
        book.lists[path] = [{"code": f"HK.{turn}"}]
        archive.update(client, plates=[PLATE])
        assert archive.seen("plates", PLATE, at=book.now() + HOUR) == book.lists[path]
    seen = [change["seen_at"] for change in archive.changes("plates", PLATE)]
    assert seen == sorted(seen) and before - HOUR < seen[0] and seen[-1] < book.now() + HOUR
    assert archive.check() == []


@pytest.mark.parametrize(("known", "back"), [(True, HOUR), (False, HOUR), (False, YEAR)])
def test_the_times_of_a_list_never_go_back(archive, book, service, machine, known, back):
    """The service's clock is set back, or, if its time is unknown, the machine's."""
    path = path_of("plates", PLATE)
    states = [[{"code": f"HK.{turn}"}] for turn in range(2)]
    for rows, ahead in zip(states, (0, -back), strict=True):
        book.lists[path] = rows
        if known:
            book.ahead = ahead / 10**6
        else:
            machine(ahead)
            book.failures["/api/v1.0/server-time"] = [unavailable() for _ in range(9)]
        # Another client does not know the time from before.
        with bl.Client(service.base_url, max_retries=0) as client:
            archive.update(client, plates=[PLATE])
    times = [change["seen_at"] for change in archive.changes("plates", PLATE)]
    assert times == sorted(times) and times[0] < times[-1]
    for rows, at in zip(states, (times[0], times[-1]), strict=True):
        assert archive.seen("plates", PLATE, at=at) == rows


@pytest.mark.filterwarnings("ignore:at is")
def test_a_time_that_cannot_be_is_reported_and_does_not_hide_what_is_read_later(
    archive, book, client, machine
):
    """Such a time is stored by an older version, or by a machine that did not learn the service's
    time."""
    path = path_of("plates", PLATE)
    book.lists[path] = [{"code": "HK.1"}]
    machine(YEAR)
    book.failures["/api/v1.0/server-time"] = [unavailable() for _ in range(9)]
    archive.update(client, plates=[PLATE])
    book.failures.clear()
    machine(0)
    ((found),) = archive.check()
    assert (found.kind, found.list, found.key) == ("future", "plates", PLATE)
    assert str((datetime.now(timezone.utc) + timedelta(microseconds=YEAR)).year) in found.text
    soon = book.now() + HOUR
    assert archive.seen("plates", PLATE, at=soon) == []
    # A record of the same content, and one of another.
    for code in ("HK.1", "HK.2"):
        book.lists[path] = [{"code": code}]
        archive.update(client, plates=[PLATE])
        assert archive.seen("plates", PLATE, at=soon) == [{"code": code}]
        assert archive.seen("plates", PLATE) == [{"code": code}]
        assert archive.status()[0]["read_at"] < datetime.now(timezone.utc) + timedelta(hours=1)
    assert [one.kind for one in archive.check()] == ["future"]


@pytest.mark.parametrize("ahead", [-30, 30])
def test_what_is_unread_and_where_gaps_end_is_shown_by_the_services_clock(archive, ahead):
    """By this machine's clock, each list would count as unread at once, or only after a month."""
    with bl.Sandbox(fills=40, clock_offset=ahead * 86_400) as sandbox, sandbox.client() as client:
        account = sandbox.accounts["trade"][0]
        lists = {"fills": [(account, "HK")], "dividends": ["HK.00700"]}
        archive.update(client, **lists)
        now = int(client.server_time().timestamp() * 1_000_000)
    hour = timedelta(hours=1)
    assert archive.check(unread=hour) == []
    found = archive.check(unread=timedelta(0))
    assert {finding.list for finding in found if finding.kind == "unread"} == set(lists)
    for wrong in (5, timedelta(days=-1)):
        with pytest.raises(bl.ConfigError):
            archive.check(unread=wrong)
    # An update that has stopped midway has not read up to now.
    with archive._database.transaction() as transaction:
        start, end = now - 2 * HOUR, now + 9 * HOUR
        transaction.execute("update series set run_start = ?, run_end = ?", (start, end))
    ((_, until),) = archive.gaps(account, "HK")
    assert abs(int(until.timestamp() * 1_000_000) - now) < HOUR
