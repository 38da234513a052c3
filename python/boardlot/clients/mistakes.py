"""The errors for names that do not exist, with the nearest one that does. Loaded only for those."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "missing_attribute", "missing_name", "nearest", "wrong_with"]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, in whatever case; `None` if none is near."""
    by_lower = {word.lower(): word for word in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.65)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'dividends'?`, or nothing."""
    found = nearest(name, known)
    return f"; did you mean '{found}'?" if found else ""


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


def wrong_with(client: object) -> TypeError:
    """The error for a client in the other kind of `with`."""
    name = type(client).__name__
    if getattr(client, "_call_mode", "sync") == "async":
        return TypeError(f"{name} is asynchronous: write `async with`, or use Client with `with`")
    return TypeError(f"{name} blocks: write `with`, or use AsyncClient with `async with`")
