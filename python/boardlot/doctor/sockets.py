"""Names and connections by the operating system's own means."""

from __future__ import annotations

import ipaddress
import socket
import threading
from typing import Any
from urllib.parse import SplitResult, unquote

__all__ = [
    "PORTS",
    "connected",
    "is_address",
    "is_this_machine",
    "looked_up",
    "place_of",
    "port_of",
    "tunnelled",
]

PORTS = {"http": 80, "https": 443}


def looked_up(host: str, port: int, timeout: float) -> list[tuple[Any, ...]]:
    """The addresses of a name, in the order in which they are tried."""
    answer: list[Any] = []

    def ask() -> None:
        try:
            answer.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer.append(error)

    # In a thread, for the system's own patience has no bounds that a caller could set.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout)
    if not answer:
        raise TimeoutError
    if isinstance(answer[0], Exception):
        raise answer[0]
    return list(dict.fromkeys(found[4] for found in answer[0]))


def connected(addresses: list[tuple[Any, ...]], timeout: float) -> socket.socket:
    """A connection to the first address that takes one."""
    failure: OSError = OSError("there is no address")
    for address in addresses:
        try:
            return socket.create_connection(address[:2], timeout)
        except OSError as error:
            failure = error
    raise failure


def tunnelled(proxy: SplitResult, host: str, port: int, timeout: float) -> socket.socket:
    """A connection through a proxy, by the CONNECT of HTTP."""
    import base64
    from http.client import HTTPConnection, HTTPException

    headers = {}
    if proxy.username:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    connection = HTTPConnection(proxy.hostname or "", port_of(proxy), timeout=timeout)
    connection.set_tunnel(f"[{host}]" if ":" in host else host, port, headers)
    try:
        connection.connect()
    except HTTPException:
        raise OSError("the proxy answers no HTTP") from None
    way: socket.socket = connection.sock
    return way


def place_of(proxy: SplitResult) -> str:
    """Where a proxy is, without the password that its URL may hold."""
    return f"{proxy.hostname}, port {port_of(proxy)}"


def port_of(proxy: SplitResult) -> int:
    return proxy.port or PORTS.get(proxy.scheme, 80)


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_this_machine(host: str) -> bool:
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)
