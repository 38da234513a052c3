"""Every built-in endpoint, declared as a user would: the same rows, in columns of the same types.

The service document shows thirteen endpoints. Nine return records; the clock is a number, and the
three of OAuth take forms and return no records, so that they cannot be declared.
"""

import datetime as dt

import boardlot as bl
import pytest
from boardlot._endpoints import ENDPOINTS

SANDBOX = {"fills": 60}
START = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
END = dt.datetime(2027, 1, 1, tzinfo=dt.timezone.utc)

TRADING_DAYS = bl.Endpoint(
    "days",
    "GET",
    "/api/v1.0/quote/trading-days",
    arguments={"market": "text", "start": "date", "end": "date"},
)
REFERENCE_FUTURES = bl.Endpoint(
    "futures",
    "GET",
    "/api/v1.0/quote/{symbol}/reference-future",
    rows="data.reference_list",
    record=bl.RelatedFuture,
    arguments={"symbol": "symbol"},
)
HK_IPOS = bl.Endpoint(
    "ipos", "GET", "/api/v1.0/quote/ipo-list/{market}", rows="data.list", record=bl.HkIpo
)
US_IPOS = bl.Endpoint(
    "ipos", "GET", "/api/v1.0/quote/ipo-list/{market}", rows="data.list", record=bl.UsIpo
)
DIVIDENDS = bl.Endpoint(
    "dividends_of",
    "GET",
    "/api/v1.0/quote/{symbol}/corporate-actions/dividends",
    rows="data.dividend_list",
    record=bl.Dividend,
)
PLATE_STOCKS = bl.Endpoint(
    "stocks",
    "POST",
    "/api/v1.0/quote/plate/{plate_code}/stock",
    paging="next_key",
    arguments={"limit": "integer"},
)
CRYPTO_ORDERS = bl.Endpoint(
    "crypto",
    "GET",
    "/api/v1/crypto/accounts/{acc_id}/orders",
    rows="data.orders",
    paging="page_flag",
    record=bl.CryptoOrder,
)
SIM_ORDERS = bl.Endpoint(
    "sim", "GET", "/api/v1.0/sim-trade/{acc_id}/orders", rows="data.orders", record=bl.SimOrder
)
SIM_POSITIONS = bl.Endpoint(
    "positions",
    "GET",
    "/api/v1.0/sim-trade/{acc_id}/positions",
    rows="data.positions",
    record=bl.SimPosition,
)
FILLS = bl.Endpoint(
    "fills",
    "GET",
    "/api/v1.0/accounts/{acc_id}/fills_history",
    rows="d.order_fills",
    paging="page_flag",
    record=bl.Fill,
    arguments={"start": "micros", "end": "micros", "page_size": "integer"},
)


@pytest.fixture(scope="module")
def account(sandbox):
    """The account of each kind."""
    return {kind: accounts[0] for kind, accounts in sandbox.accounts.items()}


# For each method, the call of the declared endpoint, and that of the method.
CALLS = {
    "trading_days": (
        lambda client, _: client.call(
            TRADING_DAYS, market="HK", start="2026-01-01", end="2026-01-31"
        ),
        lambda client, _: client.trading_days("HK", "2026-01-01", "2026-01-31"),
    ),
    "reference_futures": (
        lambda client, _: client.call(REFERENCE_FUTURES, symbol="HK.HSImain"),
        lambda client, _: client.reference_futures("HK.HSImain"),
    ),
    "ipo_list": (
        lambda client, _: client.call(HK_IPOS, market="hk"),
        lambda client, _: client.ipo_list("hk"),
    ),
    "ipo_list of the US": (
        lambda client, _: client.call(US_IPOS, market="us"),
        lambda client, _: client.ipo_list("us"),
    ),
    "dividends": (
        lambda client, _: client.call(DIVIDENDS, symbol="HK.00700"),
        lambda client, _: client.dividends("HK.00700"),
    ),
    "plate_stocks": (
        lambda client, _: client.pages(PLATE_STOCKS, plate_code="HK.BK1001", limit=10),
        lambda client, _: client.plate_stocks("HK.BK1001", limit=10),
    ),
    "crypto_orders": (
        lambda client, account: client.pages(CRYPTO_ORDERS, acc_id=account["crypto"]),
        lambda client, account: client.crypto_orders(account["crypto"]),
    ),
    "sim_orders": (
        lambda client, account: client.call(SIM_ORDERS, acc_id=account["sim"]),
        lambda client, account: client.sim_orders(account["sim"]),
    ),
    "sim_positions": (
        lambda client, account: client.call(SIM_POSITIONS, acc_id=account["sim"]),
        lambda client, account: client.sim_positions(account["sim"]),
    ),
    "fills_history": (
        # The document requires an empty cursor on the first page.
        lambda client, account: client.pages(
            FILLS, acc_id=account["trade"], trd_market="HK", start=START, end=END, page_flag=""
        ),
        lambda client, account: client.fills_history(account["trade"], "HK", start=START, end=END),
    ),
}


@pytest.mark.parametrize("method", CALLS)
def test_a_declared_endpoint_has_the_rows_and_columns_of_the_method(client, account, method):
    pytest.importorskip("polars")
    own, built_in = CALLS[method]
    rows = list(built_in(client, account))
    assert rows and list(own(client, account)) == rows
    frame = built_in(client, account).to_polars()
    assert dict(own(client, account).to_polars().schema) == dict(frame.schema)
    assert own(client, account).to_polars().equals(frame)


def test_every_method_with_records_is_declared_again():
    methods = {endpoint.method for endpoint in ENDPOINTS} - {"server_time"}
    assert methods <= CALLS.keys() and len(methods) == 9


@pytest.mark.parametrize("rows", [None, "server_time_ms"])
def test_the_clock_is_no_list_and_is_requested_instead_of_declared(client, rows):
    clock = bl.Endpoint("clock", "GET", "/api/v1.0/server-time", rows=rows)
    with pytest.raises(bl.ProtocolError, match="no success mark"):
        client.call(clock)
    sent = client.request("GET", "/api/v1.0/server-time").json()["server_time_ms"]
    assert int(sent) <= client.server_time().timestamp() * 1000
