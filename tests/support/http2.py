"""HTTP/2 for `StandInService`: connections that end and streams that are refused as configured."""

import contextlib
import os
import socket
import threading
import time
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings

from .service import RecordedRequest


@dataclass
class Http2:
    """The HTTP/2 behavior of a service, and counts of the requests that it received and processed.

    After `streams_each` requests of a connection, the service sends GOAWAY with the last of them,
    ignores later ones on this connection, and closes it once all have their response.
    `refused(number)` is true if the stream of a request, counted from 1, is refused. On the first
    `full` connections, the service allows one stream at a time and never responds; `limited` is set
    when the client knows of the limit. With `debug_data`, each connection ends at once with a
    GOAWAY that contains the data; each of the first `spent` connections ends at once with a GOAWAY
    that is not an error. Of the first `cut` responses, only half of the body is sent, and the
    stream is reset without an error; `with_length` is true if responses announce their length.
    """

    streams_each: int | None = None
    refused: object = lambda number: False
    full: int = 0
    debug_data: bytes | None = None
    spent: int = 0
    cut: int = 0
    with_length: bool = False
    limited: threading.Event = field(default_factory=threading.Event)
    requests: int = 0
    processed: int = 0
    connections: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def converse(self, connection, response_to):
        """Speaks with one client; `response_to` is the method of the service."""
        with self.lock:
            self.connections += 1
            full, spent = self.connections <= self.full, self.connections <= self.spent
        if spent or self.debug_data is not None:
            connection.recv(65_536)
            end = goaway(0) if spent else goaway(0, 2, self.debug_data)
            connection.sendall(frame(0x4, b"") + end)
            return close(connection)
        state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        state.initiate_connection()
        if full:
            state.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1})
        connection.sendall(state.data_to_send())
        headers, last, responses = {}, 0, 0
        while data := connection.recv(65_536):
            for event in state.receive_data(data):
                if isinstance(event, h2.events.SettingsAcknowledged) and event.changed_settings:
                    self.limited.set()
                if isinstance(event, h2.events.RequestReceived):
                    if len(headers) == self.streams_each:
                        continue
                    headers[event.stream_id], last = event.headers, event.stream_id
                # Only a whole request is counted: one that is still arriving may break with the
                # connection.
                if not isinstance(event, h2.events.StreamEnded) or event.stream_id > last:
                    continue
                responses += 1
                with self.lock:
                    self.requests += 1
                    refuse = self.refused(self.requests)
                    self.processed += not (refuse or full)
                if refuse and not full:
                    state.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
                elif not full:
                    planned = response_to(request_of(headers, event))
                    is_cut = responses <= self.cut
                    respond(state, event.stream_id, planned, self.with_length, is_cut)
            over = responses == self.streams_each
            out = state.data_to_send()
            if over:
                # Written by hand: the library would then refuse to read on, unlike a server at its
                # end.
                out += goaway(last)
            connection.sendall(out)
            if over:
                return close(connection)
        return None


def request_of(headers, event):
    """The request of a stream, without its body."""
    pairs = [(name.decode(), value.decode()) for name, value in headers[event.stream_id]]
    known = dict(pairs)
    return RecordedRequest(f"{known[':method']} {known[':path']} HTTP/2", pairs, b"", time.time())


def respond(state, stream_id, planned, with_length=False, is_cut=False):
    headers = {"content-type": "application/json", **planned.headers}
    if with_length:
        headers["content-length"] = str(len(planned.body))
    state.send_headers(stream_id, [(":status", str(planned.status)), *headers.items()])
    if is_cut:
        state.send_data(stream_id, planned.body[: len(planned.body) // 2])
        state.reset_stream(stream_id, h2.errors.ErrorCodes.NO_ERROR)
    else:
        state.send_data(stream_id, planned.body, end_stream=True)


def close(connection):
    """Ends TLS properly, and reads the bytes that still arrive: otherwise the end would be a
    reset."""
    with socket.socket(fileno=os.dup(connection.fileno())) as plain:
        with contextlib.suppress(OSError):
            connection.unwrap()
        with contextlib.suppress(OSError):
            plain.shutdown(socket.SHUT_WR)
            while plain.recv(65_536):
                pass


def frame(kind, payload):
    """A frame of RFC 9113 for the whole connection."""
    return len(payload).to_bytes(3, "big") + bytes([kind, 0]) + bytes(4) + payload


def goaway(last_stream, error=0, debug_data=b""):
    """A GOAWAY frame (RFC 9113, section 6.8), with NO_ERROR by default."""
    return frame(0x7, last_stream.to_bytes(4, "big") + error.to_bytes(4, "big") + debug_data)
