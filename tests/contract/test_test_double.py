"""The sandbox as a test double: custom rows, planned failures, a fixed date."""

import datetime

import boardlot as bl
import pandas as pd
import pytest
from boardlot._endpoints import ENDPOINTS, Account
from inline_snapshot import snapshot

from ..support.calls import called
from ..support.own_endpoints import KLINE

CANDLES = [{"time": 1_700_000_000 + 60 * n, "close": f"{n}.5"} for n in range(5)]
FILL = {
    **{"deal_id": "1", "order_id": "2", "code": "HK.00700", "qty": "100", "price": "0.10"},
    **{"trd_side": "BUY", "status": "OK", "counter_broker_id": 1},
    **dict.fromkeys(("create_time", "updated_time"), 1_600_000_000_000_000),
}
ROWS = [{**FILL, "index": index, "ünï": [None, 1.10, "x"]} for index in range(120)]


TIMELESS = bl.Endpoint("x", "GET", "/x", paging=bl.DateRange(next="extra.next"))


SANDBOX = {"fills": 60, "orders": 6, "plate_stocks": 20}


@pytest.fixture(autouse=True)
def initial_state(sandbox):
    yield
    sandbox.faults = None
    sandbox.reset()


@pytest.mark.parametrize(
    "endpoint",
    [one for one in ENDPOINTS if one.method != "server_time"],
    ids=lambda one: one.method,
)
def test_put_replaces_the_rows_of_every_method(sandbox, endpoint):
    arguments = [
        sandbox.accounts[one.kind][0] if isinstance(one, Account) else one
        for one in endpoint.arguments
    ]
    for rows in (ROWS, []):
        sandbox.put(endpoint.method, rows)
        with sandbox.client() as client:
            assert list(getattr(client, endpoint.method)(*arguments)) == rows


def test_put_for_one_account_leaves_the_others(sandbox):
    one, other = sandbox.accounts["trade"]
    sandbox.put("fills_history", [FILL], account=one)
    with sandbox.client() as client:
        assert client.fills_history(one, "HK").all() == [FILL]
        assert client.fills_history(one, "US").all() == []
        assert len(client.fills_history(other, "HK").all()) > 1
        # A closed range selects by the update time, as the service does.
        october, november = "2020-10-01T00:00Z", "2020-11-01T00:00Z"
        assert client.fills_history(one, "HK", start="2020-09-01", end=october).all() == [FILL]
        assert client.fills_history(one, "HK", start=october, end=november).all() == []
        assert client.fills_history(one, "HK", code="HK.00005").all() == []
    sandbox.reset()
    with sandbox.client() as client:
        assert len(client.fills_history(one, "HK").all()) > 1


def test_put_serves_a_market_whose_codes_have_other_prefixes(sandbox):
    (account, _), fill = sandbox.accounts["trade"], {**FILL, "code": "SZ.000001"}
    with sandbox.client() as client:
        sandbox.put("fills_history", [fill, FILL], account=account)
        assert client.fills_history(account, "CN").all() == [fill]
        assert client.fills_history(account, "HK").all() == [FILL]
        # The test says of which market they are.
        sandbox.put("fills_history", [fill], account=account, trd_market="ASHARES")
        assert client.fills_history(account, "ASHARES").all() == [fill]


def test_every_market_has_fills_of_its_own(sandbox):
    (account, _) = sandbox.accounts["trade"]
    with sandbox.client() as client:
        for market in ("HK", "US", "CN", "SG", "MY", "JP", "AU", "CA"):
            fills = client.fills_history(account, market).all()
            prefixes = {fill["code"].partition(".")[0] for fill in fills}
            assert prefixes == ({"SH", "SZ"} if market == "CN" else {market})
            assert len({fill["deal_id"] for fill in fills}) == len(fills) == 60


def test_dividends_of_securities_have_dates_of_their_own(sandbox):
    with sandbox.client() as client:
        for symbols in (("HK.00700", "HK.00005", "HK.00388"), ("US.AAPL", "US.KO", "US.PG")):
            lists = [client.dividends(symbol) for symbol in symbols]
            assert len({rows[1]["ex_date"] for rows in lists}) == 3
            for rows in lists:
                dates = [row["ex_date"] for row in rows]
                assert dates == sorted(dates, reverse=True)
                paid = [row for row in rows if row["dividend_payable_date"]]
                assert all(
                    row["pub_date"] < row["ex_date"] < row["record_date"]
                    < row["dividend_payable_date"]
                    for row in paid
                )  # fmt: skip
        assert str(client.dividends("HK.02800").meta["total_dividend_money"]) == "0.0"


def test_put_for_a_symbol_and_the_metadata_of_dividends(sandbox):
    rows = [{"dividend_per_share": 1.5}, {"dividend_per_share": 0.25}]
    sandbox.put("dividends", rows, symbol="HK.00700")
    with sandbox.client() as client:
        found = client.dividends("HK.00700")
        assert found == rows and client.dividends("US.AAPL") != rows
    totals = {"total_dividend_count": 2, "total_dividend_money": 1.75}
    assert found.meta == {**found.meta, **totals}


@pytest.mark.parametrize("auth", ["Ed25519", "oauth"])
def test_what_is_served_needs_the_credentials_of_the_service(sandbox, auth):
    sandbox.serve(KLINE, CANDLES)
    with sandbox.client(auth) as client:
        assert client.pages(KLINE, symbol="HK.00700").all() == CANDLES
    with bl.Client(sandbox.base_url) as client, pytest.raises(bl.AuthenticationError):
        client.call(KLINE, symbol="HK.00700")


def test_served_rows_have_the_requested_range_and_page(sandbox):
    sandbox.serve(KLINE, reversed(CANDLES))
    start, end = CANDLES[1]["time"], CANDLES[3]["time"]
    with sandbox.client() as client:
        pager = client.pages(KLINE, symbol="HK.00700", start=start, end=end, limit=2)
        assert list(pager) == [CANDLES[2], CANDLES[3], CANDLES[1]]
        with pytest.raises(bl.InvalidParameter, match="limit"):
            client.call(KLINE, symbol="HK.00700", limit=0)
    paths = {request.path for request in sandbox.requests}
    assert paths == {"/api/v1.0/quote/HK.00700/history-kline"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda sandbox: sandbox.serve(KLINE, [{"close": "1"}]),
            snapshot("rows[0] has no time; expected a number or a date to page by"),
        ),
        (lambda sandbox: sandbox.serve(KLINE, [1]), snapshot("rows[0] is 1; expected a dict")),
        (
            lambda sandbox: sandbox.serve(KLINE, "rows"),
            snapshot("rows is of type str; expected a list of dicts"),
        ),
        (
            lambda sandbox: sandbox.serve(KLINE, [{"time": {1}}]),
            snapshot(
                "rows cannot be written as JSON: Object of type set is not JSON serializable; "
                "write the value as the service sends it, often a text"
            ),
        ),
        (
            lambda sandbox: sandbox.serve(TIMELESS, []),
            snapshot(
                "the sandbox cannot tell the time of a row of x; declare a date or time in "
                "record, or unique= in its DateRange"
            ),
        ),
        (
            lambda sandbox: sandbox.serve("kline", []),
            snapshot(
                "endpoint is of type str; expected an Endpoint; for the rows of a built-in "
                "method, use `put`"
            ),
        ),
        (
            lambda sandbox: sandbox.put("fills", []),
            snapshot(
                "name is 'fills'; expected one of trading_days, reference_futures, ipo_list, "
                "dividends, plate_stocks, crypto_orders, sim_orders, sim_positions, "
                "fills_history, capital_flow_history, history_kline; did you mean "
                "'fills_history'?"
            ),
        ),
        (
            lambda sandbox: sandbox.put("server_time", []),
            snapshot(
                "name is 'server_time'; expected one of trading_days, reference_futures, "
                "ipo_list, dividends, plate_stocks, crypto_orders, sim_orders, sim_positions, "
                "fills_history, capital_flow_history, history_kline"
            ),
        ),
        (lambda sandbox: sandbox.put(5, []), snapshot("name is of type int; expected a string")),
        (
            lambda sandbox: sandbox.fail_next("fills_histroy"),
            snapshot(
                "endpoint is 'fills_histroy'; expected one of server_time, trading_days, "
                "reference_futures, ipo_list, dividends, plate_stocks, crypto_orders, sim_orders,"
                " sim_positions, fills_history, capital_flow_history, history_kline, register, "
                "authorize, token; did you mean 'fills_history'?"
            ),
        ),
        (
            lambda sandbox: sandbox.put(name="dividends", rows=[], account="1"),
            snapshot("account is 1; expected no account: dividends does not take one"),
        ),
        (
            lambda sandbox: sandbox.put(name="dividends", rows=[], simbol="x"),
            snapshot("simbol is not an argument of dividends; expected one of symbol"),
        ),
        (
            lambda sandbox: sandbox.fail_next(status=200),
            snapshot(
                "status is 200; expected an HTTP status from 400 to 599, 0 to close the "
                "connection, or 200 with a code other than 0"
            ),
        ),
        (
            lambda sandbox: sandbox.fail_next(code=0),
            snapshot("code is 0, which is a success; expected another integer"),
        ),
        (
            lambda sandbox: sandbox.fail_next(times=0),
            snapshot("times is 0; expected an integer from 1, or None"),
        ),
        (
            lambda sandbox: sandbox.put("fills_history", [{"qty": 100}]),
            snapshot("rows[0]['qty'] is 100; expected a string, as the service sends it: '100'"),
        ),
        (
            lambda sandbox: sandbox.put("fills_history", [{}, {"price": 2.5}]),
            snapshot("rows[1]['price'] is 2.5; expected a string, as the service sends it: '2.5'"),
        ),
        (
            lambda sandbox: sandbox.put("fills_history", [{"code": 700}]),
            snapshot("rows[0]['code'] is 700; expected a string, as the service sends it: '700'"),
        ),
        (
            lambda: bl.Sandbox(today="2026-01-05"),
            snapshot("today is of type str; expected a date, such as datetime.date(2026, 1, 5)"),
        ),
        (
            lambda: bl.Sandbox(today=datetime.date(1901, 1, 1)),
            snapshot("today is 1901-01-01; expected a date from 2015-01-01 to 2035-12-31"),
        ),
    ],
)
def test_what_is_wrong_is_named(call, said, sandbox, request):
    with pytest.raises(bl.ConfigError) as caught:
        called(call, request)
    assert str(caught.value) == said
    # Nothing of it is served.
    with sandbox.client() as client:
        assert client.dividends("HK.00700") and len(client.fills_history("281756", "HK").all()) > 1


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        ({"status": 401}, bl.AuthenticationError),
        ({"status": 0}, bl.TransportError),
        ({"code": -3, "message": "no such thing"}, bl.InvalidParameter),
        ({"code": -2, "status": 500}, bl.ServiceError),
        ({"code": -777}, bl.ApiError),
    ],
)
def test_a_planned_failure_is_the_error_that_the_service_would_cause(sandbox, failure, expected):
    facts = {name.replace("status", "http_status"): fact for name, fact in failure.items() if fact}
    sandbox.fail_next("dividends", times=2, **failure)
    with sandbox.client(max_retries=0) as client:
        assert client.sim_orders("5001") is not None
        for _ in range(2):
            with pytest.raises(expected) as caught:
                client.dividends("HK.00700")
            assert {name: getattr(caught.value, name) for name in facts} == facts
        assert client.dividends("HK.00700")


def test_a_failure_can_be_planned_for_a_path_an_endpoint_or_any_request(sandbox):
    sandbox.serve(KLINE, CANDLES)
    sandbox.fail_next(KLINE)
    sandbox.fail_next("/api/v1.0/quote/US.AAPL/corporate-actions/dividends", times=None)
    with sandbox.client(max_retries=0) as client:
        assert client.dividends("HK.00700")
        with pytest.raises(bl.ServiceError):
            client.call(KLINE, symbol="HK.00700")
        assert client.call(KLINE, symbol="HK.00700") == CANDLES
        for _ in range(3):
            with pytest.raises(bl.ServiceError):
                client.dividends("US.AAPL")
        sandbox.fail_next(status=500)
        with pytest.raises(bl.ServiceError):
            client.sim_orders("5001")
        sandbox.reset()
        assert client.dividends("US.AAPL")


def test_a_refresh_of_tokens_can_fail_too(sandbox):
    with sandbox.client("oauth", max_retries=0) as client:
        sandbox.revoke_tokens()
        sandbox.fail_next("token", status=503)
        with pytest.raises(bl.BoardlotError):
            client.dividends("HK.00700")
        assert client.dividends("HK.00700")


TODAY = datetime.date(2026, 1, 5)


def test_the_date_of_the_sandbox_can_be_fixed():
    seen = []
    for _ in range(2):
        with bl.Sandbox(seed=7, fills=60, today=TODAY) as sandbox, sandbox.client() as client:
            assert client.server_time().date() == TODAY
            fills = client.fills_history(sandbox.accounts["trade"][0], "HK").all()
            latest = max(fill["updated_time"] for fill in fills)
            assert datetime.date(2025, 10, 1) < datetime.date.fromtimestamp(latest / 1e6) <= TODAY
            seen.append((fills, client.ipo_list("hk"), client.dividends("HK.00700")))
            # The key's timestamps are of the local clock, and accepted.
            assert {request.status for request in sandbox.requests} == {200}
    assert seen[0] == seen[1]


def test_put_takes_null_and_fields_that_are_unknown_or_missing(sandbox):
    rows = [{"qty": None, "new": 1.5, "side": {"a": [1]}}, {}]
    sandbox.put("fills_history", rows)
    with sandbox.client() as client:
        assert client.fills_history("281756", "HK").all() == rows


def test_a_frame_is_refused_as_rows(sandbox):
    frame = pd.DataFrame([{"qty": "100"}])
    with pytest.raises(bl.ConfigError, match=r"expected a list of dicts, such as frame\.to_dict"):
        sandbox.put("fills_history", frame)


def test_a_value_of_another_type_can_be_served_by_a_declaration_of_its_path(sandbox):
    path = "/api/v1.0/accounts/{acc_id}/fills_history"
    own = bl.Endpoint("own_fills", "GET", path, rows="data.fills", paging="page_flag")
    sandbox.serve(own, [{"qty": 100}])
    with sandbox.client() as client:
        assert client.pages(own, acc_id="281756").all() == [{"qty": 100}]


def test_faults_are_replaced_not_changed(sandbox):
    faults = bl.Faults(error_rate=0.1)
    with pytest.raises(AttributeError, match=r"assign new ones, sandbox.faults = Faults\(error"):
        faults.error_rate = 0.5
    assert repr(faults) == repr(bl.Faults(error_rate=0.1))
