"""Responses as RFC 9110 and 9112 allow them are read; those that break the rules of HTTP are named.

A malformed response did arrive: it is not a lost connection, and is not requested again.
"""

import gzip
import json
import re

import boardlot as bl
import pytest

from ..support.certificates import authority
from ..support.clients import MODES, client_of, run
from ..support.http2 import frame
from ..support.service import Response, StandInService
from ..support.vectors import table

BODY = json.dumps({"ret_code": 0, "data": {"dividend_list": [{"ex_date": "2026/01/02"}]}}).encode()
modes = pytest.mark.parametrize("mode", MODES)


def raw(*lines, body=BODY):
    """A response with these header lines and the length of its body."""
    head = (b"HTTP/1.1 200 OK", *lines, b"Content-Length: %d" % len(body), b"", body)
    return Response(raw=b"\r\n".join(head))


def call(mode, server, **options):
    options = {"max_retries": 2, **options}
    return run(mode, server, lambda c: c.call("dividends", "HK.00700"), **options)


GZIP = [
    *("gzip", "x-gzip", "GZIP", "X-Gzip", "gzip, identity", "identity,x-gzip", " , gzip"),
    "identity\r\nContent-Encoding: x-gzip",
]


@pytest.mark.parametrize("coding", GZIP)
def test_gzip_is_read_under_both_names_in_any_case_and_beside_identity(coding):
    packed = gzip.compress(BODY)
    response = raw(b"Content-Encoding: " + coding.encode(), body=packed)
    with StandInService([response]) as server:
        result = client_of(server).request("GET", "/any")
    assert result.content == BODY
    assert not {"content-encoding", "content-length"} & set(result.headers)


@pytest.mark.parametrize("coding", ["identity", "IDENTITY", "", "identity, identity"])
def test_identity_changes_nothing(coding):
    with StandInService([raw(b"Content-Encoding: " + coding.encode())]) as server:
        assert len(call("sync", server)) == 1


OTHERS = ["compress", "x-compress", "deflate", "br", "zstd", "gzip, x-gzip", "deflate, gzip"]


@modes
@pytest.mark.parametrize("coding", OTHERS)
def test_another_coding_is_named_and_not_requested_again(coding, mode):
    with StandInService([raw(b"Content-Encoding: " + coding.encode())]) as server:
        with pytest.raises(bl.ProtocolError, match=f"Content-Encoding is '{coding}'; expected"):
            call(mode, server)
        assert len(server.received) == 1


def test_a_status_that_says_enough_needs_no_readable_body():
    for status, error in [(503, bl.ServiceError), (429, bl.RateLimited)]:
        unread = Response(status, b"\x0b\x02", {"Content-Encoding": "br"})
        with StandInService([unread]) as server, pytest.raises(error):
            client_of(server).dividends("HK.00700")
    with StandInService([Response(200, b"", {"Content-Encoding": "br"})]) as server:
        assert client_of(server).request("HEAD", "/any").content == b""


@modes
def test_a_folded_header_line_is_unfolded(mode):
    packed = gzip.compress(BODY)
    folded = (b"X-Note: one\r\n  two\r\n\t three", b"Content-Encoding:\r\n gzip")
    with StandInService([raw(*folded, body=packed), raw(*folded, body=packed)]) as server:
        assert len(call(mode, server)) == 1
        result = client_of(server).request("GET", "/any")
    assert result.headers["x-note"] == "one two three" and result.content == BODY


OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
HEADS = {
    name: head.encode("latin-1").replace(b"{length}", LENGTH)
    for name, head in table("malformed").items()
}
HEADS["more headers than any service sends"] = OK + b"X-Note: x\r\n" * 1_000 + LENGTH


@modes
@pytest.mark.parametrize("name", HEADS)
def test_a_malformed_response_is_named_and_not_requested_again(name, mode):
    with StandInService([Response(raw=HEADS[name] + b"\r\n" + BODY)]) as server:
        with pytest.raises(bl.ProtocolError, match="the response is malformed: ") as caught:
            call(mode, server)
        assert len(server.received) == 1
    assert not caught.value.retryable and "connection was lost" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_head_that_ends_early_is_a_lost_connection():
    for head in (b"", OK[:9], OK, OK + LENGTH[:8]):
        lost = pytest.raises(bl.TransportError, match="connection was lost")
        with StandInService([Response(raw=head)]) as server, lost:
            client_of(server).dividends("HK.00700")


def test_a_malformed_response_to_a_login_is_no_lost_connection_either():
    with StandInService([Response(raw=HEADS["a status of letters"] + b"\r\n")]) as service:
        with pytest.raises(bl.ProtocolError, match="malformed"):
            bl.register_client(service.base_url, redirect_uris=["https://app.example.com/cb"])
        assert len(service.received) == 1


class MalformedHttp2:
    """Responds with frames that break the rules of RFC 9113."""

    def __init__(self, *frames):
        self.frames = frames

    def converse(self, connection, _response_to):
        received = b""
        # Until the headers of the first request have come: of stream 1, and perhaps its end.
        while not re.search(rb"\x01[\x04\x05]\x00\x00\x00\x01", received):
            received += connection.recv(65_536)
        connection.sendall(frame(0x4, b"") + b"".join(self.frames))
        while connection.recv(65_536):
            pass


def on_first_stream(kind, flags, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags, 0, 0, 0, 1]) + payload


@modes
@pytest.mark.parametrize(
    "frames",
    [
        # HEADERS that no table can decode; DATA before any; one with an upper-case name.
        on_first_stream(0x1, 0x5, b"\xff\xff\xff\xff\xff"),
        on_first_stream(0x0, 0x1, b"data"),
        on_first_stream(0x1, 0x5, b"\x88\x00\x01X\x01x"),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
    ids=["headers", "data", "name", "HTTP/1.1"],
)
def test_frames_that_break_the_rules_are_a_malformed_response(frames, mode):
    context, malformed = authority().context(), pytest.raises(bl.ProtocolError, match="malformed")
    with StandInService(context=context, http2=MalformedHttp2(frames)) as server, malformed:
        call(mode, server, ca_file=authority().ca_file)
