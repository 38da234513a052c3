"""An HTTP/2 server over TLS on loopback that ends connections and refuses streams as it is told."""

import contextlib
import os
import socket
import threading

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings

from .scripted_server import ScriptedServer

BODY = b'{"server_time_ms":"1790000000123"}'


class Http2(ScriptedServer):
    """Answers every request with the same body, and counts those that it processed.

    After `streams_each` requests of a connection it sends GOAWAY with the last of them, ignores
    what comes later on it, and closes it once all is answered. `refused(number)` says of a request,
    counted from 1, whether its stream is refused. On the first `full` connections it allows one
    stream at a time and answers nothing; `limited` is set when the client knows of that.
    """

    def __init__(self, context, *, streams_each=None, refused=lambda number: False, full=0):
        super().__init__()
        context.set_alpn_protocols(["h2"])
        self._context = context
        self.streams_each, self.refused = streams_each, refused
        self.full, self.limited = full, threading.Event()
        self.asked = self.processed = self.connections = 0

    def __enter__(self):
        super().__enter__()
        self.base_url = self.base_url.replace("http:", "https:")
        return self

    def _serve(self, connection):
        try:
            with self._context.wrap_socket(connection, server_side=True) as encrypted:
                with self._lock:
                    self.connections += 1
                    full = self.connections <= self.full
                self._speak(encrypted, full)
        except OSError:
            pass

    def _speak(self, connection, full):
        state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        state.initiate_connection()
        if full:
            state.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1})
        connection.sendall(state.data_to_send())
        taken, last, answered = 0, 0, 0
        while data := connection.recv(65_536):
            for event in state.receive_data(data):
                if isinstance(event, h2.events.SettingsAcknowledged) and event.changed_settings:
                    self.limited.set()
                if isinstance(event, h2.events.RequestReceived) and taken != self.streams_each:
                    taken, last = taken + 1, event.stream_id
                # Answered when it is whole: one that still comes may break with the connection.
                if not isinstance(event, h2.events.StreamEnded) or event.stream_id > last:
                    continue
                answered += 1
                with self._lock:
                    self.asked += 1
                    refuse = self.refused(self.asked)
                    self.processed += not (refuse or full)
                if full:
                    continue
                if refuse:
                    state.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
                    continue
                head = [(":status", "200"), ("content-type", "application/json")]
                state.send_headers(event.stream_id, head)
                state.send_data(event.stream_id, BODY, end_stream=True)
            over = answered == self.streams_each
            out = state.data_to_send()
            if over:
                # By hand: the library would refuse to read on, as a server at its end does not.
                out += goaway(last)
            connection.sendall(out)
            if over:
                close(connection)
                return


def close(connection):
    """Ends TLS properly, and reads what is still on its way: else the end would be a reset."""
    with socket.socket(fileno=os.dup(connection.fileno())) as plain:
        with contextlib.suppress(OSError):
            connection.unwrap()
        with contextlib.suppress(OSError):
            plain.shutdown(socket.SHUT_WR)
            while plain.recv(65_536):
                pass


def goaway(last_stream):
    """The frame of RFC 9113, section 6.8, with NO_ERROR."""
    payload = last_stream.to_bytes(4, "big") + bytes(4)
    return len(payload).to_bytes(3, "big") + bytes([0x7, 0]) + bytes(4) + payload
