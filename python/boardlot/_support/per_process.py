"""Values that belong to one process: a forked child begins with its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that is made again in a forked child, where no thread exists that could release a
    lock, and where a connection of the parent must be neither used nor closed.

    Args:
        make: Makes it.
        leave: What a child does with the parent's.
    """

    def __init__(self, make: Callable[[], T], leave: Callable[[T], object] | None = None) -> None:
        self._make, self._leave = make, leave
        self.value: T = make()
        _ALL.add(self)

    def renew(self) -> None:
        before, self.value = self.value, self._make()
        # To free it could close what the parent uses.
        _OF_PARENTS.append(before)
        if self._leave is not None:
            self._leave(before)


def _guard() -> tuple[threading.RLock, threading.Condition]:
    # `with` a condition runs Python code, in which an interrupt would leave the lock locked.
    lock = threading.RLock()
    return lock, threading.Condition(lock)


class ForkGate:
    """Keeps this process from being forked while another thread is within a library whose own locks
    the child would inherit."""

    def __init__(self) -> None:
        self._guard = PerProcess(_guard)
        # How often each thread has entered.
        self._inside: dict[int, int] = {}
        # The threads that are forking.
        self._forking: set[int] = set()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before, after_in_parent=self._after, after_in_child=self._in_child
            )

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Within the library."""
        with self._to(lambda times: times + 1):
            yield

    @contextmanager
    def left(self) -> Iterator[None]:
        """Within a wait that the library does not take part in."""
        with self._to(lambda _: 0):
            yield

    @contextmanager
    def _to(self, change: Callable[[int], int]) -> Iterator[None]:
        before = self._inside.get(threading.get_ident(), 0)
        try:
            self._set(change(before))
            yield
        finally:
            # Whatever an interrupt left.
            self._set(before)

    def _set(self, times: int) -> None:
        """Sets the number of times that this thread is inside."""
        me = threading.get_ident()
        lock, changed = self._guard.value
        with lock:
            # A connection may be freed on the thread that forks, which is not to wait for itself.
            while times and self._forking - {me} and me not in self._inside:
                changed.wait()
            if times:
                self._inside[me] = times
            elif self._inside.pop(me, 0):
                changed.notify_all()

    def _before(self) -> None:
        me = threading.get_ident()
        lock, changed = self._guard.value
        with lock:
            self._forking.add(me)
            while any(thread != me for thread in self._inside):
                changed.wait()

    def _after(self) -> None:
        me = threading.get_ident()
        lock, changed = self._guard.value
        with lock:
            self._forking.discard(me)
            changed.notify_all()

    def _in_child(self) -> None:
        me = threading.get_ident()
        self._forking = set()
        self._inside = {thread: times for thread, times in self._inside.items() if thread == me}


_ALL: WeakSet[PerProcess[Any]] = WeakSet()
# Never freed: see `renew`.
_OF_PARENTS: list[Any] = []


def _renew_all() -> None:
    for one in list(_ALL):
        one.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
