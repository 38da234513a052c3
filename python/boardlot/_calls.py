"""The calls that errors suggest in place of wrong ones, for all public functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar, cast

Thing = TypeVar("Thing", bound="Callable[..., Any]")

# `inspect` would take longer to import than boardlot.
CO_COROUTINE = 0x80


def named(public: str) -> Callable[[Thing], Thing]:
    """Names the methods of a base class after the class that users know, in Python's errors too."""

    def rename(thing: Thing) -> Thing:
        for name, member in vars(thing).items():
            if isinstance(member, FunctionType):
                member.__qualname__ = f"{public}.{name}"
        return thing

    return rename


def explained(thing: Thing) -> Thing:
    """The function or class, with errors for wrong calls that say what to write."""
    if isinstance(thing, type):
        for name, member in list(vars(thing).items()):
            is_public = name == "__init__" or not name.startswith("_")
            if is_public and isinstance(member, FunctionType):
                setattr(thing, name, _explained(member, is_method=True))
        return cast(Thing, thing)
    return cast(Thing, _explained(cast(FunctionType, thing), is_method=False))


def _explained(function: FunctionType, is_method: bool) -> Callable[..., Any]:
    def better(error: TypeError, args: tuple[Any, ...], kwargs: Any) -> TypeError | None:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            return None  # The call began.
        from ._support.wrong_calls import better_error

        return better_error(function, args[is_method:], kwargs)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if (said := better(error, args, kwargs)) is None:
                raise
            raise said from None
        finally:
            # Crash reporters show the variables of frames, and an argument may have a password.
            del args, kwargs

    if not function.__code__.co_flags & CO_COROUTINE:
        return call

    @wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        # A wrong call fails here, before the coroutine begins.
        try:
            coroutine = call(*args, **kwargs)
        finally:
            del args, kwargs
        return await coroutine

    return awaited
