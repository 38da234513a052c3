"""Promise 30: a clock that is wrong is put right, once for all, and again when it changes."""

import collections
import itertools
import re
import time

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, run
from ..support.keys import assert_signed
from ..support.service import StandInService, response
from ..support.threads import outcomes_of_threads

HOUR = 3_600_000
CLOCK = "/api/v1.0/server-time"
OK = {"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}}
REFUSAL = {"ret_code": -12006, "ret_msg": "timestamp"}


class Service:
    """A service whose clock is `offset` ms ahead and which holds the window of 5 s."""

    def __init__(self, offset):
        self.offset = offset

    def __call__(self, received):
        now = received.at * 1000 + self.offset
        if received.path == CLOCK:
            return response({"server_time_ms": str(int(now))})
        in_time = abs(int(received.header("X-Timestamp")) - now) <= 5000
        return response(OK if in_time else REFUSAL, 200 if in_time else 401)


def attempts(server, since=0):
    """The attempts of each call, and the number of clock readings."""
    paths = collections.Counter(received.path for received in server.received[since:])
    asked = paths.pop(CLOCK, 0)
    return sorted(paths.values()), asked


offsets = pytest.mark.parametrize("offset", [HOUR, -HOUR])


@offsets
def test_security_30_64_threads_at_once_each_succeed_in_at_most_two_attempts(offset):
    with StandInService(Service(offset)) as server:
        client = client_of(server)
        codes = itertools.count()
        calls = outcomes_of_threads(64, lambda: len(client.dividends(f"HK.{next(codes):05}")))
        assert calls == {0: 64}
        each, asked = attempts(server)
        assert len(each) == 64 and max(each) <= 2
        assert 1 <= asked <= 64
        # And from now on nobody needs a second attempt.
        since = len(server.received)
        for number in range(64):
            client.dividends(f"US.{number:05}")
        assert attempts(server, since) == ([1] * 64, 0)


@offsets
def test_security_30_a_clock_put_right_again_costs_at_most_one_more_attempt(offset):
    service = Service(offset)
    with StandInService(service) as server:
        client = client_of(server)
        assert client.clock_offset == 0.0
        client.dividends("HK.00001")
        # In seconds: positive where the service is ahead.
        assert abs(client.clock_offset - offset / 1000) < 60
        assert client_of(server).clock_offset == 0.0
        since = len(server.received)
        service.offset = 0
        for number in range(10):
            client.dividends(f"US.{number:05}")
        each, asked = attempts(server, since)
    assert each == [1] * 9 + [2] and asked <= 1


@pytest.mark.parametrize("mode", MODES)
@offsets
def test_a_raw_request_has_its_clock_put_right_too_and_is_signed_again(offset, mode):
    with StandInService(Service(offset)) as server:
        result = run(mode, server, lambda client: client.call("request", "GET", "/api/v9/x"))
        assert result.json() == OK and attempts(server) == ([2], 1)
    first, _, second = server.received
    assert first.header("X-Nonce") != second.header("X-Nonce")
    assert_signed(first)
    assert_signed(second)


def refusing(value):
    """Responds with this time, and rejects all else for its timestamp."""
    return StandInService(
        lambda got: response({"server_time_ms": value} if got.path == CLOCK else REFUSAL)
    )


def test_rejected_twice_names_all_three_causes():
    with refusing(str(int(time.time() * 1000))) as server:
        with pytest.raises(bl.ClockSkewError) as caught:
            client_of(server, max_retries=2).dividends("HK.00700")
        assert attempts(server) == ([2], 1)
    assert isinstance(caught.value, bl.AuthenticationError)
    assert (caught.value.code, caught.value.http_status) == (-12006, 200)
    text = f"{caught.value} {caught.value.hint}".lower()
    assert "clock" in text and ("signature" in text or "key" in text)
    assert re.search(r"frequen|throttl|rate|too many|too often|limit", text)


IMPLAUSIBLE = ["0", "-1", str(2**63), "1e12", " 1790000000123", "+1790000000123", "", None, True]
IMPLAUSIBLE += ["1262303999999", "4102444800000", [], "soon", "1790000000123.5"]


@pytest.mark.parametrize("value", IMPLAUSIBLE, ids=str)
def test_an_implausible_server_time_is_a_protocol_error_and_changes_nothing(value):
    with refusing(value) as server:
        client = client_of(server, max_retries=3)
        for call in (lambda: client.dividends("HK.00700"), client.server_time):
            with pytest.raises(bl.ProtocolError, match="server_time_ms is not a valid time"):
                call()
        assert client.clock_offset == 0.0
        assert attempts(server) == ([1], 2)


@pytest.mark.parametrize("value", ["1262304000000", "4102444799999"])
def test_any_plausible_server_time_is_taken(value):
    with refusing(value) as server:
        assert client_of(server).server_time().timestamp() * 1000 == int(value)
