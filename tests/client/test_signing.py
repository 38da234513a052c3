"""Section 5.2 from Python: every vector, and any payload against another implementation."""

import base64
import json
from pathlib import Path

import boardlot as bl
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ed25519, padding
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_pem_public_key,
)
from hypothesis import given, settings
from hypothesis import strategies as st

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "signing.json").read_text())
KEYS = VECTORS["keys"]


def api_key(name):
    key = KEYS[name]
    return bl.ApiKey("app-key", key["private_pem"], password=key.get("password"))


def verify(public_pem, signature, payload):
    key = load_pem_public_key(public_pem.encode())
    raw = base64.b64decode(signature, validate=True)
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(raw, payload)
    else:
        key.verify(raw, payload, padding.PKCS1v15(), SHA256())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_a_case_has_the_payload_and_the_signatures_of_the_vectors(case):
    body = base64.b64decode(case["body_base64"])
    payload = bl.signature_payload(
        case["timestamp_ms"], case["method"], case["path"], case["query"], body
    )
    assert payload == case["payload"].encode()
    assert api_key("ed25519").sign(payload) == case["ed25519"]
    assert api_key("rsa2048_pkcs8").sign(payload) == case["rsa2048"]


@pytest.mark.parametrize("name", KEYS)
def test_a_key_is_read_from_text_bytes_and_path(name, tmp_path):
    key = KEYS[name]
    path = tmp_path / "key.pem"
    path.touch(mode=0o600)
    path.write_text(key["private_pem"])
    for given_as in (key["private_pem"], key["private_pem"].encode(), path, str(path)):
        read = bl.ApiKey("app-key", given_as, password=key.get("password"))
        assert read.algorithm == key["algorithm"]
        assert read.public_key_pem() == key["public_pem"]
        assert key["private_pem"] not in repr(read)


@settings(deadline=None)
@given(
    timestamp=st.integers(0, 2**62),
    method=st.sampled_from(["GET", "POST", "get"]),
    path=st.from_regex(r"/[!-~]{0,40}", fullmatch=True),
    query=st.from_regex(r"[!-~]{0,60}", fullmatch=True),
    body=st.binary(max_size=200),
    name=st.sampled_from(["ed25519", "rsa2048_pkcs1"]),
)
def test_any_payload_is_signed_as_another_implementation_verifies_it(
    timestamp, method, path, query, body, name
):
    payload = bl.signature_payload(timestamp, method, path, query, body)
    assert payload.count(b"\n") == 4
    signature = api_key(name).sign(payload)
    verify(KEYS[name]["public_pem"], signature, payload)
    with pytest.raises(InvalidSignature):
        verify(KEYS[name]["public_pem"], signature, payload + b"\n")


@pytest.mark.parametrize(("algorithm", "bits"), [("Ed25519", 3072), ("RSA-SHA256", 2048)])
def test_a_new_key_signs_and_can_be_read_again(algorithm, bits):
    made = bl.generate_key(algorithm, bits=bits)
    key = bl.ApiKey("app-key", made.private_pem)
    assert key.algorithm == algorithm
    assert key.public_key_pem() == made.public_pem
    verify(made.public_pem, key.sign(b"payload"), b"payload")
    assert load_pem_private_key(made.private_pem.encode(), None)
    assert made.private_pem not in repr(made)


def test_unknown_algorithms_and_small_keys_are_refused():
    with pytest.raises(bl.ConfigError, match="algorithm"):
        bl.generate_key("DSA")
    with pytest.raises(bl.ConfigError, match="bits"):
        bl.generate_key("RSA-SHA256", bits=1024)
