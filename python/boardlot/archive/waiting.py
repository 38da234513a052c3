"""Waits of blocking work for its next step.

The work of an archive blocks, and its waits end soon after the task that it is for was cancelled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

Owner = tuple[Any, Callable[[], None]]

# The seconds after which work for an event loop checks if it is to end.
STEP = 0.05
# Raises `Cancelled` if it is.
CHECK: ContextVar[Callable[[], None] | None] = ContextVar("boardlot_archive_check", default=None)
# The event loop that the work is for, and what ends the work if that loop was closed.
OWNER: ContextVar[Owner | None] = ContextVar("boardlot_archive_owner", default=None)


class Cancelled(BaseException):
    """The caller's task was cancelled: the work ends, and releases its locks."""


class Pause(float):
    """Seconds to wait before the next item: an event loop waits without a thread."""


def owner() -> Owner | None:
    """The event loop of the work that calls this, and a function that ends the work: nothing else
    does if the loop is closed while the work waits for its next step there."""
    return OWNER.get()


def check_cancelled() -> None:
    """Raises `Cancelled` if the work is to end."""
    if (check := CHECK.get()) is not None:
        check()


def pause(seconds: float, event: threading.Event | None = None) -> bool:
    """Wait so long, or for an event if there is one, and return whether it is set.

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
