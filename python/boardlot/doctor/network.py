"""The way to the service: its steps up to the service's clock."""

from __future__ import annotations

import functools
import re
import socket
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from boardlot.doctor.findings import Failed, Finding, Skipped, in_words, taken
from boardlot.doctor.sockets import (
    PORTS,
    connected,
    is_address,
    is_this_machine,
    looked_up,
    place_of,
    port_of,
    tunnelled,
)
from boardlot.errors import ApiError, BoardlotError, TransportError

if TYPE_CHECKING:
    from boardlot import Client

__all__ = ["CLOCK_WINDOW", "Network", "clock_offset"]

# Seconds by which a signed request's time may be off (service document, section 8).
CLOCK_WINDOW = 5.0

# The status of a captive portal: RFC 6585, section 6.
NETWORK_LOGIN = 511
HOST_OF_A_LINK = re.compile(r"https?://(?:[^/@\s]*@)?([a-z0-9.:\[\]-]+)", re.IGNORECASE)

SET_CLOCK = {
    "darwin": "Let this machine set its clock by itself (System Settings, Date & Time), or run: "
    "sudo sntp -sS time.apple.com",
    "win32": "Let this machine set its clock by itself, or run as administrator: w32tm /resync",
    "linux": "Let NTP set this machine's clock: sudo timedatectl set-ntp true",
}


class Network:
    """What is known of the way to the service; each step adds to it."""

    def __init__(self, base_url: str, options: dict[str, Any], timeout: float) -> None:
        self.timeout = timeout
        self.proxy: SplitResult | None = None
        # The step that ended the way, if one did.
        self.broken = ""
        self._base_url = base_url
        self._options = options
        self._proxy_url: str | None = options.get("proxy")
        self._addresses: list[tuple[Any, ...]] = []

    def client(self, auth: Any = None) -> Client:
        """A client of this way, which tries once, so that what fails is seen."""
        import boardlot

        return boardlot.Client(
            self._base_url,
            auth=auth,
            timeout=self.timeout,
            connect_timeout=self.timeout,
            max_retries=0,
            **self._options,
        )

    def findings(self) -> Iterator[Finding]:
        for step, take in (
            ("settings", self._settings),
            ("proxy", self._through_proxy),
            ("name", self._name),
            ("connection", self._connection),
            ("TLS", self._tls),
            ("service", self._service),
            ("clock", self._clock),
        ):
            if self.broken:
                yield Finding(step, "skipped", f"not tried: {self.broken} failed")
                continue
            finding = taken(step, take)
            if finding.state == "failed" and step != "clock":
                self.broken = step
            yield finding

    @functools.cached_property
    def asked(self) -> datetime | BoardlotError:
        """The service's time as the client gets it, or why it does not."""
        try:
            return self._client.server_time()
        except BoardlotError as error:
            return error

    def open(self) -> socket.socket:
        """A connection to the service, as the client makes one: directly, or through the proxy."""
        if self.proxy is not None:
            return tunnelled(self.proxy, self.host, self.port, self.timeout)
        return connected(self._addresses, self.timeout)

    def _settings(self) -> str:
        self._client = self.client()
        url = urlsplit(self._client.base_url)
        self.scheme, self.host = url.scheme, url.hostname or ""
        self.port = url.port or PORTS[self.scheme]
        return f"the base URL is {self._client.base_url}"

    def _through_proxy(self) -> str:
        if self._proxy_url is None:
            raise Skipped(*self._unused_proxy())
        if is_this_machine(self.host):
            raise Skipped("none is used for a service on this machine")
        proxy = urlsplit(self._proxy_url)
        place = place_of(proxy)
        advice = "Check the address of the proxy, and whether it is running."
        try:
            addresses = looked_up(proxy.hostname or "", port_of(proxy), self.timeout)
            connected(addresses, self.timeout).close()
        except (OSError, UnicodeError) as error:
            raise Failed(f"there is no connection to {place}: {in_words(error)}", advice) from None
        self.proxy = proxy
        return f"{place} takes connections"

    def _unused_proxy(self) -> tuple[str, str]:
        """What to say where no proxy was given: the environment may name one."""
        from urllib.request import getproxies, proxy_bypass

        named = getproxies()
        unused = named.get(self.scheme) or named.get("all")
        if unused is None or is_this_machine(self.host) or proxy_bypass(self.host):
            return "none was given", ""
        # It may stand there without a scheme, and with a password.
        place = place_of(urlsplit(unused if "://" in unused else f"http://{unused}"))
        return (
            f"none was given; the environment names {place}, which is not used",
            "Where only that leads to the service, give it: --proxy URL, in Python proxy=.",
        )

    def _name(self) -> str:
        if self.proxy is not None:
            raise Skipped(f"the proxy looks {self.host} up")
        try:
            self._addresses = looked_up(self.host, self.port, self.timeout)
        except (OSError, UnicodeError) as error:
            raise Failed(
                f"{self.host} cannot be looked up: {in_words(error)}",
                "Check the host in the base URL, and the DNS of this machine (network, VPN).",
            ) from None
        if is_address(self.host):
            return f"{self.host} is an address: there is nothing to look up"
        return f"{self.host} is {', '.join(address[0] for address in self._addresses)}"

    def _connection(self) -> str:
        if self.proxy is not None and self.proxy.scheme == "https":
            raise Skipped("through a proxy that is spoken to by https it is not tried by itself")
        try:
            with self.open() as way:
                peer = way.getpeername()[0]
        except OSError as error:
            raise Failed(
                f"there is none to {self.host}, port {self.port}: {in_words(error)}",
                advice_on(error, self.proxy),
            ) from None
        if self.proxy is not None:
            return f"the proxy leads to {self.host}, port {self.port}"
        return f"{peer} takes connections at port {self.port}"

    def _tls(self) -> str:
        from boardlot.doctor import certificate

        if self.scheme == "http":
            raise Skipped("http goes to this machine only: nothing is encrypted")
        # What the client says decides: it may trust others than Python's own libraries do.
        refused = self.asked if isinstance(self.asked, TransportError) else None
        if self.proxy is not None and self.proxy.scheme == "https":
            if refused is not None:
                raise Failed(str(refused), advice_on(refused, self.proxy))
            return "the client accepts the certificate, through the proxy"
        if refused is not None:
            certificate.check(self.open, self.host, self._options.get("ca_file"))
            if "certificate" in str(refused):
                raise refused
        try:
            return certificate.seen(self.open, self.host).in_words()
        except OSError as error:
            return f"details of the certificate cannot be read: {in_words(error)}"

    def _service(self) -> str:
        asked = self.asked
        if isinstance(asked, ApiError) and asked.http_status == NETWORK_LOGIN:
            raise _login_page(asked, self.host)
        if isinstance(asked, BoardlotError):
            raise asked
        return f"answers, and has the time {asked.isoformat(timespec='seconds')}"

    def _clock(self) -> str:
        offset = clock_offset(self._client)
        ahead = f"{abs(offset):.3f} s {'behind' if offset > 0 else 'ahead of'} the service's"
        if abs(offset) <= CLOCK_WINDOW:
            return f"this machine's is {ahead}; up to {CLOCK_WINDOW:g} s is allowed"
        platform = sys.platform if sys.platform in SET_CLOCK else "linux"
        raise Failed(
            f"this machine's is {ahead}; signatures are refused beyond {CLOCK_WINDOW:g} s",
            f"{SET_CLOCK[platform]}. Until then each client pays for it with a refused request, "
            "and corrects its signatures by itself.",
        )


def clock_offset(client: Client) -> float:
    """Seconds that the service's clock is ahead of this machine's.

    Args:
        client: A client of the service; it need not have credentials.

    Returns:
        The difference at the midpoint of a round trip, negative where the service is behind.

    Raises:
        BoardlotError: The service did not tell its time.

    Examples:
        >>> from boardlot.doctor import clock_offset
        >>> abs(clock_offset(client)) < 60
        True
    """
    before = time.time()
    service = client.server_time().timestamp()
    return round(service - (before + time.time()) / 2, 3)


def _login_page(error: ApiError, host: str) -> Failed:
    """What HTTP 511 means, with the host of the network's login page where the answer names one."""
    link = error.headers.get("location", "") + " " + error.body
    hosts = [found for found in HOST_OF_A_LINK.findall(link) if not found.startswith(f"{host}:")]
    hosts = [found for found in hosts if found != host]
    place = f"at {hosts[0]}" if hosts else "which it shows for any page"
    return Failed(
        "this network requires a login of its own before it lets anything through (HTTP 511)",
        f"Open the network's login page in a browser, {place}; then run this again.",
    )


def advice_on(error: Exception, proxy: SplitResult | None) -> str:
    if proxy is not None:
        if "407" in str(error) and proxy.username:
            return (
                "The proxy rejects this name and password: correct them. A special character in "
                "them is percent-encoded, such as %40 for @."
            )
        if "407" in str(error):
            return (
                "The proxy requires a name and a password: --proxy http://NAME:PASSWORD@HOST:PORT, "
                "in Python proxy=."
            )
        return "Check the host and the port of the base URL, and what the proxy allows."
    if isinstance(error, ConnectionRefusedError):
        return "Nothing listens there: check the host and the port of the base URL."
    return (
        "Check the network, the VPN and the firewall; perhaps only a proxy leads there (--proxy)."
    )
