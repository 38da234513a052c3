"""Histories that a simple model predicts, and cancellations at every step of an update."""

import asyncio
import itertools
import os
from datetime import timedelta

import boardlot as bl
import pytest
from boardlot.archive import locks, update, waiting

from ..support.steps import Steps
from . import histories
from .service import DAY, PLATE, path_of

# A history may look before it reads, and an account may have no fill.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*has no update of", "ignore:.*and none of these there"
)


def seeds(count):
    """The seeds of all histories, in groups: each group shares an archive."""
    wanted, together = int(os.environ.get("BOARDLOT_TEST_HISTORIES", count)), histories.TOGETHER
    groups = [range(first, min(wanted, first + together)) for first in range(0, wanted, together)]
    return pytest.mark.parametrize("seeds", groups, ids=str)


@seeds(8)
def test_security_54_histories_are_as_a_model_predicts(seeds, file):
    assert histories.run(seeds, str(file)).total() == len(seeds) * histories.STEPS


@seeds(2)
def test_security_54_histories_in_postgresql_are_as_a_model_predicts(seeds, address, terminate):
    done = histories.run(seeds, address, terminate)
    assert done.total() == len(seeds) * histories.STEPS


class FirstReads:
    """Accounts that were never read. No later read finds a fill that the first one left out."""

    def __init__(self, book, archive):
        self.book, self.archive = book, archive

    def change(self, number):
        self.account = (str(number), "HK")
        self.book.put_fills(50, self.account[0], step=DAY)
        return {"fills": [self.account], "overlap": timedelta(0)}

    def check(self, *, complete):
        """Checks the fills that a reader sees, and returns how many are stored."""
        fills, expected = self.archive.fills(*self.account).all(), self.book.expected(*self.account)
        assert fills in ([expected] if complete else [expected, []])
        assert self.archive.gaps(*self.account) == [] or not complete
        read, where = self.archive._database.read, "s.id = o.series where s.account = ?"
        query = f"select count(*) from fill_versions o join series s on {where}"
        ((stored,),) = read(query, self.account[:1])
        query = f"select min(start_at) from coverage o join series s on {where}"
        ((covered,),) = read(query, self.account[:1])
        # The range is covered once the reader sees the fills.
        assert covered <= expected[-1]["updated_time"] if fills else covered is None
        return stored


class Plates:
    """A plate that has another stock at each read."""

    def __init__(self, book, archive):
        self.book, self.archive, self.before = book, archive, []

    def change(self, number):
        self.now = [{"code": f"HK.{number:05}"}]
        self.book.lists[path_of("plates", PLATE)] = self.now
        return {"plates": [PLATE]}

    def check(self, *, complete):
        """Checks the plate, and returns how many stocks are stored."""
        found = self.archive.seen("plates", PLATE)
        assert found in ([self.now] if complete else [self.now, self.before])
        self.before = found
        return len(found)


@pytest.mark.parametrize(("kind", "ends"), [(FirstReads, {0, 20, 40, 50}), (Plates, {0, 1})])
def test_security_54_an_update_may_be_cancelled_at_every_step(
    kind, ends, target, book, service, monkeypatch
):
    # Each page is stored with its position.
    monkeypatch.setattr(update, "FILLS", 1)
    book.page = 20

    async def work(archive, lists):
        database = type(archive._database)
        # These may wait, and notice then that the work is to end.
        functions = [(database, "transaction"), (database, "read")]
        functions += [(locks.Lock, "try_for"), (locks.Lock, "keeping")]
        loop, found = asyncio.get_running_loop(), set()

        def cancel():
            loop.call_soon_threadsafe(task.cancel)
            waiting.pause(60.0)

        steps = Steps(monkeypatch, functions, cancel)
        async with bl.AsyncClient(service.base_url) as client:
            for number in itertools.count(1):
                changed = lists.change(number)
                steps.start(number)
                task = asyncio.ensure_future(archive.update(client, **changed))
                (done,) = await asyncio.gather(task, return_exceptions=True)
                if not steps.end():
                    break
                assert isinstance(done, asyncio.CancelledError)
                found.add(lists.check(complete=False))
                # No lock is left for another connection.
                await lists.archive.update(client, **changed)
                lists.check(complete=True)
        assert not isinstance(done, BaseException)
        return found

    with bl.Archive(target) as archive, bl.Archive(target, wait=0.0) as other:
        # Some updates ended between two pages.
        assert asyncio.run(work(archive, kind(book, other))) == ends
