"""The browser's side of a login: raw requests to the listener that waits for the callback."""

import contextlib
import math
import socket
import urllib.request
from urllib.parse import parse_qsl, urlsplit

from .addresses import held_port
from .threads import wait_until


def call(flow, target=None, *, method="GET", host=None, headers=(), query=None):
    """Sends one request to the flow's listener; `query` goes to the listener's own path."""
    port, path = listener_address(flow)
    target = target if target is not None else f"{path}?{query}"
    host = f"Host: {host or f'127.0.0.1:{port}'}"
    lines = [f"{method} {target} HTTP/1.1", host, *headers, "Connection: close"]
    return send_raw(port, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def visit(callback_url):
    """The browser follows the redirect to the callback URL."""
    with urllib.request.urlopen(callback_url, timeout=60) as reply:
        return reply.status, reply.headers, reply.read()


def send_raw(port, data):
    """Sends bytes and reads to the end; returns an empty `Reply` if the other side hung up."""
    raw = b""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    with connection, contextlib.suppress(ConnectionError):
        connection.sendall(data)
        while part := connection.recv(65536):
            raw += part
            head, found, body = raw.partition(b"\r\n\r\n")
            if found and len(body) >= length_of(head):
                break
    return Reply(raw)


class Reply:
    """A raw HTTP response."""

    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.raw = raw
        self.status = int(lines[0].split(" ")[1]) if raw else 0
        pairs = [line.partition(":") for line in lines[1:]]
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}


def length_of(head):
    for line in head.decode("latin-1").lower().split("\r\n"):
        if line.startswith("content-length:"):
            return int(line.partition(":")[2])
    return math.inf


def listens(port, host="127.0.0.1"):
    try:
        socket.create_connection((host, port), timeout=60).close()
    except OSError:
        return False
    return True


def closed(port):
    """Waits until nobody listens on the port."""
    return wait_until(lambda: not listens(port), "the end of the listener")


@contextlib.contextmanager
def kept_port(port):
    """The port of a login that has ended stays free for the next one."""
    assert closed(port)
    with held_port(port):
        yield


def query_of(url):
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), url
    return dict(pairs)


def listener_address(flow):
    """Port and path that the flow listens on, from the redirect URI in its URL."""
    uri = urlsplit(query_of(flow.url)["redirect_uri"])
    assert (uri.scheme, uri.hostname) == ("http", "127.0.0.1")
    return uri.port, uri.path or "/"
