"""The fields of a user's `TypedDict`, as the kinds of `Endpoint(record=...)`."""

from __future__ import annotations

import datetime
import decimal
import enum
import typing
from collections.abc import Mapping

from boardlot.errors import ConfigError

# In this order: a bool is an int, and a datetime is a date.
_KINDS = (
    (bool, "flag"),
    (str, "text"),
    (int, "integer"),
    (float, "number"),
    (decimal.Decimal, "decimal"),
    (datetime.date, "date"),
    (Mapping, "object"),
)
_TIME = "Annotated[int, 'seconds'], 'millis' or 'micros'"


def is_typeddict(hint: object) -> bool:
    """True if this is a `TypedDict` of `typing` or of `typing_extensions`."""
    return isinstance(getattr(hint, "__total__", None), bool)


def kinds_of(record: type) -> list[tuple[str, str]]:
    """The names and kinds; fields of any type, and lists, are left to be inferred."""
    if not is_typeddict(record):
        raise ConfigError(f"record is the class {record.__name__}; expected a dict or a TypedDict")
    hints = typing.get_type_hints(record, include_extras=True)
    pairs = ((name, _kind(record, name, hint)) for name, hint in hints.items())
    return [(name, kind) for name, kind in pairs if kind is not None]


def _kind(record: type, name: str, hint: typing.Any) -> str | None:
    hint, word = _bare(hint)
    origin = typing.get_origin(hint) or hint
    if word is not None or origin in (typing.Any, list):
        return word
    if isinstance(origin, type):
        if issubclass(origin, enum.Enum) and len(origin):
            origin = type(next(iter(origin)).value)
        if issubclass(origin, datetime.datetime):
            raise ConfigError(f"record: {record.__name__}.{name} is a datetime; expected {_TIME}")
        for known, kind in _KINDS:
            if issubclass(origin, known):
                return kind
    shown = getattr(hint, "__name__", hint)
    raise ConfigError(
        f"record: {record.__name__}.{name} is of type {shown}; expected str, int, float, bool, "
        f"Decimal, date, dict, or a kind such as Annotated[str, 'decimal']"
    )


def _bare(hint: typing.Any) -> tuple[typing.Any, str | None]:
    """The type without `Required`, `None` and the like, and the kind that it is annotated with."""
    while True:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        others = [argument for argument in arguments if argument is not type(None)]
        if origin is typing.Annotated:
            words = [extra for extra in arguments[1:] if isinstance(extra, str)]
            if words:
                return hint, words[0]
            hint = arguments[0]
        elif origin is typing.Literal:
            return type(arguments[0]), None
        elif getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly"):
            hint = arguments[0]
        elif len(others) < len(arguments) and len(others) == 1:
            hint = others[0]
        else:
            return hint, None
