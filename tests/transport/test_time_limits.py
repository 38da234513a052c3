"""Promise 22: connecting, an attempt and a whole call always end."""

import asyncio
import contextlib
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import boardlot as bl
import pytest

from ..support.addresses import Unanswering
from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.service import Fault, Response, StandInService, response


def drips():
    """A response a byte at a time, for longer than anybody waits."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b" " * 500
    return Response(raw=[bytes([byte]) for byte in whole], pause=0.1)


UNENDING = {
    "silent": lambda: Response(delay=600.0),
    "dripping": drips,
    "endless": lambda: Response(raw=repeat(b"HTTP/1.1 100 Continue\r\n\r\n"), pause=0.05),
}


@contextlib.contextmanager
def silent():
    """The port of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def ends(work, within, error=bl.RequestTimeout):
    start = time.monotonic()
    with pytest.raises(error) as caught:
        work()
    assert time.monotonic() - start < within
    return caught.value


@pytest.mark.parametrize("kind", UNENDING)
@pytest.mark.parametrize("retries", [0, 2])
def test_security_22_an_attempt_and_a_call_end(kind, retries):
    with StandInService(lambda _: UNENDING[kind]()) as server:
        options = {"timeout": 0.4, "max_retries": retries}
        client = bl.Client(server.base_url, **options)
        # Each attempt, the waits between them, and room for a busy machine.
        ends(client.server_time, 0.4 * (1 + retries) + 4)

        async def use():
            async with bl.AsyncClient(server.base_url, **options) as awaited:
                await awaited.server_time()

        ends(lambda: asyncio.run(use()), 0.4 * (1 + retries) + 4)


def test_security_22_connecting_ends():
    with Unanswering() as nowhere:
        client = bl.Client(nowhere.base_url, connect_timeout=0.3, timeout=30.0, max_retries=0)
        error = ends(client.server_time, 3, bl.TransportError)
        assert error.retryable is True and error.hint


def test_security_22_a_tls_handshake_ends():
    with silent() as port:
        address = f"https://127.0.0.1:{port}"
        options = {"connect_timeout": 0.3, "timeout": 30.0, "max_retries": 0}
        ends(bl.Client(address, **options).server_time, 3, bl.TransportError)


def test_security_22_a_tunnel_through_a_proxy_ends():
    with silent() as port:
        options = {"proxy": f"http://127.0.0.1:{port}", "connect_timeout": 0.3, "max_retries": 0}
        client = bl.Client("https://api.boardlot.test", timeout=2.0, **options)
        ends(client.server_time, 5, bl.TransportError)


def test_security_22_a_registration_ends_if_nothing_connects():
    with Unanswering() as nowhere:
        ends(lambda: begin(nowhere, timeout=0.5), 12, bl.BoardlotError)


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNENDING)
def test_security_22_a_registration_ends(kind):
    with StandInService(lambda _: UNENDING[kind]()) as server:
        ends(lambda: begin(server, timeout=0.5), 25, bl.BoardlotError)


def test_security_22_the_exchange_of_a_code_ends(server):
    server.faults["authorization_code"] = Fault(delay=20.0)
    flow = begin(server, timeout=1.0)
    callback = server.authorize(flow.url)
    ends(lambda: flow.finish(callback), 12, bl.BoardlotError)


def test_security_22_a_refresh_ends(server):
    client = client_of(server, sign_in(server), timeout=0.5)
    server.expire()
    server.faults["refresh_token"] = Fault(delay=20.0)
    ends(lambda: quotes(client), 8, bl.TransportError)


@pytest.mark.slow
def test_security_22_however_many_retries_a_call_has_one_end():
    """Each attempt fails late and a hundred of them are allowed: the call ends all the same."""
    with StandInService(lambda _: response(b"", 503, delay=0.2)) as server:
        client = bl.Client(server.base_url, timeout=0.5, max_retries=100)
        ends(client.server_time, 300, bl.BoardlotError)


def test_security_22_waiting_for_a_connection_ends():
    with StandInService(lambda _: Response(delay=600.0)) as server, ThreadPoolExecutor(8) as pool:
        client = bl.Client(server.base_url, max_connections=1, timeout=1.0, max_retries=0)
        # Its own attempt and as much again for its turn: one after another they would take 8 s.
        for ended in [pool.submit(ends, client.server_time, 6) for _ in range(8)]:
            ended.result()


def test_security_22_no_time_may_be_without_end():
    for value in (0, -1, float("inf"), float("nan"), "1", 1e300):
        for name in ("timeout", "connect_timeout"):
            for make in (bl.Client, bl.AsyncClient):
                with pytest.raises((bl.ConfigError, TypeError)):
                    make("http://127.0.0.1:1", **{name: value})


def test_security_22_a_name_that_nobody_has_ends():
    client = bl.Client("https://boardlot.invalid", timeout=5.0, connect_timeout=1.0, max_retries=0)
    ends(client.server_time, 12, bl.TransportError)
    assert socket.getdefaulttimeout() is None
