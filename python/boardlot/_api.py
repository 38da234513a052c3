"""`Client` and `AsyncClient`: a method for each endpoint of the service.

Generated from the table of endpoints by `make generate`: change that, not this.
"""

from __future__ import annotations

import datetime
import os
import types
import typing
from collections import abc

import boardlot

# By names for readers: `help()` and the docs show the annotations as they are written here.
from . import _core
from . import _records as records
from ._calls import explained
from ._client_base import ClientBase
from ._core import (
    ApiKey,
    BearerToken,
    Explanation,
    OAuth,
    RequestEvent,
    Response,
    ResponseEvent,
    _ClientCore,
)
from ._support import clients as arguments
from .endpoint import DateRange, Endpoint
from .pager import AsyncPager, Pager
from .rate_limit import RateLimit
from .recording import Recorder, Replay
from .records import Records, records_of

if typing.TYPE_CHECKING:
    import boardlot.calendar
    from typing_extensions import Self
else:
    # `typing` has `Self` since CPython 3.11.
    Self = ClientBase


class ClientOptions(typing.TypedDict, total=False):
    """The options of a client except its credentials, as keyword arguments."""

    profile: str | None
    timeout: float
    connect_timeout: float
    max_retries: int
    rate_limit: float | RateLimit | None
    max_connections: int
    max_body_bytes: int
    proxy: str | None
    ca_file: str | os.PathLike[str] | None
    client_cert: arguments.CertificateFiles | None
    headers: abc.Mapping[str, str] | None
    ws_quote_url: str | None
    ws_trade_url: str | None
    on_request: abc.Callable[[RequestEvent], abc.Mapping[str, str] | None] | None
    on_response: abc.Callable[[ResponseEvent], object] | None
    cassette: Recorder | Replay | None
    read_only: bool


class RelatedFutureBySymbol(records.RelatedFuture):
    symbol: str


class HkIpoByMarket(records.HkIpo):
    market: str


class UsIpoByMarket(records.UsIpo):
    market: str


class CnIpoByMarket(records.CnIpo):
    market: str


class SgIpoByMarket(records.SgIpo):
    market: str


class MyIpoByMarket(records.MyIpo):
    market: str


class DividendBySymbol(records.Dividend):
    symbol: str


class CryptoOrderByAccount(records.CryptoOrder):
    acc_id: str


class SimOrderByAccount(records.SimOrder):
    acc_id: str


class SimPositionByAccount(records.SimPosition):
    acc_id: str


class FillByAccount(records.Fill):
    acc_id: str


# The rows of the core's table.
(
    SERVER_TIME,
    TRADING_DAYS,
    REFERENCE_FUTURES,
    IPO_LIST,
    DIVIDENDS,
    PLATE_STOCKS,
    CRYPTO_ORDERS,
    SIM_ORDERS,
    SIM_POSITIONS,
    FILLS_HISTORY,
) = _core._BUILT_IN_ENDPOINTS


@explained
class Client(ClientBase):
    """A client of the service whose calls block.

    Safe to use from many threads at once, in a running event loop, and in a forked child.

    `base_url` is the service's address: https, or http to a loopback address written as a
    number. Raises `ConfigError` for anything that is not usable.

    - `auth`: the credentials: an `ApiKey`, a `BearerToken` or an `OAuth`
    - `profile`: the name of a profile in `config.toml`, which has a base URL and says
      where the credentials are stored
    - `timeout`: seconds for one attempt, including the time to connect
    - `connect_timeout`: seconds for connecting
    - `max_retries`: how many times a failed request is sent again, if that is safe
    - `rate_limit`: requests per second of this client, or a `RateLimit` that others
      share; None: unlimited
    - `max_connections`: how many requests may be in flight at once
    - `max_body_bytes`: the largest response body, after decompression
    - `proxy`: the URL of a proxy, or `"environment"` for the one in `HTTPS_PROXY`,
      `ALL_PROXY` and `NO_PROXY`, which are ignored otherwise
    - `ca_file`: a PEM bundle of certificates to trust in addition to the system's
    - `client_cert`: the certificate by which the client identifies itself to the
      server: a PEM file with certificate and key, or `(certificate, key)`
    - `headers`: headers to send with every request
    - `ws_quote_url`: the address of the quote WebSocket; validated, and available as an
      attribute
    - `ws_trade_url`: the address of the trade WebSocket; validated, and available as an
      attribute
    - `on_request`: called before each request is sent, with its endpoint, path and
      attempt; may return headers to add
    - `on_response`: called after each request, also with its status and duration
    - `cassette`: a `Recorder`, which writes the traffic to a file, or a `Replay`, which
      responds from such a file without a network
    - `read_only`: refuse requests that could change data: only GET is sent, and the
      POST of `plate_stocks`
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        auth: ApiKey | BearerToken | OAuth | None = None,
        profile: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 5.0,
        max_retries: int = 2,
        rate_limit: float | RateLimit | None = None,
        max_connections: int = 64,
        max_body_bytes: int = 33554432,
        proxy: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        client_cert: arguments.CertificateFiles | None = None,
        headers: abc.Mapping[str, str] | None = None,
        ws_quote_url: str | None = None,
        ws_trade_url: str | None = None,
        on_request: abc.Callable[[RequestEvent], abc.Mapping[str, str] | None] | None = None,
        on_response: abc.Callable[[ResponseEvent], object] | None = None,
        cassette: Recorder | Replay | None = None,
        read_only: bool = False,
    ) -> None:
        core = _ClientCore("sync", base_url, (
            auth,
            profile,
            timeout,
            connect_timeout,
            max_retries,
            rate_limit,
            max_connections,
            max_body_bytes,
            proxy,
            ca_file,
            client_cert,
            headers,
            ws_quote_url,
            ws_trade_url,
            on_request,
            on_response,
            cassette,
            read_only,
        ))
        object.__setattr__(self, "_boardlot_core", core)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self._boardlot_core.close()

    def close(self) -> None:
        """Closes the client: later calls raise `ConfigError`.

        >>> client.close()
        """
        self._boardlot_core.close()

    def server_time(self) -> datetime.datetime:
        """The service's clock.

        Signed requests are rejected if the two clocks differ by more than the service's
        threshold, 5 seconds by default; the client then reads this clock and signs again.

        Returns an aware UTC `datetime`, exact to the millisecond.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> str(client.server_time().tzinfo)
        'UTC'
        """
        return self._boardlot_core.server_time()

    def trading_days(
        self,
        market: str,
        start: arguments.Day,
        end: arguments.Day,
    ) -> Records[records.TradingDay]:
        """The trading days of a market, from `start` to `end`.

        The service does not document the response: a success is a JSON list, or one of the
        documented envelopes with its success mark. The records are that list, or the only one in
        `data` or `d`; a day that is a text becomes an object with the field `date`. Of anything
        else, no records are made.

        - `market`: Market prefix such as `HK`.
        - `start`: Start date. A `date`, an aware `datetime` (the date that it shows) or
          `yyyy-MM-dd`.
        - `end`: End date. A `date`, an aware `datetime` (the date that it shows) or
          `yyyy-MM-dd`.

        Returns `Records` of `TradingDay`.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> [day["time"] for day in client.trading_days("HK", "2026-01-01", "2026-01-05")]
        ['2026-01-02', '2026-01-05']
        """
        return records_of(self._boardlot_core.call(TRADING_DAYS, [("market", market), ("start", start), ("end", end)]))

    def reference_futures(self, symbol: str) -> Records[records.RelatedFuture]:
        """The futures contracts related to a continuous futures contract.

        Supported markets are HK, US, SG and JP, and the input is a continuous futures contract. A
        symbol that is not a future, or of a market without futures (such as AU, CA, SH, SZ and
        MY), returns an empty list.

        - `symbol`: Typically a continuous futures contract, such as `HK.HSImain`.

        Returns `Records` of `RelatedFuture`. Fields: code, stock_name, sc_name, tc_name,
        stock_type, lot_size, future_valid, future_main_contract, future_last_trade_time,
        list_time; `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument, `InvalidParameter` (symbol missing, longer
        than 32 characters, or format invalid: -3), `InvalidSymbol` (symbol not found (unknown or
        delisted): -7); see `boardlot.errors` for the others.

        >>> client.reference_futures("HK.HSImain")[0]["stock_type"]
        'FUTURE'
        """
        return records_of(self._boardlot_core.call(REFERENCE_FUTURES, [("symbol", symbol)]))

    if typing.TYPE_CHECKING:

        @typing.overload
        def ipo_list(
            self,
            market: typing.Literal["hk"],
            *,
            request_type: int | None = None,
        ) -> Records[records.HkIpo]: ...

        @typing.overload
        def ipo_list(
            self,
            market: typing.Literal["us"],
            *,
            request_type: int | None = None,
        ) -> Records[records.UsIpo]: ...

        @typing.overload
        def ipo_list(
            self,
            market: typing.Literal["cn"],
            *,
            request_type: int | None = None,
        ) -> Records[records.CnIpo]: ...

        @typing.overload
        def ipo_list(
            self,
            market: typing.Literal["sg"],
            *,
            request_type: int | None = None,
        ) -> Records[records.SgIpo]: ...

        @typing.overload
        def ipo_list(
            self,
            market: typing.Literal["my"],
            *,
            request_type: int | None = None,
        ) -> Records[records.MyIpo]: ...

        @typing.overload
        def ipo_list(
            self,
            market: typing.Literal["hk", "us", "cn", "sg", "my"],
            *,
            request_type: int | None = None,
        ) -> Records[records.HkIpo | records.UsIpo | records.CnIpo | records.SgIpo | records.MyIpo]: ...

    def ipo_list(
        self,
        market: typing.Literal["hk", "us", "cn", "sg", "my"],
        *,
        request_type: int | None = None,
    ) -> Records[typing.Any]:
        """Recent subscribable and upcoming IPOs of a market, without historical ones.

        The data depends on the user's primary broker: without one for the market the list may be
        empty. A-shares cover SSE (with the STAR Market), SZSE (with ChiNext) and BSE.

        - `market`: `hk`, `us`, `cn` (A-shares), `sg` or `my`.
        - `request_type`: `IpoRequest` (hk, us, sg, my; the service's default is 11) or
          `CnIpoRequest` (cn; the default is 4).

        Returns `Records` of `HkIpo`, `UsIpo`, `CnIpo`, `SgIpo`, `MyIpo`. The record depends on
        `market`.

        Raises `ConfigError` for an invalid argument, `InvalidParameter` (request_type invalid or
        not an integer: -3), `ServiceError` (Backend call failed or timed out: -5); see
        `boardlot.errors` for the others.

        >>> client.ipo_list("us")[0]["stock_status"] in list(bl.UsIpoStatus)
        True
        """
        return records_of(self._boardlot_core.call(IPO_LIST, [("market", market), ("request_type", request_type)]))

    def dividends(self, symbol: str) -> Records[records.Dividend]:
        """The dividend history of a security, newest first, at most 100 records.

        Supported: HK, US, A-shares (SH, SZ), SG, CA, AU and JP; fields vary by market. ETFs,
        bonds, warrants, options, futures and indices without dividends return an empty list.
        `.meta` has `total_dividend_count` and `total_dividend_money` (reporting currency).

        - `symbol`: Such as `HK.00700`.

        Returns `Records` of `Dividend`. Fields: fiscal_year, statement, dividend_per_share,
        currency, payout_ratio, dividend_type, process, ex_date, record_date,
        dividend_payable_date, pub_date; `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument, `InvalidParameter` (Invalid symbol format:
        -3), `InvalidSymbol` (Code cannot be resolved to a security: -7), `ServiceError` (Gateway
        internal error: -2, -4, -6); see `boardlot.errors` for the others.

        >>> client.dividends("HK.00700")[0]["currency"]
        'HKD'
        """
        return records_of(self._boardlot_core.call(DIVIDENDS, [("symbol", symbol)]))

    def plate_stocks(
        self,
        plate_code: str,
        *,
        limit: int | None = None,
        resume: str | None = None,
    ) -> Pager[records.PlateStock]:
        """The constituent stocks of a plate.

        The service documents neither the fields of a constituent nor the bounds of `limit`: the
        fields are passed through unchanged, and that a `limit` is at least 1 is boardlot's own
        rule. The service's documentation shows a request header `X-Service-Client-Nnid` in its
        examples without saying whether it is required: pass it with `Client(headers=...)`.

        - `plate_code`: `{market}.BK<digits>`, such as `HK.BK1001`.
        - `limit`: Page size; the service's own default and bounds are not shown.
        - `resume`: a `.checkpoint()` of the same call, to resume after it.

        A pager over `PlateStock`.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> next(client.plate_stocks("HK.BK1001"))["code"].startswith("HK.")
        True
        """
        return Pager(self._boardlot_core.pages(self, PLATE_STOCKS, [("plate_code", plate_code), ("limit", limit)], None, resume))

    def crypto_orders(
        self,
        acc_id: str | int,
        *,
        page_size: int | None = None,
        resume: str | None = None,
    ) -> Pager[records.CryptoOrder]:
        """The open crypto orders of an account, newest first.

        Open are the four states of `CryptoOrderStatus`. The unit of the times is not shown in the
        service's documentation, so they stay whole numbers.

        - `acc_id`: Account id (uint64).
        - `page_size`: Orders per page, at most 50, which is the service's default.
        - `resume`: a `.checkpoint()` of the same call, to resume after it.

        A pager over `CryptoOrder`. Fields: order_id, version, symbol_pair, side, order_qty,
        price, order_amount, cum_qty, avg_px, fill_amount, ord_type, time_in_force, create_time,
        update_time, ord_status, order_show_id, is_close, trigger_price, trigger_time,
        cash_order_qty; `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument, `ApiError` (shown in an example of an error:
        1); see `boardlot.errors` for the others.

        >>> next(client.crypto_orders(sandbox.accounts["crypto"][0]))["ord_status"] in list(bl.CryptoOrderStatus)
        True
        """
        return Pager(self._boardlot_core.pages(self, CRYPTO_ORDERS, [("acc_id", acc_id), ("page_size", page_size)], None, resume))

    def sim_orders(self, acc_id: str | int) -> Records[records.SimOrder]:
        """Today's simulated-trading orders.

        - `acc_id`: Business account id.

        Returns `Records` of `SimOrder`. Fields: order_id, side, symbol, stock_name, order_type,
        status, qty, cum_qty, price, avg_fill_price, aux_price, create_time, update_time, text;
        `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> client.sim_orders(sandbox.accounts["sim"][0])[0]["side"] in list(bl.SimSide)
        True
        """
        return records_of(self._boardlot_core.call(SIM_ORDERS, [("acc_id", acc_id)]))

    def sim_positions(
        self,
        acc_id: str | int,
        *,
        market: int | None = None,
    ) -> Records[records.SimPosition]:
        """Simulated-trading positions.

        The allowed values of `market` are not shown in the service's documentation.

        - `acc_id`: Business account id.
        - `market`: Market filter.

        Returns `Records` of `SimPosition`. Fields: pstn_id, pstn_type, market, symbol,
        stock_name, qty, qty_avbl, cost_price, buy_avg_price, cur_price, mv, profit, profit_ratio;
        `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> client.sim_positions(sandbox.accounts["sim"][0])[0]["pstn_type"] in list(bl.PositionType)
        True
        """
        return records_of(self._boardlot_core.call(SIM_POSITIONS, [("acc_id", acc_id), ("market", market)]))

    def fills_history(
        self,
        acc_id: str | int,
        trd_market: str,
        *,
        code: str | None = None,
        start: arguments.Time | None = None,
        end: arguments.Time | None = None,
        page_size: int | None = None,
        windows: int | typing.Literal["auto"] | None = None,
        resume: str | None = None,
    ) -> Pager[records.Fill]:
        """The historical fills of a trading account, latest first.

        Without `start`, only the last 90 days are read: the time range begins 90 days before its
        end. Without `end`, it reaches until now, by the service's clock. Times are update times.
        The allowed values of `trd_market` are not shown in the service's documentation. The time
        range is fixed before the first page; the pager's `.range` returns it.

        - `acc_id`: Trading business account id.
        - `trd_market`: Trading market.
        - `code`: Only this code; all when omitted.
        - `start`: Start of the update time; 0 is the same as none. An aware `datetime`, a
          `date` (midnight UTC), ISO 8601 text with an offset, or microseconds since 1970 as an
          integer, of the years 1990 to 2100.
        - `end`: End of the update time, after `start`; without it, now. 0 is the service's own
          default: 90 days after `start`. An aware `datetime`, a `date` (midnight UTC), ISO 8601
          text with an offset, or microseconds since 1970 as an integer, of the years 1990 to
          2100.
        - `page_size`: Fills per page, 10 to 50; the service's default is 50.
        - `windows`: split the time range into this many windows, 1 to 64, and fetch them
          concurrently: one stream with each record once, the latest window first, each window in
          the service's order. If the service sorts by the update time, the order is the same as
          without `windows`. By default, or with `"auto"`, `.all()` and `.to_*()` of a new pager
          choose the number by their first pages, and everything else is read by one cursor, as
          with 1. An iteration prefetches at most one page per window.
        - `resume`: a `.checkpoint()` of the same call, to resume after it.

        A pager over `Fill`. Fields: trd_side, deal_id, order_id, code, stock_name, qty, price,
        create_time, updated_time, counter_broker_id, counter_broker_name, status; `.schema` has
        kinds and units.

        Raises `ConfigError` for an invalid argument, `ApiError` (shown in an example of an error:
        -1200); see `boardlot.errors` for the others.

        >>> len(client.fills_history(sandbox.accounts["trade"][0], "HK").all(max_items=75))
        75
        """
        return Pager(self._boardlot_core.pages(self, FILLS_HISTORY, [
            ("acc_id", acc_id),
            ("trd_market", trd_market),
            ("code", code),
            ("start", start),
            ("end", end),
            ("page_size", page_size),
        ], windows, resume))

    def call(
        self,
        endpoint: Endpoint[arguments.Row],
        /,
        **arguments: typing.Any,
    ) -> Records[arguments.Row]:
        """All records of `endpoint`, an `Endpoint` that you declared.

        The names in its path are required arguments. The others go into the query or, for POST,
        into the JSON body, in the order given; those that are None are left out. An argument
        with a declared kind is checked as those of the built-in methods are. An undeclared one
        is a string, a number, a bool, a `date` (sent as `yyyy-MM-dd`) or, in a body, a dict or a
        list. If the endpoint returns pages, all of them are fetched.

        Raises `ConfigError` for an invalid argument, before anything is sent; see
        `boardlot.errors` for the others.

        >>> client.call(bl.Endpoint("orders", "GET", "/api/v1.0/sim-trade/5001/orders"))[0]["side"] in list(bl.SimSide)
        True
        """
        return records_of(self._boardlot_core.call(endpoint, list(arguments.items())))

    def pages(
        self,
        endpoint: Endpoint[arguments.Row],
        /,
        *,
        resume: str | None = None,
        **arguments: typing.Any,
    ) -> Pager[arguments.Row]:
        """A pager over the records of `endpoint`, an `Endpoint` that you declared with `paging`.

        The arguments are those of `call`. The cursor is sent in the query of a GET, otherwise in
        the body. With `paging="page_flag"`, the first request carries an empty cursor only if
        `page_flag=""` is passed. `resume` is a `.checkpoint()` of the same call.

        Raises `ConfigError` for an invalid argument, before anything is sent; see
        `boardlot.errors` for the others.

        >>> client.pages(bl.Endpoint("list", "GET", "/any/list", paging="next_key")).requests
        0
        """
        return Pager(self._boardlot_core.pages(self, endpoint, list(arguments.items()), None, resume))

    if typing.TYPE_CHECKING:

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["trading_days"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[records.TradingDay]: ...

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["reference_futures"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[RelatedFutureBySymbol]: ...

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["ipo_list"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[HkIpoByMarket | UsIpoByMarket | CnIpoByMarket | SgIpoByMarket | MyIpoByMarket]: ...

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["dividends"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[DividendBySymbol]: ...

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["plate_stocks"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[records.PlateStock]: ...

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["crypto_orders"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[CryptoOrderByAccount]: ...

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["sim_orders"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[SimOrderByAccount]: ...

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["sim_positions"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[SimPositionByAccount]: ...

        @typing.overload
        def fetch_many(
            self,
            method: typing.Literal["fills_history"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[FillByAccount]: ...

        @typing.overload
        def fetch_many(
            self,
            method: Endpoint[arguments.Row],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[arguments.Row]: ...

    def fetch_many(
        self,
        method: typing.Literal["trading_days", "reference_futures", "ipo_list", "dividends", "plate_stocks", "crypto_orders", "sim_orders", "sim_positions", "fills_history"] | Endpoint[typing.Any],
        keys: abc.Iterable[str | int],
        *,
        concurrency: int = 8,
        on_error: typing.Literal["raise", "collect"] = "raise",
        windows: int | typing.Literal["auto"] | None = None,
        progress: bool = False,
        **arguments: typing.Any,
    ) -> Records[typing.Any]:
        """One method for many keys, `concurrency` requests at a time.

        `method` is the name of a method, such as `"dividends"`, or an `Endpoint`. `keys` are the
        values of its only required argument; if it has several, pass the others by name, and
        optional ones too: `trd_market="HK", start=date(2026, 1, 1)`. Of a paged list, all pages are
        read. Returns one `Records` in the order of the keys. Its first column is the key, named like
        the argument; if a record has a field of that name, an underscore is appended to the field's
        name. `windows` is that of the method; by default, the lists of few keys are read in windows.
        With `on_error="collect"`, `.errors` has each key that failed with its error; otherwise
        the first failure is raised and the other requests are cancelled. `progress=True` shows a
        progress bar if tqdm is installed.

        Raises `ConfigError` for an invalid key or argument, before anything is sent.

        >>> client.fetch_many("dividends", ["HK.00700", "US.AAPL"])[0]["symbol"]
        'HK.00700'
        """
        return records_of(*self._boardlot_core.fetch_many(method, keys, concurrency, on_error, windows, progress, list(arguments.items())))

    if typing.TYPE_CHECKING:

        @typing.overload
        def pages_many(
            self,
            method: typing.Literal["plate_stocks"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            resume: str | None = None,
            **arguments: typing.Any,
        ) -> Pager[records.PlateStock]: ...

        @typing.overload
        def pages_many(
            self,
            method: typing.Literal["crypto_orders"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            resume: str | None = None,
            **arguments: typing.Any,
        ) -> Pager[CryptoOrderByAccount]: ...

        @typing.overload
        def pages_many(
            self,
            method: typing.Literal["fills_history"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            resume: str | None = None,
            **arguments: typing.Any,
        ) -> Pager[FillByAccount]: ...

        @typing.overload
        def pages_many(
            self,
            method: Endpoint[arguments.Row],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            resume: str | None = None,
            **arguments: typing.Any,
        ) -> Pager[arguments.Row]: ...

    def pages_many(
        self,
        method: typing.Literal["plate_stocks", "crypto_orders", "fills_history"] | Endpoint[typing.Any],
        keys: abc.Iterable[str | int],
        *,
        concurrency: int = 8,
        on_error: typing.Literal["raise", "collect"] = "raise",
        windows: int | typing.Literal["auto"] | None = None,
        resume: str | None = None,
        **arguments: typing.Any,
    ) -> Pager[typing.Any]:
        """A pager over the rows of one method for many keys, in the order of the keys.

        For millions of rows: its frames are made of the pages without a dict, and an iteration has a
        page of each of `concurrency` keys in memory, which are read side by side. With a number of
        `windows`, the time range of each key is split into as many, of which `concurrency` are read
        side by side.

        `method` is the name of a method that returns pages, such as `"fills_history"`, or an
        `Endpoint` with `paging`. `keys` are the values of its only required argument; pass the others
        by name, and optional ones too. The first column is the key, as for `fetch_many`. There is one
        checkpoint for all keys, `resume`, and one time range, which is fixed by the service's clock
        before the first page if it is open. With `on_error="collect"`, the rows of a key that fails
        midway stay, `.errors` has the key with its error, and a resume tries it again from where it
        failed; otherwise the first failure is raised.

        Raises `ConfigError` for an invalid key or argument, before anything is sent, and for a `resume`
        of other keys.

        >>> next(client.pages_many("fills_history", sandbox.accounts["trade"], trd_market="HK"))["acc_id"] == sandbox.accounts["trade"][0]
        True
        """
        return Pager(self._boardlot_core.pages_many(self, method, keys, concurrency, on_error, windows, resume, list(arguments.items())))

    def ipo_calendar(
        self,
        markets: abc.Iterable[typing.Literal["hk", "us", "cn", "sg", "my"]] = ("hk", "us", "cn", "sg", "my"),
        *,
        on_error: typing.Literal["raise", "collect"] = "raise",
    ) -> boardlot.calendar.IpoCalendar:
        """The subscribable and upcoming IPOs of several markets as one calendar.

        One row for each event (such as opening, closing, ballot and listing) with its date,
        currency and the columns that the markets share. `boardlot.calendar.IpoCalendar`
        converts to frames and iCalendar text as well. Calls `ipo_list` once for each of `markets`.
        With `on_error="collect"`, `.errors` has the markets that failed.

        Raises `ConfigError` for an unknown market, and the errors of `ipo_list`.

        >>> client.ipo_calendar(["sg"])[0]["market"]
        'sg'
        """
        return boardlot.calendar.ipo_calendar(self, markets, on_error=on_error)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: arguments.Query | None = None,
        body: dict[str, typing.Any] | list[typing.Any] | bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Any request, authorized like the others; its envelope is not checked.

        `method` is the HTTP method, and `path` begins with a slash. `query` is a dict or a list of
        pairs, sent in its order. A `body` of a dict or list is sent as compact JSON, `bytes`
        unchanged. `headers` are added to those of the client. The `Response` has `.status`,
        `.headers`, `.content` (bytes) and `.json()`. Only a rejected token (HTTP 401,
        or a response that says so), -12006 and redirects are handled or raised. GET, HEAD and OPTIONS
        are retried if there was no response.

        Raises `ConfigError` for an invalid argument, before anything is sent, and `TransportError`
        if there is no response; see `boardlot.errors` for the others.

        >>> client.request("GET", "/api/v1.0/server-time").status
        200
        """
        return self._boardlot_core.request(method, path, query, body, headers)

    def paginate(
        self,
        method: str,
        path: str,
        *,
        paging: typing.Literal["next_key", "page_flag"] | DateRange,
        rows: str,
        query: arguments.Query | None = None,
        body: dict[str, typing.Any] | None = None,
        resume: str | None = None,
    ) -> Pager[dict[str, typing.Any]]:
        """The pages of any list.

        `method`, `path`, `query` and `body` are those of the first request, as for `request`.
        `paging` is `"next_key"`, `"page_flag"`, or a `DateRange` for endpoints that page
        backward by moving the end of a range of dates. `rows` is the dotted path of the list in the
        response, such as `"data.stock_list"`. The cursor is sent in the query of a GET,
        otherwise in the body. With `"page_flag"`, the first request carries an empty cursor only
        if `query` or `body` has `"page_flag": ""`. `resume` is a pager's `.checkpoint()`.

        Raises `ConfigError` for an invalid argument, before anything is sent; see
        `boardlot.errors` for the others.

        >>> client.paginate("GET", "/any/list", paging="next_key", rows="data.list").requests
        0
        """
        return Pager(self._boardlot_core.paginate(self, method, path, paging, rows, query, body, resume))

    def explain(
        self,
        method: str | Endpoint[typing.Any],
        path: str | None = None,
        query: arguments.Query | None = None,
        body: dict[str, typing.Any] | list[typing.Any] | bytes | None = None,
        **arguments: typing.Any,
    ) -> Explanation:
        """A request as it would be sent now, with its signature, without sending it.

        The `Explanation` has `.payload_lines` (the five lines of the canonical request),
        `.payload`, `.body_hash`, `.headers` with the signature but no key, `.method` and
        `.url`. `method`, `path`, `query` and `body` are those of `request`; instead of them, pass
        an `Endpoint` and its arguments.

        Raises `ConfigError` for an invalid argument.

        >>> client.explain("GET", "/api/v1.0/server-time").payload_lines[1:]
        ['GET', '/api/v1.0/server-time', '', '']
        """
        return self._boardlot_core.explain(method, path, query, body, list(arguments.items()))


@explained
class AsyncClient(ClientBase):
    """A client of the service whose calls are awaited.

    Not bound to an event loop: it survives several `asyncio.run` calls. Cancelling a task
    cancels its request.

    `base_url` is the service's address: https, or http to a loopback address written as a
    number. Raises `ConfigError` for anything that is not usable.

    - `auth`: the credentials: an `ApiKey`, a `BearerToken` or an `OAuth`
    - `profile`: the name of a profile in `config.toml`, which has a base URL and says
      where the credentials are stored
    - `timeout`: seconds for one attempt, including the time to connect
    - `connect_timeout`: seconds for connecting
    - `max_retries`: how many times a failed request is sent again, if that is safe
    - `rate_limit`: requests per second of this client, or a `RateLimit` that others
      share; None: unlimited
    - `max_connections`: how many requests may be in flight at once
    - `max_body_bytes`: the largest response body, after decompression
    - `proxy`: the URL of a proxy, or `"environment"` for the one in `HTTPS_PROXY`,
      `ALL_PROXY` and `NO_PROXY`, which are ignored otherwise
    - `ca_file`: a PEM bundle of certificates to trust in addition to the system's
    - `client_cert`: the certificate by which the client identifies itself to the
      server: a PEM file with certificate and key, or `(certificate, key)`
    - `headers`: headers to send with every request
    - `ws_quote_url`: the address of the quote WebSocket; validated, and available as an
      attribute
    - `ws_trade_url`: the address of the trade WebSocket; validated, and available as an
      attribute
    - `on_request`: called before each request is sent, with its endpoint, path and
      attempt; may return headers to add
    - `on_response`: called after each request, also with its status and duration
    - `cassette`: a `Recorder`, which writes the traffic to a file, or a `Replay`, which
      responds from such a file without a network
    - `read_only`: refuse requests that could change data: only GET is sent, and the
      POST of `plate_stocks`
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        auth: ApiKey | BearerToken | OAuth | None = None,
        profile: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 5.0,
        max_retries: int = 2,
        rate_limit: float | RateLimit | None = None,
        max_connections: int = 64,
        max_body_bytes: int = 33554432,
        proxy: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        client_cert: arguments.CertificateFiles | None = None,
        headers: abc.Mapping[str, str] | None = None,
        ws_quote_url: str | None = None,
        ws_trade_url: str | None = None,
        on_request: abc.Callable[[RequestEvent], abc.Mapping[str, str] | None] | None = None,
        on_response: abc.Callable[[ResponseEvent], object] | None = None,
        cassette: Recorder | Replay | None = None,
        read_only: bool = False,
    ) -> None:
        core = _ClientCore("async", base_url, (
            auth,
            profile,
            timeout,
            connect_timeout,
            max_retries,
            rate_limit,
            max_connections,
            max_body_bytes,
            proxy,
            ca_file,
            client_cert,
            headers,
            ws_quote_url,
            ws_trade_url,
            on_request,
            on_response,
            cassette,
            read_only,
        ))
        object.__setattr__(self, "_boardlot_core", core)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self._boardlot_core.close()

    async def close(self) -> None:
        """Closes the client: later calls raise `ConfigError`.

        >>> await client.close()
        """
        self._boardlot_core.close()

    async def server_time(self) -> datetime.datetime:
        """The service's clock.

        Signed requests are rejected if the two clocks differ by more than the service's
        threshold, 5 seconds by default; the client then reads this clock and signs again.

        Returns an aware UTC `datetime`, exact to the millisecond.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> str((await client.server_time()).tzinfo)
        'UTC'
        """
        return await self._boardlot_core.server_time()

    async def trading_days(
        self,
        market: str,
        start: arguments.Day,
        end: arguments.Day,
    ) -> Records[records.TradingDay]:
        """The trading days of a market, from `start` to `end`.

        The service does not document the response: a success is a JSON list, or one of the
        documented envelopes with its success mark. The records are that list, or the only one in
        `data` or `d`; a day that is a text becomes an object with the field `date`. Of anything
        else, no records are made.

        - `market`: Market prefix such as `HK`.
        - `start`: Start date. A `date`, an aware `datetime` (the date that it shows) or
          `yyyy-MM-dd`.
        - `end`: End date. A `date`, an aware `datetime` (the date that it shows) or
          `yyyy-MM-dd`.

        Returns `Records` of `TradingDay`.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> [day["time"] for day in (await client.trading_days("HK", "2026-01-01", "2026-01-05"))]
        ['2026-01-02', '2026-01-05']
        """
        return records_of(await self._boardlot_core.call(TRADING_DAYS, [("market", market), ("start", start), ("end", end)]))

    async def reference_futures(self, symbol: str) -> Records[records.RelatedFuture]:
        """The futures contracts related to a continuous futures contract.

        Supported markets are HK, US, SG and JP, and the input is a continuous futures contract. A
        symbol that is not a future, or of a market without futures (such as AU, CA, SH, SZ and
        MY), returns an empty list.

        - `symbol`: Typically a continuous futures contract, such as `HK.HSImain`.

        Returns `Records` of `RelatedFuture`. Fields: code, stock_name, sc_name, tc_name,
        stock_type, lot_size, future_valid, future_main_contract, future_last_trade_time,
        list_time; `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument, `InvalidParameter` (symbol missing, longer
        than 32 characters, or format invalid: -3), `InvalidSymbol` (symbol not found (unknown or
        delisted): -7); see `boardlot.errors` for the others.

        >>> (await client.reference_futures("HK.HSImain"))[0]["stock_type"]
        'FUTURE'
        """
        return records_of(await self._boardlot_core.call(REFERENCE_FUTURES, [("symbol", symbol)]))

    if typing.TYPE_CHECKING:

        @typing.overload
        async def ipo_list(
            self,
            market: typing.Literal["hk"],
            *,
            request_type: int | None = None,
        ) -> Records[records.HkIpo]: ...

        @typing.overload
        async def ipo_list(
            self,
            market: typing.Literal["us"],
            *,
            request_type: int | None = None,
        ) -> Records[records.UsIpo]: ...

        @typing.overload
        async def ipo_list(
            self,
            market: typing.Literal["cn"],
            *,
            request_type: int | None = None,
        ) -> Records[records.CnIpo]: ...

        @typing.overload
        async def ipo_list(
            self,
            market: typing.Literal["sg"],
            *,
            request_type: int | None = None,
        ) -> Records[records.SgIpo]: ...

        @typing.overload
        async def ipo_list(
            self,
            market: typing.Literal["my"],
            *,
            request_type: int | None = None,
        ) -> Records[records.MyIpo]: ...

        @typing.overload
        async def ipo_list(
            self,
            market: typing.Literal["hk", "us", "cn", "sg", "my"],
            *,
            request_type: int | None = None,
        ) -> Records[records.HkIpo | records.UsIpo | records.CnIpo | records.SgIpo | records.MyIpo]: ...

    async def ipo_list(
        self,
        market: typing.Literal["hk", "us", "cn", "sg", "my"],
        *,
        request_type: int | None = None,
    ) -> Records[typing.Any]:
        """Recent subscribable and upcoming IPOs of a market, without historical ones.

        The data depends on the user's primary broker: without one for the market the list may be
        empty. A-shares cover SSE (with the STAR Market), SZSE (with ChiNext) and BSE.

        - `market`: `hk`, `us`, `cn` (A-shares), `sg` or `my`.
        - `request_type`: `IpoRequest` (hk, us, sg, my; the service's default is 11) or
          `CnIpoRequest` (cn; the default is 4).

        Returns `Records` of `HkIpo`, `UsIpo`, `CnIpo`, `SgIpo`, `MyIpo`. The record depends on
        `market`.

        Raises `ConfigError` for an invalid argument, `InvalidParameter` (request_type invalid or
        not an integer: -3), `ServiceError` (Backend call failed or timed out: -5); see
        `boardlot.errors` for the others.

        >>> (await client.ipo_list("us"))[0]["stock_status"] in list(bl.UsIpoStatus)
        True
        """
        return records_of(await self._boardlot_core.call(IPO_LIST, [("market", market), ("request_type", request_type)]))

    async def dividends(self, symbol: str) -> Records[records.Dividend]:
        """The dividend history of a security, newest first, at most 100 records.

        Supported: HK, US, A-shares (SH, SZ), SG, CA, AU and JP; fields vary by market. ETFs,
        bonds, warrants, options, futures and indices without dividends return an empty list.
        `.meta` has `total_dividend_count` and `total_dividend_money` (reporting currency).

        - `symbol`: Such as `HK.00700`.

        Returns `Records` of `Dividend`. Fields: fiscal_year, statement, dividend_per_share,
        currency, payout_ratio, dividend_type, process, ex_date, record_date,
        dividend_payable_date, pub_date; `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument, `InvalidParameter` (Invalid symbol format:
        -3), `InvalidSymbol` (Code cannot be resolved to a security: -7), `ServiceError` (Gateway
        internal error: -2, -4, -6); see `boardlot.errors` for the others.

        >>> (await client.dividends("HK.00700"))[0]["currency"]
        'HKD'
        """
        return records_of(await self._boardlot_core.call(DIVIDENDS, [("symbol", symbol)]))

    def plate_stocks(
        self,
        plate_code: str,
        *,
        limit: int | None = None,
        resume: str | None = None,
    ) -> AsyncPager[records.PlateStock]:
        """The constituent stocks of a plate.

        The service documents neither the fields of a constituent nor the bounds of `limit`: the
        fields are passed through unchanged, and that a `limit` is at least 1 is boardlot's own
        rule. The service's documentation shows a request header `X-Service-Client-Nnid` in its
        examples without saying whether it is required: pass it with `Client(headers=...)`.

        - `plate_code`: `{market}.BK<digits>`, such as `HK.BK1001`.
        - `limit`: Page size; the service's own default and bounds are not shown.
        - `resume`: a `.checkpoint()` of the same call, to resume after it.

        A pager over `PlateStock`.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> (await anext(client.plate_stocks("HK.BK1001")))["code"].startswith("HK.")
        True
        """
        return AsyncPager(self._boardlot_core.pages(self, PLATE_STOCKS, [("plate_code", plate_code), ("limit", limit)], None, resume))

    def crypto_orders(
        self,
        acc_id: str | int,
        *,
        page_size: int | None = None,
        resume: str | None = None,
    ) -> AsyncPager[records.CryptoOrder]:
        """The open crypto orders of an account, newest first.

        Open are the four states of `CryptoOrderStatus`. The unit of the times is not shown in the
        service's documentation, so they stay whole numbers.

        - `acc_id`: Account id (uint64).
        - `page_size`: Orders per page, at most 50, which is the service's default.
        - `resume`: a `.checkpoint()` of the same call, to resume after it.

        A pager over `CryptoOrder`. Fields: order_id, version, symbol_pair, side, order_qty,
        price, order_amount, cum_qty, avg_px, fill_amount, ord_type, time_in_force, create_time,
        update_time, ord_status, order_show_id, is_close, trigger_price, trigger_time,
        cash_order_qty; `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument, `ApiError` (shown in an example of an error:
        1); see `boardlot.errors` for the others.

        >>> (await anext(client.crypto_orders(sandbox.accounts["crypto"][0])))["ord_status"] in list(bl.CryptoOrderStatus)
        True
        """
        return AsyncPager(self._boardlot_core.pages(self, CRYPTO_ORDERS, [("acc_id", acc_id), ("page_size", page_size)], None, resume))

    async def sim_orders(self, acc_id: str | int) -> Records[records.SimOrder]:
        """Today's simulated-trading orders.

        - `acc_id`: Business account id.

        Returns `Records` of `SimOrder`. Fields: order_id, side, symbol, stock_name, order_type,
        status, qty, cum_qty, price, avg_fill_price, aux_price, create_time, update_time, text;
        `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> (await client.sim_orders(sandbox.accounts["sim"][0]))[0]["side"] in list(bl.SimSide)
        True
        """
        return records_of(await self._boardlot_core.call(SIM_ORDERS, [("acc_id", acc_id)]))

    async def sim_positions(
        self,
        acc_id: str | int,
        *,
        market: int | None = None,
    ) -> Records[records.SimPosition]:
        """Simulated-trading positions.

        The allowed values of `market` are not shown in the service's documentation.

        - `acc_id`: Business account id.
        - `market`: Market filter.

        Returns `Records` of `SimPosition`. Fields: pstn_id, pstn_type, market, symbol,
        stock_name, qty, qty_avbl, cost_price, buy_avg_price, cur_price, mv, profit, profit_ratio;
        `.schema` has kinds and units.

        Raises `ConfigError` for an invalid argument; see `boardlot.errors` for the others.

        >>> (await client.sim_positions(sandbox.accounts["sim"][0]))[0]["pstn_type"] in list(bl.PositionType)
        True
        """
        return records_of(await self._boardlot_core.call(SIM_POSITIONS, [("acc_id", acc_id), ("market", market)]))

    def fills_history(
        self,
        acc_id: str | int,
        trd_market: str,
        *,
        code: str | None = None,
        start: arguments.Time | None = None,
        end: arguments.Time | None = None,
        page_size: int | None = None,
        windows: int | typing.Literal["auto"] | None = None,
        resume: str | None = None,
    ) -> AsyncPager[records.Fill]:
        """The historical fills of a trading account, latest first.

        Without `start`, only the last 90 days are read: the time range begins 90 days before its
        end. Without `end`, it reaches until now, by the service's clock. Times are update times.
        The allowed values of `trd_market` are not shown in the service's documentation. The time
        range is fixed before the first page; the pager's `.range` returns it.

        - `acc_id`: Trading business account id.
        - `trd_market`: Trading market.
        - `code`: Only this code; all when omitted.
        - `start`: Start of the update time; 0 is the same as none. An aware `datetime`, a
          `date` (midnight UTC), ISO 8601 text with an offset, or microseconds since 1970 as an
          integer, of the years 1990 to 2100.
        - `end`: End of the update time, after `start`; without it, now. 0 is the service's own
          default: 90 days after `start`. An aware `datetime`, a `date` (midnight UTC), ISO 8601
          text with an offset, or microseconds since 1970 as an integer, of the years 1990 to
          2100.
        - `page_size`: Fills per page, 10 to 50; the service's default is 50.
        - `windows`: split the time range into this many windows, 1 to 64, and fetch them
          concurrently: one stream with each record once, the latest window first, each window in
          the service's order. If the service sorts by the update time, the order is the same as
          without `windows`. By default, or with `"auto"`, `.all()` and `.to_*()` of a new pager
          choose the number by their first pages, and everything else is read by one cursor, as
          with 1. An iteration prefetches at most one page per window.
        - `resume`: a `.checkpoint()` of the same call, to resume after it.

        A pager over `Fill`. Fields: trd_side, deal_id, order_id, code, stock_name, qty, price,
        create_time, updated_time, counter_broker_id, counter_broker_name, status; `.schema` has
        kinds and units.

        Raises `ConfigError` for an invalid argument, `ApiError` (shown in an example of an error:
        -1200); see `boardlot.errors` for the others.

        >>> len(await client.fills_history(sandbox.accounts["trade"][0], "HK").all(max_items=75))
        75
        """
        return AsyncPager(self._boardlot_core.pages(self, FILLS_HISTORY, [
            ("acc_id", acc_id),
            ("trd_market", trd_market),
            ("code", code),
            ("start", start),
            ("end", end),
            ("page_size", page_size),
        ], windows, resume))

    async def call(
        self,
        endpoint: Endpoint[arguments.Row],
        /,
        **arguments: typing.Any,
    ) -> Records[arguments.Row]:
        """All records of `endpoint`, an `Endpoint` that you declared.

        The names in its path are required arguments. The others go into the query or, for POST,
        into the JSON body, in the order given; those that are None are left out. An argument
        with a declared kind is checked as those of the built-in methods are. An undeclared one
        is a string, a number, a bool, a `date` (sent as `yyyy-MM-dd`) or, in a body, a dict or a
        list. If the endpoint returns pages, all of them are fetched.

        Raises `ConfigError` for an invalid argument, before anything is sent; see
        `boardlot.errors` for the others.

        >>> (await client.call(bl.Endpoint("orders", "GET", "/api/v1.0/sim-trade/5001/orders")))[0]["side"] in list(bl.SimSide)
        True
        """
        return records_of(await self._boardlot_core.call(endpoint, list(arguments.items())))

    def pages(
        self,
        endpoint: Endpoint[arguments.Row],
        /,
        *,
        resume: str | None = None,
        **arguments: typing.Any,
    ) -> AsyncPager[arguments.Row]:
        """A pager over the records of `endpoint`, an `Endpoint` that you declared with `paging`.

        The arguments are those of `call`. The cursor is sent in the query of a GET, otherwise in
        the body. With `paging="page_flag"`, the first request carries an empty cursor only if
        `page_flag=""` is passed. `resume` is a `.checkpoint()` of the same call.

        Raises `ConfigError` for an invalid argument, before anything is sent; see
        `boardlot.errors` for the others.

        >>> client.pages(bl.Endpoint("list", "GET", "/any/list", paging="next_key")).requests
        0
        """
        return AsyncPager(self._boardlot_core.pages(self, endpoint, list(arguments.items()), None, resume))

    if typing.TYPE_CHECKING:

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["trading_days"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[records.TradingDay]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["reference_futures"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[RelatedFutureBySymbol]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["ipo_list"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[HkIpoByMarket | UsIpoByMarket | CnIpoByMarket | SgIpoByMarket | MyIpoByMarket]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["dividends"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[DividendBySymbol]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["plate_stocks"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[records.PlateStock]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["crypto_orders"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[CryptoOrderByAccount]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["sim_orders"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[SimOrderByAccount]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["sim_positions"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[SimPositionByAccount]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: typing.Literal["fills_history"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[FillByAccount]: ...

        @typing.overload
        async def fetch_many(
            self,
            method: Endpoint[arguments.Row],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            progress: bool = False,
            **arguments: typing.Any,
        ) -> Records[arguments.Row]: ...

    async def fetch_many(
        self,
        method: typing.Literal["trading_days", "reference_futures", "ipo_list", "dividends", "plate_stocks", "crypto_orders", "sim_orders", "sim_positions", "fills_history"] | Endpoint[typing.Any],
        keys: abc.Iterable[str | int],
        *,
        concurrency: int = 8,
        on_error: typing.Literal["raise", "collect"] = "raise",
        windows: int | typing.Literal["auto"] | None = None,
        progress: bool = False,
        **arguments: typing.Any,
    ) -> Records[typing.Any]:
        """One method for many keys, `concurrency` requests at a time.

        `method` is the name of a method, such as `"dividends"`, or an `Endpoint`. `keys` are the
        values of its only required argument; if it has several, pass the others by name, and
        optional ones too: `trd_market="HK", start=date(2026, 1, 1)`. Of a paged list, all pages are
        read. Returns one `Records` in the order of the keys. Its first column is the key, named like
        the argument; if a record has a field of that name, an underscore is appended to the field's
        name. `windows` is that of the method; by default, the lists of few keys are read in windows.
        With `on_error="collect"`, `.errors` has each key that failed with its error; otherwise
        the first failure is raised and the other requests are cancelled. `progress=True` shows a
        progress bar if tqdm is installed.

        Raises `ConfigError` for an invalid key or argument, before anything is sent.

        >>> (await client.fetch_many("dividends", ["HK.00700", "US.AAPL"]))[0]["symbol"]
        'HK.00700'
        """
        return records_of(*await self._boardlot_core.fetch_many(method, keys, concurrency, on_error, windows, progress, list(arguments.items())))

    if typing.TYPE_CHECKING:

        @typing.overload
        def pages_many(
            self,
            method: typing.Literal["plate_stocks"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            resume: str | None = None,
            **arguments: typing.Any,
        ) -> AsyncPager[records.PlateStock]: ...

        @typing.overload
        def pages_many(
            self,
            method: typing.Literal["crypto_orders"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            resume: str | None = None,
            **arguments: typing.Any,
        ) -> AsyncPager[CryptoOrderByAccount]: ...

        @typing.overload
        def pages_many(
            self,
            method: typing.Literal["fills_history"],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            resume: str | None = None,
            **arguments: typing.Any,
        ) -> AsyncPager[FillByAccount]: ...

        @typing.overload
        def pages_many(
            self,
            method: Endpoint[arguments.Row],
            keys: abc.Iterable[str | int],
            *,
            concurrency: int = 8,
            on_error: typing.Literal["raise", "collect"] = "raise",
            windows: int | typing.Literal["auto"] | None = None,
            resume: str | None = None,
            **arguments: typing.Any,
        ) -> AsyncPager[arguments.Row]: ...

    def pages_many(
        self,
        method: typing.Literal["plate_stocks", "crypto_orders", "fills_history"] | Endpoint[typing.Any],
        keys: abc.Iterable[str | int],
        *,
        concurrency: int = 8,
        on_error: typing.Literal["raise", "collect"] = "raise",
        windows: int | typing.Literal["auto"] | None = None,
        resume: str | None = None,
        **arguments: typing.Any,
    ) -> AsyncPager[typing.Any]:
        """A pager over the rows of one method for many keys, in the order of the keys.

        For millions of rows: its frames are made of the pages without a dict, and an iteration has a
        page of each of `concurrency` keys in memory, which are read side by side. With a number of
        `windows`, the time range of each key is split into as many, of which `concurrency` are read
        side by side.

        `method` is the name of a method that returns pages, such as `"fills_history"`, or an
        `Endpoint` with `paging`. `keys` are the values of its only required argument; pass the others
        by name, and optional ones too. The first column is the key, as for `fetch_many`. There is one
        checkpoint for all keys, `resume`, and one time range, which is fixed by the service's clock
        before the first page if it is open. With `on_error="collect"`, the rows of a key that fails
        midway stay, `.errors` has the key with its error, and a resume tries it again from where it
        failed; otherwise the first failure is raised.

        Raises `ConfigError` for an invalid key or argument, before anything is sent, and for a `resume`
        of other keys.

        >>> (await anext(client.pages_many("fills_history", sandbox.accounts["trade"], trd_market="HK")))["acc_id"] == sandbox.accounts["trade"][0]
        True
        """
        return AsyncPager(self._boardlot_core.pages_many(self, method, keys, concurrency, on_error, windows, resume, list(arguments.items())))

    async def ipo_calendar(
        self,
        markets: abc.Iterable[typing.Literal["hk", "us", "cn", "sg", "my"]] = ("hk", "us", "cn", "sg", "my"),
        *,
        on_error: typing.Literal["raise", "collect"] = "raise",
    ) -> boardlot.calendar.IpoCalendar:
        """The subscribable and upcoming IPOs of several markets as one calendar.

        One row for each event (such as opening, closing, ballot and listing) with its date,
        currency and the columns that the markets share. `boardlot.calendar.IpoCalendar`
        converts to frames and iCalendar text as well. Calls `ipo_list` once for each of `markets`.
        With `on_error="collect"`, `.errors` has the markets that failed.

        Raises `ConfigError` for an unknown market, and the errors of `ipo_list`.

        >>> (await client.ipo_calendar(["sg"]))[0]["market"]
        'sg'
        """
        return await boardlot.calendar.ipo_calendar_async(self, markets, on_error=on_error)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: arguments.Query | None = None,
        body: dict[str, typing.Any] | list[typing.Any] | bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Any request, authorized like the others; its envelope is not checked.

        `method` is the HTTP method, and `path` begins with a slash. `query` is a dict or a list of
        pairs, sent in its order. A `body` of a dict or list is sent as compact JSON, `bytes`
        unchanged. `headers` are added to those of the client. The `Response` has `.status`,
        `.headers`, `.content` (bytes) and `.json()`. Only a rejected token (HTTP 401,
        or a response that says so), -12006 and redirects are handled or raised. GET, HEAD and OPTIONS
        are retried if there was no response.

        Raises `ConfigError` for an invalid argument, before anything is sent, and `TransportError`
        if there is no response; see `boardlot.errors` for the others.

        >>> (await client.request("GET", "/api/v1.0/server-time")).status
        200
        """
        return await self._boardlot_core.request(method, path, query, body, headers)

    def paginate(
        self,
        method: str,
        path: str,
        *,
        paging: typing.Literal["next_key", "page_flag"] | DateRange,
        rows: str,
        query: arguments.Query | None = None,
        body: dict[str, typing.Any] | None = None,
        resume: str | None = None,
    ) -> AsyncPager[dict[str, typing.Any]]:
        """The pages of any list.

        `method`, `path`, `query` and `body` are those of the first request, as for `request`.
        `paging` is `"next_key"`, `"page_flag"`, or a `DateRange` for endpoints that page
        backward by moving the end of a range of dates. `rows` is the dotted path of the list in the
        response, such as `"data.stock_list"`. The cursor is sent in the query of a GET,
        otherwise in the body. With `"page_flag"`, the first request carries an empty cursor only
        if `query` or `body` has `"page_flag": ""`. `resume` is a pager's `.checkpoint()`.

        Raises `ConfigError` for an invalid argument, before anything is sent; see
        `boardlot.errors` for the others.

        >>> client.paginate("GET", "/any/list", paging="next_key", rows="data.list").requests
        0
        """
        return AsyncPager(self._boardlot_core.paginate(self, method, path, paging, rows, query, body, resume))

    def explain(
        self,
        method: str | Endpoint[typing.Any],
        path: str | None = None,
        query: arguments.Query | None = None,
        body: dict[str, typing.Any] | list[typing.Any] | bytes | None = None,
        **arguments: typing.Any,
    ) -> Explanation:
        """A request as it would be sent now, with its signature, without sending it.

        The `Explanation` has `.payload_lines` (the five lines of the canonical request),
        `.payload`, `.body_hash`, `.headers` with the signature but no key, `.method` and
        `.url`. `method`, `path`, `query` and `body` are those of `request`; instead of them, pass
        an `Endpoint` and its arguments.

        Raises `ConfigError` for an invalid argument.

        >>> client.explain("GET", "/api/v1.0/server-time").payload_lines[1:]
        ['GET', '/api/v1.0/server-time', '', '']
        """
        return self._boardlot_core.explain(method, path, query, body, list(arguments.items()))
