"""A TLS server with a certificate of the tests' own, right or wrong in one way."""

from __future__ import annotations

import datetime
import http.server
import ipaddress
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.timezone.utc)
DAY = datetime.timedelta(days=1)


class Authority:
    """Signs certificates; `ca_file` is its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("The tests' authority")
        own = _signed(self._name, self._name, self._key.public_key(), self._key, is_authority=True)
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_bytes(own.public_bytes(Encoding.PEM))

    def context(
        self,
        names: tuple[str, ...] = ("127.0.0.1",),
        *,
        starts: datetime.datetime = NOW - 60 * DAY,
        ends: datetime.datetime = NOW + 30 * DAY,
        self_signed: bool = False,
        subject: str = "The tests' server",
    ) -> ssl.SSLContext:
        """What a server needs to show a certificate for these names."""
        key = ec.generate_private_key(ec.SECP256R1())
        own = _named(subject)
        issuer, signer = (own, key) if self_signed else (self._name, self._key)
        certificate = _signed(issuer, own, key.public_key(), signer, names, starts, ends)
        path = self._folder / "server.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


@contextmanager
def served(context: ssl.SSLContext | None) -> Iterator[int]:
    """A server that tells its time to whoever accepts its certificate; gives its port."""
    server = _Server(("127.0.0.1", 0), _Time)
    if context is not None:
        # The handshake is made in the thread of the connection, so that none waits for another.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    with _running(server):
        yield server.server_port


@contextmanager
def connect_proxy(port: int, answer: bytes | None = None) -> Iterator[tuple[int, list[str]]]:
    """A CONNECT proxy that leads to a port of this machine, whatever is asked for.

    Gives its own port, and the requests that it got. With `answer` it sends that and leads nowhere.
    """
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_CONNECT(self) -> None:
            asked.append(f"{self.path} {self.headers['Proxy-Authorization']}")
            self.close_connection = True
            if answer is not None:
                self.wfile.write(answer)
                return
            with socket.create_connection(("127.0.0.1", port)) as way:
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pour, args=(way, self.connection), daemon=True)
                back.start()
                _pour(self.connection, way)
                back.join()

    server = _Server(("127.0.0.1", 0), Handler)
    with _running(server):
        yield server.server_port, asked


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """Who hangs up over a bad certificate is no news."""


class _Time(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        body = json.dumps({"server_time_ms": str(int(time.time() * 1000))}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def _running(server: _Server) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def _pour(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _signed(
    issuer: x509.Name,
    subject: x509.Name,
    public_key: Any,
    signer: Any,
    names: tuple[str, ...] = (),
    starts: datetime.datetime = NOW - 60 * DAY,
    ends: datetime.datetime = NOW + 30 * DAY,
    *,
    is_authority: bool = False,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(starts)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    )
    if names:
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
        builder = builder.add_extension(alternatives, critical=False)
    return builder.sign(signer, SHA256())


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
