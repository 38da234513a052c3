"""Inspection of a class of rows: its annotated fields, and how its instances are made.

A class is inspected once. `as_type` then converts each record without running Python code, unless
the class has code of its own.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import inspect
import types
import typing
import weakref
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

from boardlot._support.typed_dict import is_typeddict
from boardlot.errors import ConfigError

_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "dict": dict, "list": list}
_TYPES |= {"Decimal": Decimal, "datetime": datetime, "date": date}
_EXPECTED = (
    "str, int, float, bool, Decimal, datetime, date, an Enum, dict, list, Any, "
    "or one of these with '| None'"
)
_CLASSES = "a dataclass, NamedTuple, msgspec.Struct or another class with annotated fields"
_UNIONS = (typing.Union, types.UnionType)


class Field(NamedTuple):
    """One field of a class of rows."""

    attribute: str
    # The name in records.
    name: str
    conversion: str
    # The class of an enum.
    enum: type[Enum] | None
    nullable: bool
    # The annotation without `| None`, as it is shown in errors.
    type_name: str


class RowClass(NamedTuple):
    """The kind of construction: "tuple", "attributes", "positional" or "keywords"; and the fields.

    All but "keywords" run no Python code.
    """

    construction: str
    fields: tuple[Field, ...]


# No value refers to the class itself, so that the class can be freed.
_inspected: weakref.WeakKeyDictionary[type, RowClass] = weakref.WeakKeyDictionary()


def inspected(cls: Any) -> tuple[str, tuple[tuple[Field, tuple[str, Any]], ...]]:
    """The construction of a class's instances, and its fields, each with its default.

    A default is `("required", None)`, `("value", value)`, `("factory", callable)`, or
    `("constructor", None)` if only the constructor knows it.

    Raises:
        ConfigError: `cls` is not a class, or a field has an annotation that is not supported.
    """
    if not isinstance(cls, type):
        raise ConfigError(f"T is {_shown(cls)}; expected {_CLASSES}")
    known = _inspected.get(cls)
    if known is None:
        known = _inspected[cls] = _inspect(cls)
    defaults = _defaults(cls, [field.attribute for field in known.fields])
    required = ("required", None)
    fields = tuple((field, defaults.get(field.attribute, required)) for field in known.fields)
    if known.construction == "keywords":
        _check_keywords(cls, [field.attribute for field, (kind, _) in fields if kind == "required"])
    return known.construction, fields


def _check_keywords(cls: Any, names: list[str]) -> None:
    """Refuse a class that cannot be called with these keywords."""
    # A class's own signature, such as that of pydantic, need not list all keywords that it accepts.
    if _is_typed_dict(cls) or hasattr(cls, "__signature__"):
        return
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):
        return  # Of an extension: only a call can tell.
    try:
        signature.bind_partial(**dict.fromkeys(names))
    except TypeError as error:
        text = f"{cls.__qualname__} does not accept its fields as keywords: {error}"
        raise ConfigError(f"{text}; expected {_CLASSES}") from None


def _inspect(cls: Any) -> RowClass:
    hints = _hints(cls)
    names = _names(cls, hints)
    if not names:
        raise ConfigError(f"{cls.__qualname__} has no annotated fields; expected {_CLASSES}")
    fields = tuple(
        _field(cls, attribute, name, hints.get(attribute, Any)) for attribute, name in names.items()
    )
    return RowClass(_construction(cls), fields)


def _hints(cls: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except NameError as error:
        text = (
            f"an annotation of {cls.__qualname__} is not defined: {error}; expected names that its "
            "module defines at run time: import them outside 'if TYPE_CHECKING', and do not define "
            "them within a function"
        )
        raise ConfigError(text) from error
    except Exception as error:
        # Evaluating an annotation can raise anything.
        text = f"the annotations of {cls.__qualname__} cannot be read: {error}; expected types"
        raise ConfigError(text) from error


def _names(cls: Any, hints: dict[str, Any]) -> dict[str, str]:
    """The attributes that the constructor accepts, each with its name in records."""
    if _is_named_tuple(cls):
        return {name: name for name in cls._fields}
    if _is_struct(cls):
        return dict(zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True))
    if dataclasses.is_dataclass(cls):
        refused = {field.name for field in dataclasses.fields(cls) if not field.init}
        hints = {name: hints[name] for name in cls.__dataclass_fields__ if name in hints}
    else:
        refused = {name for name in hints if name.startswith("_")}
    return {
        name: name
        for name, hint in hints.items()
        if name not in refused
        and hint is not typing.ClassVar
        and typing.get_origin(hint) is not typing.ClassVar
    }


def _field(cls: Any, attribute: str, name: str, annotation: Any) -> Field:
    hint = _plain(annotation)
    options = [_plain(option) for option in typing.get_args(hint)]
    nullable = hint in (Any, object)
    if typing.get_origin(hint) in _UNIONS and type(None) in options and len(options) == 2:
        nullable = True
        hint = next(option for option in options if option is not type(None))
    origin = typing.get_origin(hint) or hint
    enum = origin if isinstance(origin, type) and issubclass(origin, Enum) else None
    conversion = "enum" if enum else _conversion(origin)
    if enum is not None and not enum.__members__:
        text = (
            f"{cls.__qualname__}.{attribute} is annotated as {_shown(enum)}, which has no members"
        )
        raise ConfigError(f"{text}; expected an Enum with the values of the field")
    if conversion is None:
        text = f"{cls.__qualname__}.{attribute} is annotated as {_shown(annotation)}"
        raise ConfigError(f"{text}; expected {_EXPECTED}")
    return Field(attribute, name, conversion, enum, nullable, _shown(hint))


def _conversion(hint: Any) -> str | None:
    """The conversion of a value to this type; `None` if the type is not supported."""
    if hint in (Any, object):
        return "any"
    if is_typeddict(hint):
        return "dict"
    # The classes are not compared by identity: a library that freezes the time replaces `datetime`,
    # here or in the caller's module, by a class of the same instances.
    for name, known in _TYPES.items() if isinstance(hint, type) else ():
        if issubclass(hint, known) and issubclass(known, hint):
            return name
    return None


def _plain(hint: Any) -> Any:
    """The type that a name, `InitVar` or qualifier stands for."""
    while True:
        if isinstance(hint, dataclasses.InitVar):
            hint = hint.type
        elif hasattr(hint, "__supertype__"):  # NewType
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        elif _qualifier(hint) is not None:
            (hint,) = typing.get_args(hint)
        else:
            return hint


def _qualifier(hint: Any) -> str | None:
    """The name of a qualifier with a type, of `typing` or `typing_extensions`."""
    name = getattr(typing.get_origin(hint), "_name", None)
    return name if name in ("Final", "Required", "NotRequired", "ReadOnly") else None


def _shown(value: Any) -> str:
    text = value.__name__ if isinstance(value, type) and not typing.get_args(value) else repr(value)
    text = text.replace("typing.", "")
    return text if len(text) <= 100 else text[:99] + "…"


def _is_named_tuple(cls: Any) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _is_typed_dict(cls: Any) -> bool:
    """True if this is a `TypedDict` of `typing` or of `typing_extensions`."""
    return hasattr(cls, "__optional_keys__") and issubclass(cls, dict)


def _is_struct(cls: Any) -> bool:
    return hasattr(cls, "__struct_fields__") and hasattr(cls, "__struct_encode_fields__")


def _construction(cls: Any) -> str:
    is_plain_call = type(cls).__call__ is type.__call__
    if _is_named_tuple(cls):
        generated = is_plain_call and _has_generated_new(cls)
        return "tuple" if generated else "keywords"
    if _is_struct(cls):
        parameters = inspect.signature(cls).parameters.values()
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        same = tuple(positional) == cls.__struct_fields__
        # A struct has no other code of its own, unless its metaclass does.
        is_inert = not hasattr(cls, "__post_init__") and type(cls).__module__ == "msgspec._core"
        return "positional" if same and is_inert else "keywords"
    if "__dataclass_params__" in cls.__dict__:
        generated = is_plain_call and _has_generated_init(cls)
        return "attributes" if generated else "keywords"
    return "keywords"


def _has_generated_new(cls: Any) -> bool:
    reference = collections.namedtuple("Reference", cls._fields)  # type: ignore[misc]
    return _same_code(cls.__new__, reference.__new__) and cls.__init__ is object.__init__


def _has_generated_init(cls: Any) -> bool:
    """True if the constructor of a dataclass only sets the attributes of its fields."""
    fields = cls.__dataclass_fields__.values()
    params = cls.__dataclass_params__
    if (
        cls.__new__ is not object.__new__
        or hasattr(cls, "__post_init__")
        or (cls.__setattr__ is not object.__setattr__ and not params.frozen)
        or any(not field.init for field in dataclasses.fields(cls))
        or any(isinstance(field.type, dataclasses.InitVar) for field in fields)
    ):
        return False
    # The fields are copied, as the new class makes them its own.
    specs = [(field.name, object, copy.copy(field)) for field in dataclasses.fields(cls)]
    reference = dataclasses.make_dataclass("Reference", specs, frozen=params.frozen)
    return _same_code(cls.__init__, reference.__init__)  # type: ignore[misc]


def _same_code(function: Any, reference: Any) -> bool:
    parts = ("co_code", "co_names", "co_varnames", "co_freevars", "co_consts", "co_flags")
    code = getattr(function, "__code__", None)
    return code is not None and all(
        getattr(code, part) == getattr(reference.__code__, part) for part in parts
    )


def _defaults(cls: Any, attributes: Iterable[str]) -> dict[str, tuple[str, Any]]:
    """The defaults of the attributes that have one."""
    if _is_named_tuple(cls):
        return {name: ("value", value) for name, value in cls._field_defaults.items()}
    if dataclasses.is_dataclass(cls):
        found: dict[str, tuple[str, Any]] = {}
        for name, field in cls.__dataclass_fields__.items():
            if field.default is not dataclasses.MISSING:
                found[name] = ("value", field.default)
            elif field.default_factory is not dataclasses.MISSING:
                found[name] = ("factory", field.default_factory)
        return found
    if _is_typed_dict(cls):
        # `__optional_keys__` lacks the keys whose annotations are strings.
        hints = typing.get_type_hints(cls, include_extras=True)
        optional = {name for name, hint in hints.items() if _qualifier(hint) == "NotRequired"}
        return dict.fromkeys([*optional, *cls.__optional_keys__], ("constructor", None))
    optional = {name for name in attributes if hasattr(cls, name)}
    with contextlib.suppress(TypeError, ValueError):
        for name, parameter in inspect.signature(cls).parameters.items():
            has_default = parameter.default is not parameter.empty
            (optional.add if has_default else optional.discard)(name)
    return dict.fromkeys(optional, ("constructor", None))
