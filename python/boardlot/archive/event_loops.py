"""Runs the work of an archive for a task of an event loop.

For an `AsyncClient`, the work runs on a thread of the event loop's executor, with the blocking form
of the client, and ends soon after the caller's task was cancelled or the loop closed.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar, cast

from boardlot import AsyncClient, Client, _core
from boardlot._calls import explained
from boardlot.archive.waiting import CHECK, OWNER, Cancelled, Pause, pause

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


def blocking(client: Any) -> Any:
    """Returns a client whose calls block. If it is made of an `AsyncClient`, it shares the
    connections and hooks of that client, and keeps it alive."""
    if not isinstance(client, AsyncClient):
        return client
    same: Any = Client.__new__(Client)
    vars(same).update(_boardlot_core=client._boardlot_core.blocking(), _boardlot_owner=client)
    return same


def in_thread(work: Callable[[], T], name: str) -> Coroutine[Any, Any, T]:
    """Returns a coroutine that runs work on a thread. Its name is that of the public method, which
    Python shows if the coroutine is never awaited."""
    coroutine = _in_thread(work)
    cast("Any", coroutine).__qualname__ = name
    return coroutine


@explained
async def _in_thread(work: Callable[[], T]) -> T:
    """Runs work on a thread, with the caller's context, and returns its result.

    Once the task is cancelled, the work ends and releases its locks before the coroutine ends. A
    second cancellation does not wait for the work.
    """
    # The `AsyncClient` has loaded it already.
    import asyncio

    loop, begun, cancelled = asyncio.get_running_loop(), threading.Event(), threading.Event()

    def check() -> None:
        if cancelled.is_set() or loop.is_closed():
            raise Cancelled

    def run() -> T:
        begun.set()
        check()
        CHECK.set(check)
        return _core._polled(work, check)

    # Like `asyncio.to_thread`, whose coroutine, however, could end while the thread continues.
    done = loop.run_in_executor(None, copy_context().run, run)
    done.add_done_callback(_observed)
    try:
        await asyncio.wait([done])
    except asyncio.CancelledError:
        cancelled.set()
        # Work that has not begun yet ends at its first check.
        if begun.is_set():
            await asyncio.wait([done])
        raise
    finally:
        cancelled.set()
    return done.result()


def _observed(done: asyncio.Future[Any]) -> None:
    """Looks at the exception, since Python warns of one that nobody has looked at."""
    if not done.cancelled():
        done.exception()


def each(items: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """Yields the items of blocking work, and waits during its pauses."""
    try:
        for item in items:
            if isinstance(item, Pause):
                pause(item)
            else:
                yield item
    finally:
        items.close()


async def each_async(items: Generator[Any, None, None]) -> AsyncGenerator[Any]:
    """Yields the items of blocking work, which runs on threads; none of them waits during a
    pause."""
    import asyncio

    loop, guard, end = asyncio.get_running_loop(), threading.Lock(), object()

    def following() -> Any:
        OWNER.set((loop, close))
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
        except RuntimeError:  # Collected as garbage after the end of the loop.
            close()
        else:
            # The thread closes the items even if this task is cancelled meanwhile.
            await asyncio.wait([running.run_in_executor(None, close)])
