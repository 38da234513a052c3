"""Promise 29: how long the service asks to wait, in every form, sane or not."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.service import StandInService, response

OK = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
MALFORMED = [
    *("", " ", "x", "-1", "-0", "1.5", "1e9", "0x10", "NaN", "inf", "-inf", "1,2", "1;2", "1 s"),
    *("9" * 19, "9" * 40, "-" + "9" * 40, "18446744073709551616", "\t", '"1"', "٣", "½"),
    *("Mon", "Mon, 99 Foo 2026 99:99:99 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "2026-01-01"),
    *("Fri, 31 Dec 9999 23:59:59 GMT", "GMT", ",", "\xe9", "9" * 4000),
]


def refusal(value, status=429):
    return response(b"", status, {"Retry-After": value.encode().decode("latin-1")})


def dated(seconds):
    return formatdate(time.time() + seconds, usegmt=True)


def tried(value, status, retries):
    """The error of a call that is always rejected with this wait."""
    with StandInService(lambda _: refusal(value, status)) as server:
        with pytest.raises(bl.BoardlotError) as caught:
            client_of(server, max_retries=retries).dividends("HK.00700")
        return caught.value, len(server.received)


@pytest.mark.parametrize(("status", "kind"), [(429, bl.RateLimited), (503, bl.ServiceError)])
def test_security_29_malformed_values_leak_no_other_error(status, kind):
    assert len(MALFORMED) >= 30
    with ThreadPoolExecutor(len(MALFORMED)) as pool:
        results = list(pool.map(lambda value: tried(value, status, 1), MALFORMED))
    for value, (error, sent) in zip(MALFORMED, results, strict=True):
        assert type(error) is kind, (value, error)
        assert sent in (1, 2)
        after = getattr(error, "retry_after", None)
        assert after is None or (math.isfinite(after) and after >= 0), (value, after)


def waited(first):
    with StandInService([first, OK]) as server:
        assert list(client_of(server, max_retries=1).dividends("HK.00700")) == []
        one, other = server.received
    return other.at - one.at


def test_security_29_seconds_and_dates_are_waited_for():
    # A date has whole seconds.
    asked = [(value, status) for value in ("2", dated(3)) for status in (429, 503)]
    with ThreadPoolExecutor(4) as pool:
        waits = list(pool.map(lambda one: waited(refusal(*one)), asked))
    assert min(waits) >= 1.5 and min(waits[:2]) >= 1.9  # time: that long is promised


@pytest.mark.parametrize("seconds", [61, 3600])
@pytest.mark.parametrize("way", [str, dated])
def test_security_29_beyond_a_minute_it_is_left_to_the_caller(seconds, way):
    # Of a date, some has passed when it is read.
    seconds += 60
    error, sent = tried(way(seconds), 429, 3)
    assert isinstance(error, bl.RateLimited) and sent == 1
    assert 0 <= seconds - error.retry_after <= 60
    assert error.retryable is True and error.hint


@pytest.mark.parametrize("status", [200, 400, 403])
@pytest.mark.parametrize("code", [-11, -3, 5])
def test_security_29_the_error_code_of_throttling_has_it_too(status, code):
    body = {"ret_code": code, "ret_msg": "slow down", "error": {"code": "rate_limited"}}
    throttled = response(body, status, {"Retry-After": "100"})
    with StandInService(lambda _: throttled) as server:
        with pytest.raises(bl.RateLimited) as caught:
            client_of(server, max_retries=2).dividends("HK.00700")
        # The clock is not read: it is not what is wrong.
        assert len(server.received) == 1
    assert caught.value.retry_after == 100


@pytest.mark.parametrize("body", [{"ret_code": -11}, {"code": -11}, {"ret_code": -11, "error": {}}])
def test_no_number_and_no_words_mean_throttling(body):
    body = {**body, "ret_msg": "too many requests", "msg": "too many requests"}
    with StandInService(lambda _: response(body, 200, {"Retry-After": "1"})) as server:
        with pytest.raises(bl.ApiError) as caught:
            client_of(server, max_retries=2).sim_orders("1")
        assert type(caught.value) is bl.ApiError and not caught.value.retryable
        assert len(server.received) == 1


@pytest.mark.slow
def test_security_29_a_whole_minute_is_waited_for():
    assert waited(refusal("60")) >= 59.5
