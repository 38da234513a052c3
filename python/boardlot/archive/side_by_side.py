"""Runs works of an archive side by side, on threads of their own."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context

from boardlot import _core
from boardlot.archive.waiting import CHECK, STEP, Cancelled


def side_by_side(works: Sequence[Callable[[], object]], most: int) -> None:
    """Run works that block, `most` at a time, on as many threads.

    The caller's thread only waits: an interrupt there leaves no lock of a work behind. After an
    interrupt, or if a work raises, the other works end and release their locks before this function
    returns. The caller's thread runs a single work itself, and all works if no thread can be
    started.
    """
    left, errors, ended = deque(works), list[BaseException](), threading.Event()
    outer = CHECK.get()
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
        CHECK.set(check)
        try:
            _core._polled(run, check)
        except BaseException as error:
            if not ended.is_set():
                errors.append(error)
                ended.set()
        finally:
            finished.append(True)
            # Another thread may have released the lock already.
            with suppress(RuntimeError):
                wake.release()

    try:
        # `Thread.start` waits with a lock that an interrupt leaves locked, so that the new thread
        # would never end.
        with suppress(RuntimeError):  # There are too many threads, or the interpreter is ending.
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
            # Does nothing, unless an interrupt ended the first call.
            ended.set()
        while len(finished) < started:
            wake.acquire(timeout=STEP)
        if not errors or not isinstance(error, Cancelled):
            raise
    if errors:
        raise errors[0]
