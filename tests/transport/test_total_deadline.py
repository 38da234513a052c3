"""A call that ends by its total deadline says what took the time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.service import StandInService, response

TIME = response({"server_time_ms": "1790000000123"})
# Without retries a call ends after twice its timeout: here 1 s.
SHORT = {"timeout": 0.5, "max_retries": 0}
CAUSES = ("on_request", "rate_limit", "max_connections", "throttles", "token")


def blamed(error):
    return [cause for cause in CAUSES if cause in str(error)]


@pytest.mark.parametrize("rate_limit", [None, 1000.0])
@pytest.mark.parametrize("hook", ["on_request", "on_response"])
def test_a_slow_hook_is_blamed_and_no_limit(hook, rate_limit):
    with StandInService(lambda _: TIME) as server:
        over = threading.Event()
        client = client_of(
            server, rate_limit=rate_limit, **SHORT, **{hook: lambda _: over.wait() and None}
        )
        with pytest.raises(bl.RequestTimeout) as caught:
            client.server_time()
        over.set()
    assert blamed(caught.value) == ["on_request"]


def test_the_rate_limit_is_blamed():
    with StandInService(lambda _: TIME) as server:
        client = client_of(server, rate_limit=0.01, **SHORT)
        client.server_time()
        with pytest.raises(bl.RequestTimeout) as caught:
            client.server_time()
    assert blamed(caught.value) == ["rate_limit"]


def test_the_limit_of_connections_is_blamed():
    def call(client):
        with pytest.raises(bl.RequestTimeout) as caught:
            client.server_time()
        return tuple(blamed(caught.value))

    with StandInService(lambda _: response(delay=600.0)) as server, ThreadPoolExecutor(8) as pool:
        client = client_of(server, max_connections=1, **SHORT)
        causes = set(pool.map(call, [client] * 8))
    # Those that had the connection got no response; the others never had it.
    assert causes == {(), ("max_connections",)}


def test_the_rate_that_the_service_requires_is_named_as_the_cause():
    with StandInService(lambda _: response({"ret_code": -11}, 429)) as server:
        client = client_of(server, **SHORT)
        for _ in range(60):
            try:
                client.dividends("HK.00700")
            except bl.RateLimited:
                continue
            except bl.RequestTimeout as error:
                assert blamed(error) == ["throttles"]
                return
    pytest.fail("no call was slowed down beyond its deadline")
