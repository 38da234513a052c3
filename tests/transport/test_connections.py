"""The end of connections: closed ones are not used, and given-up ones are closed.

Those that died while nobody looked, as while a laptop slept, are no error.
"""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.addresses import port_of
from ..support.clients import client_of
from ..support.proxy import Proxy
from ..support.service import StandInService, read_request, response, wire
from ..support.sockets import OPEN_FILES, open_files
from ..support.threads import outcomes_of_threads, wait_until

BODY = '{"code":0,"data":[]}'
PATH = "/api/v1.0/own"
# The states of a connection, as Linux counts them, until the other end knows that this one closed:
# ESTABLISHED, FIN_WAIT1.
UNNOTICED = (1, 4)
CLOSE_WAIT = 8


def state_of(connection):
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def is_closed_by_client(connection):
    try:
        return state_of(connection) == CLOSE_WAIT
    except OSError:
        return True  # And by the service, after it.


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="the other end's view is needed")
def test_a_connection_that_the_service_closed_is_not_used_for_the_next_call():
    arrived = threading.Semaphore(0)

    def respond_and_close(listener):
        for _ in range(20):
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                read_request(stream, connection)
                connection.sendall(b"".join(wire(response(BODY))))
                connection.shutdown(socket.SHUT_WR)
                wait_until(lambda one=connection: state_of(one) not in UNNOTICED)
                arrived.release()

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        ThreadPoolExecutor(1) as pool,
        client_of(f"http://127.0.0.1:{listener.getsockname()[1]}") as client,
    ):
        closing = pool.submit(respond_and_close, listener)
        for _ in range(20):
            # It would not be sent twice, so it has to go out right at once.
            assert client.request("POST", PATH, body={"a": 1}).status == 200
            assert arrived.acquire(timeout=60)
        closing.result()


def test_no_more_calls_are_under_way_than_the_client_has_connections():
    under_way, most = [], []
    # Each waits for another one: two at once is what the limit allows.
    meeting = threading.Barrier(2, under_way.clear)

    def met(request):
        under_way.append(request)
        most.append(len(under_way))
        meeting.wait(60)
        return response(BODY)

    with StandInService(met) as server, client_of(server, max_connections=2) as client:
        assert outcomes_of_threads(8, lambda: client.request("GET", PATH).status) == {200: 8}
    assert max(most) == 2


def test_a_cancelled_call_closes_its_connection():
    never = threading.Event()

    def wait(_):
        never.wait(60)
        return response(BODY)

    with StandInService(wait) as server:
        with client_of(server, timeout=0.2) as client:
            # On a busy machine, a call may be cancelled before it has connected.
            while not server.received:
                with pytest.raises(bl.RequestTimeout):
                    client.request("GET", PATH)
            # Not only when the client goes, or calls again.
            wait_until(lambda: all(map(is_closed_by_client, [*server.connections])))
        never.set()


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="this system does not show its open files")
def test_a_client_that_is_closed_leaves_no_file_open():
    with StandInService(lambda _: response(BODY)) as server:

        def use():
            with client_of(server) as client:
                for _ in range(5):
                    client.request("GET", PATH)
                # Calls one after another share a connection.
                assert len(server.connections) == 1
            wait_until(lambda: not server.connections)

        use()
        before = open_files()
        for _ in range(20):
            use()
        wait_until(lambda: open_files() <= before)


@pytest.mark.parametrize("way", ["closed", "reset", "silent"])
def test_stale_connections_are_not_an_error(way):
    # Those that meet before they send their request have a connection each.
    meetings = [threading.Barrier(16)]

    def meet(_event):
        for meeting in meetings:
            meeting.wait(60)

    with bl.Sandbox(seed=5, plate_stocks=40) as sandbox:
        with sandbox.client() as direct:
            right = repr(list(direct.plate_stocks("HK.BK1001")))
        options = {"auth": sandbox.api_key(), "timeout": 2.0, "on_request": meet}
        with (
            Proxy(port_of(sandbox.base_url)) as proxy,
            bl.Client(proxy.base_url, **options) as client,
        ):
            outcomes_of_threads(16, client.server_time)
            meetings.clear()
            assert proxy.end_connections(way) == 16
            lists = outcomes_of_threads(16, lambda: repr(list(client.plate_stocks("HK.BK1001"))))
            assert lists == {right: 16}
            assert client.server_time().tzinfo is not None
