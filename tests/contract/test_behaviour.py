"""Sections 5.2, 7 and 8: errors by their status, the clock, and broken connections.

`tests/transport/` tests how often and after which wait a request is sent again.
"""

import re
import socket

import boardlot as bl
import pytest

from ..support.clients import MODES, run
from ..support.keys import assert_signed
from ..support.service import StandInService, response

modes = pytest.mark.parametrize("mode", MODES)
OK = {"ret_code": 0, "ret_msg": "success", "data": {"reference_list": []}}
PATH = "/api/v1.0/quote/HK.HSImain/reference-future"
CLOCK = "/api/v1.0/server-time"
HOUR = 3_600_000


def futures(client):
    return client.call("reference_futures", "HK.HSImain")


def unavailable():
    return response(b"<html>busy</html>", 503, {"Content-Type": "text/html"})


@modes
def test_a_request_is_tried_again_after_a_5xx_and_signed_again(mode):
    with StandInService([unavailable(), response(OK)]) as server:
        assert run(mode, server, futures, max_retries=2) == []
    assert [received.path for received in server.received] == [PATH, PATH]
    for received in server.received:
        assert_signed(received)
    assert len({received.header("X-Nonce") for received in server.received}) == 2


@pytest.mark.parametrize("status", [200, 404])
def test_refusals_are_not_tried_again(status):
    refusal = {"ret_code": -7, "ret_msg": "no", "error": {"code": "invalid_symbol"}}
    with StandInService(lambda _: response(refusal, status)) as server:
        with pytest.raises(bl.InvalidSymbol) as caught:
            run("sync", server, futures, max_retries=3)
        assert len(server.received) == 1
    assert isinstance(caught.value, LookupError)


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, bl.AuthenticationError), (403, bl.PermissionDenied), (429, bl.RateLimited)],
)
def test_a_status_without_an_envelope_has_its_own_error(status, error):
    refusal = response(b"no", status, {"Content-Type": "text/plain"})
    with StandInService([refusal] * 2) as server, pytest.raises(bl.ApiError) as caught:
        run("sync", server, futures)
    assert type(caught.value) is error
    assert caught.value.http_status == status
    assert "reference_futures" in caught.value.endpoint and caught.value.hint


# -12006 in each form of refusal, with a status that nobody documents and a wrong clock.
SKEWED = {
    "reference_futures": (["HK.HSImain"], {"ret_code": -12006, "ret_msg": "clock"}, OK),
    "crypto_orders": (
        [1],
        {"code": -12006, "msg": "timestamp"},
        {"code": 0, "msg": "success", "data": {"orders": [], "page_flag": "", "completed": True}},
    ),
    "fills_history": (
        ["1", "HK"],
        {"s": "error", "errcode": -12006, "errmsg": "timestamp"},
        {"s": "ok", "d": {"order_fills": [], "page_flag": "", "completed": True}},
    ),
    "plate_stocks": (
        ["HK.BK1"],
        {"code": -12006},
        {"code": 0, "data": {"stock_list": []}, "pagination": {"has_more": False}},
    ),
}
skewed = pytest.mark.parametrize(
    ("method", "status", "offset"),
    list(zip(SKEWED, [200, 400, 401, 403], [HOUR, -HOUR, 6000, -6000], strict=True)),
)


def fetch(client, method):
    times = {"start": 1780000000000000, "end": 1787000000000000}
    return client.everything(
        method, *SKEWED[method][0], **(times if method == "fills_history" else {})
    )


def skewed_service(refusal, good, status, offset=HOUR, forgiving=True):
    """A service whose clock is `offset` ms ahead, and which holds the 5 s of section 8."""

    def script(received):
        now = received.at * 1000 + offset
        if received.path == CLOCK:
            return response({"server_time_ms": str(int(now))})
        in_time = abs(int(received.header("X-Timestamp")) - now) <= 5000
        return response(good) if in_time and forgiving else response(refusal, status)

    return script


@modes
@skewed
def test_a_wrong_clock_is_put_right_once_and_the_call_signed_again(method, status, offset, mode):
    _, refusal, good = SKEWED[method]

    async def use(client):
        return await fetch(client, method), await fetch(client, method)

    with StandInService(skewed_service(refusal, good, status, offset)) as server:
        assert run(mode, server, use, max_retries=2) == ([], [])
    # Rejected, clock read, accepted; and the second call knows the time.
    paths = [received.path for received in server.received]
    assert len(paths) == 4 and paths.count(CLOCK) == 1 and paths[1] == CLOCK
    signed = [received for received in server.received if received.path != CLOCK]
    assert len({received.header("X-Nonce") for received in signed}) == 3
    for received in signed:
        assert_signed(received)
    corrected = int(signed[1].header("X-Timestamp"))
    assert abs(corrected - (signed[1].at * 1000 + offset)) < 2000


@skewed
def test_rejected_twice_names_all_three_causes(method, status, offset):
    _, refusal, good = SKEWED[method]
    with StandInService(skewed_service(refusal, good, status, offset, forgiving=False)) as server:
        with pytest.raises(bl.ClockSkewError) as caught:
            run("sync", server, lambda client: fetch(client, method), max_retries=2)
        paths = [received.path for received in server.received]
    assert (len(paths), paths.count(CLOCK)) == (3, 1)
    error = caught.value
    assert isinstance(error, bl.AuthenticationError)
    assert (error.code, error.http_status) == (-12006, status)
    text = f"{error} {error.hint}".lower()
    assert "clock" in text
    assert "signature" in text or "key" in text
    assert re.search(r"frequen|throttl|rate|too many|too often|limit", text)


def test_a_clock_that_cannot_be_read_ends_the_call():
    def script(received):
        if received.path == CLOCK:
            return response(b"<html>", 500)
        return response({"ret_code": -12006, "ret_msg": "clock"})

    with StandInService(script) as server:
        with pytest.raises(bl.BoardlotError):
            run("sync", server, futures)
        assert len(server.received) <= 3


@modes
def test_a_raw_request_has_its_clock_put_right_too(mode):
    good = {"code": 0, "anything": 1}
    with StandInService(skewed_service({"code": -12006}, good, 200)) as server:
        result = run(mode, server, lambda c: c.call("request", "GET", "/api/v9/x"))
    assert result.json() == good
    assert [received.path for received in server.received] == ["/api/v9/x", CLOCK, "/api/v9/x"]


@modes
def test_a_refused_connection_is_a_transport_error(mode):
    # Bound, so that nobody else gets the port, and not listening.
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        with pytest.raises(bl.TransportError) as caught:
            run(mode, f"http://127.0.0.1:{holder.getsockname()[1]}", futures)
    assert isinstance(caught.value, ConnectionError)
    assert not isinstance(caught.value, bl.RequestTimeout)
    assert "reference_futures" in caught.value.endpoint
    assert caught.value.retryable is True and caught.value.hint
