"""Progress bars for long operations: drawn with tqdm where it is installed, else not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


# Seconds: work that is done sooner is not worth a bar, and the eye follows no faster.
DELAY = 1.0
REDRAW = 0.1


class Bar:
    """A bar that shows what a counter of the core says, once the work has taken a while."""

    def __init__(
        self,
        label: str,
        unit: str,
        total: int | None,
        count: Callable[[], int],
        leave: bool = True,
    ) -> None:
        self._count = count
        self._bar: Any = None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        with self._harmless():
            self._bar = tqdm(
                desc=label,
                unit=f" {unit}",
                total=total,
                leave=leave,
                # What was done before counts for no rate.
                initial=count(),
                delay=DELAY,
                mininterval=REDRAW,
                miniters=0,
            )

    def draw(self) -> None:
        if self._bar is not None:
            with self._harmless():
                # Unlike a refresh this keeps the pace, and draws an unchanged count for the clock.
                self._bar.update(self._count() - self._bar.n)

    def close(self) -> None:
        self.draw()
        if self._bar is not None:
            with self._harmless():
                self._bar.close()

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        """A bar that cannot be drawn (a closed terminal, a full disk) is given up: the work that
        it shows goes on, and its result is not lost."""
        try:
            yield
        except (OSError, ValueError):
            self._bar, broken = None, self._bar
            if broken is not None:
                # Or its finalizer would draw again.
                broken.disable = True


async def watched(awaitable: Awaitable[Result], bar: Bar) -> Result:
    """Awaits, drawing the bar meanwhile.

    Nothing is awaited between the result and the return: a result that the caller's code does not
    receive would be lost.
    """
    loop = asyncio.get_running_loop()
    # A timer and no task: once it is cancelled, nothing is left to be waited for.
    next_draw: asyncio.Handle

    def draw() -> None:
        nonlocal next_draw
        bar.draw()
        next_draw = loop.call_later(REDRAW, draw)

    next_draw = loop.call_soon(draw)
    try:
        return await awaitable
    finally:
        next_draw.cancel()
        bar.close()
