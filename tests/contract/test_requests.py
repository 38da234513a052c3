"""Sections 2.4 and 5.2 by hand: `request`, `paginate`, `explain` and `fetch_many`."""

import hashlib
import json
import pickle
import re
import time
from urllib.parse import parse_qsl

import boardlot as bl
import pytest

from ..support.clients import MODES, run, settled
from ..support.keys import PRIVATE_PEM, assert_signed, verify
from ..support.service import StandInService, response

modes = pytest.mark.parametrize("mode", MODES)


def lowered(headers):
    return {str(name).lower(): value for name, value in dict(headers).items()}


@modes
def test_a_response_is_what_came(mode):
    raw = b'{"b": [1, 2.50], "a": "\xc3\xbc", "n": 18446744073709551615}'
    with StandInService([response(raw, 200, {"X-Trace": "t-1"})]) as server:
        result = run(mode, server, lambda c: c.call("request", "GET", "/api/v1.0/any/thing"))
    assert result.status == 200
    assert result.content == raw and isinstance(result.content, bytes)
    assert result.json() == {"b": [1, 2.5], "a": "ü", "n": 18446744073709551615}
    assert lowered(result.headers)["x-trace"] == "t-1"
    (received,) = server.received
    assert received.line == "GET /api/v1.0/any/thing HTTP/1.1"
    assert received.body == b""
    assert_signed(received)


@modes
@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ({"b": 1, "a": ["x", None, True, 1.5]}, b'{"b":1,"a":["x",null,true,1.5]}'),
        ([], b"[]"),
        ([{"n": 18446744073709551615}], b'[{"n":18446744073709551615}]'),
        ({"名": 'ü "\\ / \n 📈'}, '{"名":"ü \\"\\\\ / \\n 📈"}'.encode()),
    ],
    ids=["dict", "empty list", "64 bits", "text"],
)
def test_a_dict_or_list_goes_out_as_compact_json(body, sent, mode):
    with StandInService([response(b"{}")]) as server:
        run(mode, server, lambda c: c.call("request", "POST", "/api/v1.0/x", body=body))
    (received,) = server.received
    assert received.body == sent
    assert received.header("Content-Type").startswith("application/json")
    assert int(received.header("Content-Length")) == len(sent)
    assert_signed(received)


@pytest.mark.parametrize("body", [b'{ "a" : 1.0 }\n', b"\x00\xff not JSON"])
def test_bytes_go_out_unchanged(body):
    headers = {"Content-Type": "text/x-own"}
    with StandInService([response(b"{}")]) as server:
        run("sync", server, lambda c: c.call("request", "PUT", "/x", body=body, headers=headers))
    (received,) = server.received
    assert (received.method, received.body) == ("PUT", body)
    assert received.header("Content-Type") == "text/x-own"
    assert_signed(received)


def test_a_query_keeps_its_order_and_is_signed_as_sent():
    query = {"z": "a b", "a": "ü/+&=%20", "m": "", "k": 7, "y": "~*'()!"}
    with StandInService([response(b"{}")]) as server:
        run("sync", server, lambda c: c.call("request", "GET", "/x", query=query))
    (received,) = server.received
    assert parse_qsl(received.query, keep_blank_values=True) == [
        (name, str(value)) for name, value in query.items()
    ]
    assert received.query.isascii() and " " not in received.query
    assert_signed(received)


@modes
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("first", [None, "", "1"])
def test_paginate_reads_any_list_with_page_flag_from_where_the_caller_says(mode, method, first):
    place = "query" if method == "GET" else "body"
    given = {} if first is None else {place: {"page_flag": first}}

    def flag_of(received):
        if method == "POST":
            return json.loads(received.body or "{}").get("page_flag")
        return dict(parse_qsl(received.query, keep_blank_values=True)).get("page_flag")

    def service(received):
        number = int(flag_of(received) or 0)
        rest = {"page_flag": str(number + 1), "completed": number == 2}
        return response({"code": 0, "msg": "success", "data": {"items": [{"n": number}], **rest}})

    async def use(client):
        pager = client.pager(
            "paginate", method, "/api/v1/any", paging="page_flag", rows="data.items", **given
        )
        return await settled(pager.all())

    with StandInService(service) as server:
        rows = run(mode, server, use)
    begin = int(first or 0)
    assert rows == [{"n": number} for number in range(begin, 3)]
    # An endpoint that wants no cursor for its first page is sent none, and one that wants an empty
    # one is sent that.
    assert flag_of(server.received[0]) == first
    assert len(server.received) == 3 - begin


@modes
def test_explain_shows_what_would_be_sent_and_no_key(mode):
    query, body = {"a": "1 2", "b": ""}, {"next_key": ""}
    before = int(time.time() * 1000)

    async def use(client):
        call = client.client.explain("POST", "/api/v1.0/x", query=query, body=body)
        return str(await settled(call))

    with StandInService() as server:
        text = run(mode, server, use)
        assert server.received == []
    digest = hashlib.sha256(b'{"next_key":""}').hexdigest()
    assert digest in text
    for part in ("POST", "/api/v1.0/x", "X-Api-Key", "key-1", "X-Timestamp", "X-Nonce"):
        assert part.lower() in text.lower(), part
    assert "authorization" in text.lower()
    sent_query = re.search(r"a=1(\+|%20)2&b=", text).group(0)
    signatures = set(re.findall(r"[A-Za-z0-9+/]{86}==", text))
    assert len(signatures) == 1
    (stamp,) = set(re.findall(r"\b\d{13}\b", text))
    assert before <= int(stamp) <= time.time() * 1000  # time: of its signature
    payload = f"{stamp}\nPOST\n/api/v1.0/x\n{sent_query}\n{digest}"
    verify(signatures.pop(), payload.encode())
    assert PRIVATE_PEM.split("\n")[1] not in text and "PRIVATE KEY" not in text


@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient])
def test_a_client_shows_the_websocket_addresses_that_it_was_given(kind):
    urls = {"ws_quote_url": "wss://quote.example.com/ws", "ws_trade_url": "wss://trade.example.com"}
    for client in (
        kind("https://api.example.com", **urls),
        pickle.loads(pickle.dumps(kind("https://api.example.com", **urls))),
    ):
        assert (client.ws_quote_url, client.ws_trade_url) == tuple(urls.values())
    plain = kind("https://api.example.com")
    assert (plain.ws_quote_url, plain.ws_trade_url) == (None, None)


NOT_FOUND = "Check the base URL, the path and the ids in it: nothing was found there."
ASK = "Ask the service about the code or status"


@modes
@pytest.mark.parametrize(
    ("status", "body", "hint"),
    [
        (404, b"<html>no</html>", "Check that the base URL is the API's own"),
        (404, {"code": 404, "msg": "no endpoint has this method and path"}, NOT_FOUND),
        (404, {"detail": "Not Found"}, NOT_FOUND),
        (410, {"detail": "Gone"}, NOT_FOUND),
        (405, {"code": 405, "msg": "no"}, "Check the HTTP method: the path does not allow it."),
        (418, {"code": 418, "msg": "no"}, ASK),
        (200, {"ret_code": -99, "ret_msg": "odd"}, ASK),
    ],
)
def test_the_service_is_not_asked_about_a_status_that_http_explains(mode, status, body, hint):
    declared = bl.Endpoint("news", "GET", "/news", rows="data.list")

    async def use(client):
        with pytest.raises(bl.ApiError) as caught:
            await client.call("call", declared)
        return caught.value

    error = run(mode, lambda _: response(body, status), use)
    assert type(error) is bl.ApiError and error.http_status == status
    assert error.hint.startswith(hint)
