"""Statements that type checkers accept, and on `# error` lines reject. Never run."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, NamedTuple, TypedDict

import boardlot as bl
import pandas as pd
import polars as pl


def names(sandbox: bl.Sandbox) -> None:
    print(bl.ConfigEror)  # error
    print(bl.ConfigError, bl.Fill, bl.SimSide.BUY)
    sandbox.client(nonsense=True)  # error
    sandbox.client(timeout="5")  # error
    sandbox.client("oauth", timeout=5, headers={"X-Service-Client-Nnid": "1"})
    sandbox.async_client(max_retrys=1)  # error
    bl.Client("https://api.example.com", nonsense=True)  # error
    bl.Sandbox(sed=7)  # error


def markets(client: bl.Client) -> None:
    hk: bl.Records[bl.HkIpo] = client.ipo_list("hk")
    us: bl.Records[bl.UsIpo] = client.ipo_list("us", request_type=bl.IpoRequest.UPCOMING)
    cn: bl.Records[bl.CnIpo] = client.ipo_list("cn")
    sg: bl.Records[bl.SgIpo] = client.ipo_list("sg")
    my: bl.Records[bl.MyIpo] = client.ipo_list("my")
    other: bl.Records[bl.UsIpo] = client.ipo_list("hk")  # error
    print(client.ipo_list(5), hk, us, cn, sg, my, other)  # error
    print(hk[0]["entrance_price"] + 1)
    print(us[0]["entrance_price"])  # error


def any_market(client: bl.Client, market: Literal["hk", "us", "cn", "sg", "my"]) -> None:
    ipos = client.ipo_list(market)
    first: bl.HkIpo | bl.UsIpo | bl.CnIpo | bl.SgIpo | bl.MyIpo = ipos[0]
    hk: bl.Records[bl.HkIpo] = ipos  # error
    print(first["code"], hk)
    print(client.ipo_list("HK"))  # error
    print(client.ipo_calendar(["hk", "HK"]))  # error


def many(client: bl.Client, endpoint: bl.Endpoint) -> None:
    print(client.fetch_many("dividend", ["HK.00700"]))  # error
    print(client.fetch_many("server_time", ["HK"]))  # error
    fills = client.fetch_many("fills_history", [281756], trd_market="HK", on_error="collect")
    print(fills.errors, client.fetch_many(endpoint, ["HK.00700"]))
    first: bl.Fill = fills[0]
    dividends = client.fetch_many("dividends", ["HK.00700"])
    print(first, dividends[0]["symbol"].upper(), dividends[0]["ex_date"])
    print(dividends[0]["ex_dat"])  # error
    same: Sequence[bl.Dividend] = dividends
    other: bl.Records[bl.Fill] = dividends  # error
    print(same, other)


class Kline(TypedDict):
    time: int
    open: str


def own_records(client: bl.Client) -> None:
    kline: bl.Endpoint[Kline] = bl.Endpoint("kline", "GET", "/k/{symbol}", record=Kline)
    rows: bl.Records[Kline] = client.call(kline, symbol="HK.00700")
    pager: bl.Pager[Kline] = client.pages(kline, symbol="HK.00700")
    print(client.fetch_many(kline, ["HK.00700"])[0]["open"].upper(), rows, next(pager)["time"] + 1)
    print(rows[0]["close"])  # error
    plain: bl.Endpoint = bl.Endpoint("kline", "GET", "/k", record={"time": "seconds"})
    print(client.call(plain)[0]["anything"], client.explain(kline, symbol="HK.00700"))
    other: bl.Records[bl.Fill] = client.call(kline)  # error
    print(other)


async def own_records_awaited(client: bl.AsyncClient, kline: bl.Endpoint[Kline]) -> None:
    print((await client.call(kline))[0]["open"].upper())
    async for row in client.pages(kline):
        print(row["open"].upper())
        print(row["close"])  # error
    print((await client.fetch_many(kline, ["HK.00700"]))[0]["time"] + 1)


async def awaited(client: bl.AsyncClient, app: bl.AsyncOAuthApp) -> None:
    print((await app.auth(user="alice")).scopes)
    print(app.auth(user="alice").scopes)  # error
    hk: bl.Records[bl.HkIpo] = await client.ipo_list("hk")
    forgotten: bl.Records[bl.HkIpo] = client.ipo_list("hk")  # error
    print(hk, forgotten)
    async for fill in client.fills_history("281756", "HK"):
        print(fill["price"].upper())
        print(fill["prise"])  # error


def fields(client: bl.Client) -> None:
    dividend = client.dividends("HK.00700")[0]
    print(dividend["dividend_per_share"] * 2)
    currency: str | None = dividend.get("currency")
    order = client.sim_orders(5001)[0]
    print(order["aux_price"].upper())  # error
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
    whole: bl.Fill = next(pager.select("code"))  # error
    same: bl.Records[bl.Fill] = records.select("code")  # error
    print(whole, same)
    trades: list[Trade] = records.as_type(Trade)
    print(part, first, trades[0].price + 1, pager.as_type(Trade).checkpoint())
    for trade in pager.as_type(Trade):
        print(trade.code.upper(), trade.price + 1)
        print(trade.prise)  # error
    records.as_type(5)  # error
    records.select(5)  # error


async def typed_rows_awaited(pager: bl.AsyncPager[bl.Fill]) -> None:
    async for trade in pager.select("code", "price").as_type(Trade):
        print(trade.code.upper(), trade.price + 1)
    for _ in pager.as_type(Trade):  # error
        pass


def frames(records: bl.Records[bl.Fill], pager: bl.Pager[bl.Fill]) -> None:
    frame: pd.DataFrame = records.to_pandas(decimals="decimal")
    other: pl.DataFrame = pager.to_polars()
    pager.to_pandas(decimals="exact")  # error
    print(frame, other, pager.to_arrow().num_rows)
    for page in pager.pages():
        fills: bl.Records[bl.Fill] = page[1:]
        print(fills)


def archived(archive: bl.Archive, client: bl.Client, endpoint: bl.Endpoint) -> None:
    print(archive.seen("plate", "HK.BK1001"))  # error
    print(archive.seen("fills", "281756"))  # error
    print(archive.seen("plates", "HK.BK1001"), archive.seen(endpoint, {"symbol": "HK.00700"}))
    print(archive.changes("ipo", "hk"))  # error
    print(archive.export("fill", "fills.parquet"))  # error
    print(archive.export("fills", "fills.parquet"))
    hour = timedelta(hours=1)
    print(archive.get(client, "dividend", "HK.00700", max_age=hour))  # error
    print(archive.get(client, "fills", ("281756", "HK"), max_age=hour))


def lengths(pager: bl.Pager[bl.Fill]) -> None:
    print(len(pager))  # error
    print(pager[0])  # error
