"""The OpenAPI description against the service's documentation, by hand, and real responses."""

import json
import re
import urllib.request
from urllib.parse import parse_qsl

import boardlot as bl
import jsonschema
import pytest
from boardlot._support.openapi import record_schema
from boardlot.cli.application import app
from click.testing import CliRunner

DESCRIPTION = bl.openapi()
SCHEMAS = DESCRIPTION["components"]["schemas"]
# Section 4: every path with its method and its parameters, the required ones with a star.
OPERATIONS = {
    "GET /api/v1.0/server-time": "",
    "GET /api/v1.0/quote/trading-days": "market* start* end*",
    "GET /api/v1.0/quote/{symbol}/reference-future": "symbol*",
    "GET /api/v1.0/quote/ipo-list/hk": "request_type",
    "GET /api/v1.0/quote/ipo-list/us": "request_type",
    "GET /api/v1.0/quote/ipo-list/cn": "request_type",
    "GET /api/v1.0/quote/ipo-list/sg": "request_type",
    "GET /api/v1.0/quote/ipo-list/my": "request_type",
    "GET /api/v1.0/quote/{symbol}/corporate-actions/dividends": "symbol*",
    "POST /api/v1.0/quote/plate/{plate_code}/stock": "plate_code* X-Service-Client-Nnid",
    "GET /api/v1/crypto/accounts/{acc_id}/orders": "acc_id* page_size page_flag",
    "GET /api/v1.0/sim-trade/{acc_id}/orders": "acc_id*",
    "GET /api/v1.0/sim-trade/{acc_id}/positions": "acc_id* market",
    "GET /api/v1.0/accounts/{acc_id}/fills_history": (
        "acc_id* trd_market* code start end page_flag* page_size"
    ),
    "POST /oauth2/register": "",
    "GET /oauth2/authorize/confirm": (
        "client_id* code_challenge* code_challenge_method* redirect_uri* response_type* state*"
    ),
    "POST /oauth2/token": "",
}
# Section 2: the members of each record that stands in a table there.
RECORDS = {
    "Fill": "trd_side deal_id order_id code stock_name qty price create_time updated_time "
    "counter_broker_id counter_broker_name status",
    "SimPosition": "pstn_id pstn_type market symbol stock_name qty qty_avbl cost_price "
    "buy_avg_price cur_price mv profit profit_ratio",
    "SimOrder": "order_id side symbol stock_name order_type status qty cum_qty price "
    "avg_fill_price aux_price create_time update_time text",
    "Dividend": "fiscal_year statement dividend_per_share currency payout_ratio dividend_type "
    "process ex_date record_date dividend_payable_date pub_date",
    "RelatedFuture": "code stock_name sc_name tc_name stock_type lot_size future_valid "
    "future_main_contract future_last_trade_time list_time",
    "OAuthClient": "client_id client_id_issued_at client_name redirect_uris grant_types "
    "token_endpoint_auth_method response_types registration_access_token "
    "registration_client_uri scope pkce_required",
    "AccessToken": "access_token token_type expires_in refresh_token scope",
}


def operations():
    for path, item in DESCRIPTION["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def operation(name):
    return next(one for _, one in operations() if one["operationId"] == name)


def parameter(name, of):
    return next(one for one in operation(of)["parameters"] if one["name"] == name)


def test_each_operation_of_the_documentation_is_there_with_its_parameters():
    found = {}
    for name, one in operations():
        words = [x["name"] + "*" * x["required"] for x in one.get("parameters", [])]
        found[name] = sorted(words)
    assert found == {name: sorted(words.split()) for name, words in OPERATIONS.items()}


@pytest.mark.parametrize("name", RECORDS)
def test_records_have_the_fields_of_the_documentation(name):
    assert list(SCHEMAS[name]["properties"]) == RECORDS[name].split()
    # JSON Schema allows other fields by itself. Stated, that would make a misspelt name valid
    # TypeScript.
    assert "additionalProperties" not in SCHEMAS[name]


def test_limits_are_those_of_the_documentation_and_no_others():
    micros = {"format": "uint64", "minimum": 0, "maximum": 2**64 - 1}
    micros |= {"type": "integer", "x-kind": "timestamp", "x-unit": "µs"}
    date = {"type": "string", "format": "date", "x-form": "YYYY-MM-DD"}
    expected = {
        ("fills_history", "page_size"): {
            "type": "integer",
            "minimum": 10,
            "maximum": 50,
            "default": 50,
        },
        ("crypto_orders", "page_size"): {
            "type": "integer",
            "minimum": 1,
            "maximum": 50,
            "default": 50,
        },
        ("crypto_orders", "acc_id"): {"type": "string", "pattern": "^[0-9]{1,20}$"},
        ("fills_history", "start"): micros,
        ("fills_history", "end"): micros,
        ("fills_history", "trd_market"): {"type": "string"},
        ("fills_history", "acc_id"): {"type": "string", "pattern": "^[0-9]+$"},
        ("sim_positions", "market"): {"type": "integer"},
        ("trading_days", "start"): date,
        ("trading_days", "end"): date,
        ("trading_days", "market"): {"type": "string"},
    }
    for (of, name), schema in expected.items():
        assert parameter(name, of)["schema"] == schema, (of, name)
    assert parameter("symbol", "reference_futures")["schema"]["maxLength"] == 32
    assert "maxLength" not in parameter("symbol", "dividends")["schema"]
    assert SCHEMAS["IpoRequest"]["enum"] == [9, 10, 11]
    assert SCHEMAS["CnIpoRequest"]["enum"] == [1, 2, 3, 4, 5]
    assert parameter("request_type", "ipo_list_hk")["schema"]["default"] == 11
    assert parameter("request_type", "ipo_list_cn")["schema"]["default"] == 4
    # "Default and maximum `limit` per cursor-paginated endpoint: not shown."
    limit = SCHEMAS["PlateStocksRequest"]["properties"]["limit"]
    assert set(limit) == {"type", "description"}


def test_what_is_not_shown_is_left_open():
    content = operation("trading_days")["responses"]["2XX"]["content"]
    assert content == {"application/json": {"schema": {}}}
    assert "type" not in SCHEMAS["PlateStocksSuccess"]["properties"]["data"]
    for name, one in operations():
        assert set(one["responses"]) == {"2XX", "default"}, f"{name} states a status"
    # Neither the failures of OAuth, of the clock and of trading days are, nor any body of theirs.
    for name in ("register", "authorize", "token", "server_time", "trading_days"):
        assert "content" not in operation(name)["responses"]["default"]


def test_envelopes_are_those_of_section_7():
    def required(name):
        return SCHEMAS[name]["required"]

    assert required("FillsHistorySuccess") == ["s", "d"]
    assert required("FillsHistoryFailure") == ["s", "errcode", "errmsg"]
    assert SCHEMAS["FillsHistorySuccess"]["properties"]["s"]["const"] == "ok"
    assert required("CryptoOrdersSuccess") == ["code", "data"]
    assert required("CryptoOrdersFailure") == ["code", "msg"]
    assert required("DividendsSuccess") == ["ret_code", "data"]
    assert required("DividendsFailure") == ["ret_code", "error"]
    assert required("PlateStocksSuccess") == ["code", "data", "pagination"]
    # "Form not stated beyond code"; and no failure of simulated trading is shown.
    assert required("PlateStocksFailure") == ["code"]
    assert required("SimOrdersFailure") == ["ret_code"]
    # The code of a success is not among those of failures: each envelope is narrowed by its mark.
    assert SCHEMAS["ErrorCode"]["enum"] == [1, -2, -3, -4, -5, -6, -7, -12006]
    for name in ("Dividends", "CryptoOrders", "PlateStocks", "SimOrders", "SimPositions"):
        success, failure = (SCHEMAS[f"{name}{kind}"] for kind in ("Success", "Failure"))
        mark = success["required"][0]
        assert success["properties"][mark] == {"type": "integer", "const": 0}
        assert failure["properties"][mark] == {"$ref": "#/components/schemas/ErrorCode"}


@pytest.mark.parametrize(
    ("names", "body"),
    [
        (["reference_futures", "dividends", "sim_orders", "sim_positions"], {"ret_code": -99}),
        (["ipo_list_hk", "ipo_list_us", "ipo_list_cn", "ipo_list_sg"], {"ret_code": -99}),
        (["crypto_orders", "plate_stocks"], {"code": 99, "msg": "no"}),
        (["fills_history"], {"s": "error", "errcode": -99, "errmsg": "no"}),
    ],
)
def test_any_other_response_has_the_endpoints_envelope_with_whatever_code(names, body):
    for name in names:
        content = operation(name)["responses"]["default"]["content"]["application/json"]
        whole = {**content["schema"], "components": DESCRIPTION["components"]}
        jsonschema.validate(body, whole, jsonschema.Draft202012Validator)
        for success in ({"ret_code": 0}, {"code": 0}, {"s": "ok"}, {}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(success, whole, jsonschema.Draft202012Validator)


def test_the_next_page_is_requested_with_all_parameters_of_this_one():
    paged = ["plate_stocks", "crypto_orders", "fills_history"]
    for name in paged:
        link = operation(name)["responses"]["2XX"]["links"]["next"]
        known = {f"{one['in']}.{one['name']}" for one in operation(name)["parameters"]}
        assert set(link["parameters"]) == known
    assert operation("fills_history")["responses"]["2XX"]["links"]["next"]["parameters"] == {
        "path.acc_id": "$request.path.acc_id",
        "query.trd_market": "$request.query.trd_market",
        "query.code": "$request.query.code",
        "query.start": "$request.query.start",
        "query.end": "$request.query.end",
        "query.page_flag": "$response.body#/d/page_flag",
        "query.page_size": "$request.query.page_size",
    }
    assert operation("plate_stocks")["responses"]["2XX"]["links"]["next"]["requestBody"] == {
        "next_key": "$response.body#/pagination/next_key",
        "limit": "$request.body#/limit",
    }


def test_both_kinds_of_paging_are_described_for_programs():
    paged = {one["operationId"]: one["x-paging"] for _, one in operations() if "x-paging" in one}
    assert paged == {
        "plate_stocks": {
            "cursor": "next_key",
            "in": "body",
            "first": "empty",
            "next": "pagination.next_key",
            "end": {"at": "pagination.has_more", "is": False},
        },
        "crypto_orders": {
            "cursor": "page_flag",
            "in": "query",
            "first": "omitted",
            "next": "data.page_flag",
            "end": {"at": "data.completed", "is": True},
        },
        "fills_history": {
            "cursor": "page_flag",
            "in": "query",
            "first": "empty",
            "next": "d.page_flag",
            "end": {"at": "d.completed", "is": True},
        },
    }


def test_both_ways_to_authenticate_are_described():
    schemes = DESCRIPTION["components"]["securitySchemes"]
    flow = schemes["oauth"]["flows"]["authorizationCode"]
    assert flow["tokenUrl"] == "/oauth2/token"
    assert list(flow["scopes"]) == [
        "quote:read",
        "quote:write",
        "trade:read",
        "trade:write",
        "accid:*",
    ]
    words = schemes["signature"]["description"]
    for word in ("X-Api-Key", "X-Timestamp", "X-Nonce", "Authorization", "Ed25519", "SHA-256"):
        assert word in words
    assert DESCRIPTION["security"] == [{"oauth": []}, {"signature": []}]


def test_no_rule_of_the_clients_own_is_stated():
    text = json.dumps(DESCRIPTION)
    for words in ("boardlot", "pager", "The client", "now, by the service"):
        assert words not in text, words


def test_every_reference_has_a_target_and_every_name_one_operation():
    for target in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(DESCRIPTION)):
        assert target in SCHEMAS
    names = [one["operationId"] for _, one in operations()]
    assert len(names) == len(set(names))


# A call of each operation that succeeds in the sandbox, and one that fails.
CALLS = {
    "server_time": ["/api/v1.0/server-time"],
    "trading_days": ["/api/v1.0/quote/trading-days?market=HK&start=2026-01-01&end=2026-01-31"],
    "reference_futures": [
        "/api/v1.0/quote/HK.HSImain/reference-future",
        "/api/v1.0/quote/HK.99999/reference-future",
    ],
    "ipo_list_hk": [
        "/api/v1.0/quote/ipo-list/hk",
        "/api/v1.0/quote/ipo-list/hk?request_type=x",
    ],
    "ipo_list_us": ["/api/v1.0/quote/ipo-list/us"],
    "ipo_list_cn": ["/api/v1.0/quote/ipo-list/cn?request_type=5"],
    "ipo_list_sg": ["/api/v1.0/quote/ipo-list/sg"],
    "ipo_list_my": ["/api/v1.0/quote/ipo-list/my"],
    "dividends": [
        "/api/v1.0/quote/HK.00700/corporate-actions/dividends",
        "/api/v1.0/quote/US.AAPL/corporate-actions/dividends",
        "/api/v1.0/quote/x/corporate-actions/dividends",
    ],
    "plate_stocks": [
        "/api/v1.0/quote/plate/HK.BK1001/stock",
        "/api/v1.0/quote/plate/HK.BK9/stock",
    ],
    "crypto_orders": [
        "/api/v1/crypto/accounts/1001001/orders",
        "/api/v1/crypto/accounts/1/orders",
    ],
    "sim_orders": ["/api/v1.0/sim-trade/5001/orders", "/api/v1.0/sim-trade/9/orders"],
    "sim_positions": ["/api/v1.0/sim-trade/5001/positions"],
    "fills_history": [
        "/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag=",
        "/api/v1.0/accounts/281756/fills_history?trd_market=XX&page_flag=",
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_responses_of_the_sandbox_match_their_schemas(name, sandbox):
    schema = operation(name)["responses"]["2XX"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": DESCRIPTION["components"]}
    with sandbox.client() as client:
        for path in CALLS[name]:
            method = "POST" if name == "plate_stocks" else "GET"
            body = {"next_key": "", "limit": 10} if method == "POST" else None
            target, _, query = path.partition("?")
            got = client.request(method, target, query=dict(parse_qsl(query, True)), body=body)
            jsonschema.validate(got.json(), whole, jsonschema.Draft202012Validator)


def test_a_schema_is_not_satisfied_by_anything():
    whole = {"$ref": "#/components/schemas/FillsHistorySuccess", **DESCRIPTION}
    good = {"s": "ok", "d": {"order_fills": [], "page_flag": "", "completed": True}}
    jsonschema.validate(good, whole, jsonschema.Draft202012Validator)
    for bad in ({**good, "s": "no"}, {"s": "ok"}, {**good, "d": {}}, []):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, whole, jsonschema.Draft202012Validator)


def test_the_sandbox_serves_it_without_credentials_and_faults():
    faults = bl.Faults(drop_rate=1.0)
    with bl.Sandbox(seed=7, faults=faults) as sandbox:
        with urllib.request.urlopen(f"{sandbox.base_url}/openapi.json", timeout=60) as got:
            assert json.load(got) == DESCRIPTION
        with urllib.request.urlopen(f"{sandbox.base_url}/healthz", timeout=60) as got:
            assert json.load(got) == {"status": "ok"}
        assert not sandbox.requests


def test_the_command_prints_it_and_the_schema_of_a_record():
    assert json.loads(CliRunner().invoke(app, ["openapi"]).stdout) == DESCRIPTION
    schema = json.loads(CliRunner().invoke(app, ["openapi", "--schema", "CryptoOrder"]).stdout)
    assert schema == record_schema("CryptoOrder")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["$defs"]) == {"CryptoOrderSymbolPair", "CryptoOrderStatus"}
    assert isinstance(
        CliRunner().invoke(app, ["openapi", "--schema", "Fil"]).exception, bl.ConfigError
    )


@pytest.mark.parametrize("name", ["Fill", "HkIpo", "SimOrder"])
def test_the_schema_of_a_record_holds_alone(name, sandbox):
    with sandbox.client() as client:
        rows = {
            "Fill": lambda: client.fills_history("281756", "HK").all(max_items=50),
            "HkIpo": lambda: client.ipo_list("hk"),
            "SimOrder": lambda: client.sim_orders("5001"),
        }[name]()
    for row in rows:
        jsonschema.validate(dict(row), record_schema(name), jsonschema.Draft202012Validator)
