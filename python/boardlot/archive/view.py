"""A view, and the reason why a view could not be replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """A view as this version makes it: the expression and the name of each column, and the rest of
    its query."""

    columns: tuple[tuple[str, str], ...]
    source: str

    def query(self, existing: Sequence[tuple[str, str]] = ()) -> str:
        """The query, in which existing columns keep their order.

        Args:
            existing: The name of each column that the view has, and the expression of a null of its
                type.
        """
        wanted = {name.lower(): f'{expression} as "{name}"' for expression, name in self.columns}
        kept = [wanted.pop(name.lower(), f'{null} as "{name}"') for name, null in existing]
        return f"select {', '.join([*kept, *wanted.values()])} {self.source}"


@dataclass(frozen=True)
class Blocked:
    """A view that could not be replaced, and what depends on it; nothing if somebody reads it."""

    view: str
    dependents: tuple[str, ...] = ()
