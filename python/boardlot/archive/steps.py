"""Work that is written once and runs with a `Client` and with an `AsyncClient`.

The work is a generator of steps. A driver does each step and sends its result back: the sync one
calls it, the async one awaits it. So nothing that waits is written twice.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Deliver",
    "Pause",
    "Request",
    "Steps",
    "Store",
    "iterate",
    "iterate_async",
    "next_page",
    "run",
    "run_async",
]


@dataclass(frozen=True)
class Request:
    """A call of the client, which an `AsyncClient` lets us await."""

    call: Callable[[], Any]

    def do(self) -> Any:
        return self.call()

    async def do_async(self) -> Any:
        return await self.call()


@dataclass(frozen=True)
class Store:
    """A call of the database, which must not block an event loop."""

    call: Callable[[], Any]

    def do(self) -> Any:
        return self.call()

    async def do_async(self) -> Any:
        # Loaded with the `AsyncClient`.
        from asyncio import to_thread

        return await to_thread(self.call)


@dataclass(frozen=True)
class Pause:
    """A wait of this many seconds."""

    seconds: float

    def do(self) -> None:
        time.sleep(self.seconds)

    async def do_async(self) -> None:
        from asyncio import sleep

        await sleep(self.seconds)


@dataclass(frozen=True)
class Deliver:
    """An item for the caller's loop; the work continues when the next one is requested."""

    item: Any


Step = Request | Store | Pause | Deliver
Steps = Generator[Step, Any, Any]


def next_page(pages: Any) -> Request:
    """The next page of a pager, or `None` at its end."""
    if hasattr(pages, "__anext__"):
        return Request(lambda: anext(pages, None))
    return Request(lambda: next(pages, None))


def run(steps: Steps) -> Any:
    """Do all steps, and return the result of the work, which delivers nothing."""
    with closing(iterate(_with_result(steps))) as results:
        return next(results)


async def run_async(steps: Steps) -> Any:
    """The same for an `AsyncClient`."""
    async with aclosing(iterate_async(_with_result(steps))) as results:
        return await anext(results)


def _with_result(steps: Steps) -> Steps:
    """The steps, and then their result as an item."""
    yield Deliver((yield from steps))


def iterate(steps: Steps) -> Generator[Any, None, None]:
    """Do the steps of work that delivers items."""
    resume, value = steps.send, None
    try:
        while True:
            try:
                step = resume(value)
            except StopIteration:
                return
            if isinstance(step, Deliver):
                yield step.item
                resume, value = steps.send, None
            else:
                resume, value = _done(steps, step)
    finally:
        steps.close()


async def iterate_async(steps: Steps) -> AsyncGenerator[Any, None]:
    """The same for an `AsyncClient`."""
    resume, value = steps.send, None
    try:
        while True:
            try:
                step = resume(value)
            except StopIteration:
                return
            if isinstance(step, Deliver):
                yield step.item
                resume, value = steps.send, None
            else:
                resume, value = await _done_async(steps, step)
    finally:
        steps.close()


def _done(steps: Steps, step: Any) -> tuple[Callable[[Any], Step], Any]:
    """Do a step: how to resume the work, and with what."""
    try:
        return steps.send, step.do()
    except BaseException as error:
        return steps.throw, error


async def _done_async(steps: Steps, step: Any) -> tuple[Callable[[Any], Step], Any]:
    try:
        return steps.send, await step.do_async()
    except BaseException as error:
        return steps.throw, error
