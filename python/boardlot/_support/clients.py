"""Python parts of the generated clients: the types of arguments, how a pickle is rebuilt,
and the errors for names that do not exist, with the nearest one that does."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from os import PathLike
from types import FrameType
from typing import Any, TypeVar

Row = TypeVar("Row")


# Names that this service does not document, though clients of it elsewhere have them.
UNDOCUMENTED = frozenset(
    {"account", "accounts", "balance", "balances", "order", "orders", "portfolio", "position",
     "positions", "price", "prices", "quote", "quotes", "ticker", "tickers"}
)  # fmt: skip


def missing_attribute(built: object, name: str, instead: str = "") -> AttributeError:
    """The error for an attribute that an object with a core does not have, with what to use
    instead: by default, the nearest name."""
    kind = type(built)
    if "_boardlot_core" not in vars(built):
        text = f"{kind.__name__}.__init__ has to call super().__init__()"
        return AttributeError(text, obj=built)
    text = f"{kind.__name__!r} object has no attribute {name!r}"
    if not name.startswith("_"):
        from boardlot._support.messages.nearest import did_you_mean

        known = [word for word in dir(kind) if not word.startswith("_")]
        text += instead or did_you_mean(name, known)
    # Without its name, which would make a traceback repeat the suggestion.
    return AttributeError(text, obj=built)


def not_documented(name: str) -> str:
    """The end of a sentence about a name that is not documented; empty for other names."""
    if name.removeprefix("get_") not in UNDOCUMENTED:
        return ""
    return (
        "; the service documents no accounts, balances or prices, and orders and positions only "
        "of simulated trading and crypto: `sim_orders`, `sim_positions`, `crypto_orders`; if you "
        "know a path for it, call `client.request(...)`, or declare a `bl.Endpoint`"
    )


def unchangeable(client: object, name: str) -> AttributeError:
    """The error for an option that is set on a client, which would have no effect."""
    kind = type(client).__name__
    text = f"a client cannot be changed: pass {name}= when you create it, {kind}(..., {name}=...)"
    return AttributeError(text, obj=client)


def warn_of_end(end: Time) -> None:
    """Warn of a range whose end is a date up to today: the range ends as that day begins."""
    if isinstance(end, date) and not isinstance(end, datetime):
        end = date.isoformat(end)
    day = str(end)
    if len(day) != len("2026-01-05") or day > str(datetime.now(timezone.utc).date()):
        return
    following = date.fromisoformat(day) + timedelta(days=1)
    text = f"end is the date {day}, the beginning of that day (midnight UTC): its fills are "
    text += f"not read; to read them, pass end='{following}T00:00Z', otherwise end='{day}T00:00Z'"
    warn(text)


Query = Mapping[str, str | int | float] | Sequence[tuple[str, str | int | float]]
# A PEM file with a certificate and its key, or both files.
CertificateFiles = str | PathLike[str] | tuple[str | PathLike[str], str | PathLike[str]]
Day = str | date
Time = str | int | date | datetime


def rebuild(kind: Any, arguments: dict[str, Any]) -> object:
    """The client of this class with these arguments, for pickles."""
    return same_object(kind, (), arguments)


def same_object(kind: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> object:
    """The object of this class that has these arguments, for pickles. The object is made by the
    constructor of boardlot's class, as the constructor of a subclass may take other arguments.
    """
    made = kind.__new__(kind)
    own = next(one for one in kind.__mro__ if one.__module__.startswith("boardlot."))
    own.__init__(made, *positional, **named)
    return made


def warn(text: str) -> None:
    """Warn, at the line from which boardlot was called."""
    level, frame = 1, sys._getframe()
    while is_own(frame) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def is_own(frame: FrameType) -> bool:
    """True for code of boardlot's."""
    return f"{frame.f_globals.get('__name__')}.".startswith("boardlot.")
