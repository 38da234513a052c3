"""Statements that type checkers accept, or reject where the error is ignored. They are never run.

`tools/check_types.py` reads them: an ignored error that a checker does not find is an error itself.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, NamedTuple, TypedDict

import boardlot as bl
import pandas as pd
import polars as pl


def names(sandbox: bl.Sandbox) -> None:
    print(bl.ConfigEror)  # type: ignore
    print(bl.ConfigError, bl.Fill, bl.SimSide.BUY)
    sandbox.client(nonsense=True)  # type: ignore
    sandbox.client(timeout="5")  # type: ignore
    sandbox.client("oauth", timeout=5, headers={"X-Service-Client-Nnid": "1"})
    sandbox.async_client(max_retrys=1)  # type: ignore
    bl.Client("https://api.example.com", nonsense=True)  # type: ignore
    bl.Sandbox(sed=7)  # type: ignore


def markets(client: bl.Client) -> None:
    hk: bl.Records[bl.HkIpo] = client.ipo_list("hk")
    us: bl.Records[bl.UsIpo] = client.ipo_list("us", request_type=bl.IpoRequest.UPCOMING)
    cn: bl.Records[bl.CnIpo] = client.ipo_list("cn")
    sg: bl.Records[bl.SgIpo] = client.ipo_list("sg")
    my: bl.Records[bl.MyIpo] = client.ipo_list("my")
    other: bl.Records[bl.UsIpo] = client.ipo_list("hk")  # type: ignore
    print(client.ipo_list(5), hk, us, cn, sg, my, other)  # type: ignore
    print(hk[0]["entrance_price"] + 1)
    print(us[0]["entrance_price"])  # type: ignore


def any_market(client: bl.Client, market: Literal["hk", "us", "cn", "sg", "my"]) -> None:
    ipos = client.ipo_list(market)
    first: bl.HkIpo | bl.UsIpo | bl.CnIpo | bl.SgIpo | bl.MyIpo = ipos[0]
    hk: bl.Records[bl.HkIpo] = ipos  # type: ignore
    print(first["code"], hk)
    print(client.ipo_list("HK"))  # type: ignore
    print(client.ipo_calendar(["hk", "HK"]))  # type: ignore


def many(client: bl.Client, endpoint: bl.Endpoint) -> None:
    print(client.fetch_many("dividend", ["HK.00700"]))  # type: ignore
    print(client.fetch_many("server_time", ["HK"]))  # type: ignore
    fills = client.fetch_many("fills_history", [281756], trd_market="HK", on_error="collect")
    print(fills.errors, client.fetch_many(endpoint, ["HK.00700"]))
    first: bl.Fill = fills[0]
    dividends = client.fetch_many("dividends", ["HK.00700"])
    print(first, dividends[0]["symbol"].upper(), dividends[0]["ex_date"])
    print(dividends[0]["ex_dat"])  # type: ignore
    same: Sequence[bl.Dividend] = dividends
    other: bl.Records[bl.Fill] = dividends  # type: ignore
    print(same, other)


class Kline(TypedDict):
    time: int
    open: str


def own_records(client: bl.Client) -> None:
    kline: bl.Endpoint[Kline] = bl.Endpoint("kline", "GET", "/k/{symbol}", record=Kline)
    rows: bl.Records[Kline] = client.call(kline, symbol="HK.00700")
    pager: bl.Pager[Kline] = client.pages(kline, symbol="HK.00700")
    print(client.fetch_many(kline, ["HK.00700"])[0]["open"].upper(), rows, next(pager)["time"] + 1)
    print(rows[0]["close"])  # type: ignore
    plain: bl.Endpoint = bl.Endpoint("kline", "GET", "/k", record={"time": "seconds"})
    print(client.call(plain)[0]["anything"], client.explain(kline, symbol="HK.00700"))
    other: bl.Records[bl.Fill] = client.call(kline)  # type: ignore
    print(other)


async def own_records_awaited(client: bl.AsyncClient, kline: bl.Endpoint[Kline]) -> None:
    print((await client.call(kline))[0]["open"].upper())
    async for row in client.pages(kline):
        print(row["open"].upper())
        print(row["close"])  # type: ignore
    print((await client.fetch_many(kline, ["HK.00700"]))[0]["time"] + 1)


async def awaited(client: bl.AsyncClient, app: bl.AsyncOAuthApp) -> None:
    print((await app.auth(user="alice")).scopes)
    print(app.auth(user="alice").scopes)  # type: ignore
    hk: bl.Records[bl.HkIpo] = await client.ipo_list("hk")
    forgotten: bl.Records[bl.HkIpo] = client.ipo_list("hk")  # type: ignore
    print(hk, forgotten)
    async for fill in client.fills_history("281756", "HK"):
        print(fill["price"].upper())
        print(fill["prise"])  # type: ignore


def fields(client: bl.Client) -> None:
    dividend = client.dividends("HK.00700")[0]
    print(dividend["dividend_per_share"] * 2)
    currency: str | None = dividend.get("currency")
    order = client.sim_orders(5001)[0]
    print(order["aux_price"].upper())  # type: ignore
    print(order["price"].upper(), currency)
    rows: Sequence[bl.SimOrder] = client.sim_orders(5001)
    day: dict[str, Any] = client.trading_days("HK", "2026-01-01", "2026-01-31")[0]
    print(rows, day["time"])


class Trade(NamedTuple):
    code: str
    price: float


def typed_rows(records: bl.Records[bl.Fill], pager: bl.Pager[bl.Fill]) -> None:
    part: bl.Records[dict[str, Any]] = records.select("code", "price")
    first: bl.Pager[dict[str, Any]] = pager.select("code", "venue", undeclared=True)
    # A row that is restricted to some fields lacks those that a `Fill` has.
    whole: bl.Fill = next(pager.select("code"))  # type: ignore
    same: bl.Records[bl.Fill] = records.select("code")  # type: ignore
    print(whole, same)
    trades: list[Trade] = records.as_type(Trade)
    print(part, first, trades[0].price + 1, pager.as_type(Trade).checkpoint())
    for trade in pager.as_type(Trade):
        print(trade.code.upper(), trade.price + 1)
        print(trade.prise)  # type: ignore
    records.as_type(5)  # type: ignore
    records.select(5)  # type: ignore


async def typed_rows_awaited(pager: bl.AsyncPager[bl.Fill]) -> None:
    async for trade in pager.select("code", "price").as_type(Trade):
        print(trade.code.upper(), trade.price + 1)
    for _ in pager.as_type(Trade):  # type: ignore
        pass


def frames(records: bl.Records[bl.Fill], pager: bl.Pager[bl.Fill]) -> None:
    frame: pd.DataFrame = records.to_pandas(decimals="decimal")
    other: pl.DataFrame = pager.to_polars()
    pager.to_pandas(decimals="exact")  # type: ignore
    print(frame, other, pager.to_arrow().num_rows)
    for page in pager.pages():
        fills: bl.Records[bl.Fill] = page[1:]
        print(fills)


def archived(archive: bl.Archive, client: bl.Client, endpoint: bl.Endpoint) -> None:
    print(archive.seen("plate", "HK.BK1001"))  # type: ignore
    print(archive.seen("fills", "281756"))  # type: ignore
    print(archive.seen("plates", "HK.BK1001"), archive.seen(endpoint, {"symbol": "HK.00700"}))
    print(archive.changes("ipo", "hk"))  # type: ignore
    print(archive.export("fill", "fills.parquet"))  # type: ignore
    print(archive.export("fills", "fills.parquet"))
    hour = timedelta(hours=1)
    print(archive.get(client, "dividend", "HK.00700", max_age=hour))  # type: ignore
    print(archive.get(client, "fills", ("281756", "HK"), max_age=hour))


def lengths(pager: bl.Pager[bl.Fill]) -> None:
    print(len(pager))  # type: ignore
    print(pager[0])  # type: ignore
