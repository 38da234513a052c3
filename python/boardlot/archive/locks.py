"""Locks by name: a queue of the threads of this process, and one lock between processes."""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from boardlot._support.per_process import PerProcess
from boardlot.archive.running import pause
from boardlot.errors import StoreError

# How often a lock that another process has is tried again, in seconds.
WAIT = 0.05


class _Queue:
    """A fair lock: the caller that has waited longest is next."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holder: Lock | None = None
        self._waiting: deque[tuple[Lock, threading.Event]] = deque()

    def acquire(self, lock: Lock, wait: float) -> bool:
        turn = threading.Event()
        with self._guard:
            if self._holder is None:
                self._holder = lock
                return True
            self._waiting.append((lock, turn))
        # The turn may come when the wait has just ended.
        return pause(wait, turn) or self._holder is lock

    def leave(self, lock: Lock) -> None:
        """Let the next one have it, or wait no longer; does nothing if neither is the case."""
        with self._guard:
            self._waiting = deque(one for one in self._waiting if one[0] is not lock)
            if self._holder is lock:
                self._holder = None
                if self._waiting:
                    self._holder, turn = self._waiting.popleft()
                    turn.set()


class _Queues:
    """Those of this process, by name."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._by_name: WeakValueDictionary[str, _Queue] = WeakValueDictionary()

    def named(self, name: str) -> _Queue:
        with self._guard:
            return self._by_name.setdefault(name, _Queue())


_QUEUES = PerProcess(_Queues)


class Lock(ABC):
    """A lock that one thread of one process has at a time.

    Args:
        name: The same in all processes.
        held_by: What to say if somebody else has it.
    """

    def __init__(self, name: str, held_by: str) -> None:
        self._name, self._held_by = name, held_by
        self._queue: _Queue | None = None
        self._process = 0

    @abstractmethod
    def try_acquire(self) -> bool:
        """Acquire it from other processes, if none has it."""

    @abstractmethod
    def release_others(self) -> None:
        """Let other processes have it."""

    @abstractmethod
    def check(self) -> None:
        """Make sure, within a transaction, that no other process has it by now.

        Raises:
            StoreError: It was lost.
        """

    def try_for(self, wait: float) -> bool:
        """Wait this many seconds for the lock, and return whether it was acquired."""
        end = time.monotonic() + wait
        queue = self._queue = _QUEUES.value.named(self._name)
        self._process = os.getpid()
        acquired = False
        try:
            if queue.acquire(self, wait):
                while not (acquired := self.try_acquire()) and time.monotonic() < end:
                    # In short steps, so that Ctrl-C and cancellations take effect.
                    pause(WAIT)
        finally:
            if not acquired:
                self.release()
        return acquired

    def release(self) -> None:
        """Let others have it; does nothing if that was done."""
        queue, self._queue = self._queue, None
        # A forked child does not have what its parent has.
        if queue is not None and self._process == os.getpid():
            try:
                self.release_others()
            finally:
                queue.leave(self)

    def in_use(self) -> StoreError:
        """The error of a caller that has waited for it in vain."""
        return StoreError(
            self._held_by, retryable=True, hint="Wait until it has finished, or end it."
        )

    @contextmanager
    def held(self, wait: float) -> Iterator[Lock]:
        """Have the lock.

        Raises:
            StoreError: Another thread or process has had it for `wait` seconds.
        """
        try:
            if not self.try_for(wait):
                raise self.in_use()
            yield self
        finally:
            self.release()


def held_by(kind: str) -> str:
    """Describes the activity of a lock's holder."""
    if kind == "follow":
        return "followed by another follower of this name"
    return "updated by another process"
