"""Decorators of all public functions: the error of a misspelled argument suggests the nearest name,
and no error shows the arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar, cast

# Not imported on first use, which may be at the end of the program, when no import is possible.
from ._support.clients import is_own

Thing = TypeVar("Thing", bound="Callable[..., Any]")

# `inspect` would take longer to import than boardlot.
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200
# Code whose frame may be suspended when its exception is raised again. Emptying such a frame closes
# the generator; CPython refuses to do so since 3.13.
SPARED = 0 if sys.version_info >= (3, 13) else CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
# The methods that are called with values although their names begin with an underscore.
SPECIAL = frozenset({"__init__", "__new__", "__setattr__"})


def named(public: str) -> Callable[[Thing], Thing]:
    """Names the methods of a base class after the class that users know, in Python's errors too."""

    def rename(thing: Thing) -> Thing:
        for name, member in vars(thing).items():
            if isinstance(member, FunctionType):
                member.__qualname__ = f"{public}.{name}"
        return thing

    return rename


def empty_frames(error: BaseException) -> None:
    """Empties the frames of boardlot's through which an error has come to the function that calls
    this: crash reporters show the variables of frames, and an argument may be a secret.
    """
    called = error.__traceback__ and error.__traceback__.tb_next
    # Of coroutines, only the one that the caller has just awaited is known to have ended.
    ended = called and called.tb_frame
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += (one.__cause__, one.__context__)
        step = one.__traceback__
        while step is not None:
            frame = step.tb_frame
            has_ended = frame is ended or not frame.f_code.co_flags & SPARED
            if has_ended and is_own(frame):
                with suppress(RuntimeError):  # It is running, or suspended.
                    frame.clear()
            step = step.tb_next


def explained(thing: Thing) -> Thing:
    """The function, or the class with its public methods: the error of a misspelled argument
    suggests the nearest name, and no error leaves with a frame of boardlot's that has the
    arguments."""
    if isinstance(thing, type):
        for name, member in list(vars(thing).items()):
            is_public = name in SPECIAL or not name.startswith("_")
            if is_public and isinstance(member, FunctionType):
                setattr(thing, name, _explained(member))
            elif is_public and isinstance(member, classmethod):
                function = cast(FunctionType, member.__func__)
                setattr(thing, name, classmethod(_explained(function)))
            elif is_public and isinstance(member, staticmethod):
                function = cast(FunctionType, member.__func__)
                setattr(thing, name, staticmethod(_explained(function)))
        return cast(Thing, thing)
    return cast(Thing, _explained(cast(FunctionType, thing)))


def _explained(function: FunctionType) -> Callable[..., Any]:
    def better(error: TypeError, kwargs: Any) -> TypeError | None:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            return None  # The call began.
        from ._support.messages.nearest import misspelled_argument

        return misspelled_argument(function, kwargs)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if (said := better(error, kwargs)) is None:
                empty_frames(error)
                raise
            raise said from None
        except BaseException as error:
            empty_frames(error)
            raise
        finally:
            # This frame is running, so nothing can empty it.
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
        try:
            return await coroutine
        except GeneratorExit:  # Nobody receives it, and it may be the end of the program.
            raise
        except BaseException as error:
            empty_frames(error)
            raise

    return awaited
