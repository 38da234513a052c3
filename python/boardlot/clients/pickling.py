"""How a pickled client or credential is rebuilt."""

from __future__ import annotations

from typing import Any

__all__ = ["rebuild"]


def rebuild(kind: type, arguments: dict[str, Any]) -> object:
    """The object of this class, made from the keyword arguments that its pickle carries."""
    return kind(**arguments)
