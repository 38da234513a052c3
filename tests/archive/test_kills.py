"""kill -9 at any moment of an update or of a follower: nothing is lost, and nothing comes twice."""

import os
import random
import subprocess
import sys
import time

import boardlot as bl
import pytest

from ..support.processes import ROOT
from .killed import PLATE
from .service import path_of, serve

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")

ACCOUNT = "281756"
COMMAND = [sys.executable, "-m", "tests.archive.killed"]


@pytest.fixture
def running():
    with serve() as service:
        book = service.book
        book.put_fills(400, market="HK")
        # The same ids in another market.
        book.put_fills(150, market="US")
        book.page = 10
        book.lists[path_of("plates", PLATE)] = [{"code": f"HK.{n:05}"} for n in range(60)]
        yield service


def killed(arguments, delay):
    """Starts a child and kills it after so long; returns whether it was still running."""
    with subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, stderr=subprocess.PIPE) as child:
        try:
            _, error = child.communicate(timeout=delay)
        except subprocess.TimeoutExpired:
            child.kill()
            return True
    assert child.returncode == 0, error.decode()
    return False


def amend(book, chosen):
    """What happens at the service in the meantime: a new fill, and an amended one."""
    book.put_fills(1, first=10_000 + len(book.fills[(ACCOUNT, "HK")]))
    served = book.fills[(ACCOUNT, "HK")]
    place = chosen.randrange(len(served))
    served[place] = {
        **served[place],
        "qty": str(chosen.randrange(10**6)),
        "updated_time": book.now() - 1,
    }


def check_update(target, service, folder, kills, seed=1):
    chosen, book = random.Random(seed), service.book
    start, hits = time.monotonic(), 0
    arguments = ["update", target, service.base_url, ACCOUNT]
    # How long one takes here: kills are spread over all of it.
    assert not killed(["update", str(folder / "other.db"), service.base_url, ACCOUNT], 120)
    whole = time.monotonic() - start
    while hits < kills:
        if killed(arguments, whole * chosen.uniform(0.2, 1.0)):
            hits += 1
        else:
            whole *= 0.98
        if chosen.random() < 0.5:
            amend(book, chosen)
    assert not killed(arguments, 120)
    with (
        bl.Client(service.base_url) as client,
        bl.Archive(target) as archive,
        bl.Archive(folder / "uninterrupted.db") as other,
    ):
        other.update(client, fills=[(ACCOUNT, "HK"), (ACCOUNT, "US")], plates=[PLATE])
        for market in ("HK", "US"):
            assert archive.fills(ACCOUNT, market) == other.fills(ACCOUNT, market)
            assert archive.fills(ACCOUNT, market) == book.expected(ACCOUNT, market)
            assert archive.gaps(ACCOUNT, market) == []
        assert archive.seen("plates", PLATE) == other.seen("plates", PLATE)
        assert len(archive.changes("plates", PLATE)) == 60


def check_follow(target, service, folder, kills, seed=1):
    chosen, book = random.Random(seed), service.book
    file = folder / "fills.txt"
    arguments = ["follow", target, service.base_url, ACCOUNT, str(file)]
    wanted = {(one["deal_id"], one["updated_time"]) for one in book.expected()}
    for _ in range(kills):
        assert killed(arguments, chosen.uniform(0.3, 1.2))
        amend(book, chosen)
        wanted |= {(one["deal_id"], one["updated_time"]) for one in book.expected()}
    last = {f"{one['deal_id']}@{one['updated_time']}" for one in book.expected()}
    with subprocess.Popen([*COMMAND, *arguments], cwd=ROOT) as child:
        end = time.monotonic() + 60
        while not last <= set(file.read_text().split()) and time.monotonic() < end:
            time.sleep(0.05)
        child.kill()
    lines = file.read_text().split()
    assert last <= set(lines), "fills were lost"
    assert len(lines) == len(set(lines)), "fills came twice"
    assert set(lines) <= {f"{number}@{updated}" for number, updated in wanted}


def test_security_45_an_update_that_is_killed_ends_up_as_if_it_had_not_been(
    running, file, tmp_path
):
    check_update(str(file), running, tmp_path, kills=6)


def test_security_45_a_follower_that_is_killed_has_each_fill_once(running, file, tmp_path):
    check_follow(str(file), running, tmp_path, kills=6)


def test_security_45_in_postgresql_too(running, postgres, tmp_path):
    check_update(postgres.address(), running, tmp_path, kills=2)
    check_follow(postgres.address(), running, tmp_path, kills=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_security_45_a_thousand_kills(running, file, tmp_path, seed):
    check_update(str(file), running, tmp_path, kills=125, seed=seed)
    other = tmp_path / "followed.db"
    check_follow(str(other), running, tmp_path, kills=125, seed=seed)
