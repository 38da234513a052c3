"""Promise 5: the listener has a deadline, is closed in the end, and nobody can block it."""

import asyncio
import contextlib
import signal
import socket
import time
from pathlib import Path

import boardlot as bl
import pytest

from ..support.authorization_server import AuthorizationServer
from ..support.callbacks import call, closed, listener_address, query_of, send_raw, visit
from ..support.clients import client_of
from ..support.logins import Waiting, begin, callback_query, finish_for_real, quotes, waiting
from ..support.processes import python
from ..support.service import Fault


def test_security_05_the_deadline_holds_while_forged_callbacks_come_in(server):
    flow = begin(server, timeout=1.5)
    login = waiting(flow)
    port, _ = listener_address(flow)
    start = time.monotonic()
    while not login.over(0.0) and time.monotonic() - start < 60:
        with contextlib.suppress(OSError):
            call(flow, query="code=x&state=forged")
    with pytest.raises(bl.RequestTimeout) as caught:
        login.get()
    assert 1.2 <= time.monotonic() - start < 30
    assert caught.value.hint
    assert closed(port)


@pytest.mark.parametrize("query", ["error=access_denied", "code=wrong"])
def test_security_05_the_socket_is_closed_after_an_error(query):
    with AuthorizationServer() as server:
        flow = begin(server)
        login = waiting(flow)
        port, _ = listener_address(flow)
        call(flow, query=f"{query}&state={query_of(flow.url)['state']}")
        with pytest.raises(bl.OAuthError):
            login.get()
        assert closed(port)


def test_security_05_no_socket_is_left_if_the_registration_fails(server):
    before = own_listeners()
    for fault in (Fault(drop=True), Fault(status=503), Fault(body=b"{}"), Fault(error="x")):
        server.faults["register"] = fault
        with pytest.raises(bl.BoardlotError):
            begin(server)
    assert own_listeners() == before


def own_sockets():
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(str(entry.readlink()))
    return {target for target in found if target.startswith("socket:[")}


def own_listeners():
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return own_sockets() & {f"socket:[{each[9]}]" for each in lines if each[3] == "0A"}


def test_security_05_ctrl_c_ends_the_wait_and_closes_the_socket(server):
    code = """
        import socket, sys, time
        from urllib.parse import parse_qsl, urlsplit
        import boardlot as bl
        flow = bl.begin_login(sys.argv[1], store=bl.MemoryStore(), timeout=60.0)
        uri = dict(parse_qsl(urlsplit(flow.url).query))["redirect_uri"]
        print("ready", flush=True)
        try:
            flow.wait()
        except KeyboardInterrupt:
            print(time.time(), flush=True)
        time.sleep(0.3)
        try:
            socket.create_connection(("127.0.0.1", urlsplit(uri).port), timeout=3)
            print("open")
        except ConnectionRefusedError:
            print("closed")
        """
    with python(code, server.base_url) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.7)
        start = time.time()
        child.send_signal(signal.SIGINT)
        ended = float(child.stdout.readline())
        assert child.stdout.readline() == "closed\n"
        child.kill()
    # At once, and not after the five minutes of a login.
    assert ended - start < 30


def test_security_05_cancelling_the_task_closes_the_socket(server):
    async def cancelled():
        flow = begin(server)
        port, _ = listener_address(flow)

        async def login():
            return await flow

        task = asyncio.create_task(login())
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(closed, port)

    asyncio.run(cancelled())


def test_security_05_a_login_can_be_awaited(server):
    async def login():
        flow = begin(server)
        task = asyncio.create_task(asyncio.to_thread(visit, server.authorize(flow.url)))
        oauth = await flow
        await task
        return oauth

    assert list(quotes(client_of(server, asyncio.run(login())))) == []


SLOW = {
    "silent": b"",
    "half a line": b"GET /cal",
    "headers without end": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: y\r\n",
    "a body to come": b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nx",
}


@pytest.mark.parametrize("kind", SLOW)
def test_security_05_100_slow_clients_do_not_block_a_login(server, kind):
    flow = begin(server, timeout=60.0)
    login = waiting(flow)
    port, _ = listener_address(flow)
    with contextlib.ExitStack() as slow:
        for _ in range(100):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            slow.enter_context(connection)
            with contextlib.suppress(OSError):
                connection.sendall(SLOW[kind])
        start = time.monotonic()
        finish_for_real(server, flow, login)
        assert time.monotonic() - start < 15


def test_security_05_100_clients_that_drip_do_not_block_a_login(server):
    flow = begin(server, timeout=60.0)
    login = waiting(flow)
    port, _ = listener_address(flow)
    with contextlib.ExitStack() as slow:
        dripping = []
        for _ in range(100):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            dripping.append(slow.enter_context(connection))
        url = server.authorize(flow.url)
        visited = Waiting(lambda: visit(url))
        start = time.monotonic()
        while not login.over(0.1) and time.monotonic() - start < 30:
            for connection in dripping:
                with contextlib.suppress(OSError):
                    connection.send(b"G")
        login.get(0.1)
        assert visited.get()[0] == 200
        assert time.monotonic() - start < 15


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="asks Linux's /proc")
def test_security_05_at_most_8_connections_are_held(server):
    flow = begin(server)
    login = waiting(flow)
    port, _ = listener_address(flow)
    most = 0
    with contextlib.ExitStack() as slow:
        for _ in range(24):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            slow.enter_context(connection)
            time.sleep(0.01)
            most = max(most, len(accepted(port)))
        assert 1 <= most <= 8
        finish_for_real(server, flow, login)


def accepted(port):
    """This process's ends of the connections to one of its ports."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    open_ones = {f"socket:[{each[9]}]" for each in lines if each[1] == f"0100007F:{port:04X}"}
    return own_sockets() & open_ones - own_listeners()


def test_security_05_a_slow_request_is_dropped_after_five_seconds(server):
    flow = begin(server, timeout=60.0)
    login = waiting(flow)
    port, _ = listener_address(flow)
    start = time.monotonic()
    send_raw(port, b"GET / HTTP/1.1\r\nHost: x\r\n", seconds=50)
    assert 2 < time.monotonic() - start < 40
    finish_for_real(server, flow, login)


@pytest.mark.parametrize("where", ["query", "header", "many headers", "no end"])
def test_security_05_a_request_has_at_most_8_kib(server, where):
    flow = begin(server)
    login = waiting(flow)
    port, path = listener_address(flow)
    query, host = callback_query(server, flow), f"Host: 127.0.0.1:{port}\r\n"
    big = {
        "query": f"GET {path}?{query}&x={'x' * 9000} HTTP/1.1\r\n{host}\r\n",
        "header": f"GET {path}?{query} HTTP/1.1\r\n{host}X: {'x' * 9000}\r\n\r\n",
        "many headers": f"GET {path}?{query} HTTP/1.1\r\n{host}" + "X: y\r\n" * 2000 + "\r\n",
        "no end": "GET /" + "x" * 20_000_000,
    }[where]
    reply = send_raw(port, big.encode())
    assert reply.status == 0 or 400 <= reply.status < 500
    assert server.counts["authorization_code"] == 0
    finish_for_real(server, flow, login)


def test_security_05_cookies_of_other_ports_do_not_interfere(server):
    flow = begin(server)
    login = waiting(flow)
    query = callback_query(server, flow)
    assert call(flow, query=query, headers=["Cookie: a=" + "x" * 6000]).status == 200
    login.get()
