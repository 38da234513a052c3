"""Values that belong to one process: a forked child begins with its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that is made again in a forked child, where no thread exists that could release a
    lock, and where a connection of the parent must be neither used nor closed.

    Args:
        make: Makes the value.
        leave: Called in a child with the parent's value.
    """

    def __init__(self, make: Callable[[], T], leave: Callable[[T], object] | None = None) -> None:
        self._make, self._leave = make, leave
        self.value: T = make()
        _ALL.add(self)

    def renew(self) -> None:
        before, self.value = self.value, self._make()
        # Freeing the value could close a connection that the parent uses.
        _OF_PARENTS.append(before)
        if self._leave is not None:
            self._leave(before)


_ALL: WeakSet[PerProcess[Any]] = WeakSet()
# Never freed: see `renew`.
_OF_PARENTS: list[Any] = []


def _renew_all() -> None:
    for one in list(_ALL):
        one.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
