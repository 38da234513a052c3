"""The dates of IPOs in five markets as one calendar: rows, frames, and iCalendar."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from boardlot import AsyncClient, Client
from boardlot._calls import explained
from boardlot._support.messages.nearest import did_you_mean
from boardlot.calendar.events import DATES, Market, events, in_order
from boardlot.calendar.table import IpoCalendar
from boardlot.errors import BoardlotError, ConfigError

__all__ = ["IpoCalendar", "ipo_calendar", "ipo_calendar_async"]


@explained
def ipo_calendar(
    client: Client,
    markets: Iterable[Market] = ("hk", "us", "cn", "sg", "my"),
    *,
    on_error: Literal["raise", "collect"] = "raise",
) -> IpoCalendar:
    """The dates of subscribable and upcoming IPOs as one calendar: a row for each event.

    One request per market, one after another: for `cn` with `CnIpoRequest.ALL`, otherwise with the
    service's default, which is all that is upcoming. A date that a market's list does not contain
    (the closing date of A-shares, the ballot in Singapore) is not an event.

    Args:
        client: A client; it is not closed.
        markets: Any of `hk`, `us`, `cn` (A-shares), `sg` and `my`.
        on_error: `"raise"` the first error, or `"collect"` them: leave out the markets that failed
            and put their errors into `.errors`.

    Raises:
        ConfigError: There is no such market; nothing was sent.
        BoardlotError: As raised by `ipo_list`.

    Example:
        >>> from boardlot.calendar import ipo_calendar
        >>> calendar = ipo_calendar(client, ["hk", "my"])
        >>> sorted({row["event"] for row in calendar})
        ['ballot', 'closing', 'draw', 'grey_market', 'listing', 'opening']
        >>> sorted(calendar.to_pandas()["currency"].unique())
        ['HKD', 'MYR']
    """
    selected = _checked(markets, on_error)
    lists: dict[str, Any] = {}
    for market in selected:
        try:
            lists[market] = client.ipo_list(market, request_type=REQUEST_TYPES.get(market))
        except BoardlotError as error:
            if on_error == "raise":
                raise
            lists[market] = error
    return _combined(lists, on_error)


@explained
async def ipo_calendar_async(
    client: AsyncClient,
    markets: Iterable[Market] = ("hk", "us", "cn", "sg", "my"),
    *,
    on_error: Literal["raise", "collect"] = "raise",
) -> IpoCalendar:
    """`ipo_calendar` for an `AsyncClient`; the markets are requested concurrently.

    For the arguments and errors, see `calendar.ipo_calendar`.

    Example:
        >>> import asyncio
        >>> from boardlot.calendar import ipo_calendar_async
        >>> async def main():
        ...     async with sandbox.async_client() as client:
        ...         return await ipo_calendar_async(client)
        >>> {row["market"] for row in asyncio.run(main())} == {"hk", "us", "cn", "sg", "my"}
        True
    """
    selected = _checked(markets, on_error)
    lists = (client.ipo_list(market, request_type=REQUEST_TYPES.get(market)) for market in selected)
    results = await asyncio.gather(*lists, return_exceptions=True)
    return _combined(dict(zip(selected, results, strict=True)), on_error)


# All A-shares: their default is only the pending listings. In other markets the default is all.
REQUEST_TYPES = {"cn": 5}


def _checked(markets: Iterable[str], on_error: str) -> list[Market]:
    try:
        selected = list(dict.fromkeys([markets] if isinstance(markets, str) else markets))
    except TypeError:
        raise ConfigError(
            f"markets is {markets!r}; expected a list of them, such as ['hk', 'us']"
        ) from None
    for market in selected:
        if market not in DATES:
            nearest = did_you_mean(str(market), DATES)
            raise ConfigError(f"market is {market!r}; expected one of {', '.join(DATES)}{nearest}")
    if on_error not in ("raise", "collect"):
        raise ConfigError(f"on_error is {on_error!r}; expected 'raise' or 'collect'")
    return cast("list[Market]", selected)


def _combined(lists: Mapping[str, Any], on_error: str) -> IpoCalendar:
    rows: list[tuple[Any, ...]] = []
    errors: dict[str, BoardlotError] = {}
    for market, result in lists.items():
        try:
            if isinstance(result, BaseException):
                raise result
            rows += list(events(market, result))
        except BoardlotError as error:
            if on_error == "raise" or isinstance(error, ConfigError):
                raise
            errors[market] = error
    return IpoCalendar(in_order(rows), errors)
