"""Key files of others: test vectors, and random layouts that OpenSSL reads or refuses."""

import random
import subprocess
from pathlib import Path

import boardlot as bl
import cryptography_vectors
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_private_key,
    load_pem_private_key,
)

VECTORS = Path(cryptography_vectors.__file__).parent / "asymmetric"
PASSWORDS = [None, "password", "baz", "a123456", "123456", "foobar"]
# Keys that others read and boardlot refuses; each message says why, or how to convert the file.
DECIDED = ["under 2048 bits", "convert it with", "Convert it with", "algorithm RSASSA-PSS"]


def judged(content):
    """The private key and its password, as the package `cryptography` reads it."""
    for password in PASSWORDS:
        for load in (load_pem_private_key, load_der_private_key):
            try:
                return load(content, password and password.encode()), password
            except Exception:  # It raises a dozen classes.
                continue
    return None, None


def public_pem(key):
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@pytest.mark.filterwarnings("ignore")  # Of cryptography, about the weak keys among its vectors.
def test_test_vectors_are_read_or_named():
    read = 0
    for path in sorted(VECTORS.glob("**/*.*")):
        content = path.read_bytes()
        if path.suffix not in (".pem", ".der", ".key") or not content:
            continue
        expected, password = judged(content)
        is_supported = isinstance(expected, (RSAPrivateKey, Ed25519PrivateKey))
        try:
            key = bl.ApiKey("id", content, password=password)
        except bl.ConfigError as error:
            refused = str(error)
            assert not is_supported or any(why in refused for why in DECIDED), (path, refused)
            continue
        assert is_supported, path
        assert key.public_key_pem() == public_pem(expected), path
        read += 1
    assert read >= 6


CHANGES = [
    *("\n", "\r\n", "\r", " ", "\t", "\n\n", "\x0c", "\ufeff", "\0"),
    *("-", "=", "A", "é", ":", "-----"),
    *("\n-----END PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\n", "Proc-Type: 4\n\n"),
]


def changed(pem, chance):
    """The PEM text in other columns, with texts around it, and with up to two changes."""
    first, *body, last = pem.strip().splitlines()
    width = chance.choice([1, 4, 5, 63, 64, 76, 1_000])
    body = "".join(body)
    lines = [body[at : at + width] for at in range(0, len(body), width)]
    text = chance.choice(["\n", "\n", "\r\n", " \n"]).join([first, *lines, last])
    text = chance.choice(["", "", "name: é\n", "\n"]) + text + chance.choice(["", "\n", "\nend"])
    for _ in range(chance.randrange(3)):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(CHANGES) + text[at + chance.randrange(2) :]
    return text


def test_random_layouts_that_openssl_reads_are_read():
    chance = random.Random(7)
    pem = bl.generate_key().private_pem
    expected = bl.ApiKey("id", pem).public_key_pem()
    outcomes = []
    for _ in range(120):
        text = changed(pem, chance)
        openssl = subprocess.run(
            ["openssl", "pkey", "-pubout"], input=text.encode(), capture_output=True, check=False
        )
        try:
            key = bl.ApiKey("id", text).public_key_pem()
        except bl.ConfigError:
            key = None
        outcomes.append((openssl.returncode, key))
        if openssl.returncode == 0:
            assert key == openssl.stdout.decode(), text
        # RFC 7468: what OpenSSL refuses for its layout may be read, but as no other key.
        assert key in (None, expected, openssl.stdout.decode()), text
    assert len({(code, key is None) for code, key in outcomes}) >= 2
