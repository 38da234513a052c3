"""Histories that a simple model predicts, and cancellations at every step of an update."""

import asyncio
import itertools

import boardlot as bl
from boardlot.archive import locks, running

from . import histories
from .service import fill, path_of

HK = ("281756", "HK")
PLATE = "HK.BK1001"


def test_security_54_histories_are_as_a_model_predicts(file):
    assert sum(histories.run(range(25), str(file)).values()) == 25 * histories.STEPS


def test_security_54_histories_in_postgresql_are_as_a_model_predicts(postgres):
    address = postgres.address()
    with histories.terminating(address) as terminate:
        done = histories.run(range(8), address, terminate)
    assert sum(done.values()) == 8 * histories.STEPS


class CancelledAt:
    """Cancels a task when its work comes to its step of this number."""

    def __init__(self, number, monkeypatch, kinds):
        self.number, self.steps, self.task, self.loop = number, 0, None, None
        for owner, name in kinds:
            monkeypatch.setattr(owner, name, self.counting(getattr(owner, name)))

    def counting(self, function):
        def counted(*arguments, **named):
            if self.task is not None:
                self.steps += 1
                if self.steps == self.number:
                    self.loop.call_soon_threadsafe(self.task.cancel)
                    # The work goes on until it notices.
                    running._thread.worker.stopped.wait(30)
            return function(*arguments, **named)

        return counted


def test_security_54_an_update_may_be_cancelled_at_every_step(archive, book, service, monkeypatch):
    kinds = [
        (running._Worker, "request"), (type(archive._database), "transaction"),
        (type(archive._database), "read"), (locks.Lock, "try_for"), (locks.Lock, "release"),
    ]  # fmt: skip
    book.page = 20
    book.put_fills(30)

    async def work():
        async with bl.AsyncClient(service.base_url) as client:
            for number in itertools.count(1):
                book.lists[path_of("plates", PLATE)] = [{"code": f"HK.{number:05}"}]
                book.fills[HK].append(fill(100 + number, book.now() - 1))
                with monkeypatch.context() as patched:
                    at = CancelledAt(number, patched, kinds)
                    at.loop = asyncio.get_running_loop()
                    update = archive.update(client, fills=[HK], plates=[PLATE])
                    at.task = asyncio.ensure_future(update)
                    (done,) = await asyncio.gather(at.task, return_exceptions=True)
                    at.task = None
                # No lock is waited for.
                await asyncio.wait_for(archive.update(client, fills=[HK], plates=[PLATE]), 60)
                assert archive.fills(*HK) == book.expected()
                assert archive.seen("plates", PLATE) == book.lists[path_of("plates", PLATE)]
                if not isinstance(done, asyncio.CancelledError):
                    break
        return at.steps

    # So many steps there were, at each of which it was cancelled.
    assert asyncio.run(work()) > 20
