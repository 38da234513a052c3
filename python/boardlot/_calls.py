"""What to write instead of a call with wrong arguments, or of a result that was not awaited.

Used by every Python function that users call, and imported by `import boardlot`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Thing = TypeVar("Thing", bound="Callable[..., Any]")

# `functools`, `inspect` and `types` would take longer to import than boardlot.
CO_COROUTINE = 0x80
COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


def explained(thing: Thing) -> Thing:
    """The same function, or class with its public methods, whose wrong calls say what to write."""
    if not isinstance(thing, type):
        return _function(thing, is_method=False)  # type: ignore[no-any-return]
    for name, member in list(vars(thing).items()):
        if type(member) is type(explained) and (name == "__init__" or not name.startswith("_")):
            setattr(thing, name, _function(member, is_method=True))
    return thing


def _function(function: Any, is_method: bool) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            traceback = error.__traceback__
            if traceback is None or traceback.tb_next is not None:
                raise  # The call began.
            from boardlot._support.wrong_calls import better_error

            better = better_error(function, args[is_method:], kwargs)
            if better is None:
                raise
            raise better from None

    for name in COPIED:
        setattr(call, name, getattr(function, name))
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return AsyncMethod(call) if function.__code__.co_flags & CO_COROUTINE else call


MethodType: Any = type(explained.__get__(0))


class AsyncMethod:
    """An async method whose wrong calls, and results that were not awaited, say what to write.

    It passes for its function, as a wrapper of the package `wrapt` does: `inspect` and
    `unittest.mock` see an async function.
    """

    __class__ = property(lambda _: type(explained))

    def __init__(self, call: Any) -> None:
        self._call = call
        for name in (*COPIED, "__wrapped__"):
            setattr(self, name, getattr(call, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["__wrapped__"], name)

    def __reduce__(self) -> Any:
        return self.__qualname__  # As a function: by its name.

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Unawaited:
        return Unawaited(self._call(*args, **kwargs), self.__name__)


class Unawaited:
    """The coroutine of an async method; whatever is done with it but `await` is a mistake."""

    __slots__ = ("__weakref__", "_coroutine", "_method")

    def __init__(self, coroutine: Any, method: str) -> None:
        self._coroutine = coroutine
        self._method = method

    def __await__(self) -> Any:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __repr__(self) -> str:
        return repr(self._coroutine)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "cr_")):
            return getattr(self._coroutine, name)
        text = f"{type(self).__name__!r} object has no attribute {name!r}: {self._advice()}"
        raise AttributeError(text)

    def __iter__(self, *_: object) -> Any:
        raise TypeError(f"this is no result yet: {self._advice()}")

    __getitem__ = __len__ = __iter__

    def __bool__(self) -> bool:
        return True

    def _advice(self) -> str:
        advice = "write `await` before the call, and parentheses around both"
        return f"{self._method} returns an awaitable; {advice}"
