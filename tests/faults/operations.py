"""Every operation of a client, and how its whole result is got through either face."""

import asyncio
import inspect
import time
from collections.abc import Sequence
from dataclasses import dataclass

from boardlot import DateRange

DAY = 86_400_000_000
SYMBOLS = ["HK.00700", "US.AAPL", "HK.00005"]
CANDLES = "/api/v1.0/quote/HK.00700/history-kline"
PLATE = "/api/v1.0/quote/plate/HK.BK1001/stock"
# A range that stays the same whenever it is asked for.
END = time.time_ns() // 1000 // DAY * DAY
RANGE = {"start": END - 90 * DAY, "end": END}


@dataclass(frozen=True, eq=False)
class Operation:
    """One call; `pages` says that it gives a pager and takes `resume`."""

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
        """The value of a call without pages, comparable with `==`."""
        value = self.start(client)
        if inspect.isawaitable(value):
            value = asyncio.run(settled(value))
        return plain(value)


async def settled(value):
    return await value


def plain(value):
    """What can be compared: rows with what stood beside them, a body, or a time."""
    if hasattr(value, "content"):
        return value.status, value.content
    if hasattr(value, "meta"):
        return list(value), value.meta
    return list(value) if isinstance(value, Sequence) else value


def operations(accounts):
    """Every operation, for the accounts of a sandbox."""
    fills = (accounts["trade"][0], "HK")
    paginate = (("paging", "next_key"), ("rows", "data.stock_list"))
    body = (("body", {"next_key": "", "limit": 40}),)
    return [
        Operation("server_time"),
        Operation("trading_days", ("HK", "2026-01-01", "2026-02-01")),
        Operation("reference_futures", ("HK.HSImain",)),
        *[Operation("ipo_list", (market,)) for market in ("hk", "us", "cn", "sg", "my")],
        Operation("ipo_calendar", (("hk", "cn"),)),
        Operation("dividends", ("HK.00700",)),
        Operation("sim_orders", (accounts["sim"][0],)),
        Operation("sim_positions", (accounts["sim"][0],)),
        Operation("request", ("GET", "/api/v1.0/quote/HK.00700/corporate-actions/dividends")),
        Operation("fetch_many", ("dividends", tuple(SYMBOLS)), (("concurrency", 2),)),
        Operation("plate_stocks", ("HK.BK1001",), (("limit", 40),), pages=True),
        Operation("crypto_orders", (accounts["crypto"][0],), (("page_size", 20),), pages=True),
        Operation("fills_history", fills, (*RANGE.items(), ("page_size", 40)), pages=True),
        Operation("paginate", ("POST", PLATE), (*paginate, *body), pages=True),
        Operation("paginate", ("GET", CANDLES), CANDLES_PAGED, pages=True),
    ]


CANDLES_PAGED = (
    ("paging", DateRange(next="extra.next_time")),
    ("rows", "data.kline_list"),
)
