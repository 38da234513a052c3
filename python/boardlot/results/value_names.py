"""The names of the service's numeric values, for people: 3 is `partially filled`."""

from __future__ import annotations

from functools import cache

__all__ = ["value_names"]


@cache
def value_names(values: str) -> dict[int, str]:
    """The name of each number of an enum of `boardlot`; empty for an enum of texts."""
    from enum import IntEnum

    from boardlot import _records

    members = getattr(_records, values)
    if not issubclass(members, IntEnum):
        return {}
    return {int(member): member.name.lower().replace("_", " ") for member in members}
