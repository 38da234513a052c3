"""A service that asks for HTTP/1.1 (RFC 9113, section 7: HTTP_1_1_REQUIRED) gets it."""

import asyncio
import json
import socket
import threading

import boardlot as bl
import h2.config
import h2.connection
import h2.errors
import h2.events
import pytest

from ..support.certificates import Authority, authority

BODY = json.dumps({"server_time_ms": "1767571200000"}).encode()
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


class Old:
    """Offers HTTP/2, and refuses each of its requests with HTTP_1_1_REQUIRED: by resetting the
    stream or by GOAWAY.
    """

    def __init__(self, way):
        self.way, self.asked, self.methods = way, [], []
        self.context = authority().context()
        self.context.set_alpn_protocols(["h2", "http/1.1"])

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()
        return self

    def __exit__(self, *_):
        # What waits for a connection is not woken by closing alone.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.accepting.join()

    def accept(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain):
        try:
            with self.context.wrap_socket(plain, server_side=True) as connection:
                is_new = connection.selected_alpn_protocol() == "h2"
                (self.refuse if is_new else self.respond)(connection)
        except OSError:
            pass

    def refuse(self, connection):
        state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        state.initiate_connection()
        connection.sendall(state.data_to_send())
        has_ended = False
        while data := connection.recv(65_536):
            for event in () if has_ended else state.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self.asked.append("h2")
                    code = h2.errors.ErrorCodes.HTTP_1_1_REQUIRED
                    if self.way == "reset":
                        state.reset_stream(event.stream_id, code)
                    else:
                        state.close_connection(code, last_stream_id=0)
                        has_ended = True
            connection.sendall(state.data_to_send())

    def respond(self, connection):
        with connection.makefile("rb") as stream:
            while line := stream.readline():
                self.asked.append("http/1.1")
                self.methods.append(line.split()[0].decode())
                length = 0
                while (header := stream.readline().strip()) != b"":
                    name, _, value = header.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                stream.read(length)
                connection.sendall(PLAIN % (len(BODY), BODY))


@pytest.fixture(params=["reset", "goaway"])
def old(request):
    with Old(request.param) as service:
        yield service


OPTIONS = {"ca_file": Authority.ca_file, "max_retries": 0}


def test_a_request_is_sent_again_over_http_1_1_and_later_ones_at_once(old):
    with bl.Client(old.base_url, **OPTIONS) as client:
        for _ in range(3):
            assert client.server_time().year == 2026
    assert old.asked == ["h2", "http/1.1", "http/1.1", "http/1.1"]


def test_a_request_that_may_change_something_is_sent_again_as_it_was_not_processed(old):
    with bl.Client(old.base_url, **OPTIONS) as client:
        assert client.request("POST", "/api/v1.0/orders", body={"qty": "1"}).status == 200
    assert old.asked == ["h2", "http/1.1"] and old.methods == ["POST"]


def test_an_async_client_does_the_same(old):
    async def ask():
        async with bl.AsyncClient(old.base_url, **OPTIONS) as client:
            return [(await client.server_time()).year for _ in range(2)]

    assert asyncio.run(ask()) == [2026, 2026]
    assert old.asked == ["h2", "http/1.1", "http/1.1"]
