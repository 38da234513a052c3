"""Python parts of the generated clients: the types of arguments, how a pickle is rebuilt,
and the errors for names that do not exist, with the nearest one that does."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from os import PathLike
from types import FrameType
from typing import Any, TypeVar

from boardlot import _core

Row = TypeVar("Row")


# Names of what this service does not document, though its clients elsewhere have it.
UNDOCUMENTED = frozenset(
    {"account", "accounts", "account_info", "balance", "balances", "buying_power", "cash", "equity",
     "funds", "holdings", "margin", "order", "orders", "portfolio", "position", "positions"}
)  # fmt: skip
# Parts of the names of methods that other clients have.
ABSENT = frozenset(
    {"price", "prices", "quote", "quotes", "ticker", "tickers", "candle", "candles", "kline",
     "klines", "bars", "ohlcv", "book", "depth", "stream", "subscribe", "watch", "place", "submit",
     "create", "buy", "sell", "modify", "cancel"}
)  # fmt: skip


OWN = "; if you know a path for it, call `client.request(...)`, or declare a `bl.Endpoint`"

# What records have and a pager does not.
RECORDS_ALONE = frozenset({"to_dicts", "schema", "meta", "copy"})
# Other libraries' names for a frame, and attributes of frames.
AS_FRAME = frozenset(
    {"to_df", "to_frame", "to_dataframe", "as_df", "df", "frame", "dataframe", "data"}
)
OF_FRAMES = frozenset(
    {"head", "tail", "columns", "shape", "dtypes", "iloc", "loc", "values", "groupby", "group_by",
     "sort_values", "sort_by", "sort", "filter", "query", "merge", "join", "drop", "describe",
     "plot", "apply", "map", "sum", "mean", "to_csv", "to_json", "to_parquet", "to_excel",
     "write_csv", "write_parquet"}
)  # fmt: skip


# Names of other libraries' responses.
OF_RESPONSES = {
    "status_code": "status",
    "text": "content.decode()",
    "body": "content",
    "data": "json()",
    "ok": "status",
    "raise_for_status": "status",
}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest of the known names, as the end of a sentence."""
    # Only a mistake needs its tables.
    from boardlot._support.messages import nearest

    return nearest.did_you_mean(name, known)


def missing_attribute(instance: object, name: str) -> AttributeError:
    """The error for an attribute that records, a pager or a response does not have."""
    return _missing(instance, name, lambda known: _instead(instance, name, known))


def missing_member(
    built: object, name: str, advice: Callable[[str, list[str]], str] = did_you_mean
) -> AttributeError:
    """The error for an attribute that an object with a core does not have."""
    kind = type(built).__name__
    if "_boardlot_core" not in vars(built):
        return AttributeError(f"{kind}.__init__ has to call super().__init__()", obj=built)
    return _missing(built, name, lambda known: advice(name, known))


def _missing(instance: object, name: str, advice: Callable[[list[str]], str]) -> AttributeError:
    kind = type(instance)
    text = f"{kind.__name__!r} object has no attribute {name!r}"
    if not name.startswith("_"):
        text += advice([word for word in dir(kind) if not word.startswith("_")])
    # Without its name, which would make a traceback repeat the suggestion.
    return AttributeError(text, obj=instance)


def unchangeable(client: object, name: str) -> AttributeError:
    """The error for an option that is set on a client, which would have no effect."""
    kind = type(client).__name__
    text = f"a client cannot be changed: pass {name}= when you create it, {kind}(..., {name}=...)"
    return AttributeError(text, obj=client)


def nearest_method(name: str, known: list[str]) -> str:
    """The nearest method, or a sentence that says that the service documents nothing like it."""
    if name.removeprefix("get_").removeprefix("list_").removeprefix("fetch_") in UNDOCUMENTED:
        return (
            "; the service documents no list of accounts and no balances, and orders and positions "
            "only of simulated trading and crypto: `sim_positions`, `sim_orders`, `crypto_orders`"
        ) + OWN
    if name in _core._CLIENT_OPTIONS:
        return f"; it is an option of the client: `Client(..., {name}=...)`"
    near = did_you_mean(name, known) or _of_command(name)
    return near or f"{not_documented(name)}{OWN}"


def not_documented(name: str) -> str:
    """A sentence for a name of other clients: the service does not document the data."""
    if any(part in ABSENT for part in re.split("[_-]", name)):
        return "; the service documents no prices, no streams and no placing of orders"
    return ""


def _of_command(name: str) -> str:
    """The method behind a command of this name, or the method for any request."""
    from boardlot._endpoints import ENDPOINTS

    methods = {endpoint.command.replace("-", "_"): endpoint.method for endpoint in ENDPOINTS}
    methods |= dict.fromkeys(("get", "post"), "request")
    return f"; did you mean {methods[name]!r}?" if name in methods else ""


def _instead(rows: object, name: str, known: list[str]) -> str:
    """Suggests what to use instead of an attribute that this object does not have."""
    if isinstance(rows, _core.Response):
        other = OF_RESPONSES.get(name)
        return f"; write `.{other}`" if other else did_you_mean(name, known)
    if name in AS_FRAME:
        return "; call `to_pandas()`, `to_polars()` or `to_arrow()`"
    if name in OF_FRAMES:
        return "; frames have it: call `to_pandas()` or `to_polars()` first"
    if name in RECORDS_ALONE and not isinstance(rows, list):
        return f"; records have it: `pager.all().{name}`"
    if isinstance(rows, list):
        return _of_records(rows, name) or did_you_mean(name, known)
    return did_you_mean(name, known)


def _of_records(records: Any, name: str) -> str:
    if name == "to_ical":
        return "; a calendar has it: `client.ipo_calendar().to_ical()`"
    if name in {field.name for field in records.schema}:
        return f"; it is a field: write `records[0][{name!r}]`, or `to_pandas()[{name!r}]`"
    return ""


def wrong_index(records: Any, index: str) -> TypeError:
    """The error for records that are indexed by a text: a field, or one of the keys of many."""
    text = "records are indexed by integers or slices, not str"
    names = [field.name for field in records.schema]
    # Of `fetch_many`, the first column has the keys.
    if any(row.get(key) == index for key in names[:1] for row in records):
        rows = f"[row for row in records if row[{names[0]!r}] == {index!r}]"
        return TypeError(f"{text}; the rows of this key are {rows}")
    text += f"; for a field, write `records[0][{index!r}]`, or `records.to_pandas()[{index!r}]`"
    return TypeError(f"{text} for all of its values")


def missing_name(module: str, known: Iterable[str], name: str) -> AttributeError:
    """The error for a misspelled name of the package."""
    from importlib.util import find_spec

    text = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("_"):
        path = f"{module}.{name}"
        is_module = name.isidentifier() and find_spec(path) is not None
        text += f"; write `import {path}`" if is_module else did_you_mean(name, known)
    return AttributeError(text, obj=None)


def warn_of_end(end: Time) -> None:
    """Warn of a range that ends with a date up to today: it ends as that day begins."""
    if isinstance(end, date) and not isinstance(end, datetime):
        end = date.isoformat(end)
    day = str(end)
    if len(day) != len("2026-01-05") or day > str(datetime.now(timezone.utc).date()):
        return
    following = date.fromisoformat(day) + timedelta(days=1)
    text = f"end is the date {day}, the beginning of that day (midnight UTC): its fills are "
    text += f"not read; to read them, pass end='{following}T00:00Z', otherwise end='{day}T00:00Z'"
    warn(text)


def wrong_context_manager(client: Any) -> TypeError:
    """The error for `with` on an `AsyncClient`, or `async with` on a `Client`."""
    name = type(client).__name__
    if client._boardlot_core.is_async:
        return TypeError(f"{name} is asynchronous: write `async with`, or use Client with `with`")
    return TypeError(f"{name} blocks: write `with`, or use AsyncClient with `async with`")


Query = Mapping[str, str | int | float] | Sequence[tuple[str, str | int | float]]
# A PEM file with a certificate and its key, or both files.
CertificateFiles = str | PathLike[str] | tuple[str | PathLike[str], str | PathLike[str]]
Day = str | date
Time = str | int | date | datetime


def rebuild(kind: Any, arguments: dict[str, Any]) -> object:
    """The client of this class, made from the arguments that its pickle carries: those of the
    constructor of boardlot's class, as that of a subclass may take others.
    """
    client = kind.__new__(kind)
    own = next(one for one in kind.__mro__ if one.__module__ == "boardlot._api")
    own.__init__(client, **arguments)
    return client


def warn_of_members(name: str) -> None:
    """Warn of a dict that is passed as other clients take it."""
    text = f"{name} is sent as an argument of this name; to send its members, pass them by name: "
    warn(f"{text}call(endpoint, **{name})")


def warn(text: str) -> None:
    """Warn, at the line from which boardlot was called."""
    level, frame = 1, sys._getframe()
    while is_own(frame) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def is_own(frame: FrameType) -> bool:
    """True for code of boardlot's."""
    return f"{frame.f_globals.get('__name__')}.".startswith("boardlot.")
