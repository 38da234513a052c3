"""The stand-in service itself, checked with the standard library's HTTP clients."""

import gzip
import http.client
import json
import time
import urllib.error
import urllib.request

import pytest

from .service import Fault, StandInService, gzipped, response


def get(url, **options):
    with urllib.request.urlopen(url, timeout=10, **options) as reply:
        return reply.status, dict(reply.headers), reply.read()


def test_a_list_is_played_in_order_and_each_request_is_recorded_raw():
    with StandInService([response({"n": 1}), response("zwei ü"), response(b"\xff")]) as server:
        assert get(server.base_url + "/a?x=%41+b&y=")[2] == b'{"n": 1}'
        assert get(server.base_url + "/b")[2] == "zwei ü".encode()
        assert get(server.base_url + "/c")[2] == b"\xff"
    assert [r.line for r in server.received] == [
        "GET /a?x=%41+b&y= HTTP/1.1",
        "GET /b HTTP/1.1",
        "GET /c HTTP/1.1",
    ]
    first = server.received[0]
    assert (first.method, first.path, first.query) == ("GET", "/a", "x=%41+b&y=")
    assert first.header("host") == f"127.0.0.1:{server.port}"
    assert abs(first.at - time.time()) < 5


def test_a_connection_is_kept_alive_and_the_body_is_recorded_raw():
    with StandInService([response(b"1"), response(b"2"), response(b"3")]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("POST", "/p", body=b'{"a":1}', headers={"X-Odd": " v "})
        assert connection.getresponse().read() == b"1"
        kept = connection.sock
        connection.request("POST", "/p", body=iter([b"ab", b"cd"]), encode_chunked=True)
        assert connection.getresponse().read() == b"2"
        connection.request("GET", "/q")
        assert connection.getresponse().read() == b"3"
        assert connection.sock is kept
        connection.close()
    assert [r.body for r in server.received] == [b'{"a":1}', b"abcd", b""]
    assert server.received[0].header("x-odd") == "v"


def test_a_callable_responds_by_the_request_with_status_and_headers_as_given():
    headers = {"Retry-After": "7", "Content-Type": "text/html"}
    throttled = StandInService(lambda request: response({"path": request.path}, 429, headers))
    with throttled as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", "/here")
        reply = connection.getresponse()
        assert (reply.status, json.loads(reply.read())) == (429, {"path": "/here"})
        connection.close()
    assert headers.items() <= dict(reply.headers).items()


def test_faults_of_a_kind_of_request_are_used_up():
    with StandInService(lambda _: response({"a": 1, "b": 2})) as server:
        server.faults["/x"] = [
            Fault(status=503),
            Fault(change={"a": None, "b": 3}),
            Fault(lost=True),
        ]
        with pytest.raises(urllib.error.HTTPError, match="503"):
            get(server.base_url + "/x")
        assert get(server.base_url + "/x")[2] == b'{"b": 3}'
        with pytest.raises(OSError):
            get(server.base_url + "/x")
        assert (
            get(server.base_url + "/x")[2] == get(server.base_url + "/y")[2] == b'{"a": 1, "b": 2}'
        )
        assert server.counts == {"/x": 4, "/y": 1} and len(server.of("/x")) == 4


def test_chunked_truncated_and_dropped_responses():
    script = [
        response(chunks=[b"ab", b"c" * 20]),
        response(b"0123456789", truncate=4),
        response(drop=True),
        response(b"0123456789", stall=4, delay=0.3),
    ]
    with StandInService(script) as server:
        assert get(server.base_url)[2] == b"ab" + b"c" * 20
        with pytest.raises(http.client.IncompleteRead):
            get(server.base_url)
        with pytest.raises(OSError):
            get(server.base_url)
        with pytest.raises(http.client.IncompleteRead):
            get(server.base_url)
    assert len(server.received) == 4


def test_delay_gzip_and_the_end_of_the_script():
    with StandInService([response(b"late", delay=0.3), gzipped(b"plain", 2)]) as server:
        start = time.monotonic()
        assert get(server.base_url)[2] == b"late"
        assert time.monotonic() - start >= 0.3
        _, headers, body = get(server.base_url)
        assert headers["Content-Encoding"] == "gzip, gzip"
        assert gzip.decompress(gzip.decompress(body)) == b"plain"
        with pytest.raises(urllib.error.HTTPError):
            get(server.base_url)
    assert len(server.received) == 3


def test_leaving_closes_the_port():
    with StandInService() as server:
        pass
    with pytest.raises(OSError):
        get(server.base_url)
