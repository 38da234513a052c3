"""`call`, `pages`, `fetch_many` and `explain` of declared endpoints."""

import asyncio
import datetime
import decimal
import json
import re
from urllib.parse import unquote

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, run, settled
from ..support.service import Response, StandInService, response

LIST = {"ret_code": 0, "ret_msg": "success", "data": {"list": [{"a": 1}]}}
SEARCH = bl.Endpoint("search", "GET", "/api/v1.0/search/{group}", rows="data.list")
CREATE = bl.Endpoint("create", "POST", "/api/v1.0/things", rows="data.list")
ROWS = [{"time": 1_700_000_000 + 60 * index, "close": f"{index}.50"} for index in range(250)]
PAGED = {
    "next_key": bl.Endpoint("list", "POST", "/api/v9/list", rows="data.rows", paging="next_key"),
    "page_flag": bl.Endpoint("list", "GET", "/api/v9/flag", rows="d.rows", paging="page_flag"),
    "date range": bl.Endpoint(
        "list",
        "GET",
        "/api/v9/range",
        rows="data.rows",
        paging=bl.DateRange("end", next="extra.next_time", unique="time"),
        record={"time": "seconds", "close": "decimal"},
    ),
}


def sent(endpoint, **arguments):
    """The request that goes out for these arguments."""
    with StandInService([response(LIST)]) as server, client_of(server) as client:
        client.call(endpoint, **arguments)
    return server.received[0]


@pytest.fixture(scope="module")
def served():
    with bl.Sandbox(seed=7) as sandbox:
        for endpoint in PAGED.values():
            sandbox.serve(endpoint, ROWS)
        yield sandbox


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("style", PAGED)
def test_every_style_of_paging_returns_each_row_once(served, style, mode):
    endpoint = PAGED[style]

    async def use(client):
        everything = list(await settled(client.client.call(endpoint)))
        pager = client.client.pages(endpoint)
        rows = await client.rows(pager)
        assert pager.requests > 2
        return everything, rows

    everything, rows = run(mode, served.base_url, use, auth=served.api_key())
    # A range of dates is paged from its end; within a page the rows are in ascending order.
    is_range = isinstance(endpoint.paging, bl.DateRange)
    assert (sorted(rows, key=lambda row: row["time"]) if is_range else rows) == ROWS
    assert rows == everything


def test_arguments_go_into_path_query_and_body_in_the_order_given():
    received = sent(SEARCH, z="last", group="a b+ü", a=1, code="HK.00700", flag=True, none=None)
    assert received.path == "/api/v1.0/search/a%20b%2B%C3%BC"
    assert received.query == "z=last&a=1&code=HK.00700&flag=true"
    received = sent(CREATE, z=1.5, a=None, list=[1, "x"], dict={"b": None}, flag=False, text="ü")
    assert received.body.decode() == (
        '{"z":1.5,"list":[1,"x"],"dict":{"b":null},"flag":false,"text":"ü"}'
    )
    assert received.header("Content-Type") == "application/json"


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("seconds", datetime.datetime(2026, 1, 5, tzinfo=datetime.timezone.utc), 1767571200),
        ("millis", "2026-01-05T08:00:00+08:00", 1767571200000),
        ("micros", datetime.date(2026, 1, 5), 1767571200000000),
        ("date", datetime.date(2026, 1, 5), "2026-01-05"),
        ("decimal", decimal.Decimal("0.10"), "0.10"),
        ("decimal", "1e-3", "1e-3"),
        ("number", 1.5, 1.5),
        ("integer", 2**64 - 1, 2**64 - 1),
        ("flag", True, True),
        ("text", "", ""),
        ("symbol", "HK.00700", "HK.00700"),
        ("object", {"a": [1]}, {"a": [1]}),
    ],
)
def test_a_declared_argument_is_sent_as_its_kind(kind, value, expected):
    endpoint = bl.Endpoint("mine", "POST", "/mine", rows="data.list", arguments={"x": kind})
    assert json.loads(sent(endpoint, x=value).body) == {"x": expected}


@pytest.fixture
def refusing():
    """A client that sends nothing."""
    with StandInService([]) as server, client_of(server) as client:
        yield client
    assert server.received == []


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("seconds", datetime.datetime(2026, 1, 5), "aware datetime"),
        ("seconds", -1, "1990 to 2100"),
        ("date", "2026-02-30", "calendar date"),
        ("decimal", 0.1, "a decimal"),
        ("number", float("nan"), "a finite number"),
        ("integer", True, "an integer"),
        ("integer", 2**64, "an integer"),
        ("flag", 1, "true or false"),
        ("text", "a\nb", "without control characters"),
        ("text", 1, "a string"),
        ("symbol", "hk.00700", "{market}.{code}"),
        ("object", "{}", "an object or a list"),
        ("object", {"a": {1}}, "cannot be written as JSON"),
    ],
)
def test_an_argument_that_is_not_of_its_kind_is_rejected(kind, value, expected, refusing):
    endpoint = bl.Endpoint("mine", "POST", "/mine", arguments={"x": kind})
    with pytest.raises(bl.ConfigError, match=f"x.*{re.escape(expected)}"):
        refusing.call(endpoint, x=value)


@pytest.mark.parametrize("value", ["", "..", "a/b", "%2e%2e", "x" * 257, 1.5, True, None], ids=repr)
def test_no_value_reaches_another_path(value, refusing):
    with pytest.raises(bl.ConfigError, match="group"):
        refusing.call(SEARCH, group=value)


@pytest.mark.parametrize("value", ["?", "{group}", " ", "a?b=c#d", "ü"])
def test_a_value_with_reserved_characters_stays_one_segment(value):
    received = sent(SEARCH, group=value)
    assert received.query == ""
    assert unquote(received.path) == f"/api/v1.0/search/{value}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"at": datetime.datetime.now(datetime.timezone.utc)}, "'seconds', 'millis' or 'micros'"),
        ({"codes": ["HK.00700"]}, "query of a GET"),
    ],
)
def test_what_needs_a_declaration_is_rejected_with_it(arguments, said, refusing):
    with pytest.raises(bl.ConfigError, match=said):
        refusing.call(SEARCH, group="a", **arguments)


def test_many_keys_may_be_the_only_declared_argument():
    endpoint = bl.Endpoint("q", "GET", "/q", rows="data.list", arguments={"code": "symbol"})
    with StandInService([response(LIST)]) as server, client_of(server) as client:
        assert client.fetch_many(endpoint, ["HK.00700"]) == [{"code": "HK.00700", "a": 1}]
        for without in (CREATE, bl.Endpoint("two", "GET", "/{a}/{b}")):
            with pytest.raises(bl.ConfigError, match="no argument for the keys"):
                client.fetch_many(without, ["x"])
    assert [request.query for request in server.received] == ["code=HK.00700"]


@pytest.mark.parametrize("method", ["call", "pages", "explain"])
@pytest.mark.parametrize("client_class", [bl.Client, bl.AsyncClient])
def test_a_missing_path_argument_is_named(client_class, method):
    endpoint = bl.Endpoint("mine", "GET", "/{symbol}", paging="next_key")
    client = client_class("https://api.example.com")
    expected = "symbol is missing"
    with pytest.raises(bl.ConfigError, match=re.escape(expected)) as caught:
        outcome = getattr(client, method)(endpoint, simbol="HK.00700")
        asyncio.run(settled(outcome))
    assert caught.value.endpoint == "mine"


def test_only_an_endpoint_with_paging_has_pages(refusing):
    with pytest.raises(bl.ConfigError, match="create does not return pages"):
        refusing.pages(CREATE)


def test_explain_shows_the_first_request_of_a_declared_endpoint(served):
    with served.client() as client:
        shown = client.explain(SEARCH, group="a b", z=1, query="x")
        assert shown.payload_lines[1:4] == ["GET", "/api/v1.0/search/a%20b", "z=1&query=x"]
        shown = client.explain(PAGED["next_key"], limit=2)
        assert shown.method == "POST" and len(shown.body_hash) == 64
        assert shown.payload_lines[4] == shown.body_hash
        with pytest.raises(bl.ConfigError, match="path is missing"):
            client.explain("GET")
        with pytest.raises(bl.ConfigError, match="limit is not an argument"):
            client.explain("GET", "/x", limit=2)


@pytest.mark.parametrize(
    ("endpoint", "idempotent"),
    [(SEARCH, True), (CREATE, False), (PAGED["next_key"], True)],
    ids=["GET", "POST", "a list by POST"],
)
def test_only_what_changes_nothing_is_sent_twice(endpoint, idempotent):
    # The connection is closed after the request was received.
    arguments = {"group": "a"} if endpoint is SEARCH else {}
    with StandInService([Response(drop=True)] * 2) as server, pytest.raises(bl.BoardlotError):
        client_of(server, max_retries=1).call(endpoint, **arguments)
    assert len(server.received) == (2 if idempotent else 1)


@pytest.mark.parametrize("read", [lambda rows: rows.to_dicts(typed=True), bl.Records.to_arrow])
def test_a_value_of_another_kind_is_refused_with_the_kind_that_was_declared(read):
    endpoint = bl.Endpoint(
        "search", "GET", "/api/v1.0/search/x", rows="data.list", record={"a": "date"}
    )
    with StandInService([response(LIST)]) as server, client_of(server) as client:
        rows = client.call(endpoint)
        says = "a of record 0 is 1, which is not of the field's declared kind, date"
        with pytest.raises(bl.ProtocolError, match=says):
            read(rows)


@pytest.mark.parametrize(
    ("end", "said"), [({"next_key": "7"}, 'paging="next_key"'), ({}, "paging=DateRange(")]
)
def test_a_list_that_has_more_says_how_to_read_it(end, said):
    body = {**LIST, "pagination": {"has_more": True, **end}}
    with StandInService([response(body)]) as server, client_of(server) as client:
        with pytest.raises(bl.PaginationError) as error:
            client.call(CREATE)
        assert said in error.value.hint
