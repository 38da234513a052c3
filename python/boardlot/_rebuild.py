"""Unpickling: objects of the core made anew from the arguments that their pickles carry."""

from __future__ import annotations

from typing import Any


def rebuild(kind: type, arguments: dict[str, Any]) -> object:
    return kind(**arguments)
