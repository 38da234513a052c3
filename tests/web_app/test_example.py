"""The example application in a real Chromium: several workers, two users in two profiles."""

import contextlib
import json
import os
import random
import re
import runpy
import socket
import sqlite3
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import boardlot as bl
import pytest

from ..support.processes import ROOT
from ..support.secret_search import hits
from ..support.system import ENVIRONMENT
from ..support.threads import wait_until

MAIN = ROOT / "examples" / "web_app" / "main.py"
BUTTONS = "button, input[type=submit]"


def test_the_address_that_it_listens_at_is_not_that_of_the_redirect(tmp_path, monkeypatch):
    # Users see the address of a proxy, which this machine may not even have.
    (tmp_path / "client.json").write_text('{"redirect_uri": "https://app.example.com/callback"}')
    listened = []
    monkeypatch.setattr("uvicorn.run", lambda *_, host, port, **__: listened.append((host, port)))
    main = runpy.run_path(str(MAIN))["main"]
    for options in ([], ["--host", "0.0.0.0", "--port", "8080"]):
        monkeypatch.setattr(sys, "argv", ["main.py", "run", str(tmp_path), *options])
        monkeypatch.setenv("WEB_APP_FOLDER", "")
        main()
    assert listened == [("127.0.0.1", 8000), ("0.0.0.0", 8080)]


class Application:
    """The example, set up against a sandbox and running with three workers."""

    def __init__(self, folder, sandbox):
        self.folder, self.sandbox = folder / "app", sandbox
        self.base_url = f"http://127.0.0.1:{free_port()}"
        redirect = ["--redirect-uri", f"{self.base_url}/callback"]
        self._main("setup", "--base-url", sandbox.base_url, *redirect).wait(60)
        log = (folder / "app.log").open("w")
        self._log, self._server = log, self._main("run", "--workers", "3", stderr=log, stdout=log)

    def _main(self, command, *options, **pipes):
        words = [sys.executable, str(MAIN), command, str(self.folder), *options]
        return subprocess.Popen(words, env=ENVIRONMENT, start_new_session=True, **pipes)

    def __enter__(self):
        wait_until(self._is_up, "the application")
        return self

    def _is_up(self):
        assert self._server.poll() is None, self.log
        with contextlib.suppress(OSError):
            return self.get("/")[0] == 200

    def __exit__(self, *_):
        self._server.terminate()
        self._server.wait(60)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._server.pid, 9)
        self._log.close()

    @property
    def log(self):
        return (self.folder.parent / "app.log").read_text()

    def secrets(self):
        """Secrets that no browser may see."""
        client = json.loads((self.folder / "client.json").read_text())
        return [client["client_secret"], (self.folder / "store.key").read_text()]

    def get(self, path, method="GET", **headers):
        """A request without a browser: status, headers and text."""
        asked = urllib.request.Request(self.base_url + path, method=method, headers=headers)
        try:
            with urllib.request.build_opener(NotFollowed).open(asked, timeout=60) as reply:
                return reply.status, reply.headers, reply.read().decode()
        except urllib.error.HTTPError as reply:
            return reply.code, reply.headers, reply.read().decode()

    def begin(self):
        """A login without a browser: its cookie, and the path of its callback."""
        status, headers, _ = self.get("/login", "POST", Origin=self.base_url)
        assert status == 303
        callback = self.sandbox.authorize_demo_user(headers["Location"])
        return cookie_of(headers), callback.removeprefix(self.base_url)


def cookie_of(headers):
    return headers["Set-Cookie"].partition(";")[0]


class NotFollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def free_port():
    """Below those that the system assigns, since it is bound some seconds later."""
    while True:
        with socket.socket() as bound, contextlib.suppress(OSError):
            bound.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
            return bound.getsockname()[1]


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=3) as running:
        yield running


@pytest.fixture(scope="module")
def app(sandbox, tmp_path_factory):
    with Application(tmp_path_factory.mktemp("web-app"), sandbox) as running:
        yield running


@pytest.fixture
def profiles(tmp_path):
    """Two browsers with nothing in common."""
    from ..support.chromium import Browser

    with contextlib.ExitStack() as stack:
        folders = [tmp_path / name for name in ("alice", "bob")]
        for folder in folders:
            folder.mkdir()
        yield [stack.enter_context(Browser(folder)) for folder in folders]


def press(page, label):
    (button,) = page.named(BUTTONS, f"^{label}$")
    button.click()
    page.wait(lambda: page.gone(button))


def agree(page, app, accounts=None):
    """Logs in on the service's page, with these accounts only."""
    page.wait(lambda: page.named(BUTTONS, "^Allow$"))
    for box in page.all("input[type=checkbox]"):
        scope = box.get_dom_attribute("value")
        wanted = scope.startswith("accid:") and scope.removeprefix("accid:") in accounts
        if scope.startswith("accid:") and box.is_selected() != wanted:
            box.click()
    press(page, "Allow")
    page.wait(lambda: page.current_url == f"{app.base_url}/")


def fills(page, app, account):
    page.get(f"{app.base_url}/fills?account={account}")
    return page.text()


def all_the_browser_has(page):
    readable = page.execute_script("return document.cookie + JSON.stringify(localStorage)")
    return page.get_cookies(), readable, page.page_source


def test_two_users_in_two_profiles_see_their_own_fills(profiles, app, sandbox):
    account, other = sandbox.accounts["trade"][0], sandbox.accounts["sim"][0]
    alice, bob = profiles
    seen = []
    for page, accounts in ((alice, [account]), (bob, [other])):
        page.get(app.base_url)
        press(page, "Log in")
        agree(page, app, accounts)
        assert "You are logged in" in page.text()
        # The code has left the address bar.
        assert "code" not in page.current_url and "state" not in page.current_url
        seen.append(all_the_browser_has(page))
    assert f"accid:{account}" in alice.text() and f"accid:{other}" not in alice.text()
    assert "HK." in fills(alice, app, account)
    assert "not allowed this account" in fills(bob, app, account)
    seen += [all_the_browser_has(page) for page in profiles]
    for cookies, readable, source in seen:
        (cookie,) = cookies
        assert cookie["httpOnly"] and cookie["sameSite"] == "Lax"
        assert re.fullmatch(r"[\w-]{43}", cookie["value"])
        assert readable == "{}"
        assert not hits(app.secrets(), f"{cookies}{source}")
        assert "access" not in source and "refresh" not in source
    # Tokens end; each user is refreshed, and only the one who logs out is logged out.
    sandbox.revoke_tokens()
    assert "HK." in fills(alice, app, account)
    bob.get(app.base_url)
    press(bob, "Log out")
    assert "Welcome" in bob.text()
    assert "HK." in fills(alice, app, account)
    bob.get(f"{app.base_url}/fills?account={account}")
    assert "Welcome" in bob.text()
    # When the service has revoked everything, the user must log in again.
    sandbox.revoke_grants()
    assert "Your login has ended" in fills(alice, app, account)
    press(alice, "Log in again")
    agree(alice, app, [account])
    assert "HK." in fills(alice, app, account)


def test_a_user_who_declines_sees_a_page_that_says_so(profiles, app):
    page, _ = profiles
    page.get(app.base_url)
    press(page, "Log in")
    page.wait(lambda: page.named(BUTTONS, "^Deny$"))
    press(page, "Deny")
    page.wait(lambda: urlsplit(page.current_url).path == "/callback")
    assert "You did not allow it" in page.text()


def test_forged_callbacks_and_forms_of_other_sites_do_nothing(app, sandbox):
    before = len(sandbox.requests)
    for query in ("", "code=x", "code=x&state=", "code=x&state=y", "error=access_denied&state=y"):
        status, headers, text = app.get(f"/callback?{query}")
        assert status == 400 and "The login failed" in text and "<script" not in text
        assert "Set-Cookie" not in headers
    for path in ("/login", "/logout"):
        for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
            assert app.get(path, "POST", **origin)[0] == 403
        assert app.get(path)[0] == 405
    assert app.get("/", Host="evil.example")[0] == 400
    assert len(sandbox.requests) == before


def test_a_callback_is_good_for_one_try_in_whichever_worker(app):
    """Without a browser: many callbacks of one login, over all workers."""
    cookie, path = app.begin()
    # Somebody else's browser has no session, and what is forged does not end the login.
    assert app.get(path)[0] == 400
    for query in ("", "code=x", "code=x&state=y", "error=access_denied&state=%C3%A9"):
        assert app.get(f"/callback?{query}", Cookie=cookie)[0] == 400
    assert app.get(f"{path}&state=y", Cookie=cookie)[0] == 400
    assert app.get(path, "HEAD", Cookie=cookie)[0] == 405
    responses = [app.get(path, Cookie=cookie) for _ in range(6)]
    assert [status for status, _, _ in responses] == [303, *[400] * 5]
    logged_in = cookie_of(responses[0][1])
    assert logged_in != cookie
    # A link to a forged callback does not log the user out.
    for query in ("code=x&state=y", path.partition("?")[2]):
        assert app.get(f"/callback?{query}", Cookie=logged_in)[0] == 400
    for _ in range(6):
        assert "You are logged in" in app.get("/", Cookie=logged_in)[2]
        assert "Welcome" in app.get("/", Cookie=cookie)[2]
    assert app.get("/logout", "POST", Cookie=logged_in, Origin=app.base_url)[0] == 303
    assert "Welcome" in app.get("/", Cookie=logged_in)[2]


def test_an_account_that_is_none_and_a_store_that_fails_have_pages_of_their_own(app):
    cookie, path = app.begin()
    cookie = cookie_of(app.get(path, Cookie=cookie)[1])
    for account, title in [
        ("x", "rejected the request"),
        ("-%20-", "not the number of an account"),
    ]:
        status, _, text = app.get(f"/fills?account={account}", Cookie=cookie)
        assert status == 400 and title in text

    def tokens(*statement):
        with contextlib.closing(sqlite3.connect(app.folder / "tokens.db")) as database, database:
            return database.execute(*statement).fetchall()

    rows = tokens("select key, value from tokens")
    tokens("update tokens set value = x'00'")
    own = {"Cookie": cookie, "Origin": app.base_url}
    assert app.get("/", **own)[0] == 503
    status, _, text = app.get("/logout", "POST", **own)
    assert status == 503 and "not logged out" in text
    assert app.get("/fills?account=1", **own)[0] == 503
    for key, value in rows:
        tokens("update tokens set value = ?2 where key = ?1", (key, value))
    # The session was kept, so that the tokens can still be deleted.
    assert "You are logged in" in app.get("/", **own)[2]
    assert app.get("/logout", "POST", **own)[0] == 303
    assert len(tokens("select key from tokens")) == len(rows) - 1


def test_what_the_example_stores_is_private_and_encrypted(app, sandbox):
    assert stat.S_IMODE(app.folder.stat().st_mode) == 0o700
    for path in app.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    data = b"".join(p.read_bytes() for p in app.folder.iterdir() if ".db" in p.name)
    assert b"access_token" not in data and b"refresh_token" not in data
    assert not hits(app.secrets(), data + app.log.encode())
