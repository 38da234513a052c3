"""Promise 22: connecting, an attempt and a whole call always end."""

import asyncio
import socket
import threading
import time

import boardlot as bl
import pytest

from ..support.authorization_http import Fault
from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.relay import Relay, Unanswering
from ..support.scripted_server import ScriptedServer, answer

TIME = answer({"server_time_ms": "1790000000123"})


class Silent(Relay):
    """Accepts, reads and never says a word."""

    async def serve(self, reader, writer):
        while await reader.read(65536):
            pass


class Dripping(Relay):
    """Answers a byte at a time, for longer than anybody waits."""

    async def serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b" " * 500:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.1)


class Endless(Relay):
    """Sends interim answers without end."""

    async def serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)


def ends(work, within, error=bl.RequestTimeout):
    start = time.monotonic()
    with pytest.raises(error) as caught:
        work()
    assert time.monotonic() - start < within
    return caught.value


@pytest.mark.parametrize("kind", [Silent, Dripping, Endless])
@pytest.mark.parametrize("retries", [0, 2])
def test_security_22_an_attempt_and_a_call_end(kind, retries):
    with kind() as server:
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
    with Silent() as server:
        address = server.base_url.replace("http:", "https:")
        options = {"connect_timeout": 0.3, "timeout": 30.0, "max_retries": 0}
        ends(bl.Client(address, **options).server_time, 3, bl.TransportError)


def test_security_22_a_tunnel_through_a_proxy_ends():
    with Silent() as proxy:
        options = {"proxy": proxy.base_url, "connect_timeout": 0.3, "max_retries": 0}
        client = bl.Client("https://api.boardlot.test", timeout=2.0, **options)
        ends(client.server_time, 5, bl.TransportError)


def test_security_22_a_registration_ends_where_nothing_connects():
    with Unanswering() as nowhere:
        ends(lambda: begin(nowhere, timeout=0.5), 12, bl.BoardlotError)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Silent, Dripping, Endless])
def test_security_22_a_registration_ends(kind):
    with kind() as server:
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
    with ScriptedServer(lambda _: answer(b"", 503, delay=0.2)) as server:
        client = bl.Client(server.base_url, timeout=0.5, max_retries=100)
        ends(client.server_time, 300, bl.BoardlotError)


def test_security_22_no_time_may_be_without_end():
    for value in (0, -1, float("inf"), float("nan"), "1", 1e300):
        for name in ("timeout", "connect_timeout"):
            for make in (bl.Client, bl.AsyncClient):
                with pytest.raises((bl.ConfigError, TypeError)):
                    make("http://127.0.0.1:1", **{name: value})


def test_security_22_idle_connections_that_the_service_closed_are_no_error():
    """As after a sleep of the machine: the pool holds connections that are dead by now."""
    with Relay() as relay, ScriptedServer(lambda _: TIME) as server:
        relay.target = server.port
        client = bl.Client(relay.base_url, max_retries=0)
        for _ in range(5):
            threads = [threading.Thread(target=client.server_time) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            relay.__exit__()
            relay.__enter__()
            client.server_time()


def test_security_22_a_name_that_nobody_has_ends():
    client = bl.Client("https://boardlot.invalid", timeout=5.0, connect_timeout=1.0, max_retries=0)
    ends(client.server_time, 12, bl.TransportError)
    assert socket.getdefaulttimeout() is None
