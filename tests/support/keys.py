"""The test keys, and the lines that are signed with them (section 5.2)."""

import base64
import hashlib
import json

import boardlot as bl
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from .vectors import VECTORS

KEYS = json.loads((VECTORS / "signing.json").read_text("utf-8"))["keys"]
PRIVATE_PEM = KEYS["ed25519"]["private_pem"]
PUBLIC_PEM = KEYS["ed25519"]["public_pem"]


def api_key(name="ed25519"):
    return bl.ApiKey("key-1", KEYS[name]["private_pem"])


def uploaded_key(sandbox, folder, algorithm="Ed25519"):
    """A new key that the sandbox knows: its id, and the path of the private key in the folder."""
    key = bl.generate_key(algorithm)
    path = folder / "key.pem"
    path.touch(mode=0o600)
    path.write_text(key.private_pem)
    return sandbox.upload_key(key.public_pem), str(path)


def payload_of(received):
    """The five lines of section 5.2, from the raw request line and the raw body."""
    body = hashlib.sha256(received.body).hexdigest() if received.body else ""
    stamp = received.header("X-Timestamp")
    lines = [stamp, received.method, received.path, received.query, body]
    return "\n".join(lines).encode("latin-1")


def verify(signature, payload, public_pem=PUBLIC_PEM):
    """Raises unless the Base64 signature is the key's over the payload (OpenSSL's verdict)."""
    raw = base64.b64decode(signature, validate=True)
    key = load_pem_public_key(public_pem.encode())
    if isinstance(key, Ed25519PublicKey):
        key.verify(raw, payload)
    else:
        key.verify(raw, payload, padding.PKCS1v15(), SHA256())


def assert_signed(received, public_pem=PUBLIC_PEM):
    assert received.header("X-Api-Key") == "key-1"
    verify(received.header("Authorization"), payload_of(received), public_pem)


def secret_of(pem):
    """The 32 secret bytes of an Ed25519 key (RFC 8410), and the text in the PEM that encodes
    them."""
    body = "".join(pem.splitlines()[1:-1])
    der = base64.b64decode(body)
    assert der[12:16] == b"\x04\x22\x04\x20", "the key is not where RFC 8410 puts it"
    text = base64.b64encode(der[18:48]).decode()
    assert text in body
    return der[16:48], text
