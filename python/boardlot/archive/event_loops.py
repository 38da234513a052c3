"""Work of an archive for the task of an event loop.

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
    """The client whose calls block: that of an `AsyncClient` shares its connections and hooks, and
    keeps it alive."""
    if not isinstance(client, AsyncClient):
        return client
    same: Any = Client.__new__(Client)
    vars(same).update(_boardlot_core=client._boardlot_core.blocking(), _boardlot_owner=client)
    return same


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
        CHECK.set(check)
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
        except RuntimeError:  # Garbage after the end of the loop.
            close()
        else:
            # Whatever is cancelled meanwhile.
            await asyncio.wait([running.run_in_executor(None, close)])
