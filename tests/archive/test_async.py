"""An archive with an `AsyncClient`: the same results, whatever is cancelled or closed."""

import asyncio
import threading
from contextvars import ContextVar

import boardlot as bl
import pytest

from .service import HK, PLATE, fill, fills_path, followed, ids, path_of, unavailable

WHO = ContextVar("who", default="nobody")


@pytest.fixture
def lists(book):
    book.put_fills(120)
    book.lists[path_of("plates", PLATE)] = [{"code": f"HK.{n:05}"} for n in range(60)]
    return {"fills": [HK], "plates": [PLATE]}


def run(work, service, **options):
    """The result of a coroutine function of an `AsyncClient`, on a loop of its own."""

    async def with_client():
        async with bl.AsyncClient(service.base_url, max_retries=0, **options) as client:
            return await work(client)

    return asyncio.run(with_client())


def test_an_update_stores_what_that_of_a_client_stores(archive, book, client, service, lists):
    report = run(lambda made: archive.update(made, **lists), service)
    assert report.new == 180 and archive.update(client, **lists).unchanged == 180
    assert archive.fills(*HK).all() == book.expected()


def test_hooks_run_in_the_context_of_the_caller(archive, service, lists):
    seen = []

    async def update(client):
        WHO.set("the caller")
        return await archive.update(client, **lists)

    run(update, service, on_request=lambda event: seen.append((event.endpoint, WHO.get())))
    assert set(seen) == {
        (name, "the caller") for name in ("server_time", "fills_history", "plate_stocks")
    }
    assert len(seen) == len(service.received)


def test_a_request_without_a_response_is_given_up_at_once(archive, book, client, service, lists):
    asked, respond = threading.Event(), threading.Event()
    book.before_page = lambda _: asked.set() or respond.wait()

    async def cancelled(made):
        update = asyncio.ensure_future(archive.update(made, **lists))
        await asyncio.to_thread(asked.wait)
        book.before_page = None
        update.cancel()
        await asyncio.wait([update])
        assert update.cancelled()
        # Nothing is locked, although the service has not responded yet.
        report = await archive.update(made, **lists)
        assert report.new + report.unchanged == 180
        respond.set()

    run(cancelled, service, timeout=3600.0)
    assert archive.fills(*HK).all() == book.expected()


class CancelAt:
    """Cancels a task when its event loop runs a callback for the nth time."""

    def __init__(self, task, number):
        self._task, self.left = task, number
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._step)

    def _step(self):
        self.left -= 1
        if self.left <= 0:
            self._task.cancel()
        elif not self._task.done():
            self._loop.call_later(0.001, self._step)


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_updates_that_are_cancelled_at_any_moment_end_up_as_if_they_were_not(
    target, every, book, service, lists
):
    async def cancelled(made):
        for number in range(1, 2_000, every):
            book.fills[HK].append(fill(1_000 + number, book.now() - 1))
            with bl.Archive(target) as archive:
                update = asyncio.ensure_future(archive.update(made, **lists))
                cancel = CancelAt(update, number)
                await asyncio.wait([update])
                assert update.cancelled() == (cancel.left <= 0) or not update.exception()
                # No lock is left: the next update need not wait.
                with bl.Archive(target, wait=0.0) as next_one:
                    assert await next_one.update(made, **lists)
                    assert next_one.fills(*HK).all() == book.expected()
            if cancel.left > 0:
                return number
        raise AssertionError("an update never ended by itself")

    assert run(cancelled, service) > every


def test_a_follower_that_is_cancelled_at_any_moment_has_each_fill_once(target, book, service):
    book.put_fills(60)
    received, reached = [], asyncio.Event()

    async def handle(made, archive):
        async for one in archive.follow(made, fills=HK, every=0.01):
            # Each fill is handled at once, without an await.
            received.append(one["deal_id"])
            if one["deal_id"] == "1080":
                reached.set()

    async def cancelled(made):
        for number in (1, 2, 5, 9, 20, 40, 80):
            with bl.Archive(target) as archive:
                follower = asyncio.ensure_future(handle(made, archive))
                CancelAt(follower, number)
                await asyncio.wait([follower])
            book.fills[HK].append(fill(1_000 + number, book.now() - 1))
        with bl.Archive(target) as archive:
            follower = asyncio.ensure_future(handle(made, archive))
            await reached.wait()
            follower.cancel()
            await asyncio.wait([follower])

    run(cancelled, service)
    # The fill that was being handled comes again, as after any other end.
    once = [one for one, before in zip(received, [None, *received], strict=False) if one != before]
    assert once == ids(book.expected()[::-1])


def test_a_follower_that_waits_has_no_thread(file, book, service):
    """More followers than the executor has threads leave threads for others."""
    book.put_fills(1)

    async def follow(made):
        with bl.Archive(file) as archive:
            followers = [
                archive.follow(made, fills=HK, every=3600.0, name=str(number))
                for number in range(40)
            ]
            for follower in followers:
                assert (await anext(follower))["deal_id"] == "1"
            waiting = [asyncio.ensure_future(anext(follower)) for follower in followers]
            assert (await archive.update(made, fills=[HK])).unchanged == 1
            assert await asyncio.to_thread(lambda: "free") == "free"
            for one in waiting:
                one.cancel()
            await asyncio.wait(waiting)

    run(follow, service)


def test_a_loop_that_ends_lets_a_follower_be_followed_by_another(file, book, client, service):
    book.put_fills(3)
    with bl.Archive(file) as archive:

        async def first(made):
            return (await anext(archive.follow(made, fills=HK)))["deal_id"]

        # Two event loops, one after the other.
        assert run(first, service) == run(first, service) == "1"
        assert followed(archive, client, 3) == ["1", "2", "3"]


def test_an_error_of_the_service_is_that_of_the_caller(archive, book, service):
    book.failures[fills_path()] = [unavailable()]
    with pytest.raises(bl.ArchiveUpdateError):
        run(lambda made: archive.update(made, fills=[HK]), service)
