"""The errors for names that do not exist, with the nearest one that does. Loaded only for those."""

from __future__ import annotations

from collections.abc import Iterable

from boardlot import _core

__all__ = ["did_you_mean", "missing_attribute", "missing_name", "wrong_context_manager"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'dividends'?`, or nothing."""
    return _core._did_you_mean(name, list(known))


def missing_attribute(instance: object, name: str) -> AttributeError:
    """The error for a misspelled method or attribute of a client."""
    kind = type(instance)
    text = f"{kind.__name__!r} object has no attribute {name!r}"
    if not name.startswith("_"):
        text += did_you_mean(name, (word for word in dir(kind) if not word.startswith("_")))
    # Without its name, which would make a traceback repeat the suggestion.
    return AttributeError(text, obj=instance)


def missing_name(module: str, known: Iterable[str], name: str) -> AttributeError:
    """The error for a misspelled name of the package."""
    text = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("_"):
        text += did_you_mean(name, known)
    return AttributeError(text, obj=None)


def wrong_context_manager(client: object) -> TypeError:
    """The error for a client in the other kind of `with`."""
    name = type(client).__name__
    if getattr(client, "_call_mode", "sync") == "async":
        return TypeError(f"{name} is asynchronous: write `async with`, or use Client with `with`")
    return TypeError(f"{name} blocks: write `with`, or use AsyncClient with `async with`")
