"""The name that a caller probably meant: the nearest one that exists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import Parameter, signature
from typing import Any

from boardlot import _core


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'dividends'?`, or an empty text."""
    near = _core._nearest(name, list(known))
    return f"; did you mean '{near}'?" if near else ""


def misspelled_argument(function: Any, given: Mapping[str, Any]) -> TypeError | None:
    """The error of a call with an argument that the function does not have; none if the function
    has all arguments. The error shows no value."""
    parameters = signature(function).parameters.values()
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters):
        return None
    kinds = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    names = [it.name for it in parameters if it.kind in kinds and it.name not in ("self", "cls")]
    unknown = next((name for name in given if name not in names), None)
    if unknown is None:
        return None
    called = function.__qualname__.removesuffix(".__init__").removesuffix(".__new__")
    nearest = did_you_mean(unknown, names)
    return TypeError(f"{called}() got an unexpected keyword argument {unknown!r}{nearest}")
