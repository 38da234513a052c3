"""Sections 2, 4, 5.2 and 7: every vector through both clients, compared down to the raw bytes."""

import json
import re
from datetime import date, datetime, timedelta, timezone
from urllib.parse import parse_qsl

import boardlot as bl
import pytest
from boardlot._endpoints import ENDPOINTS

from ..support.clients import MODES, PAGERS, run, same
from ..support.keys import assert_signed
from ..support.service import StandInService, response
from ..support.vectors import endpoint_vectors, scripted_responses
from .test_bad_input import Whole

CASES = endpoint_vectors()
IDS = [f"{endpoint}-{case['name'].replace(' ', '_')}" for endpoint, case in CASES]
METHODS = {endpoint.method for endpoint in ENDPOINTS}
NONCE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def decoded(query):
    return parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))


def assert_compact(raw):
    """JSON with nothing between its tokens; whether non-ASCII is escaped is left open."""
    value = json.loads(raw)
    compact = {"separators": (",", ":")}
    written = [json.dumps(value, ensure_ascii=escaped, **compact) for escaped in (True, False)]
    assert raw.decode("utf-8") in written


def assert_request(received, wanted, endpoint):
    assert received.line.endswith(" HTTP/1.1")
    assert received.method == wanted["method"]
    assert received.path == wanted["path"]
    assert decoded(received.query) == decoded(wanted["query"])
    if wanted["body"] is None:
        assert received.body == b""
    else:
        assert same(sorted(json.loads(received.body).items()), sorted(wanted["body"].items()))
        assert_compact(received.body)
        assert received.header("Content-Type").split(";")[0].strip() == "application/json"
    # The document does not say whether server-time wants a credential: signed well or not at all.
    if endpoint == "server_time" and received.header("Authorization") is None:
        return
    assert_signed(received)
    stamp = received.header("X-Timestamp")
    assert stamp.isascii() and stamp.isdigit()
    assert abs(int(stamp) - received.at * 1000) < 60_000
    assert NONCE.fullmatch(received.header("X-Nonce"))


def assert_error(error, wanted, endpoint):
    wanted_class = getattr(bl, wanted["class"])
    if issubclass(wanted_class, bl.ApiError):
        assert type(error) is wanted_class
    else:
        assert isinstance(error, wanted_class)
    assert isinstance(error, bl.BoardlotError)
    assert endpoint in error.endpoint
    assert isinstance(error.retryable, bool)
    assert isinstance(error.hint, str) and error.hint.strip()
    assert str(error).strip()
    for name in ("code", "error_code", "http_status", "message", "retryable"):
        if name in wanted:
            assert same(getattr(error, name), wanted[name]), name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("endpoint", "case"), CASES, ids=IDS)
def test_each_vector_is_requested_and_read_as_the_document_says(endpoint, case, mode):
    args, kwargs = case["call"]["args"], case["call"]["kwargs"]

    async def use(client):
        if endpoint not in PAGERS:
            return None, await client.call(endpoint, *args, **kwargs)
        pager = client.pager(endpoint, *args, **kwargs)
        return pager, await client.rows(pager)

    with StandInService(scripted_responses(case)) as server:
        if "error" in case:
            with pytest.raises(bl.BoardlotError) as caught:
                run(mode, server, lambda client: client.everything(endpoint, *args, **kwargs))
            assert_error(caught.value, case["error"], endpoint)
            if isinstance(caught.value, bl.ApiError):
                assert_body(caught.value, case["exchanges"][-1]["response"])
        else:
            pager, result = run(mode, server, use)
            assert_result(endpoint, pager, result, case)
    assert len(server.received) == case.get("requests", len(case["exchanges"]))
    for received, exchange in zip(server.received, case["exchanges"], strict=True):
        assert_request(received, exchange["request"], endpoint)
    nonces = [received.header("X-Nonce") for received in server.received]
    assert len({nonce for nonce in nonces if nonce}) == len([nonce for nonce in nonces if nonce])


def assert_body(error, response):
    body = error.body if isinstance(error.body, str) else bytes(error.body).decode("utf-8")
    assert body == response["body"]
    assert error.headers is not None


def assert_result(endpoint, pager, result, case):
    if endpoint == "server_time":
        assert result == datetime.fromisoformat(case["result"])
        assert result.utcoffset() == timedelta(0)
        return
    if pager is None:
        assert isinstance(result, bl.Records)
        assert result == case["result"]
        for name, value in case.get("meta", {}).items():
            assert same(result.meta[name], value)
    else:
        assert pager.requests == len(case["exchanges"])
        if "total" in case:
            assert same(pager.total, case["total"])
    assert same(list(result), case["result"])


def test_every_endpoint_has_vectors_with_rows_and_with_refusals():
    assert {endpoint for endpoint, _ in CASES} == METHODS
    for endpoint in METHODS:
        own = [case for e, case in CASES if e == endpoint]
        assert any(case.get("result") for case in own)
        assert any("error" in case for case in own)


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("time", "sent"),
    [
        (datetime(2026, 7, 1, 0, 0, 0, 123456, tzinfo=timezone.utc), 1782864000123456),
        (datetime(2026, 5, 31, 20, tzinfo=timezone(timedelta(hours=-4))), 1780272000000000),
        ("2026-06-01T08:00:00+08:00", 1780272000000000),
        ("2026-07-01T00:00:00.123456Z", 1782864000123456),
        (1782864000123456, 1782864000123456),
        (Whole(1782864000123456), 1782864000123456),
        # The beginning of 1970 is not the zero that means 90 days.
        (date(1970, 1, 1), 1),
        (EPOCH.astimezone(timezone(timedelta(hours=8))), 1),
        ("1970-01-01", 1),
    ],
    ids=str,
)
def test_times_of_every_kind_become_microseconds(time, sent):
    page = {"s": "ok", "d": {"order_fills": [], "page_flag": "", "completed": True}}
    times = {"start": time, "end": 1790000000000000}
    with StandInService([response(page)]) as server:
        run("sync", server, lambda c: c.everything("fills_history", "281756", "HK", **times))
    assert dict(decoded(server.received[0].query))["start"] == str(sent)


REQUEST_TYPES = {**dict.fromkeys(["hk", "us", "sg", "my"], bl.IpoRequest), "cn": bl.CnIpoRequest}


@pytest.mark.parametrize("market", REQUEST_TYPES)
def test_request_types_of_each_market_are_sent_as_numbers(market):
    empty = response({"ret_code": 0, "ret_msg": "success", "data": {"list": []}})
    members = list(REQUEST_TYPES[market])

    async def use(client):
        for request_type in [*members, *map(int, members)]:
            await client.call("ipo_list", market, request_type=request_type)

    with StandInService(lambda _: empty) as server:
        run("sync", server, use)
    sent = [f"request_type={int(member)}" for member in members]
    assert [received.query for received in server.received] == sent * 2
