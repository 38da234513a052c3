"""Awaiting in event loops of all kinds: each is woken, none is held on to."""

import asyncio
import contextlib
import weakref

import pytest

from ..support.callbacks import closed, listener_address
from ..support.logins import begin
from ..support.sockets import OPEN_FILES, open_files
from ..support.threads import wait_until
from .cycles import collect


class WatchesNothing(asyncio.SelectorEventLoop):
    """A loop that watches no sockets for others, as the proactor of Windows."""

    def add_reader(self, *_):
        raise NotImplementedError


async def many_times(client):
    return await asyncio.gather(*(client.server_time() for _ in range(50)))


@pytest.mark.parametrize("kind", [asyncio.SelectorEventLoop, WatchesNothing])
def test_fifty_calls_at_once_all_return(sandbox, kind):
    with contextlib.closing(kind()) as event_loop:
        times = event_loop.run_until_complete(many_times(sandbox.async_client()))
    assert len(times) == 50


def test_a_loop_that_stops_and_resumes_gets_what_finished_meanwhile(sandbox):
    client = sandbox.async_client()

    async def begin():
        return asyncio.ensure_future(client.server_time())

    with contextlib.closing(asyncio.new_event_loop()) as event_loop:
        task = event_loop.run_until_complete(begin())
        assert event_loop.run_until_complete(task)


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="this system does not show them")
def test_security_41_loops_that_come_and_go_leave_no_files_open_and_are_collected(sandbox):
    loops = []

    async def use(call):
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await call()

    def use_loops(count):
        """In each loop a call of one client, whose connections end with it."""
        client = sandbox.async_client()
        for _ in range(count):
            asyncio.run(use(client.server_time))
        asyncio.run(use(client.close))

    def is_over():
        collect()
        # The last one is forgotten when the next one comes.
        return open_files() <= before + 2 and sum(loop() is not None for loop in loops) <= 1

    use_loops(1)  # What is made once is made.
    before = open_files()
    use_loops(20)
    # Connections are closed in the background.
    wait_until(is_over, "the end of the loops and their files")


@pytest.mark.filterwarnings("ignore:unclosed event loop:ResourceWarning")
@pytest.mark.parametrize("ends", [asyncio.SelectorEventLoop.close, lambda _: None])
def test_a_loop_that_ends_while_a_task_waits_is_collected_and_the_login_is_cancelled(sandbox, ends):
    def begin_and_end():
        flow, event_loop = begin(sandbox, timeout=600), asyncio.SelectorEventLoop()
        task = asyncio.ensure_future(flow, loop=event_loop)
        event_loop.run_until_complete(asyncio.sleep(0))
        ends(event_loop)
        return listener_address(flow)[0], weakref.ref(task)

    def is_collected():
        collect()
        return task() is None

    port, task = begin_and_end()
    # A thread of the core may be about to drop it.
    wait_until(is_collected, "the end of the task")
    assert closed(port)


@pytest.mark.filterwarnings(
    "ignore:coroutine 'AsyncPager.__anext__' was never awaited:RuntimeWarning"
)
def test_what_is_never_awaited_does_no_harm(sandbox):
    async def main():
        pages = sandbox.async_client().plate_stocks("HK.BK1001").pages()
        for _ in range(10):
            pages.__anext__()
        return len(await pages.__anext__())

    assert asyncio.run(main()) > 0


def test_an_exception_while_tasks_are_woken_leaves_no_other_waiting(sandbox):
    class Interrupt(Exception):
        pass

    async def main():
        event_loop = asyncio.get_running_loop()
        event_loop.set_exception_handler(lambda *_: None)
        call_soon, armed = event_loop.call_soon, []

        def interrupted(callback, *arguments, **options):
            if armed and "wakeup" in getattr(callback, "__name__", ""):
                armed.clear()
                raise Interrupt
            return call_soon(callback, *arguments, **options)

        event_loop.call_soon = interrupted
        async with sandbox.async_client() as client:
            await client.server_time()
            tasks = [asyncio.ensure_future(client.server_time()) for _ in range(64)]
            await asyncio.sleep(0)
            # While the loop is busy, all of them finish.
            wait_until(lambda: len(sandbox.requests) >= before + 65)
            armed.append(True)
            # The task that the exception met is lost, as in asyncio: the loop cannot wait for it.
            ended = asyncio.as_completed(tasks)
            return [await next(ended) for _ in range(63)]

    before = len(sandbox.requests)
    with contextlib.closing(asyncio.new_event_loop()) as event_loop:
        assert len(event_loop.run_until_complete(main())) == 63
