"""Every operation of a client, and how to get its whole result synchronously or asynchronously."""

import asyncio
import inspect
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from boardlot import Client, DateRange, Endpoint
from boardlot._endpoints import ENDPOINTS, Account

from .clients import settled

DAY = 86_400_000_000
SYMBOLS = ["HK.00700", "US.AAPL", "HK.00005"]
CANDLES = "/api/v1.0/quote/HK.00700/history-kline"
PLATE = "/api/v1.0/quote/plate/HK.BK1001/stock"
# A range that stays the same whenever it is requested.
END = time.time_ns() // 1000 // DAY * DAY
RANGE = {"start": END - 90 * DAY, "end": END}
PAGE_SIZE = 20


@dataclass(frozen=True, eq=False)
class Operation:
    """One call; `pages` says that it returns a pager and takes `resume`."""

    name: str
    args: tuple = ()
    kwargs: tuple = ()
    pages: bool = False

    def __str__(self):
        extra = "-".join(str(value) for _, value in self.kwargs if isinstance(value, (int, str)))
        return "-".join(filter(None, [self.name, extra if self.name != "fills_history" else ""]))

    def start(self, client, resume=None):
        kwargs = dict(self.kwargs) | ({"resume": resume} if resume is not None else {})
        return getattr(client, self.name)(*self.args, **kwargs)

    def result(self, client):
        """The whole value of a call, comparable with `==`."""
        value = self.start(client)
        if self.pages:
            value = value.all()
        if inspect.isawaitable(value):
            value = asyncio.run(settled(value))
        # The metadata is that of the last page.
        return list(value) if self.pages else plain(value)


def plain(value):
    """A form that can be compared: rows with their metadata, a body, or a time."""
    if hasattr(value, "content"):
        return value.status, value.content
    if hasattr(value, "meta"):
        return list(value), value.meta
    return list(value) if isinstance(value, Sequence) else value


def operations(accounts):
    """Every operation, for the accounts of a sandbox."""
    paginate = (("paging", "next_key"), ("rows", "data.stock_list"))
    body = (("body", {"next_key": "", "limit": 40}),)
    return [
        *[each for endpoint in ENDPOINTS for each in calls(endpoint, accounts)],
        Operation("ipo_calendar", (("hk", "cn"),)),
        Operation("request", ("GET", "/api/v1.0/quote/HK.00700/corporate-actions/dividends")),
        Operation("fetch_many", ("dividends", tuple(SYMBOLS)), (("concurrency", 2),)),
        Operation(
            "pages_many",
            ("fills_history", tuple(accounts["trade"])),
            (("trd_market", "HK"), ("page_size", PAGE_SIZE), ("concurrency", 2), *RANGE.items()),
            pages=True,
        ),
        Operation("paginate", ("POST", PLATE), (*paginate, *body), pages=True),
        Operation("paginate", ("GET", CANDLES), CANDLES_PAGED, pages=True),
        Operation("call", (OWN_DIVIDENDS,), (("symbol", "HK.00700"),)),
        Operation("pages", (OWN_PLATE,), (("plate_code", "HK.BK1001"), ("limit", 40)), pages=True),
    ]


def calls(endpoint, accounts):
    """The calls of an endpoint: its example, with each value of an argument from a closed set.

    Pages are small, so that a listing has several, and ranges of time are fixed.
    """
    parameters = inspect.signature(getattr(Client, endpoint.method), eval_str=True).parameters
    choices = []
    for name, argument in zip(list(parameters)[1:], endpoint.arguments, strict=False):
        annotation = parameters[name].annotation
        if isinstance(argument, Account):
            choices.append([accounts[argument.kind][0]])
        elif get_origin(annotation) is Literal:
            choices.append(get_args(annotation))
        else:
            choices.append([argument])
    kwargs = list(RANGE.items()) if "windows" in parameters else []
    kwargs += [(name, PAGE_SIZE) for name in ("limit", "page_size") if name in parameters]
    for args in itertools.product(*choices):
        yield Operation(endpoint.method, args, tuple(kwargs), endpoint.paged)


OWN_DIVIDENDS = Endpoint(
    "own_dividends",
    "GET",
    "/api/v1.0/quote/{symbol}/corporate-actions/dividends",
    rows="data.dividend_list",
)
OWN_PLATE = Endpoint(
    "own_plate",
    "POST",
    "/api/v1.0/quote/plate/{plate_code}/stock",
    rows="data.stock_list",
    paging="next_key",
    arguments={"limit": "integer"},
)
CANDLES_PAGED = (("paging", DateRange(next="extra.next_time")), ("rows", "data.kline_list"))
