"""Promise 5: the listener has a deadline, is closed in the end, and nobody can block it."""

import asyncio
import contextlib
import socket
import time

import boardlot as bl
import pytest

from ..support.addresses import held_port
from ..support.callbacks import call, closed, listener_address, send_raw, visit
from ..support.clients import client_of
from ..support.interrupts import interrupted
from ..support.logins import begin, callback_query, finish_for_real, quotes, waiting
from ..support.service import Fault
from ..support.sockets import OPEN_FILES, accepted, listening
from ..support.threads import wait_until


def test_security_05_the_deadline_holds_while_forged_callbacks_come_in(server):
    flow = begin(server, timeout=1.5)
    login = waiting(flow)
    while not login.done():
        with contextlib.suppress(OSError):
            call(flow, query="code=x&state=forged")
    with pytest.raises(bl.RequestTimeout) as caught:
        login.result(90)
    assert caught.value.hint
    assert closed(listener_address(flow)[0])


shows_files = pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="this system does not show them")


@shows_files
def test_security_05_no_socket_is_left_if_the_registration_fails(server):
    before = listening()
    for fault in (Fault(drop=True), Fault(status=503), Fault(body=b"{}"), Fault(error="x")):
        server.faults["register"] = fault
        with pytest.raises(bl.BoardlotError):
            begin(server)
    # Those of earlier logins may close meanwhile.
    assert listening() <= before


def test_security_05_ctrl_c_ends_the_wait_and_closes_the_socket(server):
    flow = begin(server)
    interrupted(flow.wait)
    assert closed(listener_address(flow)[0])


def test_security_05_cancelling_the_task_closes_the_socket(server):
    async def cancelled(at_once):
        flow = begin(server)

        async def login():
            return await flow

        task = asyncio.create_task(login())
        # At once, the runtime may not have begun to wait.
        await (asyncio.sleep(0) if at_once else asyncio.to_thread(call, flow, query="state=forged"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(closed, listener_address(flow)[0])

    for at_once in [False, *[True] * 10]:
        asyncio.run(cancelled(at_once))


def test_security_05_a_login_can_be_awaited(server):
    async def login():
        flow = begin(server)
        visiting = asyncio.create_task(asyncio.to_thread(visit, server.authorize(flow.url)))
        oauth = await flow
        await visiting
        return oauth

    assert list(quotes(client_of(server, asyncio.run(login())))) == []


SLOW = {
    "silent": b"",
    "a body to come": b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nx",
}


@contextlib.contextmanager
def connections(flow, number, sent=b""):
    address = ("127.0.0.1", listener_address(flow)[0])
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(socket.create_connection(address)) for _ in range(number)]
        for connection in made:
            with contextlib.suppress(OSError):
                connection.sendall(sent)
        yield made


@pytest.mark.parametrize("kind", SLOW)
def test_security_05_100_slow_clients_do_not_block_a_login(server, kind):
    flow = begin(server)
    login = waiting(flow)
    with connections(flow, 100, SLOW[kind]):
        finish_for_real(server, flow, login)


@shows_files
def test_security_05_at_most_8_connections_are_held(login):
    """A test of the listener in Rust looks at each moment; here nothing is left to be accepted."""
    port, _ = listener_address(login)
    with contextlib.ExitStack() as slow:
        # An idle connection is one that is counted.
        wait_until(lambda: slow.enter_context(connections(login, 1)) and accepted(port))
        for _ in range(3):
            slow.enter_context(connections(login, 24))
            # They are accepted in turn, so this one is after all others.
            assert call(login, "/other").status == 404
            assert accepted(port) <= 8


def test_security_05_a_slow_request_is_dropped_after_five_seconds(login):
    start = time.monotonic()
    send_raw(listener_address(login)[0], b"GET / HTTP/1.1\r\nHost: x\r\n")
    assert time.monotonic() - start >= 4.9  # time: five seconds are promised


def test_security_05_a_request_has_at_most_8_kib(server):
    flow = begin(server)
    login = waiting(flow)
    port, path = listener_address(flow)
    line = f"GET {path}?{callback_query(server, flow)}"
    host = f" HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    for big in (
        f"{line}&x={'x' * 9000}{host}\r\n",
        f"{line}{host}X: {'x' * 9000}\r\n\r\n",
        line + host + "X: y\r\n" * 2000 + "\r\n",
        "GET /" + "x" * 20_000_000,
    ):
        reply = send_raw(port, big.encode())
        assert reply.status == 0 or 400 <= reply.status < 500
    assert server.counts["authorization_code"] == 0
    # Cookies of other ports come along, and are not too many.
    finished = call(flow, query=callback_query(server, flow), headers=["Cookie: a=" + "x" * 6000])
    assert finished.status == 200 and login.result(90).scopes


def test_a_client_that_is_given_says_that_its_port_is_taken(server):
    """Another program may open any port; the service matches the client's redirect URI exactly."""
    store = bl.MemoryStore()
    with held_port() as port:
        flow = begin(server, store, redirect_port=port)
        client_id = finish_for_real(server, flow, waiting(flow)).client_id
        with socket.create_server(("127.0.0.1", port)):
            with pytest.raises(bl.ConfigError, match=rf"port {port}.* is already in use; try"):
                begin(server, store, client_id=client_id)
            # Without a client_id, another client is registered.
            assert listener_address(begin(server, store))[0] != port
