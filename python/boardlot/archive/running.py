"""Threads for the work of an archive: the caller's thread, or one of its own.

The work is ordinary code that blocks. For a `Client` it runs on the thread that calls. For an
`AsyncClient` it runs on a thread that it has for itself until it ends, and the client's requests
are awaited on the caller's event loop. That thread acquires every lock and connection in a `with`
statement, so all of them are released when it ends, and it ends soon after the caller's task was
cancelled or the event loop was closed. No thread is shared, so none that waits for a lock keeps
another one from running.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures


# How often a thread that waits for something else looks whether it is to end, and one that only an
# event loop can end, whether that was closed, in seconds.
STEP, LOOP_STEP = 0.05, 1.0
_END = object()
_thread = threading.local()


class Cancelled(BaseException):
    """The caller's task was cancelled: the work ends, and releases what it has."""


class Runner:
    """Work on the caller's thread, with the calls of a `Client`."""

    def request(self, call: Callable[[], Any]) -> Any:
        """The result of a call of the client."""
        return call()

    def next_page(self, pages: Any) -> Any:
        """The next page of a pager, or `None` at its end."""
        return next(pages, None)


HERE = Runner()


def pause(seconds: float, event: threading.Event | None = None) -> bool:
    """Wait so long, or for an event if there is one, and return whether it is set.

    Raises:
        Cancelled: The work on this thread is to end.
    """
    worker: _Worker | None = getattr(_thread, "worker", None)
    if worker is None:
        return (event or threading.Event()).wait(seconds)
    end, step = time.monotonic() + seconds, LOOP_STEP if event is None else STEP
    while True:
        worker.check()
        left = end - time.monotonic()
        if (event or worker.stopped).wait(max(0.0, min(step, left))) or left <= 0:
            worker.check()
            return event is not None and event.is_set()


async def run_async(work: Callable[[Runner], Any]) -> Any:
    """The result of work with the calls of an `AsyncClient`."""
    worker = _Worker()
    try:
        return await worker.run(lambda: work(worker))
    finally:
        await worker.end()


async def iterate_async(
    work: Callable[[Runner], Generator[Any, None, None]],
) -> AsyncGenerator[Any]:
    """The items of work with the calls of an `AsyncClient`."""
    worker = _Worker()
    items = work(worker)
    worker.at_end = items.close
    try:
        while (item := await worker.run(lambda: next(items, _END))) is not _END:
            yield item
    finally:
        await worker.end()


class _Worker(Runner):
    """A thread for the work of one call, and the caller's event loop, on which requests run."""

    def __init__(self) -> None:
        # Loaded with the `AsyncClient`.
        import asyncio
        import contextvars
        import queue

        self._loop = asyncio.get_running_loop()
        self.stopped = threading.Event()
        self.at_end: Callable[[], object] = lambda: None
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._guard = threading.Lock()
        self._request: concurrent.futures.Future[Any] | None = None
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Any] | None] = queue.SimpleQueue()
        # Requests have the caller's context variables, which traces are made of.
        context = contextvars.copy_context()
        # A daemon: what it would hold when the interpreter ends, ends with the process.
        threading.Thread(
            target=context.run, args=(self._work,), name="boardlot-archive", daemon=True
        ).start()

    # On the event loop.

    async def run(self, call: Callable[[], Any]) -> Any:
        """The result of a call on the thread."""
        import asyncio

        done: asyncio.Future[Any] = self._loop.create_future()
        self._calls.put((call, done))
        # Unlike the future itself, the wait can be cancelled while the call continues.
        await asyncio.wait([done])
        result, error = done.result()
        if isinstance(error, Cancelled):
            raise asyncio.CancelledError
        if error is not None:
            raise error
        return result

    async def end(self) -> None:
        """Make the thread end what it does, call `at_end`, and release what it has.

        Waits for that, so that the next update need not; a second cancellation ends the wait.
        """
        self.stopped.set()
        with self._guard:
            if self._request is not None:
                self._request.cancel()
        self._calls.put(None)
        if not self._loop.is_closed():
            import asyncio

            await asyncio.wait([self._ended])

    # On the thread.

    def check(self) -> None:
        if self.stopped.is_set() or self._loop.is_closed():
            raise Cancelled

    def request(self, call: Callable[[], Awaitable[Any]]) -> Any:
        import asyncio
        import concurrent.futures
        import inspect

        async def awaited() -> Any:
            return await call()

        with self._guard:
            self.check()
            work = awaited()
            try:
                self._request = asyncio.run_coroutine_threadsafe(work, self._loop)
            except RuntimeError:  # The loop was closed without an end of its tasks.
                work.close()
                raise Cancelled from None
        try:
            while not concurrent.futures.wait([self._request], LOOP_STEP).done:
                self.check()
            return self._request.result()
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            raise Cancelled from None
        finally:
            self._request = None
            # The loop was closed before it began this: Python would warn of it.
            if self._loop.is_closed() and inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
                work.close()

    def next_page(self, pages: Any) -> Any:
        return self.request(lambda: anext(pages, None))

    def _work(self) -> None:
        _thread.worker = self
        while (item := self._next_call()) is not None:
            call, done = item
            outcome: tuple[Any, BaseException | None]
            try:
                outcome = call(), None
            except BaseException as error:
                outcome = None, error
            self._tell(done, outcome)
            # An exception refers to the frames that it passed, and they to what they used.
            del item, call, done, outcome
        with suppress(BaseException):
            self.at_end()
        del _thread.worker
        self._tell(self._ended, None)

    def _next_call(self) -> tuple[Callable[[], Any], Any] | None:
        import queue

        while True:
            try:
                return self._calls.get(timeout=LOOP_STEP)
            except queue.Empty:
                if self._loop.is_closed():
                    return None

    def _tell(self, future: Any, result: Any) -> None:
        with suppress(RuntimeError):  # The loop was closed: nobody waits.
            self._loop.call_soon_threadsafe(lambda: future.done() or future.set_result(result))
