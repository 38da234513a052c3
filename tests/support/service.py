"""A stand-in for the service: one small HTTP server over loopback, whose faults are data.

The server knows nothing of the service: it records the raw bytes of every request and plays a
script, so that the bytes on the wire can be compared with the service document and with nothing
else.
"""

import collections
import contextlib
import gzip
import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, unquote

REASONS = {200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 503: "Unavailable"}
LONGEST_HEAD = 1 << 16


class SplitTarget:
    """The two parts of a request's `target`, as they were sent."""

    @property
    def path(self):
        return self.target.partition("?")[0]

    @property
    def query(self):
        return self.target.partition("?")[2]


@dataclass(frozen=True)
class RecordedRequest(SplitTarget):
    """One request as it arrived, byte for byte."""

    line: str
    headers: list
    body: bytes
    at: float

    @property
    def method(self):
        return self.line.split(" ")[0]

    @property
    def target(self):
        return self.line.split(" ")[1]

    @property
    def form(self):
        """The fields of a form; a field that was sent twice is an error of the client."""
        pairs = parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True)
        assert len(dict(pairs)) == len(pairs), f"a field was sent twice: {[n for n, _ in pairs]}"
        return dict(pairs)

    @property
    def everything(self):
        """All bytes that the client sent, to look for texts that must not be in them."""
        headers = "".join(f"{name}: {value}\n" for name, value in self.headers)
        return f"{self.method} {self.target}\n{headers}\n".encode("latin-1") + self.body

    def header(self, name, default=None):
        """The value of a header that may come at most once."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else default


@dataclass
class Response:
    """One response, and the faults while it is sent.

    `chunks` are sent with chunked transfer coding, `pause` seconds apart (a function makes endless
    ones as they are sent); `truncate` promises the whole body and closes the connection after that
    many bytes; `stall` sends that many bytes and then nothing for `delay` seconds; `drop` resets
    the connection without a response, or after the bytes of `truncate`; `raw` (bytes, or pieces of
    them) is sent in place of everything else, and the connection closed.
    """

    status: int = 200
    body: bytes = b""
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    truncate: int | None = None
    stall: int | None = None
    chunks: list | Callable | None = None
    pause: float = 0.0
    raw: bytes | list | None = None


def response(body=b"", status=200, headers=None, **faults):
    """A `Response` from bytes, text, or a value that is written as JSON."""
    if isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, bytes):
        body = json.dumps(body, ensure_ascii=False).encode()
    return Response(status, body, dict(headers or {}), **faults)


def gzipped(body):
    """A `Response` whose body is compressed."""
    return Response(200, gzip.compress(body), {"Content-Encoding": "gzip"})


@dataclass(frozen=True)
class Fault:
    """The failure of one request to an endpoint.

    The failure comes after `delay` and once `until` is set. `drop` closes the connection before any
    work is done; `lost` does the work and closes without a response; `error` is an OAuth error;
    `status` alone is a response without any JSON; `body` is sent as it is; `change` replaces fields
    of the right response, where None removes a field; `rewrite` makes the body to send from the
    right one; `echo` rejects the request with everything that was sent as the description, in the
    spelling of `spell`; `raw` makes the bytes to send instead of a response, from the request.
    """

    delay: float = 0.0
    until: threading.Event | None = None
    drop: bool = False
    lost: bool = False
    error: str | None = None
    description: str = ""
    status: int | None = None
    body: bytes | None = None
    change: dict = field(default_factory=dict)
    rewrite: Callable | None = None
    headers: dict = field(default_factory=dict)
    echo: bool = False
    spell: Callable = unquote
    raw: Callable | None = None

    def response(self, request, respond):
        """The response to a request, whose right one `respond()` returns."""
        if self.until is not None:
            self.until.wait(90)
        if self.drop or self.raw is not None:
            return Response(drop=self.drop, raw=self.raw and self.raw(request))
        if self.echo or self.error is not None:
            description = echoed(request, self.spell) if self.echo else self.description
            error = "invalid_request" if self.echo else self.error
            body = {"error": error, "error_description": description}
            return response(body, self.status or 400)
        if self.body is not None or self.status is not None:
            body = b"<html>busy</html>" if self.body is None else self.body
            return response(body, self.status or 200, self.headers)
        right = respond()
        if self.lost:
            return Response(drop=True)
        if self.change:
            fields = {**json.loads(right.body), **self.change}
            fields = {name: value for name, value in fields.items() if value is not None}
            return replace(right, body=json.dumps(fields).encode())
        return right if self.rewrite is None else replace(right, body=self.rewrite(right.body))


def echoed(request, spell=unquote):
    """The request as a careless service would put it into its message."""
    return spell(request.everything.decode("latin-1"))


class StandInService:
    """Responds with `script`: a list of responses, in order, or a callable that takes the request.

    A request beyond the end of a list is recorded like the others and gets 500. `faults[kind]`,
    where `kind_of` returns the kind of a request, is a list of `Fault`, of which each request uses
    up one, or one `Fault` for all requests; it may be changed at any time. With `clock`, the
    service's time is that many seconds ahead of this machine's; requests for the time are responded
    to without the script and recorded in `asked_for_time`. With `context` the service speaks TLS,
    and with `http2` (an `http2.Http2`) HTTP/2.
    """

    def __init__(self, script=(), clock=None, context=None, http2=None):
        self._clock, self.context, self._http2 = clock, context, http2
        if http2 is not None:
            context.set_alpn_protocols(["h2"])
        self._script = script if callable(script) else list(script)
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._threads, self.connections = [], set()
        self.faults = {}
        self.received, self.asked_for_time = [], []
        self.counts = collections.Counter()

    def kind_of(self, request):
        return request.path

    def of(self, kind):
        """The requests of one kind."""
        return [request for request in self.received if self.kind_of(request) == kind]

    def __enter__(self):
        # Callbacks of this stack run first at the end, such as those that close the clients of
        # `client_of`.
        self.stack = contextlib.ExitStack()
        self.listen()
        scheme = "http" if self.context is None else "https"
        self.base_url = f"{scheme}://127.0.0.1:{self.port}"
        return self

    def listen(self, port=0):
        self._listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.port, self._is_listening = self._listener.getsockname()[1], True
        self._acceptor = self._start(self._accept)

    def stop_listening(self):
        self._is_listening = False
        # A connection of its own ends the wait of the accepting thread, on every system.
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._acceptor.join()
        self._listener.close()

    def __exit__(self, *_):
        self._closing.set()
        self.stack.close()
        self.stop_listening()
        with self._lock:
            for connection in self.connections:
                shut_down(connection)
        for thread in self._threads:
            thread.join()

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads = [*filter(threading.Thread.is_alive, self._threads), thread]
        thread.start()
        return thread

    def _accept(self):
        while self._is_listening:
            connection, _ = self._listener.accept()
            self._start(self._serve, connection)

    def _serve(self, connection):
        with contextlib.suppress(OSError, ValueError), contextlib.ExitStack() as stack:
            stack.enter_context(connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context is not None:
                options = {"server_side": True, "do_handshake_on_connect": False}
                connection = self.context.wrap_socket(connection, **options)
                stack.enter_context(connection)
            with self._lock:
                self.connections.add(connection)
            stack.callback(self._forget, connection)
            if self._closing.is_set():
                return
            if self.context is not None:
                connection.do_handshake()
            if self._http2 is None:
                self._converse(connection)
            else:
                self._http2.converse(connection, self.response_to)

    def _forget(self, connection):
        with self._lock:
            self.connections.discard(connection)

    def _converse(self, connection):
        with connection.makefile("rb") as stream:
            while not self._closing.is_set():
                request = read_request(stream, connection)
                if request is None or not self._send(connection, self.response_to(request)):
                    return

    def response_to(self, request):
        """Records a request; returns the response to it, right or wrong."""
        if self._clock is not None and request.path.endswith("/server-time"):
            self.asked_for_time.append(request)
            return response({"server_time_ms": str(int(1000 * (time.time() + self._clock)))})
        with self._lock:
            kind = self.kind_of(request)
            self.received.append(request)
            self.counts[kind] += 1
            place = len(self.received) - 1
            fault = self.faults.get(kind)
            if isinstance(fault, list):
                fault = fault.pop(0) if fault else None

        def respond():
            if callable(self._script):
                return self._script(request)
            over = response(b"the script is over", 500)
            return self._script[place] if place < len(self._script) else over

        if fault is None:
            return respond()
        self._closing.wait(fault.delay)
        return fault.response(request, respond)

    def _send(self, connection, planned):
        """Sends a response; false if the connection is not to be used again."""
        if planned.stall is None and planned.delay:
            self._closing.wait(planned.delay)
        is_cut = planned.truncate is not None
        if planned.drop and not is_cut:
            reset(connection)
            return False
        for number, piece in enumerate(wire(planned)):
            if number and planned.pause and self._closing.wait(planned.pause):
                return False
            connection.sendall(piece)
        if planned.stall is not None:
            self._closing.wait(planned.delay)
        if planned.drop:
            reset(connection)
        return planned.raw is None and not is_cut and planned.stall is None


def wire(planned):
    """The bytes of a response, piece by piece."""
    if planned.raw is not None:
        yield from [planned.raw] if isinstance(planned.raw, bytes) else planned.raw
        return
    yield head(planned)
    if planned.chunks is None:
        places = [place for place in (planned.truncate, planned.stall) if place is not None]
        yield planned.body[: places[0]] if places else planned.body
        return
    for chunk in planned.chunks() if callable(planned.chunks) else planned.chunks:
        yield b"%x\r\n%s\r\n" % (len(chunk), chunk)
    yield b"0\r\n\r\n"


def head(planned):
    """Status line and headers; length and type are filled in if the test sets none."""
    headers = {"Content-Type": "application/json", **planned.headers}
    if planned.chunks is not None:
        headers["Transfer-Encoding"] = "chunked"
    elif planned.status not in (204, 304):
        headers.setdefault("Content-Length", str(len(planned.body)))
    lines = [f"HTTP/1.1 {planned.status} {REASONS.get(planned.status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def read_request(stream, connection):
    """The next request of a connection, or None at its end."""
    line = stream.readline(LONGEST_HEAD)
    if not line:
        return None
    if b" HTTP/1." not in line:
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        return None
    head = http.client.parse_headers(stream)
    if head.get("Expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in head.get("Transfer-Encoding", "").lower():
        body = read_chunks(stream)
    else:
        body = stream.read(int(head.get("Content-Length", "0")))
    return RecordedRequest(line.decode("latin-1").rstrip("\r\n"), head.items(), body, time.time())


def read_chunks(stream):
    body = b""
    while size := int(stream.readline().split(b";")[0], 16):
        body += stream.read(size)
        stream.readline()
    while stream.readline().strip():
        pass
    return body


def shut_down(connection):
    """Ends the wait of a thread that reads or writes."""
    with contextlib.suppress(OSError):
        # After a shutdown of its own, an `SSLSocket` would read the bytes that have arrived without
        # decrypting them.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def reset(connection):
    """Closes with RST, as a peer that died does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
