"""A server of fixed pages on 127.0.0.1, in a process of its own.

The server checks no signature, so that only the client is measured: the bodies are ready in memory,
and each request costs one parse of its first line. An account's number is its number of pages of
fills, and a plate's is its number of stocks; the pages of an account from `APART` on are counted
from `APART`, and all of its fills differ, each earlier than the one before, as in a service. Any
code gets a token. The sandbox, which checks everything, serves the rows that say so.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from . import data

PLATE = re.compile(rb"/plate/HK\.BK(\d+)/stock$")
FILLS = re.compile(rb"/accounts/(\d+)/fills_history\?(?:.*&)?page_flag=(\d*)")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
# The accounts whose fills all differ.
APART = 1_000_000_000
TIMES = re.compile(rb'(?<=_time":)(\d+)')
TOKEN = (
    b'{"access_token":"access-token-of-a-user","token_type":"Bearer","expires_in":86400,'
    b'"refresh_token":"refresh-token-of-a-user","scope":"quote:read trade:read accid:*"}'
)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


class Pages:
    def __init__(self) -> None:
        orders = data.sim_orders()
        self.orders = RESPONSE % len(orders) + orders
        self.fills = data.fills_rows()
        # The texts of each page between its times, and the times, a thousand times as close
        # together.
        parts = [TIMES.split(rows) for rows in self.fills]
        self.texts = [part[::2] for part in parts]
        self.ages = [
            [(data.FIRST_MICROS - int(time)) // 1000 for time in part[1::2]] for part in parts
        ]
        self.span = max(map(max, self.ages))
        self.plates: dict[int, bytes] = {}

    def response(self, target: bytes) -> bytes:
        if target.endswith(b"/orders"):
            return self.orders
        if found := FILLS.search(target):
            pages, page = int(found[1]), int(found[2] or 0)
            rows = self.fills[page % len(self.fills)]
            if pages >= APART:
                pages -= APART
                rows = self.apart(*divmod(page, len(self.fills)))
            body = data.fills_page(rows, page + 1 if page + 1 < pages else None)
        elif found := PLATE.search(target):
            body = self.plate(min(int(found[1]), 10_000))
        elif target == b"/oauth2/token":
            body = TOKEN
        elif target.endswith(b"/server-time"):
            body = b'{"server_time_ms":"%d"}' % (time.time_ns() // 1_000_000)
        else:
            return NOT_FOUND
        return RESPONSE % len(body) + body

    def apart(self, turn: int, page: int) -> bytes:
        first, *texts = self.texts[page]
        latest = data.FIRST_MICROS - turn * self.span
        times = zip(self.ages[page], texts, strict=True)
        rows = first + b"".join(b"%d%b" % (latest - age, text) for age, text in times)
        return rows.replace(b'"deal_id":"', b'"deal_id":"%d0' % turn)

    def plate(self, count: int) -> bytes:
        if count not in self.plates:
            self.plates[count] = data.plate_stocks(count)
        return self.plates[count]


class Connected(asyncio.Protocol):
    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, received: bytes) -> None:
        for target in self.targets(received):
            self.transport.write(self.pages.response(target))

    def targets(self, received: bytes) -> Iterator[bytes]:
        """Yields the path and query of each complete request."""
        self.unread += received
        while (end := self.unread.find(b"\r\n\r\n")) >= 0:
            head = self.unread[:end]
            length = LENGTH.search(head)
            after = end + 4 + (int(length[1]) if length else 0)
            if len(self.unread) < after:
                return
            self.unread = self.unread[after:]
            yield head.split(b" ", 2)[1]


def serve(ready: Connection) -> None:
    import uvloop

    loop = uvloop.new_event_loop()
    pages = Pages()
    listening = loop.create_server(lambda: Connected(pages), "127.0.0.1", 0, backlog=1024)
    server = loop.run_until_complete(listening)
    ready.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    loop.run_forever()


def serve_sandbox(ready: Connection, options: dict) -> None:
    import boardlot as bl

    latency = options.pop("latency", 0.0)
    key = bl.generate_key()
    with bl.Sandbox(faults=bl.Faults(latency=latency), **options) as sandbox:
        key_id = sandbox.upload_key(key.public_pem)
        ready.send((sandbox.base_url, key_id, key.private_pem, sandbox.accounts))
        # The loop ends when the other end is gone.
        with suppress(EOFError):
            ready.recv()


@contextmanager
def fixed_pages() -> Iterator[str]:
    """Yields the base URL while the server runs."""
    with _process(serve) as line:
        yield line


NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=10;
  keepalive_requests 1000000000;
  client_body_temp_path {folder};
  proxy_temp_path {folder};
  fastcgi_temp_path {folder};
  uwsgi_temp_path {folder};
  scgi_temp_path {folder};
  default_type application/json;
  {servers}
}}
"""
ORDERS = """server {{
    listen 127.0.0.1:{port} backlog=1024;
    root {folder};
    location ~ /orders$ {{ rewrite .* /orders.json break; }}
  }}"""
# nginx passes requests on to the service at this address.
TLS = """upstream service {{ server {address}; keepalive 64; }}
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  server {{
    listen 127.0.0.1:{port} ssl {protocol};
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/key.pem;
    location / {{ proxy_pass http://service; }}
  }}"""


@contextmanager
def nginx() -> Iterator[str]:
    """Yields the base URL of nginx, which serves the page of orders from a file, and nothing
    else."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "orders.json").write_bytes(data.sim_orders())
        with _nginx(Path(name), ORDERS) as address:
            yield f"http://{address}"


@contextmanager
def behind_tls(base: str, protocol: str) -> Iterator[tuple[str, str]]:
    """The base URL of nginx before a service, and the certificate to trust.

    The protocol is `http2`, or HTTP/1.1 if the text is empty.
    """
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=nginx"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
        subprocess.run(
            ["openssl", *request.split(), *names, *files], check=True, stderr=subprocess.DEVNULL
        )
        address = base.removeprefix("http://")
        with _nginx(folder, TLS, address=address, protocol=protocol) as at:
            yield f"https://{at}", str(folder / "certificate.pem")


@contextmanager
def _nginx(folder: Path, servers: str, **values: str) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # A worker that has dropped its privileges reads the folder.
    folder.chmod(0o755)
    filled = servers.format(folder=folder, port=port, **values)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, servers=filled))
    process = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder])
    try:
        _wait_for(port, process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)
    raise RuntimeError(f"nginx ended with status {process.returncode}")


@contextmanager
def sandbox(**options: object) -> Iterator[tuple[str, str, str, dict[str, list[str]]]]:
    """Base URL, key id, private key and accounts of boardlot's sandbox, while it serves."""
    with _process(serve_sandbox, options) as line:
        yield line


@contextmanager
def ready_pages() -> Iterator[tuple[str, dict[str, str]]]:
    """A folder, and the address of ready pages with a key whose file is in the folder."""
    with (
        tempfile.TemporaryDirectory() as folder,
        sandbox(fills=1) as (_, key_id, pem, _),
        fixed_pages() as base,
    ):
        key_file = Path(folder) / "key.pem"
        key_file.write_text(pem)
        yield folder, {"base": base, "key_id": key_id, "key_file": str(key_file)}


@contextmanager
def _process(target, *arguments):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        process.terminate()
        process.join()
