"""The calls that errors suggest in place of wrong ones.

Of Python functions by `explained`, of clients' constructors by the compiled module. Imported by
the first such call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from boardlot import _core
from boardlot._support.messages.nearest import did_you_mean


def better_error(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError | None:
    """The error of a call that did not begin; none if the arguments are all known."""
    every = signature(function).parameters.values()
    parameters = [it for it in every if it.name not in ("self", "cls")]

    for parameter, value in zip(parameters, args, strict=False):
        # Which value decides what else is taken.
        words = str(parameter.annotation)
        if words.startswith("Literal[") and repr(value) not in words:
            expected = words.removeprefix("Literal[").removesuffix("]")
            return TypeError(f"{parameter.name} is {value!r}; expected {expected}")

    def names(*kinds: Any) -> list[str]:
        return [it.name for it in parameters if it.kind in kinds]

    positional = names(Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    named = names(Parameter.KEYWORD_ONLY)
    others = () if names(Parameter.VAR_POSITIONAL) else args[len(positional) :]
    known = {*positional, *named, *(kwargs if names(Parameter.VAR_KEYWORD) else ())}
    unknown = {name: value for name, value in kwargs.items() if name not in known}
    name = function.__qualname__.removesuffix(".__init__").removesuffix(".__new__")
    # Users know the base of both clients by one of them.
    name = name.replace("ClientBase.", "Client.")
    if not others and not unknown:
        takes_method = "method" in positional
        pager = takes_method and any(type(it).__name__ in ("Pager", "AsyncPager") for it in args)
        return _takes_a_client(name, positional) if pager else None
    takes_any_name = bool(names(Parameter.VAR_KEYWORD))
    return wrong_call(name, positional, named, others, unknown, takes_any_name)


def wrong_arguments(
    name: str, others: Sequence[Any], unknown: Mapping[str, Any] | None
) -> TypeError:
    """The error of a call of a public class or function of the compiled module."""
    kind, _, method = name.partition(".")
    function = getattr(getattr(_core, kind), method) if method else getattr(_core, kind)
    parameters = [it for it in signature(function).parameters.values() if it.name != "self"]
    kinds = {it.name: it.kind for it in parameters}
    named = [it for it, kind in kinds.items() if kind is Parameter.KEYWORD_ONLY]
    return wrong_call(name, [it for it in kinds if it not in named], named, others, unknown)


def wrong_call(
    function: str,
    positional: list[str],
    named: list[str],
    others: Sequence[Any] | None,
    unknown: Mapping[str, Any] | None,
    takes_any_name: bool = False,
) -> TypeError:
    """The error of a call with `others` by position and `unknown` by name. Shows no value."""
    kind, _, _ = function.rpartition(".")
    for name in unknown or ():
        if kind in ("Client", "AsyncClient") and name in _core._CLIENT_OPTIONS:
            nearest = f"; {name} belongs to the client: {kind}(..., {name}=...)"
        else:
            nearest = did_you_mean(name, [*positional, *named])
        return TypeError(f"{function}() got an unexpected keyword argument {name!r}{nearest}")
    count = len(positional)
    names = f" ({', '.join(positional)})" if positional else ""
    takes = f"{function}() takes {count} positional argument{'s' * (count != 1)}{names}"
    given = count + len(others or ())
    if not named:
        by_name = "; pass the others by name" if takes_any_name else ""
        return TypeError(f"{takes} but {given} were given{by_name}")
    name = "start" if "start" in named and _is_time((others or [None])[0]) else named[0]
    listed = f" (the names are {', '.join(named)})" if 1 < len(named) < 8 else ""
    return TypeError(f"{takes}; pass the next one by name, such as {name}=...{listed}")


def _takes_a_client(name: str, positional: list[str]) -> TypeError:
    """The error of a call with a pager where a client and a method are expected."""
    return TypeError(
        f"{name}() takes {', '.join(positional)} and the method's arguments, not a pager; a pager "
        "becomes a frame by itself: pager.to_polars()"
    )


def _is_time(value: object) -> bool:
    return hasattr(value, "isoformat") or (isinstance(value, str) and value[4:5] == "-")
