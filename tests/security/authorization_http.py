"""The HTTP side of the authorization server: what it saw, and what goes wrong on demand."""

import http.server
import json
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, unquote


@dataclass(frozen=True)
class Seen:
    """One request as it came in."""

    method: str
    path: str
    query: str
    headers: list
    body: bytes
    at: float
    port: int

    def header(self, name):
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else None

    @property
    def form(self):
        """The form's fields; a field that came twice is an error of the client."""
        pairs = parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True)
        assert len(dict(pairs)) == len(pairs), f"a field came twice: {[n for n, _ in pairs]}"
        return dict(pairs)

    @property
    def everything(self):
        """All bytes that the client sent, to look for what must not be in them."""
        headers = "".join(f"{name}: {value}\n" for name, value in self.headers)
        return f"{self.method} {self.path}?{self.query}\n{headers}\n".encode() + self.body


@dataclass(frozen=True)
class Fault:
    """How one request to an endpoint goes wrong.

    `drop` closes before anything is done, `lost` does the work and closes without an answer;
    `error` is an OAuth error, `status` alone is an answer without any JSON; `body` is sent as it
    is; `change` is put over the fields of the right answer, where None takes a field away; `echo`
    refuses with everything that was sent as the description, in the spelling of `spell`.
    """

    delay: float = 0.0
    drop: bool = False
    lost: bool = False
    error: str | None = None
    description: str = ""
    status: int | None = None
    body: bytes | None = None
    change: dict = field(default_factory=dict)
    headers: dict = field(default_factory=dict)
    echo: bool = False
    spell: Callable = unquote


class Listening(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """A client that went away is no news."""


def _kind(method, path, body):
    if path == "/oauth2/token" and method == "POST":
        grants = dict(parse_qsl(body.decode("latin-1")))
        return grants.get("grant_type", "token without grant")
    known = {
        ("POST", "/oauth2/register"): "register",
        ("GET", "/oauth2/authorize/confirm"): "authorize",
        ("GET", "/api/v1.0/server-time"): "clock",
    }
    return known.get((method, path), "api" if path.startswith("/api/") else "elsewhere")


def handler(owner):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 60

        def log_message(self, *_):
            pass

        def do(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            path, _, query = self.path.partition("?")
            port = self.client_address[1]
            headers = list(self.headers.items())
            seen = Seen(self.command, path, query, headers, body, time.time(), port)
            kind = _kind(self.command, path, body)
            fault = owner.note(kind, seen)
            time.sleep(fault.delay)
            if fault.drop:
                self.hang_up()
            else:
                self.play(fault, seen, kind)

        def play(self, fault, seen, kind):
            if fault.echo:
                told = told_back(seen, fault.spell)
                fault = replace(fault, error="invalid_request", description=told)
            if fault.error is not None:
                told = {"error": fault.error, "error_description": fault.description}
                self.send(fault.status or 400, {}, told)
                return
            if fault.body is not None or fault.status is not None:
                body = b"<html>busy</html>" if fault.body is None else fault.body
                self.send(fault.status or 200, fault.headers, body)
                return
            status, headers, told = owner.answer(kind, seen)
            if fault.lost:
                self.hang_up()
                return
            if isinstance(told, dict) and fault.change:
                told = {**told, **fault.change}
                told = {name: value for name, value in told.items() if value is not None}
            self.send(status, headers, told)

        def send(self, status, headers, told):
            body = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self._headers_buffer += [b"\r\n", body]
            self.flush_headers()

        def hang_up(self):
            self.close_connection = True
            never = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, never)

    for method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"):
        setattr(Handler, "do_" + method, Handler.do)
    return Handler


def told_back(seen, spell=unquote):
    """What came in, as a careless service would put it into its message."""
    return spell(seen.everything.decode("latin-1"))
