"""The base classes of objects that callers build: values, and objects with a state. Each object has
a compiled core.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Self as Self  # noqa: PLC0414
else:
    # `typing` has it since CPython 3.11.
    Self = Any

Class = TypeVar("Class", bound=type)


class Value:
    """An object that is defined by its arguments. The object never changes, so its copy is the
    object itself.
    """

    __slots__ = ("__weakref__", "_boardlot_core")
    _boardlot_core: Any

    @classmethod
    def _of_core(cls, core: Any) -> Self:
        made = object.__new__(cls)
        made._boardlot_core = core
        return made

    def _boardlot_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments that are not the defaults, by position and by name."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        if type(self._boardlot_core) is not type(other._boardlot_core):
            return False
        return self._boardlot_arguments() == other._boardlot_arguments()

    def __hash__(self) -> int:
        positional, _ = self._boardlot_arguments()
        return hash(positional)

    def __repr__(self) -> str:
        name = type(self).__name__
        # A debugger may show an object before its constructor has ended.
        if not hasattr(self, "_boardlot_core"):
            return f"<{name} that is not initialized>"
        positional, named = self._boardlot_arguments()
        shown = [repr(it) for it in positional] + [f"{it}={named[it]!r}" for it in named]
        return f"{name}({', '.join(shown)})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        made = (same_value, (type(self), *self._boardlot_arguments()))
        # The attributes that a subclass has stored.
        own = getattr(self, "__dict__", None)
        return (*made, own) if own else made


def same_value(kind: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> object:
    """The value of this class that has these arguments, for pickles."""
    return kind.__new__(kind, *positional, **named)


class Built:
    """An object whose methods are those of its core, and can be replaced. The names of its
    attributes begin with `_boardlot_`, so that a subclass may use any other name.
    """

    _boardlot_core: Any

    def _boardlot_shown(self) -> str:
        """The object as `repr` shows it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        # A debugger may show an object before its constructor has ended.
        if getattr(self, "_boardlot_core", None) is None:
            return f"<{type(self).__name__} that is not initialized>"
        return self._boardlot_shown()

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name == "_boardlot_core" and "_boardlot_arguments" in vars(self):
                positional, named = vars(self).pop("_boardlot_arguments")
                self.__init__(*positional, **named)
                return self._boardlot_core
            from ._support.clients import missing_attribute

            raise missing_attribute(self, name)

        def __setattr__(self, name, value):
            is_own = type(self).__module__.startswith("boardlot.")
            if name == "_boardlot_core":
                vars(self).pop("_boardlot_arguments", None)
            elif is_own and not hasattr(type(self), name):
                # No code would read the attribute.
                from ._support.clients import missing_attribute

                raise missing_attribute(self, name)
            super().__setattr__(name, value)


def loads_old_pickles(kind: Class) -> Class:
    """Give the class a `__new__` that takes the arguments of its constructor. Pickles from before
    it was a Python class call `__new__` alone; their object is initialized when it is first used.
    """
    constructor: Any = vars(kind)["__init__"]

    @wraps(constructor)
    def __new__(cls: Any, *positional: Any, **named: Any) -> Any:
        made = object.__new__(cls)
        if cls is kind and (positional or named):
            vars(made)["_boardlot_arguments"] = positional, named
        return made

    built: Any = kind
    built.__new__ = staticmethod(__new__)
    return kind


def arguments_for_pickle(
    thing: Built, positional: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    """The result of `__reduce__` for an object that is made of these arguments."""
    from ._support.clients import same_object

    made = (same_object, (type(thing), positional, named))
    # The attributes of a subclass, without those that belong to this process.
    own = {name: it for name, it in vars(thing).items() if not name.startswith("_boardlot_")}
    return (*made, own) if own else made


def refuse_copy(what: str, advice: str) -> NoReturn:
    """Raises the error of a copy or a pickle of an object that there can be only one of."""
    raise ConfigError(f"cannot pickle or copy {what}; {advice}")
