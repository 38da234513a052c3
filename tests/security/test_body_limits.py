"""Promise 23: limits on what a response may be, for every reader."""

import functools
import gzip
import json

import boardlot as bl
import pytest

from ..support.bombs import bomb
from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.processes import program, run_python
from ..support.service import Fault, Response, StandInService, gzipped, response

DIVIDENDS = {"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}}
RAW = json.dumps(DIVIDENDS).encode()
LIMIT = 64 << 20

GROWTH = program(__file__, "growth")


@pytest.mark.parametrize(
    ("kind", "way", "size"),
    [
        *[("dividends", "gzip", 1 << 30), ("request", "plain", 1 << 30)],
        ("pages", "gzip", 1 << 30),
        *[
            pytest.param("dividends", way, 10 << 30, marks=pytest.mark.slow)
            for way in ("gzip", "plain")
        ],
    ],
)
def test_security_23_a_bomb_is_rejected_with_little_memory(kind, way, size):
    time = response({"server_time_ms": "1790000000123"})
    with StandInService([time]) as good, StandInService(lambda _: bomb(size, way)) as bad:
        out, _ = run_python(GROWTH, good.base_url, bad.base_url, kind, seconds=600.0)
    assert int(out) < LIMIT


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_security_23_a_bomb_is_rejected_whatever_its_status(status):
    with StandInService(lambda _: bomb(1 << 28, "gzip", status)) as server:
        with pytest.raises((bl.ProtocolError, bl.ApiError)) as caught:
            client_of(server).dividends("HK.00700")
        assert len(str(caught.value)) < 4096


@functools.cache
def compressed_zeros():
    return gzip.compress(bytes(100 << 20), 1)


# Made by the test: every worker imports this module.
HOSTILE = {
    "a bomb": lambda: Fault(
        body=compressed_zeros(), status=200, headers={"Content-Encoding": "gzip"}
    ),
    "a long body": lambda: Fault(body=b'{"access_token":"' + b"x" * (40 << 20) + b'"}'),
    "deep objects": lambda: Fault(body=b'{"a":' * 200_000),
    "a huge header": lambda: Fault(status=200, headers={"X-Long": "x" * (8 << 20)}),
    "many headers": lambda: Fault(status=200, headers={f"X-{n}": "x" * 100 for n in range(70_000)}),
    "a header without end": lambda: Fault(status=200, headers={"X": "y\r\n " * (2 << 20)}),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("step", ["register", "authorization_code", "refresh_token"])
def test_security_23_login_and_refresh_hold_the_limits_too(server, step, name):
    if step == "refresh_token":
        client = client_of(server, sign_in(server))
        server.expire()
    server.faults[step] = HOSTILE[name]()
    with pytest.raises(bl.BoardlotError) as caught:
        if step == "refresh_token":
            quotes(client)
        elif step == "register":
            begin(server)
        else:
            sign_in(server)
    assert not isinstance(caught.value, bl.RequestTimeout)
    assert len(str(caught.value)) < 4096


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":[', "")])
def test_security_23_nesting_has_a_limit(opening, closing):
    inner = opening * 200_000 + (f"1{closing * 200_000}" if closing else "")
    wrapped = '{"ret_code":0,"data":{"dividend_list":[{"a":' + inner + "}]}}"
    with StandInService([response(inner), response(wrapped), response(inner)]) as server:
        client = client_of(server)
        for _ in range(2):
            with pytest.raises(bl.ProtocolError):
                client.dividends("HK.00700")
        result = client.request("GET", "/any")
    with pytest.raises((bl.ProtocolError, ValueError, RecursionError)):
        result.json()


def packed(encoding, data):
    return Response(200, data, {"Content-Encoding": encoding})


LAYERS = {
    "gzip twice, named once": packed("gzip", gzip.compress(gzip.compress(RAW))),
    "gzip that is none": packed("gzip", RAW),
    "gzip cut off": packed("gzip", gzip.compress(RAW)[:-12]),
    "gzip with a wrong sum": packed("gzip", gzip.compress(RAW)[:-8] + b"\0" * 8),
    "gzip not named": packed("identity", gzip.compress(RAW)),
    "a second member cut off": packed(
        "gzip", gzip.compress(RAW[:20]) + gzip.compress(RAW[20:])[:-6]
    ),
    "other bytes after a member": packed("gzip", gzip.compress(RAW) + b"garbage of a proxy"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_security_23_one_layer_of_compression_is_undone_and_no_more(name):
    refused = pytest.raises((bl.ProtocolError, bl.TransportError))
    with StandInService([LAYERS[name]]) as server, refused:
        client_of(server).dividends("HK.00700")


@pytest.mark.parametrize("piece", [1, 97, 1 << 20])
def test_a_body_of_several_gzip_members_is_read_however_it_arrives(piece):
    members = [b"", *(RAW[n : n + 1] for n in range(20)), RAW[20:], b""]
    body = b"".join(gzip.compress(member) for member in members)
    pieces = [body[n : n + piece] for n in range(0, len(body), piece)]
    in_chunks = Response(200, headers={"Content-Encoding": "gzip"}, chunks=pieces)
    with StandInService([packed("gzip", body), in_chunks]) as server:
        for _ in range(2):
            result = client_of(server).request("GET", "/any")
            assert result.content == RAW
            assert not {"content-encoding", "content-length"} & set(result.headers)


def test_security_23_a_bomb_in_a_later_member_is_rejected():
    body = gzip.compress(RAW) + compressed_zeros()
    refused = pytest.raises(bl.ProtocolError, match="max_body_bytes")
    with StandInService([packed("gzip", body)]) as server, refused:
        client_of(server).request("GET", "/any")


@pytest.mark.parametrize("status", [200, 204, 304])
def test_a_response_without_a_body_needs_no_gzip_member(status):
    with StandInService([Response(status, b"", {"Content-Encoding": "gzip"})]) as server:
        assert client_of(server).request("GET", "/any").content == b""


def test_security_23_only_supported_encodings_are_requested():
    with StandInService([gzipped(RAW)]) as server:
        assert list(client_of(server).dividends("HK.00700")) == []
        asked = server.received[0].header("Accept-Encoding")
    assert {part.split(";")[0].strip() for part in asked.split(",")} <= {"gzip", "identity"}


def test_security_23_a_response_never_hands_out_more_than_the_limit():
    body = b"x" * 100_000
    for one in (response(body), gzipped(body), response(chunks=[body])):
        with StandInService([one, one]) as server:
            with pytest.raises(bl.ProtocolError):
                client_of(server, max_body_bytes=99_999).request("GET", "/any")
            exact = client_of(server, max_body_bytes=100_000)
            assert exact.request("GET", "/any").content == body
