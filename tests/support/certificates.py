"""The tests' certificate authority, and servers that are right or wrong in one way.

The authority's certificate is a file beside this one; `python -m tests.support.certificates` writes
it again.
"""

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
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
STARTS, ENDS = NOW - 60 * DAY, NOW + 30 * DAY
CERTIFICATE = Path(__file__).with_name("authority.pem")


class Authority:
    """The authority that tests trust by `ca_file`; with another `key`, one that nobody trusts."""

    ca_file = str(CERTIFICATE)

    def __init__(self, key=1):
        self._key = ec.derive_private_key(key, ec.SECP256R1())
        self._name = named("The tests' authority")

    def context(
        self,
        names=("127.0.0.1", "localhost"),
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
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if version is not None:
            context.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = context.maximum_version = version
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "server.pem"
            path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
            context.load_cert_chain(path)
        return context

    def files(self, folder, names=("127.0.0.1", "localhost")):
        """The paths of a new server's certificate and of its key, in this folder."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = signed(self._name, named(names[0]), key.public_key(), self._key, names)
        paths = folder / "server.crt", folder / "server.key"
        paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
        paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return paths

    def certificate(self):
        """The certificate of `ca_file`, which is valid on every machine, whatever its clock
        says."""
        starts, ends = (datetime.datetime(year, 1, 1) for year in (2000, 2099))
        key = self._key.public_key()
        return signed(self._name, self._name, key, self._key, (), starts, ends, authority=True)


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


@functools.cache
def authority():
    return Authority()


def bad_contexts():
    """TLS contexts of three servers that nobody may trust."""
    return {
        "expired": authority().context(ends=NOW - DAY),
        "self-signed": authority().context(self_signed=True),
        "wrong host": authority().context(("example.com",)),
    }


if __name__ == "__main__":
    CERTIFICATE.write_bytes(authority().certificate().public_bytes(Encoding.PEM))
