"""Every built-in endpoint, declared as a user would: the same vectors and the same requests."""

import inspect

import boardlot as bl
import pytest
from boardlot._endpoints import ENDPOINTS

from ..support.clients import MODES, run, same, settled
from ..support.service import StandInService
from ..support.vectors import endpoint_vectors, scripted_responses
from .test_endpoints import assert_body, assert_request

# Written by hand from the service document: method, path, and what `Endpoint` takes.
DECLARED = {
    "trading_days": (
        "GET",
        "/api/v1.0/quote/trading-days",
        {"arguments": {"market": "text", "start": "date", "end": "date"}},
    ),
    "reference_futures": (
        "GET",
        "/api/v1.0/quote/{symbol}/reference-future",
        {"rows": "data.reference_list", "arguments": {"symbol": "symbol"}},
    ),
    "ipo_list": (
        "GET",
        "/api/v1.0/quote/ipo-list/{market}",
        {"rows": "data.list", "arguments": {"request_type": "integer"}},
    ),
    "dividends": (
        "GET",
        "/api/v1.0/quote/{symbol}/corporate-actions/dividends",
        {"rows": "data.dividend_list"},
    ),
    "plate_stocks": (
        "POST",
        "/api/v1.0/quote/plate/{plate_code}/stock",
        {"paging": "next_key", "arguments": {"limit": "integer"}},
    ),
    "crypto_orders": (
        "GET",
        "/api/v1/crypto/accounts/{acc_id}/orders",
        {"rows": "data.orders", "paging": "page_flag", "arguments": {"page_size": "integer"}},
    ),
    "sim_orders": ("GET", "/api/v1.0/sim-trade/{acc_id}/orders", {"rows": "data.orders"}),
    "sim_positions": ("GET", "/api/v1.0/sim-trade/{acc_id}/positions", {"rows": "data.positions"}),
    "fills_history": (
        "GET",
        "/api/v1.0/accounts/{acc_id}/fills_history",
        {
            "rows": "d.order_fills",
            "paging": "page_flag",
            "record": bl.Fill,
            "arguments": {"start": "micros", "end": "micros", "page_size": "integer"},
        },
    ),
}


def declared(name):
    method, path, options = DECLARED[name]
    return bl.Endpoint(name, method, path, **options)


def arguments_of(name, call):
    """The arguments of a call by name, in the order in which the service document lists them."""
    names = list(inspect.signature(getattr(bl.Client, name)).parameters)[1:]
    given = {**dict(zip(names, call["args"], strict=False)), **call["kwargs"]}
    if name == "fills_history":
        # The document requires an empty cursor on the first page.
        names.insert(names.index("page_size"), "page_flag")
        given["page_flag"] = ""
    return {name: given[name] for name in names if name in given}


def is_declarable(name, case):
    """Whether a declaration can say what the case needs.

    Only the built-in method fixes an open range by the clock, and only its row says which of the
    service's success marks is its own.
    """
    is_closed = name != "fills_history" or {"start", "end"} <= case["call"]["kwargs"].keys()
    return is_closed and case["name"] != "the success mark of another endpoint"


CASES = [
    (name, case)
    for name, case in endpoint_vectors()
    if name in DECLARED and is_declarable(name, case)
]


def test_every_endpoint_with_records_is_declared_again():
    # The response of server_time has neither a success mark nor a list: see the next test.
    assert DECLARED.keys() == {endpoint.method for endpoint in ENDPOINTS} - {"server_time"}
    assert {name for name, _ in CASES} == DECLARED.keys()


def test_the_time_of_the_service_is_not_a_list_and_is_requested_instead_of_declared():
    (case,) = [
        case
        for name, case in endpoint_vectors()
        if name == "server_time" and "result" in case and len(case["exchanges"]) == 1
    ][:1]
    responses = scripted_responses(case)
    with StandInService(responses * 3) as server, bl.Client(server.base_url) as client:
        for rows in (None, "server_time_ms"):
            endpoint = bl.Endpoint("server_time", "GET", "/api/v1.0/server-time", rows=rows)
            with pytest.raises(bl.ProtocolError, match="no success mark"):
                client.call(endpoint)
        response = client.request("GET", "/api/v1.0/server-time")
    assert response.content.decode() == case["exchanges"][0]["response"]["body"]
    for received in server.received:
        assert_request(received, case["exchanges"][0]["request"], "server_time")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DECLARED)
def test_the_vectors_of_a_method_are_those_of_its_declaration(name, mode):
    endpoint = declared(name)
    for case in [case for known, case in CASES if known == name]:
        arguments = arguments_of(name, case["call"])

        async def use(client, arguments=arguments):
            if endpoint.paging is None:
                return list(await settled(client.client.call(endpoint, **arguments)))
            return await client.rows(client.client.pages(endpoint, **arguments))

        with StandInService(scripted_responses(case)) as server:
            if "error" in case:
                with pytest.raises(bl.BoardlotError) as caught:
                    run(mode, server, use)
                assert_same_error(caught.value, case, name)
            else:
                assert same(run(mode, server, use), case["result"]), case["name"]
        assert len(server.received) == case.get("requests", len(case["exchanges"])), case["name"]
        for received, exchange in zip(server.received, case["exchanges"], strict=True):
            assert_request(received, exchange["request"], name)


def assert_same_error(error, case, name):
    wanted = case["error"]
    assert error.endpoint == name
    assert error.hint
    for attribute in ("code", "http_status", "message"):
        if attribute in wanted:
            assert same(getattr(error, attribute), wanted[attribute]), case["name"]
    if isinstance(error, bl.ApiError):
        assert_body(error, case["exchanges"][-1]["response"])
    # A code alone has a meaning only in the document's table for that endpoint.
    if "error_code" not in wanted or '"error"' in case["exchanges"][-1]["response"]["body"]:
        assert isinstance(error, getattr(bl, wanted["class"])), case["name"]


def test_a_record_type_of_the_package_has_the_columns_of_the_built_in_method():
    pl = pytest.importorskip("polars")
    (case,) = [
        c for name, c in CASES if (name, c["name"]) == ("fills_history", "one page, every field")
    ]
    arguments = arguments_of("fills_history", case["call"])
    with (
        StandInService(scripted_responses(case) * 2) as server,
        bl.Client(server.base_url) as client,
    ):
        own = client.pages(declared("fills_history"), **arguments).to_polars()
        built_in = client.fills_history(*case["call"]["args"], **case["call"]["kwargs"]).to_polars()
    assert own.schema == built_in.schema
    assert own.schema["updated_time"] == pl.Datetime("us", "UTC")
    assert own.equals(built_in)
