"""The errors for names that do not exist, with the nearest one that does. Loaded only for those."""

from __future__ import annotations

from collections.abc import Iterable

from boardlot import _core

__all__ = ["did_you_mean", "missing_attribute", "missing_name", "wrong_context_manager"]


# Parts of the names of methods that other clients have.
ABSENT = frozenset(
    {"price", "prices", "quote", "quotes", "ticker", "tickers", "candle", "candles", "kline",
     "klines", "bars", "ohlcv", "book", "depth", "stream", "subscribe", "watch", "place", "submit",
     "create", "buy", "sell", "modify", "cancel"}
)  # fmt: skip


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'dividends'?`, or nothing."""
    return _core._did_you_mean(name, list(known))


def missing_attribute(instance: object, name: str) -> AttributeError:
    """The error for a misspelled method or attribute of a client."""
    kind = type(instance)
    text = f"{kind.__name__!r} object has no attribute {name!r}"
    if not name.startswith("_"):
        text += _nearest(name, [word for word in dir(kind) if not word.startswith("_")])
    # Without its name, which would make a traceback repeat the suggestion.
    return AttributeError(text, obj=instance)


def _nearest(name: str, known: list[str]) -> str:
    """The nearest method; of what other clients have and this service has not, that it has not."""
    if found := did_you_mean(name, known):
        return found
    longer = [word for word in known if word.startswith(name) and len(name) > 2]
    if longer:
        return f"; did you mean {longer[0]!r}?"
    if any(part in ABSENT for part in name.split("_")):
        return "; the service documents no prices, no streams and no placing of orders"
    return ""


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
