"""Locks by name: a queue of the threads of this process, and one lock between processes."""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar
from weakref import ref

from boardlot import _core
from boardlot._support.per_process import PerProcess
from boardlot.archive.waiting import Owner, check_cancelled, owner, pause
from boardlot.errors import StoreError

T = TypeVar("T")

# The seconds between attempts to take a lock that another process has.
WAIT = 0.05


class _Queues:
    """Queues of the threads of this process, by the names of locks: the first thread of a queue has
    the lock, and the next one has waited longest. After an interrupt, a queue may have a lock that
    no longer exists.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._by_name: dict[str, list[tuple[ref[Lock], threading.Event]]] = {}

    def acquire(self, name: str, lock: Lock, wait: float) -> bool:
        turn = threading.Event()
        with self._guard:
            others = [one() for one, _ in self._by_name.get(name, [])]
        for loop, end in [one.owner for one in others if one is not None and one.owner]:
            if loop.is_closed():
                end()
        with self._guard:
            queue = self._by_name.setdefault(name, [])
            queue[:] = [one for one in queue if one[0]() is not None]
            queue.append((ref(lock), turn))
            if len(queue) == 1:
                return True
        # The turn may come when the wait has just ended.
        return pause(wait, turn) or queue[0][0]() is lock

    def leave(self, name: str, lock: Lock) -> None:
        """Release the lock, or leave the queue; does nothing if this thread is in neither."""
        with self._guard:
            queue = self._by_name.get(name, [])
            queue[:] = [one for one in queue if one[0]() not in (lock, None)]
            if queue:
                queue[0][1].set()
            else:
                self._by_name.pop(name, None)


_QUEUES = PerProcess(_Queues)


class Lock(ABC):
    """A lock that only one thread of one process has at a time.

    Args:
        name: The same in all processes.
        held_by: The error and the hint for another caller: what the holder does, and what the
            caller can do.
    """

    def __init__(self, name: str, held_by: tuple[str, str]) -> None:
        self._name, self._held_by = name, held_by
        # The queues in which this lock is.
        self._queues: _Queues | None = None
        self.owner: Owner | None = None

    @abstractmethod
    def try_acquire(self) -> bool:
        """Acquire the lock between processes, if no other process has it."""

    @abstractmethod
    def release_others(self) -> None:
        """Release the lock between processes."""

    @abstractmethod
    def check(self) -> None:
        """Make sure, within a transaction, that no other process has the lock by now.

        Raises:
            StoreError: It was lost.
        """

    # The seconds for which a killed process keeps the lock, and after which a live one renews it.
    @property
    def kept_for(self) -> float:
        return 0.0

    @property
    def keep_every(self) -> float:
        return math.inf

    def keep(self) -> None:
        """Make sure that the lock is kept.

        Raises:
            StoreError: It was lost.
        """
        self.check()

    def keeping(self, call: Callable[[], T], *others: Lock) -> T:
        """The result of a call that waits for the service, during which the locks are kept."""

        def keep() -> None:
            check_cancelled()
            for lock in kept:
                # If the lock was lost, the next transaction raises the error.
                with suppress(StoreError):
                    lock.keep()

        kept = [lock for lock in (self, *others) if lock.keep_every < math.inf]
        return _core._polled(call, keep) if kept else call()

    def try_for(self, wait: float) -> bool:
        """Wait this many seconds for the lock, and return whether it was acquired."""
        end = time.monotonic() + wait
        queues = self._queues = _QUEUES.value
        self.owner = owner()
        acquired = False
        try:
            if queues.acquire(self._name, self, wait):
                while not (acquired := self.try_acquire()) and time.monotonic() < end:
                    # In short steps, so that Ctrl-C and cancellations take effect.
                    pause(WAIT)
        finally:
            if not acquired:
                self.release()
        return acquired

    def release(self) -> None:
        """Release the lock; does nothing if it is not held."""
        # A forked child does not have the locks of its parent.
        if (queues := self._queues) is _QUEUES.value:
            try:
                self.release_others()
            finally:
                queues.leave(self._name, self)
        self._queues = None

    def in_use(self) -> StoreError:
        """The error of a caller that has waited too long."""
        text, hint = self._held_by
        return StoreError(text, retryable=True, hint=hint)

    @contextmanager
    def held(self, wait: float) -> Iterator[Lock]:
        """Hold the lock.

        Raises:
            StoreError: Another thread or process has had it for `wait` seconds.
        """
        try:
            if not self.try_for(wait):
                raise self.in_use()
            yield self
        finally:
            try:
                self.release()
            finally:
                # Does nothing, unless an interrupt ended the first release.
                self.release()


def held_by(name: str, archive: str) -> tuple[str, str]:
    """Says what the holder of the lock with this name does, and what another caller can do."""
    kind, _, what = name.partition(":")
    if kind == "follow":
        account, market, follower = what.split(" ", 2)
        return (
            f"another follower with the name {follower!r} follows the fills of {account} {market} "
            f"in the archive {archive}",
            "End that follower, or give this one another name: each has its own position.",
        )
    if kind == "migrate":
        return (
            f"the archive {archive} is being migrated by another process",
            "Wait until that has finished, which takes some minutes for millions of fills.",
        )
    return (
        f"{what} in the archive {archive} is being updated by another process",
        "Wait until that work has finished, or end it.",
    )
