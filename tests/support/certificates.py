"""Certificates of the tests' own: an authority, and servers that are right or wrong in one way."""

import datetime
import functools
import ipaddress
import ssl
import tempfile
import warnings
from pathlib import Path

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
STARTS, ENDS = NOW - 60 * DAY, NOW + 30 * DAY
LOOPBACK = ("127.0.0.1", "localhost")


class Authority:
    """A certificate authority with its own folder; `ca_file` is its certificate."""

    def __init__(self, name="The tests' authority"):
        self._folder = tempfile.TemporaryDirectory(prefix="boardlot-certificates-")
        self.folder = Path(self._folder.name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = named(name)
        self._certificate = signed(
            self._name, self._name, self._key.public_key(), self._key, authority=True
        )
        self.ca_file = str(self._written("ca", pem_of(self._certificate)))

    def _written(self, name, data):
        path = self.folder / f"{name}.pem"
        path.write_bytes(data)
        return path

    def context(
        self,
        names=LOOPBACK,
        *,
        subject=None,
        starts=STARTS,
        ends=ENDS,
        self_signed=False,
        version=None,
    ):
        """A server's TLS context with a certificate for `names`."""
        key = ec.generate_private_key(ec.SECP256R1())
        own = named(subject or names[0])
        issuer, signer = (own, key) if self_signed else (self._name, self._key)
        certificate = signed(issuer, own, key.public_key(), signer, names, starts, ends)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path = self._written(f"server-{id(key)}", private + pem_of(certificate))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if version is not None:
            context.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = context.maximum_version = version
        context.load_cert_chain(path)
        return context


def named(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def signed(
    issuer, subject, public_key, signer, names=(), starts=STARTS, ends=ENDS, *, authority=False
):
    builder = (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(starts)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(authority, None), critical=True)
    )
    if names:
        alternatives = x509.SubjectAlternativeName([alternative(name) for name in names])
        builder = builder.add_extension(alternatives, critical=False)
    return builder.sign(signer, SHA256())


def alternative(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def pem_of(certificate):
    return certificate.public_bytes(Encoding.PEM)


@functools.cache
def authority():
    """The one authority that the tests trust."""
    return Authority()


def bad_contexts():
    """Three servers that nobody may trust: the TLS faults."""
    return {
        "expired": authority().context(ends=NOW - DAY),
        "self-signed": authority().context(self_signed=True),
        "wrong host": authority().context(("example.com",)),
    }
