"""The cost of one signature of the five lines, from Python, as the text of the header."""

from __future__ import annotations

import base64

from .harness import Row, Settings, interleave, kept

PATH = "/api/v1.0/accounts/281756/fills_history"
QUERY = "trd_market=HK&start=1780000000000000&end=1787000000000000&page_flag=&page_size=50"


def rows(settings: Settings) -> list[Row]:
    return [ed25519(settings), rsa(settings)]


def ed25519(settings: Settings) -> Row:
    import boardlot as bl
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )
    from nacl.signing import SigningKey

    pyca = Ed25519PrivateKey.generate()
    raw = pyca.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    pem = pyca.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    sign, nacl = bl.ApiKey("app-1", pem).sign, SigningKey(raw)
    payload = bl.signature_payload(1_790_000_000_000, "GET", PATH, QUERY)
    encoded = base64.b64encode
    contenders = {
        "boardlot": lambda: sign(payload),
        "PyNaCl": lambda: encoded(nacl.sign(payload).signature).decode(),
        "pyca/cryptography": lambda: encoded(pyca.sign(payload)).decode(),
    }
    if len({work() for work in contenders.values()}) != 1:
        raise RuntimeError("the signatures differ")
    return Row(
        "Ed25519 signature",
        "the five lines of a request, signed, in Base64",
        "µs",
        interleave(contenders, settings.rounds, settings.pick(0.5, 0.15)),
        [
            kept("boardlot", "PyNaCl", 2.49),
            kept("boardlot", "pyca/cryptography", 3.35),
        ],
    )


def rsa(settings: Settings) -> Row:
    import boardlot as bl
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    pem = bl.generate_key("RSA-SHA256", bits=2048).private_pem
    pyca = load_pem_private_key(pem.encode(), None)
    scheme, digest = padding.PKCS1v15(), hashes.SHA256()
    sign = bl.ApiKey("app-1", pem).sign
    payload = bl.signature_payload(1_790_000_000_000, "GET", PATH, QUERY)
    contenders = {
        "boardlot": lambda: sign(payload),
        "pyca/cryptography": lambda: base64.b64encode(pyca.sign(payload, scheme, digest)).decode(),
    }
    if len({work() for work in contenders.values()}) != 1:
        raise RuntimeError("the signatures differ")
    return Row(
        "RSA-2048 signature",
        "the same lines, SHA-256 with PKCS#1 v1.5",
        "µs",
        interleave(contenders, settings.rounds, settings.pick(0.8, 0.3)),
        [kept("boardlot", "pyca/cryptography", 1.01)],
    )
