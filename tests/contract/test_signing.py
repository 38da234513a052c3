"""Section 5.2 from Python: any payload, against another implementation; any URL and body."""

import hashlib
from urllib.parse import parse_qsl, urlsplit

import boardlot as bl
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hypothesis import given, settings, strategies as st

from ..support.keys import KEYS, api_key, verify


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
    digest = hashlib.sha256(body).hexdigest() if body else ""
    assert payload.decode().split("\n") == [str(timestamp), method.upper(), path, query, digest]
    signature = api_key(name).sign(payload)
    verify(signature, payload, KEYS[name]["public_pem"])
    with pytest.raises(InvalidSignature):
        verify(signature, payload + b"\n", KEYS[name]["public_pem"])


@pytest.mark.parametrize(("algorithm", "bits"), [("Ed25519", 3072), ("RSA-SHA256", 2048)])
def test_a_new_key_signs_and_can_be_read_again(algorithm, bits):
    made = bl.generate_key(algorithm, bits=bits)
    key = bl.ApiKey("app-key", made.private_pem)
    assert key.algorithm == algorithm
    assert key.public_key_pem() == made.public_pem
    verify(key.sign(b"payload"), b"payload", made.public_pem)
    assert load_pem_private_key(made.private_pem.encode(), None)
    assert made.private_pem not in repr(made)


CLIENT = bl.Client("https://127.0.0.1:1/gateway", auth=api_key(), max_retries=0)
PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(deadline=None)
@given(query=st.lists(st.tuples(PLAIN, PLAIN), max_size=6))
def test_the_signed_query_is_the_one_sent_and_means_what_was_given(query):
    explained = CLIENT.explain("GET", "/api/v1.0/any", query)
    sent = urlsplit(explained.url)
    assert explained.payload_lines[2:4] == [sent.path, sent.query]
    assert sent.path == "/gateway/api/v1.0/any"
    assert parse_qsl(sent.query, keep_blank_values=True) == query
