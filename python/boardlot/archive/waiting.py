"""Waits of blocking work for its next step, and of an event loop's task for such work.

The work of an archive blocks. For an `AsyncClient` it runs on a thread of the event loop's
executor, with the blocking form of the client, and ends soon after the caller's task was cancelled
or the loop closed.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar, cast

from boardlot import AsyncClient, Client, _core
from boardlot._calls import explained

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
Owner = tuple[Any, Callable[[], None]]

# The seconds after which work for an event loop checks if it is to end.
STEP = 0.05
# Raises `Cancelled` if it is.
_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("boardlot_archive_check", default=None)
# The event loop that the work is for, and what ends the work if that loop was closed.
_OWNER: ContextVar[Owner | None] = ContextVar("boardlot_archive_owner", default=None)


class Cancelled(BaseException):
    """The caller's task was cancelled: the work ends, and releases its locks."""


class Pause(float):
    """Seconds to wait before the next item: an event loop waits without a thread."""


def owner() -> Owner | None:
    """The event loop of the work that calls this, and a function that ends the work: nothing else
    does if the loop is closed while the work waits for its next step there."""
    return _OWNER.get()


def blocking(client: Any) -> Any:
    """The client whose calls block: that of an `AsyncClient` shares its connections and hooks, and
    keeps it alive."""
    if not isinstance(client, AsyncClient):
        return client
    same: Any = Client.__new__(Client)
    vars(same).update(_boardlot_core=client._boardlot_core.blocking(), _boardlot_owner=client)
    return same


def check_cancelled() -> None:
    """Raises `Cancelled` if the work is to end."""
    if (check := _CHECK.get()) is not None:
        check()


def pause(seconds: float, event: threading.Event | None = None) -> bool:
    """Wait so long, or for an event if there is one, and return whether it is set.

    Raises:
        Cancelled: The work is to end.
    """
    event, check = event or threading.Event(), _CHECK.get()
    if check is None:
        return event.wait(seconds)
    end = time.monotonic() + seconds
    while True:
        check()
        left = end - time.monotonic()
        if event.wait(max(0.0, min(STEP, left))) or left <= 0:
            return event.is_set()


def in_thread(work: Callable[[], T], name: str) -> Coroutine[Any, Any, T]:
    """The result of work on a thread, awaited: the coroutine of the method of this name, which
    Python says if it is never awaited."""
    coroutine = _in_thread(work)
    cast("Any", coroutine).__qualname__ = name
    return coroutine


@explained
async def _in_thread(work: Callable[[], T]) -> T:
    """The result of work on a thread, with the caller's context.

    Once the task is cancelled, the work ends, and releases what it has locked, before this ends. A
    second cancellation does not wait for that.
    """
    # Loaded with the `AsyncClient`.
    import asyncio

    loop, begun, cancelled = asyncio.get_running_loop(), threading.Event(), threading.Event()

    def check() -> None:
        if cancelled.is_set() or loop.is_closed():
            raise Cancelled

    def run() -> T:
        begun.set()
        check()
        _CHECK.set(check)
        return _core._polled(work, check)

    # Like `asyncio.to_thread`, whose coroutine could be cancelled while the thread continues.
    done = loop.run_in_executor(None, copy_context().run, run)
    done.add_done_callback(_observed)
    try:
        await asyncio.wait([done])
    except asyncio.CancelledError:
        cancelled.set()
        # Work that has not begun never will.
        if begun.is_set():
            await asyncio.wait([done])
        raise
    finally:
        cancelled.set()
    return done.result()


def _observed(done: asyncio.Future[Any]) -> None:
    """Python warns of an exception that nobody has looked at."""
    if not done.cancelled():
        done.exception()


def side_by_side(works: Sequence[Callable[[], object]], most: int) -> None:
    """Run works that block, `most` at a time, each on one of so many threads.

    The caller's thread only waits: an interrupt there leaves no lock of a work behind. Then, or if
    one of them raises, the others end, and release what they have locked, before this ends. A
    single one is run by the caller's thread, and so are all where no thread can be started.
    """
    left, errors, ended = deque(works), list[BaseException](), threading.Event()
    outer = _CHECK.get()
    started, finished, wake = 0, list[bool](), _thread.allocate_lock()

    def check() -> None:
        if ended.is_set():
            raise Cancelled
        if outer is not None:
            outer()

    def run() -> None:
        while left:
            check()
            try:
                work = left.popleft()
            except IndexError:  # Another thread has taken the last one.
                return
            work()

    def run_on_thread() -> None:
        _CHECK.set(check)
        try:
            _core._polled(run, check)
        except BaseException as error:
            if not ended.is_set():
                errors.append(error)
                ended.set()
        finally:
            finished.append(True)
            # It may have been released by another thread.
            with suppress(RuntimeError):
                wake.release()

    try:
        # `Thread.start` waits with a lock that an interrupt leaves locked, so that the new thread
        # would never end.
        with suppress(RuntimeError):  # There are too many, or the interpreter is ending.
            for _ in range(min(most, len(left)) if len(left) > 1 else 0):
                _thread.start_new_thread(copy_context().run, (run_on_thread,))
                started += 1
        if not started:
            run()
        while len(finished) < started:
            check()
            wake.acquire(timeout=STEP)
    except BaseException as error:
        try:
            ended.set()
        finally:
            # Does nothing, unless an interrupt ended the first.
            ended.set()
        while len(finished) < started:
            wake.acquire(timeout=STEP)
        if not errors or not isinstance(error, Cancelled):
            raise
    if errors:
        raise errors[0]


def each(items: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """The items of work that blocks."""
    try:
        for item in items:
            if isinstance(item, Pause):
                pause(item)
            else:
                yield item
    finally:
        items.close()


async def each_async(items: Generator[Any, None, None]) -> AsyncGenerator[Any]:
    """The same on threads, none of which waits during a pause."""
    import asyncio

    loop, guard, end = asyncio.get_running_loop(), threading.Lock(), object()

    def following() -> Any:
        _OWNER.set((loop, close))
        with guard:
            return next(items, end)

    def close() -> None:
        with guard:
            items.close()

    try:
        while (item := await _in_thread(following)) is not end:
            if isinstance(item, Pause):
                await asyncio.sleep(item)
            else:
                yield item
    finally:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:  # Garbage after the end of the loop.
            close()
        else:
            # Whatever is cancelled meanwhile.
            await asyncio.wait([running.run_in_executor(None, close)])
