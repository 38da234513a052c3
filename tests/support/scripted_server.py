"""A small HTTP/1.1 server over loopback that answers exactly what a test tells it to.

It knows nothing of the service: it records the raw bytes of every request and plays a script, so
that what goes over the wire can be compared with the service document and with nothing else.
"""

import contextlib
import gzip
import json
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

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
    """One request as it came in, byte for byte."""

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
        """All bytes that the client sent, to look for what must not be in them."""
        headers = "".join(f"{name}: {value}\n" for name, value in self.headers)
        return f"{self.method} {self.target}\n{headers}\n".encode("latin-1") + self.body

    def header(self, name, default=None):
        """The value of a header that may come at most once."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else default


@dataclass
class Answer:
    """One answer, and what goes wrong while it is sent.

    `chunks` sends the given pieces with chunked transfer coding, `pause` seconds apart; `truncate`
    promises the whole body and closes the connection after that many bytes; `stall` sends that
    many bytes and then nothing for `delay` seconds; `drop` resets the connection with no answer;
    `raw` is sent in place of everything else, and the connection closed.
    """

    status: int = 200
    body: bytes = b""
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    truncate: int | None = None
    stall: int | None = None
    chunks: list | None = None
    pause: float = 0.0
    raw: bytes | None = None


def answer(body=b"", status=200, headers=None, **faults):
    """An `Answer` from bytes, text, or a value that is written as JSON."""
    if isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, bytes):
        body = json.dumps(body, ensure_ascii=False).encode()
    return Answer(status, body, dict(headers or {}), **faults)


def gzipped(body, layers=1):
    """An `Answer` whose body is compressed `layers` times over."""
    for _ in range(layers):
        body = gzip.compress(body)
    return Answer(200, body, {"Content-Encoding": ", ".join(["gzip"] * layers)})


class ScriptedServer:
    """Answers with `script`: a list of answers, in order, or a callable that takes the request.

    A request beyond the end of a list is recorded like the others and gets 500. With `clock`, the
    service's time is that many seconds ahead of this machine's, and who asks for it is answered
    beside the script and recorded in `asked_for_time`. With `context` it speaks TLS.
    """

    def __init__(self, script=(), clock=None, context=None):
        self._clock = clock
        self._context = context
        self.asked_for_time = []
        self._script = script if callable(script) else list(script)
        self._lock = threading.Lock()
        self._open = set()
        self._closing = threading.Event()
        self.received = []

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]
        scheme = "http" if self._context is None else "https"
        self.base_url = f"{scheme}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._closing.set()
        # Closing alone would leave the accepting thread waiting on some systems.
        for shut in (lambda: self._listener.shutdown(socket.SHUT_RDWR), self._listener.close):
            with contextlib.suppress(OSError):
                shut()
        with self._lock:
            still_open = list(self._open)
        for connection in still_open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with self._lock:
            self._open.add(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                with self._context.wrap_socket(connection, server_side=True) as encrypted:
                    self._converse(encrypted)
            else:
                self._converse(connection)
        except (OSError, ValueError):
            pass
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _converse(self, connection):
        stream = connection.makefile("rb")
        while not self._closing.is_set():
            received = read_request(stream, connection)
            if received is None or not self._answer(connection, received):
                return

    def _answer(self, connection, received):
        """Sends the next answer; false where the connection is not to be used again."""
        tells_time = self._clock is not None and received.path.endswith("/server-time")
        with self._lock:
            (self.asked_for_time if tells_time else self.received).append(received)
            place = len(self.received) - 1
        if tells_time:
            told = answer({"server_time_ms": str(int(1000 * (time.time() + self._clock)))})
        elif callable(self._script):
            told = self._script(received)
        elif place < len(self._script):
            told = self._script[place]
        else:
            told = answer(b"the script is over", 500)
        if told.stall is None and told.delay:
            self._closing.wait(told.delay)
        if told.drop:
            reset(connection)
            return False
        if told.raw is not None:
            connection.sendall(told.raw)
            return False
        connection.sendall(head(told))
        if told.chunks is not None:
            for chunk in told.chunks:
                connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                time.sleep(told.pause)
            connection.sendall(b"0\r\n\r\n")
        elif told.truncate is not None:
            connection.sendall(told.body[: told.truncate])
            return False
        elif told.stall is not None:
            connection.sendall(told.body[: told.stall])
            self._closing.wait(told.delay)
            return False
        else:
            connection.sendall(told.body)
        return True


def read_request(stream, connection):
    """The next request of a connection, or None at its end."""
    head_bytes = b""
    while not head_bytes.endswith(b"\r\n\r\n"):
        line = stream.readline(LONGEST_HEAD)
        if not line or len(head_bytes) > LONGEST_HEAD:
            return None
        if not head_bytes and b" HTTP/1." not in line:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            return None
        head_bytes += line
    lines = head_bytes[:-4].decode("latin-1").split("\r\n")
    headers = []
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers.append((name, value.strip(" \t")))
    small = {name.lower(): value for name, value in headers}
    if small.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in small.get("transfer-encoding", "").lower():
        body = read_chunks(stream)
    else:
        body = stream.read(int(small.get("content-length", "0")))
    return RecordedRequest(lines[0], headers, body, time.time())


def read_chunks(stream):
    body = b""
    while size := int(stream.readline().split(b";")[0], 16):
        body += stream.read(size)
        stream.readline()
    while stream.readline().strip():
        pass
    return body


def head(told):
    """Status line and headers; length and type are filled in where the test gives none."""
    headers = {"Content-Type": "application/json", **told.headers}
    if told.chunks is not None:
        headers["Transfer-Encoding"] = "chunked"
    elif told.status not in (204, 304):
        headers.setdefault("Content-Length", str(len(told.body)))
    lines = [f"HTTP/1.1 {told.status} {REASONS.get(told.status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def reset(connection):
    """Closes with RST, as a peer that died does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
