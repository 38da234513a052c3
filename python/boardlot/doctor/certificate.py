"""The service's certificate: what it says, and why it is refused."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from datetime import datetime, timezone
from os import PathLike
from typing import Any, NamedTuple

from boardlot.doctor.findings import Failed, in_words

__all__ = ["Certificate", "check", "seen"]

Open = Callable[[], socket.socket]

# Codes of OpenSSL, whose names Python lacks.
NOT_YET_VALID, EXPIRED = 9, 10
SELF_SIGNED = 18
NO_KNOWN_ISSUER = (2, 19, 20, 21)
WRONG_HOST = (62, 64)
NO_CHECK_TIME = 0x200000

NO_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
TOO_OLD = {"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION"}


class Certificate(NamedTuple):
    """What a service's certificate says."""

    version: str
    starts: datetime
    ends: datetime
    issuer: str
    names: tuple[str, ...]

    def in_words(self) -> str:
        days = (self.ends - datetime.now(timezone.utc)).days
        return (
            f"{self.version}; the certificate ends {self.ends:%Y-%m-%d} (in {days:,} days), its "
            f"issuer is {self.issuer}"
        )


def seen(open_way: Open, host: str) -> Certificate:
    """What the certificate says, trusted or not. Nothing is sent over these connections."""
    unchecked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    with _handshake(unchecked, open_way, host) as shaken:
        der = shaken.getpeercert(binary_form=True)
    assert der is not None
    # Python reads only what it has verified: here against itself, whatever the date.
    pinned = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    pinned.check_hostname = False
    pinned.load_verify_locations(cadata=der)
    pinned.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN | NO_CHECK_TIME
    with _handshake(pinned, open_way, host) as shaken:
        told: dict[str, Any] = shaken.getpeercert() or {}
        version = shaken.version() or "TLS"
    return Certificate(
        version=version.replace("TLSv", "TLS "),
        starts=_moment(told["notBefore"]),
        ends=_moment(told["notAfter"]),
        issuer=_name(told.get("issuer", ())),
        names=tuple(name for _, name in told.get("subjectAltName", ())),
    )


def check(open_way: Open, host: str, ca_file: str | PathLike[str] | None) -> None:
    """Says why the service is not trusted, if Python's own libraries find a reason.

    Raises:
        Failed: The reason, and what to do.
    """
    context = ssl.create_default_context()
    # Python 3.13 is stricter than the client.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    try:
        _handshake(context, open_way, host).close()
    except ssl.SSLCertVerificationError as error:
        raise _refused(error, seen(open_way, host), host) from None
    except OSError as error:
        raise _no_handshake(error) from None


def _handshake(context: ssl.SSLContext, open_way: Open, host: str) -> ssl.SSLSocket:
    with open_way() as way:
        return context.wrap_socket(way, server_hostname=host)


def _refused(error: ssl.SSLCertVerificationError, shown: Certificate, host: str) -> Failed:
    code = error.verify_code
    if code == EXPIRED:
        return Failed(
            f"the certificate ended {shown.ends:%Y-%m-%d %H:%M} UTC; its issuer is {shown.issuer}",
            "The service has to renew it, unless this machine's date is wrong.",
        )
    if code == NOT_YET_VALID:
        return Failed(
            f"the certificate begins {shown.starts:%Y-%m-%d %H:%M} UTC only",
            "Check this machine's date.",
        )
    if code in WRONG_HOST:
        return Failed(
            f"the certificate is for {', '.join(shown.names) or 'no host'}, not for {host}",
            "Check the host in the base URL; if it is right, somebody else answers in its place.",
        )
    foreign = (
        "If it is that of your network's proxy or of your own server, give its certificate: "
        "--ca-file FILE, in Python ca_file=. Otherwise somebody else answers in its place."
    )
    if code == SELF_SIGNED:
        return Failed(f"the certificate is signed by itself ({shown.issuer})", foreign)
    if code in NO_KNOWN_ISSUER:
        return Failed(f"the certificate's issuer, {shown.issuer}, is not trusted", foreign)
    return Failed(f"the certificate is refused: {error.verify_message}", foreign)


def _no_handshake(error: OSError) -> Failed:
    reason = getattr(error, "reason", None)
    if reason in NO_TLS:
        return Failed(
            "what answers there speaks no TLS", "Check the port of the base URL, and the proxy."
        )
    if reason in TOO_OLD:
        return Failed(
            "what answers there knows no TLS 1.2 or newer", "The service has to be updated."
        )
    return Failed(
        f"there is no TLS connection: {in_words(error)}",
        "Check the port of the base URL; a firewall or proxy may be cutting the connection.",
    )


def _moment(text: str) -> datetime:
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(text), timezone.utc)


def _name(parts: Any) -> str:
    """The common name, else the organization, of a distinguished name."""
    facts = {name: value for part in parts for name, value in part}
    name = facts.get("commonName") or facts.get("organizationName") or "nobody"
    return str(name)
