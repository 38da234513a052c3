"""`boardlot.auth` in other HTTP clients: proxies, retries, redirects, copies, caches, mocks."""

import asyncio
import copy
import dataclasses
import pickle
import socket
from email.utils import formatdate

import aiohttp
import boardlot as bl
import boardlot.auth
import cachecontrol
import httpx
import httpx2
import pytest
import requests
from cryptography.exceptions import InvalidSignature
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import Retry

from ..support.certificates import authority
from ..support.keys import api_key, assert_signed, uploaded_key
from ..support.proxy import Proxy
from ..support.service import StandInService, response
from .libraries import LIBRARIES, send

libraries = pytest.mark.parametrize("library", LIBRARIES)
httpx_libraries = pytest.mark.parametrize("library", [httpx, httpx2])
OK = response({"ret_code": 0})
BUSY = response(b"busy", 503)
NAME = "service.invalid"
POSITIONS = "/api/v1.0/sim-trade/5001/positions"
CALLS = [
    ("GET", "/gateway/x?a=1&b=%2f", {}),
    ("POST", "/gateway/x", {"data": b"body"}),
    ("PUT", "/gateway/x?y", {"json": {"a": "ä"}}),
]


class Signed:
    """The script of a service that takes each nonce once, after these first responses."""

    def __init__(self, *first):
        self.first, self.nonces = list(first), set()

    def __call__(self, request):
        nonce = request.header("X-Nonce")
        is_new = nonce not in self.nonces
        self.nonces.add(nonce)
        if self.first:
            return self.first.pop(0)
        return OK if is_new and is_signed(request) else response({"ret_code": -1}, 401)


def is_signed(request):
    if request.header("Authorization") is None:
        return False
    try:
        assert_signed(request)
    except InvalidSignature:
        return False
    return True


def targets(server):
    return [received.target for received in server.received]


# Proxies


@libraries
@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_service_behind_a_proxy_is_asked_by_connect(library, way, monkeypatch):
    with (
        StandInService(Signed(), context=authority().context((NAME,))) as server,
        Proxy(tunnels={f"{NAME}:443": server.port}) as proxy,
    ):
        given = proxied(way, f"http://127.0.0.1:{proxy.port}", "HTTPS_PROXY", monkeypatch)
        calls = [(method, f"https://{NAME}{target}", body) for method, target, body in CALLS]
        assert send(library, api_key(), calls, ca_file=authority().ca_file, **given) == [200] * 3
    assert proxy.asked
    assert {line.split()[0] for line in proxy.asked} == {"CONNECT"}
    for received in server.received:
        assert_signed(received)


@libraries
@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_plain_service_behind_a_proxy_gets_what_was_signed(library, way, monkeypatch):
    with StandInService([OK] * 3) as proxy:
        given = proxied(way, proxy.base_url, "HTTP_PROXY", monkeypatch)
        calls = [(method, f"http://{NAME}{target}", body) for method, target, body in CALLS]
        assert send(library, api_key(), calls, **given) == [200] * 3
    assert len(proxy.received) == 3
    for received in proxy.received:
        assert received.target.startswith(f"http://{NAME}/gateway/x")
        # A proxy passes on the path and the query.
        passed_on = dataclasses.replace(received, line=received.line.replace(f"http://{NAME}", ""))
        assert_signed(passed_on)


def proxied(way, address, variable, monkeypatch):
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    # requests prefers the latter two to `verify` of a session.
    for name in (*proxies, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    if way == "argument":
        return {"proxy": address}
    # CPython ignores HTTP_PROXY, but not http_proxy, in a CGI script.
    monkeypatch.setenv(variable.lower(), address)
    return {"environment": True}


# Addresses


class OnIPv6(StandInService):
    def listen(self, port=0):
        self._listener = socket.create_server(("::1", port), family=socket.AF_INET6)
        self.port, self._is_listening = self._listener.getsockname()[1], True
        self._acceptor = self._start(self._accept)

    def stop_listening(self):
        self._is_listening = False
        socket.create_connection(("::1", self.port)).close()
        self._acceptor.join()
        self._listener.close()


@libraries
@pytest.mark.parametrize("credentials", [api_key, lambda: bl.BearerToken("a-secret-token")])
def test_an_ipv6_address_is_a_service_like_others(library, credentials):
    with OnIPv6([OK]) as server:
        url = f"http://[::1]:{server.port}/x?y=1"
        assert send(library, credentials(), [("GET", url, {})]) == [200]
    if credentials is api_key:
        assert_signed(server.received[0])
    else:
        assert server.received[0].header("Authorization") == "Bearer a-secret-token"


@httpx_libraries
def test_a_base_url_of_httpx_may_have_a_path(library):
    auth = boardlot.auth.httpx(api_key())
    with (
        StandInService(Signed()) as server,
        library.Client(auth=auth, base_url=f"{server.base_url}/gateway/") as client,
    ):
        assert client.get("/x", params={"a": "1 2"}).status_code == 200
    assert targets(server) in (["/gateway/x?a=1+2"], ["/gateway/x?a=1%202"])


def test_a_base_url_of_aiohttp_may_have_a_path():
    async def main(base_url):
        auth = boardlot.auth.aiohttp(api_key())
        options = {"middlewares": [auth], "base_url": f"{base_url}/gateway/"}
        async with aiohttp.ClientSession(**options) as session, session.get("x?a=1") as got:
            return got.status

    with StandInService(Signed()) as server:
        assert asyncio.run(main(server.base_url)) == 200
    assert targets(server) == ["/gateway/x?a=1"]


# Retries and redirects


def test_what_urllib3_sends_again_is_signed_once_it_is_rejected():
    retry = Retry(3, allowed_methods=None, status_forcelist=[503], backoff_factor=0)
    with StandInService(Signed(BUSY, response(drop=True))) as server, requests.Session() as session:
        session.trust_env = False
        session.auth = boardlot.auth.requests(api_key())
        session.mount("http://", HTTPAdapter(max_retries=retry))
        reply = session.post(f"{server.base_url}/x", data=b"body", timeout=60)
        assert reply.status_code == 200
    assert [one.status_code for one in reply.history] == [401]
    nonces = [received.header("X-Nonce") for received in server.received]
    assert len(nonces) == 4
    assert len(set(nonces)) == 2


@httpx_libraries
def test_what_a_transport_of_httpx_sends_again_is_signed_once_it_is_rejected(library):
    class Retrying(library.HTTPTransport):
        def handle_request(self, request):
            got = super().handle_request(request)
            if got.status_code == 503:
                got.close()
                got = super().handle_request(request)
            return got

    auth = boardlot.auth.httpx(api_key())
    with (
        StandInService(Signed(BUSY)) as server,
        library.Client(auth=auth, transport=Retrying()) as client,
    ):
        assert client.post(f"{server.base_url}/x", content=b"body").status_code == 200
    assert len(server.received) == 3


@libraries
def test_a_call_that_is_made_again_is_signed_again(library):
    with StandInService(Signed(BUSY, BUSY)) as server:
        calls = [("POST", f"{server.base_url}/x", {"data": b"body"})] * 3
        assert send(library, api_key(), calls) == [503, 503, 200]
    assert len({received.header("X-Nonce") for received in server.received}) == 3


@libraries
def test_a_rejected_signature_is_made_again_at_most_once(library):
    rejected = response({"ret_code": -1}, 401)
    with StandInService(lambda _: rejected) as server:
        assert send(library, api_key(), [("GET", f"{server.base_url}/x", {})]) == [401]
    # aiohttp signs each attempt, so there is no other signature to try.
    assert len(server.received) == (1 if library == "aiohttp" else 2)
    for received in server.received:
        assert_signed(received)


@libraries
@pytest.mark.parametrize(("method", "body"), [("GET", {}), ("POST", {"data": b"body"})])
def test_a_redirect_within_a_service_is_signed(library, method, body):
    to = response(b"", 307, {"Location": "/elsewhere?a=1"})
    with StandInService(Signed(to)) as server:
        reply = LIBRARIES[library](api_key(), method, f"{server.base_url}/x", **body)
    assert reply.status == 200
    rejected = [] if library == "aiohttp" else ["/elsewhere?a=1"]
    assert targets(server) == ["/x", *rejected, "/elsewhere?a=1"]
    assert_signed(server.received[-1])
    assert server.received[-1].body == body.get("data", b"")


@libraries
@pytest.mark.parametrize("credentials", [api_key, lambda: bl.BearerToken("a-secret-token")])
def test_a_redirect_to_another_service_is_not_authorized(library, credentials):
    """The libraries take `Authorization` away, and it is not set again."""
    with StandInService(Signed()) as other:
        to = response(b"", 307, {"Location": f"{other.base_url}/elsewhere"})
        with StandInService(Signed(to)) as server:
            reply = LIBRARIES[library](credentials(), "GET", f"{server.base_url}/x")
    assert reply.status == 401
    assert server.received[0].header("Authorization") is not None
    assert [received.header("Authorization") for received in other.received] == [None]


# Requests that are copied, changed, merged and kept


@httpx_libraries
def test_a_request_of_httpx_may_be_sent_twice(library):
    auth = boardlot.auth.httpx(api_key())
    with StandInService(Signed(BUSY)) as server, library.Client(auth=auth) as client:
        request = client.build_request("GET", f"{server.base_url}/x")
        assert [client.send(request).status_code for _ in range(2)] == [503, 200]
    assert len(server.received) == 2


@pytest.fixture
def session():
    with requests.Session() as session:
        session.trust_env = False
        session.auth = boardlot.auth.requests(api_key())
        yield session


def changed_url(request):
    request.prepare_url(request.url, {"market": 1})


def changed_body(request):
    request.prepare_body(None, None, json={"limit": "ä"})


def changed_method(request):
    request.method = "DELETE"


@pytest.mark.parametrize("change", [changed_url, changed_body, changed_method])
@pytest.mark.parametrize("copied", [requests.PreparedRequest.copy, copy.deepcopy])
def test_a_prepared_request_that_was_copied_and_changed_is_signed(session, copied, change):
    with StandInService(Signed()) as server:
        first = session.prepare_request(requests.Request("POST", f"{server.base_url}/x", data="a"))
        second = copied(first)
        change(second)
        assert session.send(first, timeout=60).status_code == 200
        assert session.send(second, timeout=60).status_code == 200
    # The second one had the signature of the first, was rejected, and was signed.
    assert len(server.received) == 3


def test_a_prepared_request_that_is_authorized_again_needs_no_other_attempt(session):
    with StandInService(Signed()) as server:
        request = session.prepare_request(requests.Request("GET", f"{server.base_url}/x"))
        for _ in range(2):
            assert session.send(request, timeout=60).status_code == 200
            request.prepare_auth(session.auth)
        assert len(request.hooks["response"]) == 1
    assert len(server.received) == 2


def test_headers_that_are_merged_into_another_mapping_are_sent(session):
    with StandInService(Signed()) as server:
        request = session.prepare_request(requests.Request("GET", f"{server.base_url}/x"))
        request.headers = CaseInsensitiveDict({**request.headers, "X-Cache": "miss"})
        assert session.send(request, timeout=60).status_code == 200
        bare = requests.Session()
        with bare:
            bare.trust_env = False
            request.prepare_auth(session.auth)
            sent = bare.get(f"{server.base_url}/x", headers=dict(request.headers), timeout=60)
            assert sent.status_code == 200
    assert len(server.received) == 2


def test_a_cache_of_responses_keeps_what_was_signed(session):
    about = {"Cache-Control": "max-age=3600", "Date": formatdate(usegmt=True)}
    cached = response({"ret_code": 0}, 200, about)
    with StandInService([cached]) as server, cachecontrol.CacheControl(session) as caching:
        replies = [caching.get(f"{server.base_url}/x", timeout=60) for _ in range(2)]
    assert [reply.json() for reply in replies] == [{"ret_code": 0}] * 2
    assert len(server.received) == 1
    assert_signed(server.received[0])


# Mocks


@httpx_libraries
def test_a_transport_of_a_mock_sees_the_signed_headers(library):
    seen = []

    def respond(request):
        seen.append(dict(request.headers))
        return library.Response(401 if len(seen) == 1 else 200)

    transport, auth = library.MockTransport(respond), boardlot.auth.httpx(api_key())
    with library.Client(auth=auth, transport=transport) as client:
        assert client.get("http://service.invalid/x").status_code == 200
    assert seen[0]["x-api-key"] == "key-1"
    assert seen[0]["x-nonce"] != seen[1]["x-nonce"]


# Pickles

ADAPTERS = ["requests", "httpx", "aiohttp"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_pickles_as_its_credentials_do(adapter, tmp_path):
    with bl.Sandbox(seed=7) as sandbox:
        key = bl.ApiKey(*uploaded_key(sandbox, tmp_path))
        auth = pickle.loads(pickle.dumps(getattr(boardlot.auth, adapter)(key)))
        url = sandbox.base_url + POSITIONS
        if adapter == "aiohttp":

            async def main():
                options = {"middlewares": [auth]}
                async with aiohttp.ClientSession(**options) as session, session.get(url) as got:
                    return got.status

            assert asyncio.run(main()) == 200
        else:
            library = {"requests": requests, "httpx": httpx}[adapter]
            assert library.get(url, auth=auth, timeout=60).status_code == 200
    with pytest.raises(bl.ConfigError, match="cannot pickle an ApiKey"):
        pickle.dumps(getattr(boardlot.auth, adapter)(api_key()))


def test_a_session_and_a_prepared_request_pickle_with_their_adapter(tmp_path):
    with bl.Sandbox(seed=7) as sandbox, requests.Session() as session:
        key = bl.ApiKey(*uploaded_key(sandbox, tmp_path))
        session.auth = boardlot.auth.requests(key)
        url = sandbox.base_url + POSITIONS
        request = session.prepare_request(requests.Request("GET", url))
        loaded, again = pickle.loads(pickle.dumps((session, request)))
        with loaded:
            assert [loaded.send(again, timeout=60).status_code for _ in range(2)] == [200, 200]
            assert loaded.get(url, timeout=60).status_code == 200
