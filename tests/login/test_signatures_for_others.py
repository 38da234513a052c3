"""Section 5.2, signed for the HTTP clients of other authors.

What each of them sent is verified, byte for byte, with another implementation (`cryptography`).
"""

import io
import random

import boardlot as bl
import boardlot.auth
import pytest
import requests

from ..support.keys import KEYS, PRIVATE_PEM, api_key, assert_signed
from ..support.service import StandInService, response
from .libraries import LIBRARIES, send

libraries = pytest.mark.parametrize("library", LIBRARIES)
OK = response({"ret_code": 0})
# What some library encodes, shortens or writes in another way before it sends it.
TARGETS = [
    "/api/v1.0/server-time",
    "",
    "?a=1",
    "/a?",
    "/a?b=2&a=1&b=1",
    "/a?x=%2f%2F%c3%a4",
    "/a?x=ä&y=名",
    "/ä/b c?q=d e",
    "/a?x=a+b%20c",
    "/a?ids[]=1&ids[]=2",
    '/a?x=|^`{}"<>\\',
    "/a'(b)!*;,:@&=+$?x='()!*;,:@/?",
    "/a/../b/./c",
    "/a//b///",
    "//a//b",
    "/%7Euser/~user",
    "/100%?x=50%",
    "/%2e%2e/b",
    "/a?x=1#fragment?y=2",
    "/a;b=c?x;y",
    "/a?%",
    "/a%00b%0a?x=%0d%0a",
]
BODIES = [
    {"data": b'{"b": 1, "a": 2.0}\n'},
    {"data": b"\x00\xff not JSON"},
    {"data": "text: ä 名"},
    {"data": b""},
    {"json": {"limit": 50, "next_key": "ä"}},
    {},
]
ODD = [
    *("a", "b", "/", "/", "//", ".", "..", "/./", "/../", " ", "+", "~", "_", "-", "?", "?", "#"),
    *(
        "!",
        "'",
        "(",
        ")",
        "*",
        ";",
        ":",
        "@",
        "&",
        "=",
        "$",
        ",",
        "[",
        "]",
        "|",
        "^",
        "`",
        "{",
        "}",
    ),
    *('"', "<", ">", "\\", "%", "%2F", "%2f", "%20", "%zz", "%00", "%0a", "%7E", "%e4", "%2E%2e"),
    *("ä", "名", "🚀", "\u00a0", "a\u0308", "ids[]=1", "&b=2", "x=%2B"),
]


@libraries
@pytest.mark.parametrize("target", TARGETS)
def test_the_url_that_is_sent_is_the_one_that_is_signed(library, target):
    with StandInService([OK]) as server:
        try:
            reply = LIBRARIES[library](api_key(), "GET", server.base_url + target)
        except bl.ConfigError as error:
            # A segment of dots that the library leaves to others.
            assert "%2e" in target and "url" in str(error)
            assert not server.received
            return
    assert reply.status == 200
    (received,) = server.received
    assert_signed(received)


@libraries
@pytest.mark.parametrize("body", BODIES, ids=repr)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_the_bytes_that_are_sent_are_those_that_are_signed(library, method, body):
    with StandInService([OK]) as server:
        assert LIBRARIES[library](api_key(), method, f"{server.base_url}/x", **body).status == 200
    (received,) = server.received
    assert received.method == method
    assert_signed(received)


@libraries
def test_keys_of_both_algorithms_sign(library):
    with StandInService([OK]) as server:
        LIBRARIES[library](api_key("rsa2048_pkcs8"), "GET", f"{server.base_url}/x?y=1")
    assert_signed(server.received[0], KEYS["rsa2048_pkcs8"]["public_pem"])


@libraries
@pytest.mark.parametrize(
    "body", [io.BytesIO(b"a file"), iter([b"a", b"generator"])], ids=["file", "generator"]
)
def test_a_streamed_body_is_refused_before_anything_is_sent(library, body):
    if library.startswith("async") or (library == "aiohttp" and not isinstance(body, io.BytesIO)):

        async def parts():
            yield b"a generator"

        body = parts()
    with StandInService([OK]) as server, pytest.raises(bl.ConfigError, match="streamed"):
        LIBRARIES[library](api_key(), "POST", f"{server.base_url}/x", data=body)
    assert not server.received


@libraries
def test_each_request_has_a_nonce_and_a_time_of_its_own(library):
    with StandInService([OK] * 3) as server:
        for _ in range(3):
            LIBRARIES[library](api_key(), "GET", f"{server.base_url}/x")
    nonces = {received.header("X-Nonce") for received in server.received}
    assert len(nonces) == 3


@libraries
def test_a_redirect_that_is_not_followed_is_a_response(library):
    to = response(b"", 302, {"Location": "/elsewhere"})
    with StandInService([to]) as server:
        reply = LIBRARIES[library](api_key(), "GET", f"{server.base_url}/x", redirects=False)
    assert reply.status == 302


@libraries
def test_security_59_no_key_is_in_an_object_of_a_library(library):
    with StandInService([OK]) as server:
        reply = LIBRARIES[library](api_key(), "GET", f"{server.base_url}/x")
    assert not any(line in reply.shown for line in PRIVATE_PEM.splitlines()[1:-1])


@libraries
# All odd parts are in the first 100, and each method with each body.
@pytest.mark.parametrize("number", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_odd_urls_and_bodies_are_signed_as_they_are_sent(library, number):
    draw = random.Random(59)
    calls = [
        (
            draw.choice(["GET", "POST", "PUT", "DELETE"]),
            "/" + "".join(draw.choices(ODD, k=draw.randrange(12))),
            draw.choice(BODIES),
        )
        for _ in range(number)
    ]
    with StandInService(lambda _: OK) as server:
        urls = [(method, server.base_url + target, body) for method, target, body in calls]
        assert send(library, api_key(), urls) == [200] * number
    assert len(server.received) == number
    for received in server.received:
        assert_signed(received)


def test_the_clock_of_a_client_corrects_the_time():
    with bl.Sandbox(seed=7, clock_offset=3_600) as sandbox, sandbox.client() as client:
        client.sim_positions("5001")
        key = sandbox.api_key()
        url = f"{sandbox.base_url}/api/v1.0/sim-trade/5001/positions"
        wrong = requests.get(url, auth=boardlot.auth.requests(key), timeout=60)
        assert wrong.json()["ret_code"] == -12006
        auth = boardlot.auth.requests(key, client=client)
        assert requests.get(url, auth=auth, timeout=60).json()["ret_code"] == 0
        headers = key.headers("GET", url, clock=client)
        assert requests.get(url, headers=headers, timeout=60).json()["ret_code"] == 0


def test_headers_are_the_four_of_the_document_and_new_each_time():
    key = api_key()
    first, second = (key.headers("get", "https://h/a?b=1", b"body") for _ in range(2))
    assert list(first) == ["X-Api-Key", "Authorization", "X-Timestamp", "X-Nonce"]
    assert first["X-Api-Key"] == "key-1"
    assert first["X-Nonce"] != second["X-Nonce"]
    payload = bl.signature_payload(int(first["X-Timestamp"]), "GET", "/a", "b=1", b"body")
    assert key.sign(payload) == first["Authorization"], "Ed25519 signatures are deterministic"


@pytest.mark.parametrize("url", ["/a", "https://h/ä", "https://h/a b", "https://h/../a", 7, None])
def test_a_url_that_would_be_sent_otherwise_is_refused(url):
    with pytest.raises((bl.ConfigError, TypeError), match="url"):
        api_key().headers("GET", url)


@pytest.mark.parametrize("adapter", ["requests", "httpx", "aiohttp"])
@pytest.mark.parametrize("credentials", [None, "key", b"token", object()])
def test_other_credentials_are_refused(adapter, credentials):
    with pytest.raises(bl.ConfigError, match="credentials are of type"):
        getattr(boardlot.auth, adapter)(credentials)


def test_aiohttp_does_not_compress_what_is_signed():
    with StandInService([OK]) as server, pytest.raises(bl.ConfigError, match="compress"):
        LIBRARIES["aiohttp"](api_key(), "POST", f"{server.base_url}/x", data=b"b", compress=True)
    assert not server.received
