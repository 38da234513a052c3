"""The steps about the connection: from the settings to the service's clock."""

from __future__ import annotations

import functools
import ipaddress
import socket
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

from boardlot import Client, _core
from boardlot._calls import explained
from boardlot._support.messages import hints
from boardlot.doctor.findings import Failed, Finding, Skipped, failing, run_step
from boardlot.errors import BoardlotError, RequestTimeout, TransportError

# The seconds by which the time of a signed request may be off (service document, section 8).
CLOCK_WINDOW = 5.0


class Network:
    """The known facts about the connection to the service; each step adds to them."""

    def __init__(self, base_url: str, options: dict[str, Any], timeout: float) -> None:
        self.timeout = timeout
        self.proxy: SplitResult | None = None
        # The step after which the service cannot be reached, if any.
        self.failed_step: str = ""
        self.base_url = base_url
        self._options = options
        self._proxy_url: str | None = options.get("proxy")
        self._addresses: list[tuple[Any, ...]] = []

    def client(self, auth: Any = None) -> Client:
        """A client with these settings and without retries, so that failures show."""
        return Client(
            self.base_url,
            auth=auth,
            timeout=self.timeout,
            connect_timeout=self.timeout,
            max_retries=0,
            **self._options,
        )

    def findings(self) -> Iterator[Finding]:
        for step, check in (
            ("settings", self._settings),
            ("proxy", self._check_proxy),
            ("name", self._name),
            ("connection", self._connection),
            ("TLS", self._tls),
            ("service", self._service),
            ("clock", self._clock),
        ):
            if self.failed_step:
                yield Finding(step, "skipped", f"not tried: {self.failed_step} failed")
                continue
            finding = run_step(step, check)
            if finding.state == "failed" and step != "clock":
                self.failed_step = step
            yield finding

    @functools.cached_property
    def server_time(self) -> datetime | BoardlotError:
        """The service's time as the client gets it, or the client's error."""
        try:
            return self._client.server_time()
        except BoardlotError as error:
            return error

    def _settings(self) -> str:
        self._client = self.client()
        url = urlsplit(self._client.base_url)
        self.scheme: str = url.scheme
        self.host: str = url.hostname or ""
        self.port: int = url.port or PORTS[self.scheme]
        return f"the base URL is {self._client.base_url}"

    def _check_proxy(self) -> str:
        if self._proxy_url is None:
            raise Skipped(*self._unused_proxy())
        if is_this_machine(self.host):
            raise Skipped("not used for a service on this machine")
        source = ""
        if self._proxy_url == "environment":
            named = _core._environment_proxy(self.base_url)
            if named is None:
                raise Skipped("the environment names none for this service")
            variable, self._proxy_url = named
            source = f", of {variable},"
        proxy = read_proxy(self._proxy_url)
        if proxy is None:
            raise Failed("the proxy's URL cannot be read", hints.CHECK_PROXY)
        address = address_of(proxy)
        with failing(f"cannot connect to {address}", hints.CHECK_PROXY):
            addresses = look_up(proxy.hostname or "", port_of(proxy), self.timeout)
            connect(addresses, self.timeout).close()
        self.proxy = proxy
        return f"{address}{source} accepts connections"

    def _unused_proxy(self) -> tuple[str, str]:
        """Detail and hint if no proxy was given: the environment may name one."""
        named = _core._environment_proxy(self.base_url)
        if named is None:
            return "none was given", ""
        proxy = read_proxy(named[1])
        named_proxy = "one with an invalid URL" if proxy is None else address_of(proxy)
        return (
            f"none was given; the environment names {named_proxy}, which is not used",
            hints.UNUSED_PROXY,
        )

    def _name(self) -> str:
        if self.proxy is not None:
            raise Skipped(f"the proxy resolves {self.host}")
        with failing(f"{self.host} cannot be resolved", hints.CHECK_NAME):
            self._addresses = look_up(self.host, self.port, self.timeout)
        if is_address(self.host):
            return f"{self.host} is an address: nothing to resolve"
        return f"{self.host} is {', '.join(address[0] for address in self._addresses)}"

    def _connection(self) -> str:
        if self.proxy is not None:
            raise Skipped("the proxy makes it")
        what = f"cannot connect to {self.host}, port {self.port}"
        reported = failing(what, hints.CHECK_NETWORK, refused=hints.NO_SERVER)
        with reported, connect(self._addresses, self.timeout) as connection:
            peer = connection.getpeername()[0]
        return f"{peer} accepts connections on port {self.port}"

    def _tls(self) -> str:
        if self.scheme == "http":
            raise Skipped("not used: http, which stays on this machine")
        error = self.server_time
        if isinstance(error, TransportError) and not isinstance(error, RequestTimeout):
            raise error
        return "the client accepts the certificate"

    def _service(self) -> str:
        outcome = self.server_time
        if isinstance(outcome, BoardlotError):
            raise outcome
        return f"responds; its time is {outcome.isoformat(timespec='seconds')}"

    def _clock(self) -> str:
        offset = clock_offset(self._client)
        difference = f"{abs(offset):.3f} s {'behind' if offset > 0 else 'ahead of'} the service's"
        if abs(offset) <= CLOCK_WINDOW:
            return f"this machine's is {difference}; up to {CLOCK_WINDOW:g} s is allowed"
        set_clock = hints.SET_CLOCK.get(sys.platform, hints.SET_CLOCK["linux"])
        raise Failed(
            f"this machine's is {difference}; signatures are rejected beyond {CLOCK_WINDOW:g} s",
            f"{set_clock}. {hints.UNTIL_THEN}",
        )


@explained
def clock_offset(client: Client) -> float:
    """Seconds that the service's clock is ahead of this machine's.

    Args:
        client: A client of the service; it does not need credentials.

    Returns:
        The difference at the midpoint of a round trip, negative if the service is behind.

    Raises:
        BoardlotError: The request failed.

    Examples:
        >>> from boardlot.doctor import clock_offset
        >>> abs(clock_offset(client)) < 60
        True
    """
    before = time.time()
    service = client.server_time().timestamp()
    return round(service - (before + time.time()) / 2, 3)


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


def address_of(proxy: SplitResult) -> str:
    """Host and port of a proxy, without the password that its URL may contain."""
    return f"{proxy.hostname}, port {port_of(proxy)}"


def read_proxy(url: str) -> SplitResult | None:
    """The URL of a proxy, which may lack a scheme; None if it is not valid.

    The error in an invalid URL is not reported: a password with a slash in it reads as a port.
    """
    try:
        proxy = urlsplit(url if "://" in url else f"http://{url}")
        # An @ after the host belongs to a password with a slash.
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
