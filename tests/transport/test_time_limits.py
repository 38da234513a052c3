"""Promise 22: connecting, an attempt and a whole call always end."""

import contextlib
import itertools
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.addresses import Unanswering
from ..support.clients import MODES, client_of, run
from ..support.logins import begin, expired_client, quotes, sign_in
from ..support.service import Fault, Response, StandInService, response
from .side_by_side import side_by_side


def drips():
    """A response a byte at a time, for longer than anybody waits."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b" " * 5000
    return Response(raw=[bytes([byte]) for byte in whole], pause=0.1)


UNENDING = {
    "silent": lambda: Response(delay=600.0),
    "dripping": drips,
    "endless": lambda: Response(raw=itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"), pause=0.05),
}


@contextlib.contextmanager
def silent():
    """The port of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def ends(work, error=bl.RequestTimeout):
    """The service never ends by itself: a call that did not would hang."""
    with pytest.raises(error) as caught:
        work()
    assert caught.value.hint
    return caught.value


def test_security_22_an_attempt_and_a_call_end():
    def work(kind, retries, mode):
        async def use(client):
            await client.call("server_time")

        options = {"timeout": 0.4, "max_retries": retries}
        with StandInService(lambda _: UNENDING[kind]()) as server:
            ends(lambda: run(mode, server, use, **options))

    side_by_side(work, UNENDING, [0, 2], MODES)


def never_connects(address, **options):
    options = {"connect_timeout": 0.3, "timeout": 300.0, "max_retries": 0, **options}
    with bl.Client(address, **options) as client:
        return ends(client.server_time, bl.TransportError)


def test_security_22_connecting_ends():
    with Unanswering() as nowhere:
        assert never_connects(nowhere.base_url).retryable is True
        ends(lambda: begin(nowhere, timeout=0.5, connect_timeout=0.3), bl.BoardlotError)
    with silent() as port:
        never_connects(f"https://127.0.0.1:{port}")
        never_connects("https://api.boardlot.test", proxy=f"http://127.0.0.1:{port}")
    # A name that nobody has (RFC 6761).
    never_connects("https://boardlot.invalid", connect_timeout=1.0)


def test_security_22_each_step_of_a_login_and_a_refresh_end(server):
    client = expired_client(server, refresh=Fault(delay=600.0), timeout=0.5)
    ends(lambda: quotes(client), bl.TransportError)
    server.faults = {"authorization_code": Fault(delay=600.0)}
    ends(lambda: sign_in(server, timeout=1.0), bl.BoardlotError)
    server.faults = {"register": Fault(delay=600.0)}
    redirect = ["https://example.com/callback"]
    options = {"redirect_uris": redirect, "timeout": 0.5}
    ends(lambda: bl.register_client(server.base_url, **options), bl.BoardlotError)


@pytest.mark.slow
def test_security_22_the_registration_of_a_login_ends(server):
    """An attempt of a login has 15 seconds."""
    server.faults = {"register": Fault(delay=600.0)}
    ends(lambda: begin(server, timeout=0.5), bl.BoardlotError)


@pytest.mark.slow
def test_security_22_however_many_retries_a_call_has_one_end():
    """Each attempt fails late and a hundred of them are allowed: the call ends all the same."""
    with StandInService(lambda _: response(b"", 503, delay=0.2)) as server:
        ends(client_of(server, timeout=0.5, max_retries=100).server_time, bl.BoardlotError)
        assert len(server.received) < 100


def test_security_22_waiting_for_a_connection_ends():
    with StandInService(lambda _: Response(delay=600.0)) as server, ThreadPoolExecutor(8) as pool:
        client = client_of(server, max_connections=1, timeout=1.0, max_retries=0)
        # Few of them get it; whoever gets it at the end of its time has it for a moment.
        for ended in [pool.submit(ends, client.server_time) for _ in range(8)]:
            ended.result()
        assert server.received


def test_security_22_no_time_may_be_without_end():
    values, names = (0, -1, float("inf"), float("nan"), "1", 1e300), ("timeout", "connect_timeout")
    for value, name in itertools.product(values, names):
        with pytest.raises((bl.ConfigError, TypeError)):
            bl.Client("http://127.0.0.1:1", **{name: value})


# What took the time of a call that ends by its total deadline.

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


@pytest.mark.filterwarnings("ignore:rate_limit is")
def test_the_rate_limit_is_blamed():
    with StandInService(lambda _: TIME) as server:
        client = client_of(server, rate_limit=0.01, **SHORT)
        client.server_time()
        assert blamed(client.server_time) == ("rate_limit",)


def test_the_limit_of_connections_is_blamed():
    with StandInService(lambda _: response(delay=600.0)) as server, ThreadPoolExecutor(8) as pool:
        client = client_of(server, max_connections=1, **SHORT)
        # Those that had the connection got no response; the others never had it. Threads that begin
        # late do not meet.
        causes = set()
        while len(causes) < 2:
            causes.update(pool.map(blamed, [client.server_time] * 8))
    assert causes == {(), ("max_connections",)}


def test_the_rate_that_the_service_requires_is_named_as_the_cause():
    with StandInService(lambda _: response({"ret_code": -11}, 429)) as server:
        client = client_of(server, **SHORT)

        def until_it_is_slowed_down():
            for _ in range(60):
                with contextlib.suppress(bl.RateLimited):
                    client.dividends("HK.00700")

        assert blamed(until_it_is_slowed_down) == ("throttles",)
