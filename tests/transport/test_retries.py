"""Promise 28: what is tried again, how often, and that an outage makes no storm."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.keys import assert_signed
from ..support.logins import begin, quotes, sign_in
from ..support.service import Fault, StandInService, response

OK = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
PLATE = {"code": 0, "data": {"stock_list": []}, "pagination": {"has_more": False, "next_key": "-1"}}
BUSY = response(b"busy", 503)
FAILING = {
    "503": BUSY,
    "408": response(b"<html>timed out</html>", 408),
    "409": response({"ret_code": 409, "ret_msg": "in progress"}, 409),
    "425": response({"message": "too early"}, 425),
    "a reset": response(drop=True),
    "a short body": response({"ret_code": 0}, truncate=3),
    "throttled": response(b"", 429),
    "throttled with 200": response({"ret_code": 5, "error": {"code": "rate_limited"}}),
}
failing = pytest.mark.parametrize("name", FAILING)


@failing
def test_security_28_a_get_and_the_post_that_only_reads_are_tried_again(name):
    failure = FAILING[name]
    with StandInService([failure, failure, OK, failure, response(PLATE)]) as server:
        client = client_of(server, max_retries=2)
        assert list(client.dividends("HK.00700")) == list(client.plate_stocks("HK.BK1001")) == []
    # Each attempt is signed by itself.
    assert len({received.header("X-Nonce") for received in server.received}) == 5
    for received in server.received:
        assert_signed(received)


@pytest.mark.parametrize("status", [200, 404])
def test_a_rejection_is_not_tried_again(status):
    rejection = {"ret_code": -7, "ret_msg": "no", "error": {"code": "invalid_symbol"}}
    with StandInService(lambda _: response(rejection, status)) as server:
        with pytest.raises(bl.InvalidSymbol):
            client_of(server, max_retries=3).dividends("HK.00700")
        assert len(server.received) == 1


@pytest.mark.parametrize("fault", [Fault(status=503), Fault(lost=True)])
def test_security_28_a_refresh_is_tried_again(server, fault):
    client = client_of(server, sign_in(server), max_retries=2)
    server.expire()
    server.faults["refresh_token"] = [fault]
    assert list(quotes(client)) == []
    assert server.counts["refresh_token"] == 2


@pytest.mark.parametrize("fault", [Fault(status=503), Fault(status=429), Fault(lost=True)])
def test_security_28_a_registration_is_sent_once(server, fault):
    server.faults["register"] = fault
    with pytest.raises(bl.BoardlotError):
        begin(server)
    assert server.counts["register"] == 1


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize("name", ["503", "a reset", "a short body"])
def test_security_28_what_may_change_something_is_sent_once(method, name):
    with StandInService(lambda _: FAILING[name]) as server:
        client = client_of(server, max_retries=5)
        with contextlib.suppress(bl.TransportError, bl.ServiceError):
            client.request(method, "/any", body={"a": 1})
        assert len(server.received) == 1


@failing
def test_security_28_at_most_max_retries(name):
    for retries in (0, 1, 3):
        with StandInService(lambda _: FAILING[name]) as server:
            client = client_of(server, max_retries=retries)
            with pytest.raises((bl.ApiError, bl.TransportError, bl.ProtocolError)):
                client.dividends("HK.00700")
            assert len(server.received) == 1 + retries


@pytest.mark.parametrize("calls", [150, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["503", "a reset"])
def test_security_28_many_calls_in_a_total_outage_send_at_most_100_retries(name, calls):
    with StandInService(lambda _: FAILING[name]) as server:
        client = client_of(server, max_retries=2, timeout=60.0)

        def call(_):
            with pytest.raises(bl.BoardlotError):
                client.dividends("HK.00700")

        with ThreadPoolExecutor(32) as pool:
            list(pool.map(call, range(calls)))
        sent = len(server.received)
    assert calls <= sent <= calls + 100
