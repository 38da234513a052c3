"""The service's certificate: what it says, and why it is rejected."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from datetime import datetime, timezone
from os import PathLike
from typing import Any, NamedTuple

from boardlot._support import hints
from boardlot.doctor.findings import Failed, reason_of

Connect = Callable[[], socket.socket]

# Error codes of OpenSSL, which Python has no names for.
NOT_YET_VALID, EXPIRED = 9, 10
SELF_SIGNED = 18
UNKNOWN_ISSUER = (2, 19, 20, 21)
WRONG_HOST = (62, 64)
NO_CHECK_TIME = 0x200000

NOT_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
TOO_OLD = {"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION"}


class Certificate(NamedTuple):
    """What a service's certificate says."""

    version: str
    not_before: datetime
    not_after: datetime
    issuer: str
    names: tuple[str, ...]

    def summary(self) -> str:
        days = (self.not_after - datetime.now(timezone.utc)).days
        return (
            f"{self.version}; the certificate expires {self.not_after:%Y-%m-%d} (in {days:,} "
            f"days), its issuer is {self.issuer}"
        )


def read_certificate(connect: Connect, host: str) -> Certificate:
    """What the certificate says, trusted or not. Nothing is sent over these connections."""
    unchecked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    with _handshake(unchecked, connect, host) as connection:
        der = connection.getpeercert(binary_form=True)
    assert der is not None
    # Python parses only a certificate that it has verified: here against itself, at any date.
    pinned = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    pinned.check_hostname = False
    pinned.load_verify_locations(cadata=der)
    pinned.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN | NO_CHECK_TIME
    with _handshake(pinned, connect, host) as connection:
        fields: dict[str, Any] = connection.getpeercert() or {}
        version = connection.version() or "TLS"
    return Certificate(
        version=version.replace("TLSv", "TLS "),
        not_before=_time(fields["notBefore"]),
        not_after=_time(fields["notAfter"]),
        issuer=_name(fields.get("issuer", ())),
        names=tuple(name for _, name in fields.get("subjectAltName", ())),
    )


def check(connect: Connect, host: str, ca_file: str | PathLike[str] | None) -> None:
    """Explain why the service is not trusted, if Python's own libraries find a reason.

    Raises:
        Failed: The reason, and what to do.
    """
    context = ssl.create_default_context()
    # Python 3.13 is stricter than the client.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    try:
        _handshake(context, connect, host).close()
    except ssl.SSLCertVerificationError as error:
        raise _rejected(error, read_certificate(connect, host), host) from None
    except OSError as error:
        raise _handshake_failed(error) from None


def _handshake(context: ssl.SSLContext, connect: Connect, host: str) -> ssl.SSLSocket:
    with connect() as connection:
        return context.wrap_socket(connection, server_hostname=host)


def _rejected(error: ssl.SSLCertVerificationError, found: Certificate, host: str) -> Failed:
    code = error.verify_code
    if code == EXPIRED:
        return Failed(
            f"the certificate expired {found.not_after:%Y-%m-%d %H:%M} UTC; its issuer is "
            f"{found.issuer}",
            hints.CERTIFICATE_EXPIRED,
        )
    if code == NOT_YET_VALID:
        return Failed(
            f"the certificate is not valid before {found.not_before:%Y-%m-%d %H:%M} UTC",
            hints.CHECK_DATE,
        )
    if code in WRONG_HOST:
        names = ", ".join(found.names) or "no host"
        return Failed(f"the certificate is for {names}, not for {host}", hints.CHECK_HOST)
    if code == SELF_SIGNED:
        return Failed(f"the certificate is self-signed ({found.issuer})", hints.UNTRUSTED_ISSUER)
    if code in UNKNOWN_ISSUER:
        return Failed(
            f"the certificate's issuer, {found.issuer}, is not trusted", hints.UNTRUSTED_ISSUER
        )
    return Failed(f"the certificate is rejected: {error.verify_message}", hints.UNTRUSTED_ISSUER)


def _handshake_failed(error: OSError) -> Failed:
    reason = getattr(error, "reason", None)
    if reason in NOT_TLS:
        return Failed("the server there does not speak TLS", hints.NOT_TLS)
    if reason in TOO_OLD:
        return Failed("the server there does not support TLS 1.2 or newer", hints.OLD_TLS)
    return Failed(f"the TLS handshake failed: {reason_of(error)}", hints.NO_TLS_CONNECTION)


def _time(text: str) -> datetime:
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(text), timezone.utc)


def _name(parts: Any) -> str:
    """The common name of a distinguished name, otherwise its organization."""
    fields = {name: value for part in parts for name, value in part}
    name = fields.get("commonName") or fields.get("organizationName") or "not named"
    return str(name)
