"""A call that ends by its total deadline says what took the time."""

import contextlib
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


def blamed(call):
    """What the error of a call names as the cause."""
    with pytest.raises(bl.RequestTimeout) as caught:
        call()
    return tuple(cause for cause in CAUSES if cause in str(caught.value))


@pytest.mark.parametrize("rate_limit", [None, 1000.0])
@pytest.mark.parametrize("hook", ["on_request", "on_response"])
def test_a_slow_hook_is_blamed_and_no_limit(hook, rate_limit):
    with StandInService(lambda _: TIME) as server:
        over = threading.Event()
        client = client_of(
            server, rate_limit=rate_limit, **SHORT, **{hook: lambda _: over.wait() and None}
        )
        assert blamed(client.server_time) == ("on_request",)
        over.set()


def test_the_rate_limit_is_blamed():
    with StandInService(lambda _: TIME) as server:
        client = client_of(server, rate_limit=0.01, **SHORT)
        client.server_time()
        assert blamed(client.server_time) == ("rate_limit",)


def test_the_limit_of_connections_is_blamed():
    with StandInService(lambda _: response(delay=600.0)) as server, ThreadPoolExecutor(8) as pool:
        client = client_of(server, max_connections=1, **SHORT)
        causes = set(pool.map(blamed, [client.server_time] * 8))
    # Those that had the connection got no response; the others never had it.
    assert causes == {(), ("max_connections",)}


def test_the_rate_that_the_service_requires_is_named_as_the_cause():
    with StandInService(lambda _: response({"ret_code": -11}, 429)) as server:
        client = client_of(server, **SHORT)

        def until_it_is_slowed_down():
            for _ in range(60):
                with contextlib.suppress(bl.RateLimited):
                    client.dividends("HK.00700")

        assert blamed(until_it_is_slowed_down) == ("throttles",)
