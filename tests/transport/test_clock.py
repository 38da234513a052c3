"""Promise 30: a clock that is wrong is put right, once for all, and again when it changes."""

import asyncio
import collections
import threading
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.service import StandInService, response

HOUR = 3_600_000
WRONG = "1500000000000"
CLOCK = "/api/v1.0/server-time"
OK = {"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}}
REFUSAL = {"ret_code": -12006, "ret_msg": "timestamp"}


class Service:
    """A service whose clock is `offset` ms ahead and which holds the window of 5 s."""

    def __init__(self, offset, delay=0.0):
        self.offset, self.delay = offset, delay

    def __call__(self, received):
        now = received.at * 1000 + self.offset
        if received.path == CLOCK:
            return response({"server_time_ms": str(int(now))}, delay=self.delay)
        in_time = abs(int(received.header("X-Timestamp")) - now) <= 5000
        return response(OK if in_time else REFUSAL, 200 if in_time else 401)


def auth():
    return bl.ApiKey("key-1", bl.generate_key().private_pem)


def attempts(server, since=0):
    """How many attempts each call made, and how often the clock was read."""
    paths = collections.Counter(received.path for received in server.received[since:])
    asked = paths.pop(CLOCK, 0)
    return sorted(paths.values()), asked


offsets = pytest.mark.parametrize("offset", [HOUR, -HOUR])


@offsets
@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_security_30_64_threads_at_once_each_succeed_in_at_most_two_attempts(offset, delay):
    with StandInService(Service(offset, delay)) as server:
        client = bl.Client(server.base_url, auth=auth(), max_retries=0)
        barrier = threading.Barrier(64)

        def call(number):
            barrier.wait()
            return list(client.dividends(f"HK.{number:05}"))

        with ThreadPoolExecutor(64) as pool:
            assert list(pool.map(call, range(64))) == [[]] * 64
        each, asked = attempts(server)
        assert len(each) == 64 and max(each) <= 2
        assert 1 <= asked <= 64
        # And from now on nobody needs a second attempt.
        since = len(server.received)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: client.dividends(f"US.{n:05}"), range(64)))
        assert attempts(server, since) == ([1] * 64, 0)


@offsets
def test_security_30_64_tasks_at_once_each_succeed_in_at_most_two_attempts(offset):
    async def use(base_url):
        async with bl.AsyncClient(base_url, auth=auth(), max_retries=0) as client:
            calls = (client.dividends(f"HK.{number:05}") for number in range(64))
            return await asyncio.gather(*calls)

    with StandInService(Service(offset)) as server:
        assert [list(one) for one in asyncio.run(use(server.base_url))] == [[]] * 64
        each, _ = attempts(server)
    assert len(each) == 64 and max(each) <= 2


@offsets
def test_security_30_a_clock_put_right_again_costs_at_most_one_more_attempt(offset):
    service = Service(offset)
    with StandInService(service) as server:
        client = bl.Client(server.base_url, auth=auth(), max_retries=0)
        client.dividends("HK.00001")
        since = len(server.received)
        service.offset = 0
        for number in range(10):
            client.dividends(f"US.{number:05}")
        each, asked = attempts(server, since)
    assert each == [1] * 9 + [2] and asked <= 1


def test_security_30_the_offset_is_taken_at_the_midpoint_of_the_round_trip():
    """The response with the time comes 2 s late: taken as it comes, half of that would be lost."""
    seen = []

    class Late(Service):
        def __call__(self, received):
            if received.path != CLOCK:
                seen.append(int(received.header("X-Timestamp")) - received.at * 1000)
                return super().__call__(received)
            value = int(received.at * 1000 + self.offset) + 1000  # As of the midpoint.
            return response({"server_time_ms": str(value)}, delay=2.0)

    with StandInService(Late(HOUR)) as server:
        bl.Client(server.base_url, auth=auth(), max_retries=0).dividends("HK.00700")
    assert abs(seen[1] - HOUR) < 500


def test_security_30_a_clock_is_put_right_once_a_call_and_no_more():
    with StandInService(
        lambda got: response({"server_time_ms": WRONG} if got.path == CLOCK else REFUSAL)
    ) as s:
        client = bl.Client(s.base_url, auth=auth(), max_retries=5)
        with pytest.raises(bl.ClockSkewError):
            client.dividends("HK.00700")
        each, asked = attempts(s)
    assert each == [2] and asked == 1


@offsets
@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient])
def test_security_30_a_client_reports_how_far_the_services_clock_is_ahead(offset, kind):
    async def call(client):
        result = client.dividends("HK.00001")
        return await result if hasattr(result, "__await__") else result

    with StandInService(Service(offset)) as server:
        client = kind(server.base_url, auth=auth(), max_retries=0)
        assert client.clock_offset == 0.0
        asyncio.run(call(client))
        # In seconds: positive where the service is ahead.
        assert abs(client.clock_offset - offset / 1000) < 2.0
        other = kind(server.base_url, auth=auth())
        assert other.clock_offset == 0.0


IMPLAUSIBLE = [
    "0",
    "-1",
    "1",
    str(2**63 - 1),
    str(2**63),
    "1e12",
    " 1790000000123",
    "+1790000000123",
]
IMPLAUSIBLE += ["1262303999999", "4102444800000", "", "1790000000123.0", None, True, [], {}]


@pytest.mark.parametrize("value", IMPLAUSIBLE, ids=str)
def test_an_implausible_server_time_is_a_protocol_error_and_changes_nothing(value):
    with StandInService(
        lambda got: response({"server_time_ms": value} if got.path == CLOCK else REFUSAL)
    ) as s:
        client = bl.Client(s.base_url, auth=auth(), max_retries=3)
        for call in (lambda: client.dividends("HK.00700"), client.server_time):
            with pytest.raises(bl.ProtocolError, match="server_time_ms is not a valid time"):
                call()
        assert client.clock_offset == 0.0
        assert attempts(s) == ([1], 2)


@pytest.mark.parametrize("value", ["1262304000000", "4102444799999"])
def test_any_plausible_server_time_is_taken(value):
    with StandInService(lambda _: response({"server_time_ms": value})) as s:
        assert bl.Client(s.base_url).server_time().timestamp() * 1000 == int(value)
