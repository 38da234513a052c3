"""Progress bars for long operations, drawn with tqdm if it is installed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

Result = TypeVar("Result")

# Seconds until a bar appears, and between two updates.
DELAY = 1.0
REDRAW = 0.1


class Bar:
    """A bar that shows its own counter, or a counter of the core, once the work has taken a
    while.
    """

    def __init__(
        self,
        label: str,
        unit: str,
        total: int | Callable[[], int | None] | None,
        count: Callable[[], int] | None = None,
        leave: bool = True,
        *,
        done: int = 0,
        shown: bool = True,
    ) -> None:
        self.done: int = done
        self._total = total if callable(total) else lambda: total
        count = self._count = count or (lambda: self.done)
        self._bar: Any = None
        if not shown:
            return
        try:
            # `tqdm.auto` would print a red warning in a notebook without ipywidgets.
            if find_spec("ipywidgets") is None:
                from tqdm import tqdm
            else:
                from tqdm.auto import tqdm
        except ImportError:
            return
        # Work done before does not count for the rate.
        look = {"desc": label, "unit": f" {unit}", "leave": leave, "initial": count()}
        self._new_bar = partial(tqdm, **look, delay=DELAY, mininterval=REDRAW, miniters=0)
        with self._ignoring_failures():
            self._bar = self._new_bar(total=self._total())

    def add(self, count: int) -> None:
        self.done += count
        self.draw()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def draw(self) -> None:
        if self._bar is not None:
            with self._ignoring_failures():
                if (total := self._total()) != self._bar.total:
                    self._replace(total)
                # Unlike `refresh`, this respects `mininterval` and updates the elapsed time.
                self._bar.update(self._count() - self._bar.n)

    def _replace(self, total: int | None) -> None:
        """Continue with a bar of this total, which the first page may have reported: in a notebook,
        a bar that was made without a total cannot get one."""
        before = self._bar
        before.leave = False
        before.close()
        self._bar = self._new_bar(total=total)
        self._bar.start_t = before.start_t

    def close(self) -> None:
        self.draw()
        if self._bar is not None:
            with self._ignoring_failures():
                self._bar.close()

    @contextmanager
    def _ignoring_failures(self) -> Iterator[None]:
        """If the bar cannot be drawn (a closed terminal, a full disk), drop it and continue the
        work, so that the result is not lost."""
        try:
            yield
        except (OSError, ValueError):
            self._bar, broken = None, self._bar
            if broken is not None:
                # The finalizer of an enabled bar would draw again.
                broken.disable = True


async def watched(awaitable: Awaitable[Result], bar: Bar) -> Result:
    """Await the result, and draw the bar in the meantime.

    Nothing is awaited between the result and the return: a result that the caller's code does not
    receive would be lost.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    # A timer, not a task: once it is cancelled, there is nothing left to wait for.
    next_draw: Any

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
