"""Histories that a simple model predicts, and cancellations at every step of an update."""

import asyncio
import itertools
import os
from contextlib import suppress

import boardlot as bl
import pytest
from boardlot.archive import locks, waiting

from ..support.steps import Steps
from . import histories
from .service import HK, PLATE, fill, path_of

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


def test_security_54_an_update_may_be_cancelled_at_every_step(archive, book, service, monkeypatch):
    database = type(archive._database)
    functions = [(database, "transaction"), (database, "read")]
    functions += [(locks.Lock, name) for name in ("try_for", "release", "keeping")]
    book.page = 20
    book.put_fills(30)
    path = path_of("plates", PLATE)

    async def work():
        loop = asyncio.get_running_loop()

        def cancel():
            loop.call_soon_threadsafe(task.cancel)
            # The work continues until it notices.
            with suppress(waiting.Cancelled):
                waiting.pause(60.0)

        steps = Steps(monkeypatch, functions, cancel)
        async with bl.AsyncClient(service.base_url) as client:
            for number in itertools.count(1):
                book.lists[path] = [{"code": f"HK.{number:05}"}]
                book.fills[HK].append(fill(100 + number, book.now() - 1))
                steps.start(number)
                task = asyncio.ensure_future(archive.update(client, fills=[HK], plates=[PLATE]))
                (done,) = await asyncio.gather(task, return_exceptions=True)
                steps.end()
                # The next update does not wait for a lock.
                await archive.update(client, fills=[HK], plates=[PLATE])
                assert archive.fills(*HK).all() == book.expected()
                assert archive.seen("plates", PLATE) == book.lists[path]
                if not isinstance(done, asyncio.CancelledError):
                    break
        return number

    # There were more than 20 steps, at each of which the update was cancelled.
    assert asyncio.run(work()) > 20
