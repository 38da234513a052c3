"""The fields of a user's `TypedDict`, as the kinds of `Endpoint(record=...)`."""

from __future__ import annotations

import datetime
import decimal
import enum
import typing
from collections.abc import Mapping

from ..errors import ConfigError

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


def kinds_of(record: type) -> list[tuple[str, str]]:
    """The names and kinds; fields of any type, and lists, are left to be inferred."""
    if not isinstance(getattr(record, "__total__", None), bool):
        raise ConfigError(f"record is the class {record.__name__}; expected a dict or a TypedDict")
    hints = typing.get_type_hints(record, include_extras=True)
    pairs = ((name, _kind(record, name, hint)) for name, hint in hints.items())
    return [(name, kind) for name, kind in pairs if kind is not None]


def _kind(record: type, name: str, hint: typing.Any) -> str | None:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any or hint is list or origin is list:
        return None
    if origin is typing.Annotated:
        texts = [extra for extra in arguments[1:] if isinstance(extra, str)]
        return texts[0] if texts else _kind(record, name, arguments[0])
    if origin is typing.Literal:
        return _kind(record, name, type(arguments[0]))
    if getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly"):
        return _kind(record, name, arguments[0])
    others = [argument for argument in arguments if argument is not type(None)]
    if len(others) < len(arguments) and len(others) == 1:
        return _kind(record, name, others[0])
    kind = origin or hint
    if isinstance(kind, type):
        if issubclass(kind, enum.Enum) and len(kind):
            return _kind(record, name, type(next(iter(kind)).value))
        if issubclass(kind, datetime.datetime):
            raise ConfigError(f"record: {record.__name__}.{name} is a datetime; expected {_TIME}")
        for known, word in _KINDS:
            if issubclass(kind, known):
                return word
    shown = getattr(hint, "__name__", hint)
    raise ConfigError(
        f"record: {record.__name__}.{name} is of type {shown}; expected str, int, float, bool, "
        f"Decimal, date, dict, or a kind such as Annotated[str, 'decimal']"
    )
