"""kill -9 at any moment of an update or of a follower: nothing is lost, and nothing comes twice."""

import os
import random

import boardlot as bl
import pytest

from . import kills as histories
from .columns import check_columns
from .service import HOUR, PLATE, fill, path_of, serve

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")

ACCOUNT = "281756"


@pytest.fixture
def running():
    with serve() as service:
        book = service.book
        # Also older ones than each update reads again.
        book.put_fills(160, market="HK", step=12 * HOUR)
        # The same ids in another market.
        book.put_fills(60, market="US", step=24 * HOUR)
        book.page = 10
        book.lists[path_of("plates", PLATE)] = [{"code": f"HK.{n:05}"} for n in range(60)]
        yield service


@pytest.fixture(scope="module")
def processes():
    """Runs commands in processes that it kills."""
    with histories.children() as started:
        yield started


def after(service, requests):
    """Returns a condition: the service has received this many more requests."""
    wanted = len(service.received) + requests
    return lambda: len(service.received) >= wanted


def amend(book, chosen):
    """Changes the data of the service in the meantime: a new fill, and an amended one."""
    book.put_fills(1, first=10_000 + len(book.fills[(ACCOUNT, "HK")]))
    served = book.fills[(ACCOUNT, "HK")]
    place = chosen.randrange(len(served))
    amended = {"qty": str(chosen.randrange(10**6)), "updated_time": book.now() - 1}
    served[place] = {**served[place], **amended}


def check_update(processes, target, service, folder, kills, seed=1):
    chosen, book, hits = random.Random(seed), service.book, 0
    arguments = ["update", target, service.base_url, ACCOUNT]
    assert not processes.killed(["update", str(folder / "other.db"), *arguments[2:]])
    # The number of requests of one update: kills are spread over all of them.
    whole = len(service.received)
    while hits < kills:
        hits += processes.killed(arguments, reached=after(service, chosen.randrange(whole)))
        if chosen.random() < 0.5:
            amend(book, chosen)
    assert not processes.killed(arguments)
    with (
        bl.Client(service.base_url) as client,
        bl.Archive(target) as archive,
        bl.Archive(folder / "uninterrupted.db") as other,
    ):
        other.update(client, fills=[(ACCOUNT, "HK"), (ACCOUNT, "US")], plates=[PLATE])
        for market in ("HK", "US"):
            assert archive.fills(ACCOUNT, market).all() == other.fills(ACCOUNT, market).all()
            assert archive.fills(ACCOUNT, market).all() == book.expected(ACCOUNT, market)
            assert archive.gaps(ACCOUNT, market) == []
        assert archive.seen("plates", PLATE) == other.seen("plates", PLATE)
        assert len(archive.changes("plates", PLATE)) == 60
        check_columns(archive)


def check_follow(processes, target, service, folder, kills, seed=1):
    chosen, book = random.Random(seed), service.book
    file = folder / "fills.txt"
    file.touch()
    arguments = ["follow", target, service.base_url, ACCOUNT, str(file)]

    def names():
        return {f"{one['deal_id']}@{one['updated_time']}" for one in book.expected()}

    wanted = names()
    for _ in range(kills):
        # The follower is killed while it reads, delivers, or waits for more fills.
        assert processes.killed(arguments, reached=after(service, chosen.randrange(1, 100)))
        amend(book, chosen)
        wanted |= names()
    last = names()
    assert processes.killed(arguments, reached=lambda: last <= set(file.read_text().split()))
    lines = file.read_text().split()
    assert len(lines) == len(set(lines)), "fills came twice"
    assert set(lines) <= wanted


def check_verify(processes, target, service, kills, seed=1):
    chosen, book, hits = random.Random(seed), service.book, 0
    arguments = ["verify", target, service.base_url, ACCOUNT]
    with bl.Client(service.base_url) as client, bl.Archive(target) as archive:
        archive.update(client, fills=[(ACCOUNT, "HK")])
        served = book.fills[(ACCOUNT, "HK")]
        while hits < kills:
            # Fills are missing, corrected and gone, except the oldest one, which would be unlisted.
            number = 10_000 + len(served) + hits
            served.append(fill(number, served[5]["updated_time"] + hits))
            place = chosen.randrange(1, len(served))
            served[place] = {**served[place], "qty": str(chosen.randrange(10**6))}
            del served[chosen.randrange(1, len(served))]
            existing = {one["deal_id"] for one in served}
            before = {one["deal_id"] for one in archive.fills(ACCOUNT, "HK").all()}
            hits += processes.killed(arguments, reached=after(service, chosen.randrange(1, 30)))
            found = {one["deal_id"] for one in archive.fills(ACCOUNT, "HK").all()}
            assert before & existing <= found
        assert not processes.killed(arguments)
        assert archive.fills(ACCOUNT, "HK").all() == book.expected(ACCOUNT, "HK")
        check_columns(archive)


def test_security_45_a_verification_that_is_killed_hides_nothing(processes, running, target):
    check_verify(processes, target, running, kills=3)


def test_security_45_an_update_that_is_killed_ends_up_as_if_it_had_not_been(
    processes, running, target, tmp_path
):
    check_update(processes, target, running, tmp_path, kills=3)


def test_security_45_a_follower_that_is_killed_has_each_fill_once(
    processes, running, file, tmp_path
):
    check_follow(processes, str(file), running, tmp_path, kills=4)


LONG = [pytest.param(60, seed, marks=pytest.mark.slow) for seed in range(1, 6)]


@pytest.mark.parametrize(("kills", "seed"), [(6, 0), *LONG])
def test_security_45_an_archive_is_whole_after_each_kill(
    processes, service, target, tmp_path, kills, seed
):
    """While it is filled, updated, verified or followed, at any statement or request."""
    service.book.page = 10
    done = histories.History(target, service, tmp_path, processes, seed).run(kills)
    assert done.total() == kills


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_security_45_a_thousand_kills(processes, running, file, tmp_path, seed):
    check_update(processes, str(file), running, tmp_path, kills=125, seed=seed)
    check_follow(processes, str(tmp_path / "followed.db"), running, tmp_path, kills=125, seed=seed)
    check_verify(processes, str(tmp_path / "verified.db"), running, kills=75, seed=seed)
