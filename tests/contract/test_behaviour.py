"""Sections 5.2, 7 and 8: retries, waiting, the clock, time limits and broken connections."""

import re
import socket
import time
from email.utils import formatdate

import boardlot as bl
import pytest

from ..support.clients import MODES, run, settled
from ..support.keys import assert_signed
from ..support.paged_service import PagedList, page
from ..support.service import StandInService, response

modes = pytest.mark.parametrize("mode", MODES)
OK = {"ret_code": 0, "ret_msg": "success", "data": {"reference_list": []}}
PATH = "/api/v1.0/quote/HK.HSImain/reference-future"
CLOCK = "/api/v1.0/server-time"
HOUR = 3_600_000


def futures(client):
    return client.call("reference_futures", "HK.HSImain")


def plate(client):
    return client.everything("plate_stocks", "HK.BK1")


def unavailable(status=503, **headers):
    return response(b"<html>busy</html>", status, {"Content-Type": "text/html", **headers})


@modes
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_get_is_tried_again_after_a_5xx_and_signed_again(status, mode):
    with StandInService([unavailable(status), response(OK)]) as server:
        assert run(mode, server, futures, max_retries=2) == []
    assert [received.path for received in server.received] == [PATH, PATH]
    nonces = set()
    for received in server.received:
        assert_signed(received)
        nonces.add(received.header("X-Nonce"))
    assert len(nonces) == 2


@modes
def test_the_post_that_only_reads_is_tried_again(mode):
    with StandInService([unavailable(), page("plate_stocks", [{"n": 1}], None)]) as server:
        assert run(mode, server, plate, max_retries=2) == [{"n": 1}]
    assert [received.method for received in server.received] == ["POST", "POST"]
    assert server.received[0].body == server.received[1].body


@modes
@pytest.mark.parametrize("retries", [0, 1, 3])
def test_it_is_tried_again_so_many_times_and_then_it_raises(retries, mode):
    with StandInService(lambda _: unavailable()) as server:
        with pytest.raises(bl.ServiceError) as caught:
            run(mode, server, futures, max_retries=retries)
        assert len(server.received) == 1 + retries
    assert caught.value.http_status == 503
    assert caught.value.retryable is True


@modes
@pytest.mark.parametrize(
    "failing", [unavailable, lambda: response(drop=True)], ids=["503", "a reset"]
)
def test_a_custom_post_is_sent_once(failing, mode):
    with StandInService(lambda _: failing()) as server:
        try:
            response = run(
                mode,
                server,
                lambda c: c.call("request", "POST", "/orders", body={"qty": "1"}),
                max_retries=3,
            )
            assert response.status == 503
        except (bl.ServiceError, bl.TransportError):
            pass
        assert len(server.received) == 1


@modes
def test_refusals_are_not_tried_again(mode):
    refusal = {"ret_code": -7, "ret_msg": "no", "error": {"code": "invalid_symbol"}}
    for status in (200, 400, 404):
        with StandInService(lambda _, status=status: response(refusal, status)) as server:
            with pytest.raises(bl.InvalidSymbol) as caught:
                run(mode, server, futures, max_retries=3)
            assert isinstance(caught.value, LookupError)
            assert len(server.received) == 1


@modes
@pytest.mark.parametrize(
    ("status", "error"),
    [(401, bl.AuthenticationError), (403, bl.PermissionDenied), (429, bl.RateLimited)],
)
def test_a_status_without_an_envelope_has_its_own_error(status, error, mode):
    refusal = response(b"no", status, {"Content-Type": "text/plain"})
    with StandInService([refusal] * 2) as server, pytest.raises(bl.ApiError) as caught:
        run(mode, server, futures)
    assert type(caught.value) is error
    assert caught.value.http_status == status
    assert "reference_futures" in caught.value.endpoint and caught.value.hint


@modes
def test_retry_after_in_seconds_is_waited_for(mode):
    with StandInService([unavailable(429, **{"Retry-After": "1"}), response(OK)]) as server:
        assert run(mode, server, futures, max_retries=1) == []
    first, second = server.received
    assert 0.95 <= second.at - first.at < 60


@modes
def test_retry_after_as_a_date_is_waited_for(mode):
    requests = []

    def script(received):
        requests.append(received)
        if len(requests) > 1:
            return response(OK)
        # A date has whole seconds: this one is between two and three seconds from now.
        return unavailable(429, **{"Retry-After": formatdate(time.time() + 3, usegmt=True)})

    with StandInService(script) as server:
        assert run(mode, server, futures, max_retries=1) == []
    first, second = server.received
    assert 1.5 <= second.at - first.at < 60


@modes
def test_a_wait_beyond_a_minute_is_left_to_the_caller(mode):
    for value in ("120", formatdate(time.time() + 120, usegmt=True)):
        start = time.monotonic()
        with StandInService(lambda _, v=value: unavailable(429, **{"Retry-After": v})) as server:
            with pytest.raises(bl.RateLimited) as caught:
                run(mode, server, futures, max_retries=3)
            assert len(server.received) == 1
        assert time.monotonic() - start < 60
        assert 110 <= float(caught.value.retry_after) <= 121
        assert caught.value.retryable is True


ODD_WAITS = [
    *("", " ", "x", "-1", "-0", "1.5", "1e9", "0x10", "NaN", "inf", "1,2", "1;2", "1 s", "+5"),
    *("99999999999999999999", "-99999999999999999999", "18446744073709551616", "\t", '"1"'),
    *("Mon", "Mon, 99 Foo 2026 99:99:99 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "2026-01-01"),
    *("Fri, 31 Dec 9999 23:59:59 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "GMT", ",", "\xe9"),
    *("Sun Nov  6 08:49:37 1994", "Wed, 30 Feb 2028 00:00:00 GMT", "9" * 4000),
]


@pytest.mark.parametrize("value", ODD_WAITS, ids=lambda value: ascii(value)[:30])
def test_a_malformed_retry_after_is_still_rate_limited(value):
    start = time.monotonic()
    refusal = unavailable(429, **{"Retry-After": value})
    with StandInService([refusal]) as server, pytest.raises(bl.RateLimited):
        run("sync", server, futures)
    assert time.monotonic() - start < 30


# -12006 in each form of refusal, with the statuses nobody documents.
SKEWED = {
    "reference_futures": (["HK.HSImain"], {}, {"ret_code": -12006, "ret_msg": "clock"}, OK),
    "crypto_orders": (
        [1],
        {},
        {"code": -12006, "msg": "timestamp"},
        {"code": 0, "msg": "success", "data": {"orders": [], "page_flag": "", "completed": True}},
    ),
    "fills_history": (
        ["1", "HK"],
        {"start": 1780000000000000, "end": 1787000000000000},
        {"s": "error", "errcode": -12006, "errmsg": "timestamp"},
        {"s": "ok", "d": {"order_fills": [], "page_flag": "", "completed": True}},
    ),
    "plate_stocks": (
        ["HK.BK1"],
        {},
        {"code": -12006},
        {
            "code": 0,
            "data": {"stock_list": []},
            "pagination": {"has_more": False, "next_key": "-1"},
        },
    ),
}


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
@pytest.mark.parametrize("offset", [HOUR, -HOUR, 6000])
@pytest.mark.parametrize("status", [200, 400, 401, 403])
@pytest.mark.parametrize("method", SKEWED)
def test_a_wrong_clock_is_put_right_once_and_the_call_signed_again(method, status, offset, mode):
    args, kwargs, refusal, good = SKEWED[method]

    async def use(client):
        first = await client.everything(method, *args, **kwargs)
        return first, await client.everything(method, *args, **kwargs)

    with StandInService(skewed_service(refusal, good, status, offset)) as server:
        assert run(mode, server, use, max_retries=2) == ([], [])
    paths = [received.path for received in server.received]
    assert paths.count(CLOCK) == 1
    assert paths[1] == CLOCK and server.received[1].method == "GET"
    # Rejected, clock read, accepted; and the second call knows the time.
    assert len(paths) == 4
    nonces = {received.header("X-Nonce") for received in server.received if received.path != CLOCK}
    assert len(nonces) == 3
    for received in server.received:
        if received.path != CLOCK:
            assert_signed(received)
    corrected = int(server.received[2].header("X-Timestamp"))
    assert abs(corrected - (server.received[2].at * 1000 + offset)) < 2000


@modes
@pytest.mark.parametrize("status", [200, 401, 403])
@pytest.mark.parametrize("method", SKEWED)
def test_rejected_twice_names_all_three_causes(method, status, mode):
    args, kwargs, refusal, good = SKEWED[method]
    with StandInService(skewed_service(refusal, good, status, 0, forgiving=False)) as server:
        with pytest.raises(bl.ClockSkewError) as caught:
            run(mode, server, lambda c: c.everything(method, *args, **kwargs), max_retries=2)
        paths = [received.path for received in server.received]
    assert (len(paths), paths.count(CLOCK)) == (3, 1)
    error = caught.value
    assert isinstance(error, bl.AuthenticationError)
    assert (error.code, error.http_status) == (-12006, status)
    text = f"{error} {error.hint}".lower()
    assert "clock" in text
    assert "signature" in text or "key" in text
    assert re.search(r"frequen|throttl|rate|too many|too often|limit", text)


@modes
def test_a_clock_that_cannot_be_read_ends_the_call(mode):
    def script(received):
        if received.path == CLOCK:
            return response(b"<html>", 500)
        return response({"ret_code": -12006, "ret_msg": "clock"})

    with StandInService(script) as server:
        with pytest.raises(bl.BoardlotError):
            run(mode, server, futures)
        assert len(server.received) <= 3


@modes
def test_a_raw_request_has_its_clock_put_right_too(mode):
    good = {"code": 0, "anything": 1}
    with StandInService(skewed_service({"code": -12006}, good, 200)) as server:
        response = run(mode, server, lambda c: c.call("request", "GET", "/api/v9/x"))
    assert response.json() == good
    assert [received.path for received in server.received] == ["/api/v9/x", CLOCK, "/api/v9/x"]


@modes
@pytest.mark.parametrize(
    "slow",
    [
        lambda: response(OK, delay=20),
        lambda: response(OK, stall=0, delay=20),
        lambda: response(OK, stall=12, delay=20),
        lambda: response(chunks=[b" "] * 200, pause=0.1),
    ],
    ids=["no response", "headers only", "a part of the body", "a drip"],
)
def test_every_attempt_is_bounded(slow, mode):
    # On a busy machine the connection alone may take as long as the first limit.
    for limit in (0.4, 2.0, 10.0):
        start = time.monotonic()
        with StandInService(lambda _: slow()) as server:
            with pytest.raises(bl.RequestTimeout) as caught:
                run(mode, server, futures, timeout=limit)
            # Less than the response takes.
            assert time.monotonic() - start < 18
        if server.received:
            break
    assert len(server.received) == 1
    assert isinstance(caught.value, TimeoutError)
    assert isinstance(caught.value, bl.TransportError)
    assert caught.value.retryable is True and caught.value.hint


@modes
def test_a_slow_response_is_tried_again_within_bounds(mode):
    start = time.monotonic()
    with StandInService([response(OK, delay=30), response(OK)]) as server:
        assert run(mode, server, futures, timeout=5.0, max_retries=2) == []
        assert time.monotonic() - start < 25
    assert len(server.received) == 2


@modes
def test_a_refused_connection_is_a_transport_error(mode):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(bl.TransportError) as caught:
        run(mode, f"http://127.0.0.1:{port}", futures)
    assert isinstance(caught.value, ConnectionError)
    assert not isinstance(caught.value, bl.RequestTimeout)
    assert "reference_futures" in caught.value.endpoint
    assert caught.value.retryable is True and caught.value.hint


@modes
def test_a_reset_is_a_transport_error_and_not_tried_again_behind_the_back(mode):
    with StandInService(lambda _: response(drop=True)) as server:
        with pytest.raises(bl.TransportError):
            run(mode, server, futures)
        assert len(server.received) == 1
    with StandInService([response(drop=True), response(OK)]) as server:
        assert run(mode, server, futures, max_retries=1) == []
        assert len(server.received) == 2


@modes
def test_a_body_that_ends_early_is_not_a_result(mode):
    no_result = pytest.raises((bl.TransportError, bl.ProtocolError))
    with StandInService([response(OK, truncate=30)]) as server, no_result:
        run(mode, server, futures)
    with StandInService([response(OK, truncate=30), response(OK)]) as server:
        assert run(mode, server, futures, max_retries=1) == []


@modes
def test_a_page_is_tried_again_in_the_middle_of_an_iteration(mode):
    book = PagedList("fills_history", [2, 2, 2], {1: [unavailable()], 2: [response(drop=True)]})
    with StandInService(book) as server:
        rows = run(mode, server, all_fills, max_retries=2)
    assert rows == book.rows
    assert len(server.received) == 5


async def all_fills(client):
    pager = client.pager("fills_history", "1", "HK", start=1780000000000000, end=1787000000000000)
    return list(await settled(pager.all()))
