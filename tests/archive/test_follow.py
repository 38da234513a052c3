"""A follower delivers each fill once, and sends few requests."""

from contextlib import closing
from types import SimpleNamespace

import boardlot as bl
import pytest

from ..support.interrupts import interrupted
from ..support.service import response
from .service import HK, fill, fills_path, followed, ids, take, unavailable


def test_a_fill_is_delivered_when_the_next_one_is_requested(target, book, client):
    book.put_fills(5)
    with bl.Archive(target) as archive:
        assert followed(archive, client, 3) == ["1", "2", "3"]
    with bl.Archive(target) as archive:
        assert followed(archive, client, 3) == ["3", "4", "5"]
        other = archive.follow(client, fills=HK, every=0.01, name="other")
        assert ids(take(other, 2)) == ["1", "2"]
        book.fills[HK][4] = {**book.fills[HK][4], "qty": "5", "updated_time": book.now() - 1}
        assert take(other, 4)[3] == book.fills[HK][4]


def test_two_followers_of_one_name_are_rejected(target, book, client):
    book.put_fills(3)
    with bl.Archive(target) as archive, bl.Archive(target) as again:
        with closing(archive.follow(client, fills=HK, every=0.01)) as first:
            next(first)
            with pytest.raises(bl.StoreError, match="another follower with the name 'default'"):
                followed(again, client, 1)
        assert followed(again, client, 1) == ["1"]


@pytest.fixture
def pauses(monkeypatch):
    """Records the seconds of each wait of a follower."""
    waited = []
    monkeypatch.setattr("boardlot.archive.event_loops.pause", waited.append)
    return waited


def test_a_quiet_market_costs_one_request_per_tick(archive, book, client, service, pauses):
    book.put_fills(400, step=60 * 10**6)
    with closing(archive.follow(client, fills=HK, every=3600.0)) as follower:
        take(follower, 400)
        before = len(service.received)
        book.before_page = lambda _: len(pauses) == 7 and book.fills[HK].append(new)
        new = fill(1000, book.now() - 1)
        assert next(follower) == new
    # Requests for the service's clock, which come now and then, are left out.
    requests = [one for one in service.received[before:] if one.path == fills_path()]
    assert len(requests) == len(pauses) == 8
    assert all(0 < wait <= 3600 for wait in pauses)


def test_errors_back_off_and_pass_and_others_end_it(archive, book, client, pauses, monkeypatch):
    # By this clock, reading takes no time, however busy the machine is.
    monkeypatch.setattr("boardlot.archive.follow.time", SimpleNamespace(monotonic=lambda: 0.0))
    book.put_fills(3)
    book.failures[fills_path()] = [unavailable(), unavailable()]
    with closing(archive.follow(client, fills=HK, every=0.01)) as follower:
        assert ids(take(follower, 3)) == ["1", "2", "3"]
        assert pauses == [1.0, 2.0]
        refused = response({"s": "error", "errcode": -1, "errmsg": "no"}, 403)
        book.failures[fills_path()] = [refused]
        with pytest.raises(bl.PermissionDenied):
            next(follower)


def test_ctrl_c_ends_it_at_once_with_nothing_lost(archive, book, client):
    book.put_fills(3)
    follower = archive.follow(client, fills=HK, every=3600.0)
    assert ids(take(follower, 3)) == ["1", "2", "3"]
    # The follower ends at once, and not after the pause.
    interrupted(lambda: next(follower))
    book.fills[HK].append(fill(4, book.now() - 1))
    # The third fill counts as received, because the next one was requested.
    assert followed(archive, client, 1) == ["4"]


@pytest.mark.parametrize(
    "arguments",
    [
        *({"fills": wrong} for wrong in ([HK], "HK")),
        *({"every": wrong} for wrong in (0.0, -1, float("nan"), 1e10, 10**400, True, "5")),
        # A name that a database cannot store.
        *({"name": wrong} for wrong in ("", None, 5, b"x", "\ud800", "a\udcffb", "a\0b")),
    ],
)
def test_invalid_arguments_are_rejected_at_once(arguments, file, client, service):
    (name,) = arguments
    with bl.Archive(file) as archive, pytest.raises(bl.ConfigError, match=f"{name}.* is "):
        archive.follow(client, **{"fills": HK, **arguments})
    assert service.received == []


def test_a_late_fill_arrives_though_many_newer_ones_are_known(archive, book, client):
    book.put_fills(60, step=10**6)
    follower = archive.follow(client, fills=HK, every=0.01)
    take(follower, 60)
    book.fills[HK].append(fill(900, book.expected()[0]["updated_time"] - 86 * 10**6))
    # A fill that is not late, so that a test that fails ends.
    book.fills[HK].append(fill(901, book.now() - 1))
    assert ids(take(follower, 1)) == ["900"]


@pytest.mark.parametrize("ago", [3601, -60])
def test_a_fill_that_arrives_a_day_late_is_delivered_within_an_hour(archive, book, client, ago):
    """The last read of the whole overlap was this many seconds ago, or, by a clock that was set
    since, is to come."""
    book.put_fills(60, step=10**6)
    follower = archive.follow(client, fills=HK, every=0.01)
    take(follower, 60)
    read = "select overlap_read_at from series"
    ((read_at,),) = archive._database.read(read)
    late, newer = fill(900, book.now() - 86_400 * 10**6), fill(901, book.now() - 1)
    book.fills[HK] += [late, newer]
    assert ids(take(follower, 1)) == ["901"]
    assert archive._database.read(read) == [(read_at,)]
    with archive._database.transaction() as transaction:
        at = book.now() - ago * 10**6
        transaction.execute("update series set overlap_read_at = ?", (at,))
    # A fill that is not late, so that a test that fails ends.
    book.fills[HK].append(fill(902, book.now() - 1))
    assert ids(take(follower, 1)) == ["900"]
    follower.close()


@pytest.mark.parametrize("failures", [0, 1])
def test_the_first_tick_after_a_restart_reads_the_whole_overlap(
    failures, target, book, client, pauses
):
    book.put_fills(60, step=10**6)
    with bl.Archive(target) as archive:
        follower = archive.follow(client, fills=HK, every=0.01)
        take(follower, 60)
        next_one = fill(61, book.now() - 1)
        book.fills[HK].append(next_one)
        assert ids(take(follower, 1)) == ["61"]
        follower.close()
    book.fills[HK].append(fill(900, next_one["updated_time"] - 86_400 * 10**6))
    book.fills[HK].append(fill(901, book.now() - 1))
    # After a failed tick, it is the next one.
    book.failures[fills_path()] = [unavailable()] * failures
    with bl.Archive(target) as archive:
        assert followed(archive, client, 2) == ["61", "900"]
