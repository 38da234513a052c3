"""A login from registration to a call, against a small authorization server.

The server is written from sections 2.1, 2.2, 3.4 and 4.1 of the service document, not from the
client's table, so that the two can differ.
"""

import asyncio
import base64
import hashlib
import http.server
import json
import pickle
import secrets
import socket
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import boardlot as bl
import pytest

SCOPES = "quote:read trade:read accid:281756"


class Service(http.server.ThreadingHTTPServer):
    """Registers, redirects at once with a code, exchanges, refreshes, answers server-time calls."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.clients, self.codes, self.access = {}, {}, set()
        self.refresh = {}
        self.registered = self.exchanged = self.refreshed = self.calls = 0
        self.refuse_refresh = None
        self.lifetime = 7200
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """A client that hangs up is no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, told, **headers):
        body = json.dumps(told).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def do_POST(self):
        with self.server.lock:
            if self.path == "/oauth2/register":
                self.register(json.loads(self.body()))
            elif self.path == "/oauth2/token":
                assert self.headers["Content-Type"] == "application/x-www-form-urlencoded"
                form = dict(parse_qsl(self.body().decode(), strict_parsing=True))
                {"authorization_code": self.exchange, "refresh_token": self.renew}[
                    form["grant_type"]
                ](form)
            else:
                self.answer(404, {})

    def register(self, asked):
        service = self.server
        service.registered += 1
        client_id = f"client-{service.registered}"
        method = asked["token_endpoint_auth_method"]
        told = {**asked, "client_id": client_id, "client_id_issued_at": int(time.time())}
        if method == "client_secret_post":
            told["client_secret"] = secrets.token_urlsafe()
        assert asked["response_types"] == ["code"]
        assert sorted(asked["grant_types"]) == ["authorization_code", "refresh_token"]
        service.clients[client_id] = told
        self.answer(201, told)

    def do_GET(self):
        service = self.server
        path, _, query = self.path.partition("?")
        if path == "/oauth2/authorize/confirm":
            asked = {name: value for name, [value] in parse_qs(query, strict_parsing=True).items()}
            assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
            assert asked["redirect_uri"] in service.clients[asked["client_id"]]["redirect_uris"]
            code = secrets.token_urlsafe()
            service.codes[code] = asked
            back = urlencode({"code": code, "state": asked["state"]})
            self.answer(302, {}, Location=f"{asked['redirect_uri']}?{back}")
            return
        service.calls += 1
        token = (self.headers["Authorization"] or "").removeprefix("Bearer ")
        if token not in service.access:
            self.answer(401, {"ret_code": -1, "ret_msg": "unauthorized"})
            return
        self.answer(200, {"ret_code": 0, "data": {"reference_list": []}})

    def exchange(self, form):
        service = self.server
        service.exchanged += 1
        asked = service.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or form["redirect_uri"] != asked["redirect_uri"]
            or form["client_id"] != asked["client_id"]
            or challenge != asked["code_challenge"]
        ):
            self.answer(400, {"error": "invalid_grant", "error_description": "no such code"})
            return
        refresh = secrets.token_urlsafe()
        service.refresh[refresh] = form["client_id"]
        self.token(refresh_token=refresh)

    def renew(self, form):
        service = self.server
        service.refreshed += 1
        if service.refuse_refresh:
            self.answer(400, {"error": service.refuse_refresh, "error_description": "gone"})
            return
        client = service.clients[service.refresh[form["refresh_token"]]]
        assert form["client_id"] == client["client_id"]
        assert form.get("client_secret") == client.get("client_secret")
        self.token()

    def token(self, **more):
        access = secrets.token_urlsafe()
        self.server.access.add(access)
        life = self.server.lifetime
        told = {"access_token": access, "token_type": "Bearer", "expires_in": life, **more}
        self.answer(200, {**told, "scope": SCOPES})


class NotFollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def consent(url):
    """The callback URL that the service sends the browser to."""
    try:
        urllib.request.build_opener(NotFollowed).open(url)
    except urllib.error.HTTPError as redirect:
        assert redirect.code == 302
        return redirect.headers["Location"]
    raise AssertionError("no redirect")


def visit(url):
    with urllib.request.urlopen(url, timeout=20) as page:
        return page.status, page.read().decode()


@pytest.fixture
def service():
    with Service() as running:
        yield running


def logged_in(service, store=None, **options):
    store = bl.MemoryStore() if store is None else store
    flow = bl.begin_login(service.url, store=store, timeout=20, **options)
    return flow.finish(consent(flow.url))


def call(service, oauth):
    client = bl.Client(service.url, auth=oauth, max_retries=0)
    return list(client.reference_futures("HK.HSImain"))


def test_a_login_by_the_browser(service):
    flow = bl.begin_login(service.url, store=bl.MemoryStore(), timeout=20)
    told = []
    browser = threading.Thread(target=lambda: told.append(visit(flow.url)))
    browser.start()
    oauth = flow.wait()
    browser.join()
    ((status, page),) = told
    assert status == 200 and "You are logged in" in page
    assert oauth.scopes == frozenset(SCOPES.split())
    left = oauth.expires_at - datetime.now(timezone.utc)
    assert timedelta(hours=1, minutes=59) < left <= timedelta(hours=2)
    assert call(service, oauth) == []
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", urlsplit(redirect_of(flow)).port), timeout=2)


def redirect_of(flow):
    return parse_qs(urlsplit(flow.url).query)["redirect_uri"][0]


def test_a_login_by_a_pasted_callback_goes_on_after_a_wrong_one(service):
    flow = bl.begin_login(service.url, store=bl.MemoryStore(), timeout=20)
    callback = consent(flow.url)
    for wrong in ["", "x", callback.replace("state=", "state=x"), callback + "&code=2"]:
        with pytest.raises(bl.OAuthError):
            flow.finish(wrong)
    assert call(service, flow.finish(callback)) == []
    assert service.exchanged == 1
    with pytest.raises(bl.OAuthError):
        flow.finish(callback)


def test_login_prints_the_way_without_a_browser(service, capfd):
    told = []
    store = bl.MemoryStore()

    def log_in():
        told.append(bl.login(service.url, store=store, open_browser=False, timeout=20))

    login = threading.Thread(target=log_in)
    login.start()
    printed = ""
    while "callback?" not in printed:
        time.sleep(0.05)
        printed += capfd.readouterr().err
    assert ":127.0.0.1:" in printed and "ssh -N -L" in printed
    visit(next(word for word in printed.split() if "/oauth2/" in word))
    login.join()
    assert call(service, told[0]) == []


def test_a_login_can_be_awaited_and_cancelled(service):
    async def both():
        flow = bl.begin_login(service.url, store=bl.MemoryStore(), timeout=20)
        visiting = asyncio.create_task(asyncio.to_thread(visit, flow.url))
        oauth = await flow
        await visiting
        async with bl.AsyncClient(service.url, auth=oauth) as client:
            assert list(await client.reference_futures("HK.HSImain")) == []
        other = bl.begin_login(service.url, store=bl.MemoryStore(), timeout=20)

        async def wait():
            return await other

        task = asyncio.create_task(wait())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(both())


def test_the_client_and_its_port_are_found_again(service):
    store = bl.MemoryStore()
    first = bl.begin_login(service.url, store=store, timeout=20)
    first.finish(consent(first.url))
    second = bl.begin_login(service.url, store=store, timeout=20)
    assert redirect_of(first) == redirect_of(second) and service.registered == 1
    third = bl.begin_login(service.url, store=store, timeout=20)
    assert redirect_of(third) != redirect_of(first) and service.registered == 2


def test_a_deadline_ends_a_login(service):
    flow = bl.begin_login(service.url, store=bl.MemoryStore(), timeout=0.3)
    with pytest.raises(bl.RequestTimeout):
        flow.wait()


def test_a_refused_token_is_refreshed_once_for_all_threads(service):
    oauth = logged_in(service)
    client = bl.Client(service.url, auth=oauth, max_retries=0)
    client.reference_futures("HK.HSImain")
    service.access.clear()
    threads = [
        threading.Thread(target=client.reference_futures, args=("HK.HSImain",)) for _ in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert service.refreshed == 1


def test_a_token_is_refreshed_ahead_of_its_end(service):
    service.lifetime = 1
    oauth = logged_in(service)
    time.sleep(1.0)
    service.lifetime = 7200
    assert call(service, oauth) == []
    assert (service.refreshed, service.calls) == (1, 1)


def test_invalid_grant_means_to_log_in_again(service):
    oauth = logged_in(service)
    service.access.clear()
    service.refuse_refresh = "invalid_grant"
    for _ in range(3):
        with pytest.raises(bl.LoginRequired) as caught:
            call(service, oauth)
        assert caught.value.error == "invalid_grant"
        assert "boardlot login" in caught.value.hint
    assert service.refreshed == 1
    service.refuse_refresh = "invalid_client"
    again = logged_in(service)
    service.access.clear()
    with pytest.raises(bl.OAuthError) as caught:
        call(service, again)
    assert caught.value.error == "invalid_client"
    # That is only remembered here: others find the login unchanged.
    assert "client_secret is missing" in str(caught.value)


def test_a_confidential_client_sends_its_secret(service):
    oauth = logged_in(service, confidential=True)
    service.access.clear()
    assert call(service, oauth) == []
    assert service.refreshed == 1


@pytest.mark.parametrize("name", ["error", "error_description"])
def test_an_error_in_a_callback_shows_no_secret_of_the_client(service, name):
    flow = bl.begin_login(service.url, store=bl.MemoryStore(), timeout=20, confidential=True)
    (client,) = service.clients.values()
    query = dict(parse_qsl(urlsplit(flow.url).query))
    told = {"error": "x", name: f"it was {client['client_secret']}", "state": query["state"]}
    with pytest.raises(bl.OAuthError, match="it was") as caught:
        flow.finish(f"{query['redirect_uri']}?{urlencode(told)}")
    error = caught.value
    assert client["client_secret"] not in f"{error} {error.error} {error.description}"


def test_tokens_of_a_login_are_found_in_an_encrypted_file(service, tmp_path):
    place = tmp_path / "tokens" / "boardlot"
    logged_in(service, bl.EncryptedFileStore(place, "correct horse"))
    oauth = bl.OAuth("client-1", store=bl.EncryptedFileStore(place, lambda: "correct horse"))
    assert call(service, oauth) == []
    assert oauth.base_url == service.url
    wrong = bl.OAuth("client-1", store=bl.EncryptedFileStore(place, "wrong"))
    with pytest.raises(bl.StoreError, match="boardlot"):
        call(service, wrong)
    oauth.logout()
    with pytest.raises(bl.LoginRequired):
        call(service, oauth)


class DictStore(dict):
    """A user's own store."""

    def load(self, key):
        return self[key]

    def save(self, key, value):
        assert isinstance(value, bytes)
        self[key] = value

    def delete(self, key):
        del self[key]


def test_a_store_of_ones_own(service):
    store = DictStore()
    oauth = logged_in(service, store)
    service.access.clear()
    assert call(service, oauth) == []
    assert sorted(store) == [service.url, f"{service.url} client-1"]
    oauth.logout()
    assert store == {}


def test_a_store_that_fails_says_so(service):
    class Failing(DictStore):
        def load(self, key):
            raise OSError("no shelf")

    with pytest.raises(bl.StoreError, match="no shelf"):
        bl.begin_login(service.url, store=Failing(), timeout=5)
    with pytest.raises(bl.ConfigError):
        bl.begin_login(service.url, store=object(), timeout=5)


def test_credentials_belong_to_one_service(service):
    oauth = logged_in(service)
    with pytest.raises(bl.ConfigError):
        bl.Client("https://api.example.com", auth=oauth)


def ask():
    return "correct horse"


def test_pickles_carry_no_secret(service, tmp_path):
    place = tmp_path / "tokens" / "boardlot"
    oauth = logged_in(service, bl.EncryptedFileStore(place, ask))
    client = pickle.loads(pickle.dumps(bl.Client(service.url, auth=oauth)))
    assert list(client.reference_futures("HK.HSImain")) == []
    for store in (bl.MemoryStore(), bl.EncryptedFileStore(place, "text")):
        with pytest.raises(bl.ConfigError):
            pickle.dumps(bl.OAuth("client-1", store=store))
    assert pickle.loads(pickle.dumps(bl.OAuth("x", store=bl.KeyringStore()))).client_id == "x"
    for shown in (repr(oauth), repr(client), str(oauth)):
        assert not any(secret in shown for secret in [*service.access, *service.refresh])
