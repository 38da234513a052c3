"""Name lookup and connections through the operating system."""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

__all__ = [
    "PORTS",
    "address_of",
    "connect",
    "is_address",
    "is_this_machine",
    "look_up",
    "open_tunnel",
    "port_of",
    "read_proxy",
]

PORTS = {"http": 80, "https": 443}


def look_up(host: str, port: int, timeout: float) -> list[tuple[Any, ...]]:
    """The addresses of a name, in the order in which they are tried."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            outcome.append(error)

    # In a thread, because the system call has no timeout that a caller could set.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout)
    if not outcome:
        raise TimeoutError
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return list(dict.fromkeys(entry[4] for entry in outcome[0]))


def connect(addresses: list[tuple[Any, ...]], timeout: float) -> socket.socket:
    """A connection to the first address that accepts one."""
    failure: OSError = OSError("the name has no address")
    for address in addresses:
        try:
            return socket.create_connection(address[:2], timeout)
        except OSError as error:
            failure = error
    raise failure


def open_tunnel(proxy: SplitResult, host: str, port: int, timeout: float) -> socket.socket:
    """A connection through a proxy, by HTTP CONNECT."""
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
        raise OSError("the proxy does not speak HTTP") from None
    except OSError as error:
        # Its text has the proxy's own words, which may repeat the password.
        status = re.match(r"Tunnel connection failed: (\d{3})", str(error))
        if status is None:
            raise
        raise OSError(f"the proxy does not open a tunnel (HTTP {status[1]})") from None
    tunnel: socket.socket = connection.sock
    return tunnel


def address_of(proxy: SplitResult) -> str:
    """Host and port of a proxy, without the password that its URL may contain."""
    return f"{proxy.hostname}, port {port_of(proxy)}"


def read_proxy(url: str) -> SplitResult | None:
    """The URL of a proxy, which may lack a scheme; None if it is not valid.

    What is wrong with it is not reported: a password with a slash in it reads as a port.
    """
    try:
        proxy = urlsplit(url if "://" in url else f"http://{url}")
        # An @ after the host is that of a password with a slash.
        is_split = any("@" in part for part in proxy[2:])
        return proxy if proxy.hostname and proxy.port != 0 and not is_split else None
    except ValueError:
        return None


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
