"""Promise 23: limits on what a response may be, whoever reads it."""

import gzip
import json
import zlib

import boardlot as bl
import pytest

from ..support.bombs import bomb
from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.processes import run_python
from ..support.service import Fault, Response, StandInService, response

DIVIDENDS = {"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}}
LIMIT = 64 << 20

# Peak of the resident set over what it was after a first, harmless call.
GROWTH = """
    import sys
    import boardlot as bl
    base_url, kind = sys.argv[1:]
    def status(name):
        for line in open("/proc/self/status"):
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    def call():
        client = bl.Client(base_url, max_retries=0, timeout=300.0)
        if kind == "pages":
            client.plate_stocks("HK.BK1001").all()
        elif kind == "request":
            client.request("GET", "/any")
        else:
            client.dividends("HK.00700")
    def tried():
        try:
            call()
        except bl.BoardlotError as error:
            return type(error).__name__
    good, base_url = base_url.split()
    bl.Client(good).server_time()
    before = status("VmRSS")
    name = tried()
    print(name, status("VmHWM") - before)
    """


def growth(base_url, kind):
    with StandInService([response({"server_time_ms": "1790000000123"})]) as good:
        addresses = f"{good.base_url} {base_url}"
        out, _ = run_python(GROWTH, addresses, kind, seconds=600.0)
    name, grown = out.split()
    assert name == "ProtocolError"
    return int(grown)


@pytest.mark.parametrize("kind", ["dividends", "request", "pages"])
@pytest.mark.parametrize("way", ["gzip", "plain"])
def test_security_23_a_bomb_is_rejected_with_little_memory(kind, way):
    with StandInService(lambda _: bomb(1 << 30, way)) as server:
        assert growth(server.base_url, kind) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("way", ["gzip", "plain"])
def test_security_23_a_bomb_of_10_gib_is_rejected_with_little_memory(way):
    with StandInService(lambda _: bomb(10 << 30, way)) as server:
        assert growth(server.base_url, "dividends") < LIMIT


@pytest.mark.parametrize("status", [200, 400, 401, 403, 429, 500])
def test_security_23_a_bomb_is_rejected_whatever_its_status(status):
    with StandInService(lambda _: bomb(1 << 28, "gzip", status)) as server:
        client = bl.Client(server.base_url, max_retries=0)
        with pytest.raises((bl.ProtocolError, bl.ApiError)) as caught:
            client.dividends("HK.00700")
        assert len(str(caught.value)) < 4096


STEPS = ["register", "authorization_code", "refresh_token"]
# Made by the test: every worker imports this module.
HOSTILE = {
    "a bomb": lambda: Fault(
        body=gzip.compress(bytes(100 << 20)), status=200, headers={"Content-Encoding": "gzip"}
    ),
    "a long body": lambda: Fault(body=b'{"access_token":"' + b"x" * (40 << 20) + b'"}'),
    "deep nesting": lambda: Fault(body=b"[" * 200_000),
    "deep objects": lambda: Fault(body=b'{"a":' * 200_000),
    "a huge header": lambda: Fault(status=200, headers={"X-Long": "x" * (1 << 20)}),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("step", STEPS)
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


@pytest.mark.parametrize("size", [1 << 20, 64 << 20])
@pytest.mark.parametrize("mode", ["one", "many", "no end"])
def test_security_23_headers_have_a_limit(mode, size):
    if mode == "one":
        headers = {"X-Long": "x" * size}
    elif mode == "many":
        headers = {f"X-{n}": "x" * 100 for n in range(size // 110)}
    else:
        headers = {"X": "y\r\n " * (size // 4)}
    with StandInService(lambda _: response(DIVIDENDS, headers=headers)) as server:
        client = bl.Client(server.base_url, max_retries=0, timeout=10.0)
        with pytest.raises((bl.ProtocolError, bl.TransportError)) as caught:
            client.dividends("HK.00700")
        assert not isinstance(caught.value, bl.RequestTimeout)


@pytest.mark.parametrize("text", ["[", '{"a":', '[{"a":[', '"\\u00'])
@pytest.mark.parametrize("closed", [True, False])
def test_security_23_nesting_has_a_limit(text, closed):
    depth = 200_000
    inner = text * depth
    if closed:
        inner += (
            "1" + "".join("]" if c == "[" else "}" for c in reversed(text) if c in "[{") * depth
        )
    bodies = [inner, '{"ret_code":0,"data":{"dividend_list":[{"a":' + inner + "}]}}"]
    for body in bodies:
        with StandInService([response(body)]) as server:
            client = bl.Client(server.base_url, max_retries=0)
            with pytest.raises(bl.ProtocolError):
                client.dividends("HK.00700")
    with StandInService([response(inner)]) as server:
        result = bl.Client(server.base_url).request("GET", "/any")
        with pytest.raises((bl.ProtocolError, ValueError, RecursionError)):
            result.json()


def packed(encoding, data):
    return Response(200, data, {"Content-Encoding": encoding})


RAW = json.dumps(DIVIDENDS).encode()
LAYERS = {
    "gzip twice": packed("gzip, gzip", gzip.compress(gzip.compress(RAW))),
    "gzip twice, named once": packed("gzip", gzip.compress(gzip.compress(RAW))),
    "deflate in gzip": packed("deflate, gzip", gzip.compress(zlib.compress(RAW))),
    "gzip that is none": packed("gzip", RAW),
    "gzip cut off": packed("gzip", gzip.compress(RAW)[:-12]),
    "gzip with a wrong sum": packed("gzip", gzip.compress(RAW)[:-8] + b"\0" * 8),
    "gzip not named": packed("identity", gzip.compress(RAW)),
    "a second member cut off": packed(
        "gzip", gzip.compress(RAW[:20]) + gzip.compress(RAW[20:])[:-6]
    ),
    "a first member with a wrong sum": packed(
        "gzip", gzip.compress(RAW[:20])[:-8] + b"\0" * 8 + gzip.compress(RAW[20:])
    ),
    "other bytes after a member": packed("gzip", gzip.compress(RAW) + b"garbage of a proxy"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_security_23_one_layer_of_compression_is_undone_and_no_more(name):
    with StandInService([LAYERS[name]]) as server:
        client = bl.Client(server.base_url, max_retries=0)
        with pytest.raises((bl.ProtocolError, bl.TransportError)):
            client.dividends("HK.00700")


MEMBERS = {
    "two": [RAW[:20], RAW[20:]],
    "one for each byte": [RAW[n : n + 1] for n in range(len(RAW))],
    "empty ones": [b"", RAW[:9], b"", b"", RAW[9:], b""],
}


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("piece", [1, 97, 1 << 20])
def test_a_body_of_several_gzip_members_is_read_however_it_arrives(name, piece):
    body = b"".join(gzip.compress(member) for member in MEMBERS[name])
    pieces = [body[n : n + piece] for n in range(0, len(body), piece)]
    in_chunks = Response(200, headers={"Content-Encoding": "gzip"}, chunks=pieces)
    for one in (packed("gzip", body), in_chunks):
        with StandInService([one]) as server:
            result = bl.Client(server.base_url, max_retries=0).request("GET", "/any")
        assert result.content == RAW
        assert not {"content-encoding", "content-length"} & set(result.headers)


def test_security_23_a_bomb_in_a_later_member_is_rejected():
    body = gzip.compress(RAW) + gzip.compress(bytes(100 << 20))
    with StandInService([packed("gzip", body)]) as server:
        client = bl.Client(server.base_url, max_retries=0)
        with pytest.raises(bl.ProtocolError, match="max_body_bytes"):
            client.request("GET", "/any")


@pytest.mark.parametrize("status", [200, 204, 304])
def test_a_response_without_a_body_needs_no_gzip_member(status):
    with StandInService([Response(status, b"", {"Content-Encoding": "gzip"})]) as server:
        assert bl.Client(server.base_url).request("GET", "/any").content == b""


def test_security_23_only_supported_encodings_are_requested():
    with StandInService([packed("gzip", gzip.compress(RAW))]) as server:
        assert list(bl.Client(server.base_url).dividends("HK.00700")) == []
        asked = server.received[0].header("Accept-Encoding")
    assert {part.split(";")[0].strip() for part in asked.split(",")} <= {"gzip", "identity"}


def test_security_23_a_response_never_hands_out_more_than_the_limit():
    body = b"x" * 100_000
    for one in (response(body), packed("gzip", gzip.compress(body)), response(chunks=[body])):
        with StandInService(lambda _, one=one: one) as server:
            client = bl.Client(server.base_url, max_body_bytes=99_999)
            with pytest.raises(bl.ProtocolError):
                client.request("GET", "/any")
            exact = bl.Client(server.base_url, max_body_bytes=100_000)
            assert exact.request("GET", "/any").content == body
