"""Progress bars for long operations: drawn with tqdm where it is installed, else not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

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
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._bar = None
        else:
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
            # Unlike a refresh this keeps the pace, and draws an unchanged count for the clock.
            self._bar.update(self._count() - self._bar.n)

    def close(self) -> None:
        self.draw()
        if self._bar is not None:
            self._bar.close()


async def watched(awaitable: Awaitable[Result], bar: Bar) -> Result:
    """Awaits, drawing the bar meanwhile."""

    async def draw() -> None:
        while True:
            bar.draw()
            await asyncio.sleep(0.1)

    drawing = asyncio.ensure_future(draw())
    try:
        return await awaitable
    finally:
        drawing.cancel()
        bar.close()
