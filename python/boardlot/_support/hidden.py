"""Texts that may have a password, which no variable of a frame shows to a crash reporter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")


class Hidden:
    """A text that only `reveal` shows."""

    __slots__ = ("_text",)

    def __init__(self, text: Any) -> None:
        self._text = text

    def reveal(self) -> Any:
        """The text, for an expression: not for a variable of a function that may raise."""
        return self._text

    def __repr__(self) -> str:
        return "Hidden(...)"

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle a text that may have a password")


def without_frames(function: Callable[..., R], *args: Any) -> R:
    """The result of a function; its exceptions do not have its frames and their variables."""
    try:
        return function(*args)
    except Exception as error:
        stripped = bare(error)
    raise stripped


def bare(error: BaseException) -> BaseException:
    """The exception and its causes without their frames."""
    error.with_traceback(None)
    if getattr(error, "_pgconn", None) is not None:
        # An error of psycopg has the connection, whose attributes have the password.
        error._pgconn = None  # type: ignore[attr-defined]
    for other in (error.__cause__, error.__context__):
        if other is not None:
            bare(other)
    return error
