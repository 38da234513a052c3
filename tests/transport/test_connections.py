"""What becomes of connections: closed ones are not used, and given-up ones are closed."""

import signal
import socket
import threading
from pathlib import Path

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.service import StandInService, read_request, response, wire
from ..support.threads import wait_until

BODY = '{"code":0,"data":[]}'
PATH = "/api/v1.0/own"
OPEN_FILES = Path("/dev/fd")
# The states of a connection, as Linux counts them, until the other end knows that this one closed.
ESTABLISHED, FIN_WAIT1 = 1, 4
UNNOTICED = (ESTABLISHED, FIN_WAIT1)


def open_files():
    return len(list(OPEN_FILES.iterdir()))


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="the other end's view is needed")
def test_a_connection_that_the_service_closed_is_not_used_for_the_next_call():
    arrived = threading.Semaphore(0)

    def respond_and_close(listener):
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                read_request(stream, connection)
                connection.sendall(b"".join(wire(response(BODY))))
                connection.shutdown(socket.SHUT_WR)
                wait_for_the_other_end(connection)
                arrived.release()

    def wait_for_the_other_end(connection):
        state = (socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        wait_until(lambda: connection.getsockopt(*state)[0] not in UNNOTICED)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=respond_and_close, args=(listener,), daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with client_of(address) as client:
            for _ in range(20):
                # It would not be sent twice, so it has to go out right at once.
                assert client.request("POST", PATH, body={"a": 1}).status == 200
                assert arrived.acquire(timeout=10)


def test_a_cancelled_call_closes_its_connection():
    closed = threading.Event()

    def swallow(listener):
        connection, _ = listener.accept()
        while connection.recv(1 << 16):
            pass
        closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=swallow, args=(listener,), daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with client_of(address, timeout=0.2) as client:
            with pytest.raises(bl.RequestTimeout):
                client.request("GET", PATH)
            # Not only when the client goes, or calls again.
            assert closed.wait(10)


def test_calls_one_after_another_share_a_connection():
    ports = set()
    with StandInService(lambda _: response(BODY)) as server, client_of(server) as client:
        for _ in range(20):
            client.request("GET", PATH)
            ports |= {connection.getpeername()[1] for connection in server.connections}
    assert len(ports) == 1


def test_more_threads_than_connections_are_all_served():
    results = []
    with StandInService(lambda _: response(BODY)) as server, client_of(server) as client:

        def call():
            results.extend(client.request("GET", PATH).status for _ in range(5))

        threads = [threading.Thread(target=call) for _ in range(80)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [200] * 400


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="this system does not show its open files")
def test_a_client_that_is_closed_leaves_no_file_open():
    with StandInService(lambda _: response(BODY)) as server:

        def use():
            with client_of(server) as client:
                client.request("GET", PATH)

        use()
        wait_until(lambda: not server.connections)
        before = open_files()
        for _ in range(20):
            use()
        wait_until(lambda: open_files() <= before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
def test_a_handler_of_a_signal_may_make_a_call_of_its_own():
    statuses = []
    with StandInService(lambda _: response(BODY, delay=0.5)) as server, client_of(server) as client:
        before = signal.signal(
            signal.SIGALRM, lambda *_: statuses.append(client.request("GET", PATH).status)
        )
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            statuses.append(client.request("GET", PATH).status)
        finally:
            signal.signal(signal.SIGALRM, before)
    assert statuses == [200, 200]
