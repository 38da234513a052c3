"""Recognizes coroutine functions among a caller's callables: boardlot calls stores, hooks and
passphrases on its own threads, where nothing awaits them.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# `inspect.CO_COROUTINE` and `CO_ASYNC_GENERATOR`: importing that module takes long.
ASYNC = 0x80 | 0x200


def is_async(function: Any) -> bool:
    """True if a call returns an awaitable or an async context manager: an `async def`
    function or method, an object whose `__call__` is one, and `functools.partial` of these."""
    while isinstance(function, functools.partial):
        function = function.func
    if _is_async_function(function):
        return True
    # A class makes its instances at once.
    return not isinstance(function, type) and _is_async_function(type(function).__call__)


def _is_async_function(function: Any) -> bool:
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if isinstance(flags, int) and flags & ASYNC:
        return True
    # Checks the mark of `inspect.markcoroutinefunction`, whose caller has imported the module.
    inspect = sys.modules.get("inspect")
    if inspect is not None and inspect.iscoroutinefunction(function):
        return True
    # `contextlib.asynccontextmanager` hides the function that it was given.
    function = getattr(function, "__func__", function)
    made_by = getattr(function, "__globals__", {}).get("__name__")
    wrapped = getattr(function, "__wrapped__", None)
    return (
        isinstance(function, FunctionType)
        and made_by == "contextlib"
        and wrapped is not None
        and _is_async_function(wrapped)
    )


def takes_one_argument(function: Any) -> bool:
    """False if a call with one argument would fail, as far as its signature is known."""
    from inspect import signature

    try:
        known = signature(function)
    # Functions of C may have no signature, and Python 3.14 looks up the names in annotations.
    except (AttributeError, NameError, TypeError, ValueError):
        return True
    try:
        known.bind(None)
    except TypeError:
        return False
    return True
