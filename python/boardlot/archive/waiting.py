"""Waits of blocking work for its next step.

The work of an archive blocks. Its waits end soon after the task of the work was cancelled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

Owner = tuple[Any, Callable[[], None]]

# Seconds between two checks by which work for an event loop finds that it is to end.
STEP = 0.05
# A function that raises `Cancelled` if the work is to end.
CHECK: ContextVar[Callable[[], None] | None] = ContextVar("boardlot_archive_check", default=None)
# The event loop that the work is for, and a function that ends the work if the loop was closed.
OWNER: ContextVar[Owner | None] = ContextVar("boardlot_archive_owner", default=None)


class Cancelled(BaseException):
    """The caller's task was cancelled: the work ends, and releases its locks."""


class Pause(float):
    """Seconds to wait before the next item: an event loop waits without a thread."""


def owner() -> Owner | None:
    """The event loop of the calling work, and a function that ends the work. Nothing else ends it
    if the loop is closed while the work waits for its next step there."""
    return OWNER.get()


def check_cancelled() -> None:
    """Raises `Cancelled` if the work is to end."""
    if (check := CHECK.get()) is not None:
        check()


def pause(seconds: float, event: threading.Event | None = None) -> bool:
    """Wait this many seconds, or until an event is set, and return whether it is set.

    Raises:
        Cancelled: The work is to end.
    """
    event, check = event or threading.Event(), CHECK.get()
    if check is None:
        return event.wait(seconds)
    end = time.monotonic() + seconds
    while True:
        check()
        left = end - time.monotonic()
        if event.wait(max(0.0, min(STEP, left))) or left <= 0:
            return event.is_set()
