"""The example application, as browsers speak to it: several workers, two users."""

import contextlib
import json
import os
import re
import subprocess
import sys
from http.client import HTTPConnection

import pytest

from ..support.addresses import held_port
from ..support.processes import ROOT
from ..support.secret_search import hits
from ..support.system import ENVIRONMENT
from ..support.threads import wait_until

MAIN = ROOT / "examples" / "web_app" / "main.py"


class Application:
    """The example, set up against a sandbox and running with three workers."""

    def __init__(self, folder, sandbox, port):
        self.folder, self.sandbox = folder / "app", sandbox
        self.port = port
        self.base_url = f"http://127.0.0.1:{self.port}"
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
        with contextlib.closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, headers=headers)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read().decode()

    def begin(self, scopes=None):
        """A login without a browser: its cookie, and the path of its callback."""
        status, headers, _ = self.get("/login", "POST", Origin=self.base_url)
        assert status == 303
        callback = self.sandbox.authorize_demo_user(headers["Location"], scopes)
        return cookie_of(headers), callback.removeprefix(self.base_url)


def cookie_of(headers):
    return headers["Set-Cookie"].partition(";")[0]


SANDBOX = {"seed": 3}


@pytest.fixture(scope="module")
def app(sandbox, tmp_path_factory):
    with held_port() as port, Application(tmp_path_factory.mktemp("app"), sandbox, port) as running:
        yield running


def log_in(app, account):
    """The cookie of a user who has logged in for one account."""
    cookie, path = app.begin(["quote:read", "trade:read", f"accid:{account}"])
    status, headers, _ = app.get(path, Cookie=cookie)
    # The code leaves the address bar.
    assert (status, headers["Location"]) == (303, "/")
    assert {"httponly", "samesite=lax"} <= set(headers["Set-Cookie"].lower().split("; "))
    return cookie_of(headers)


def fills(app, cookie, account):
    return app.get(f"/fills?account={account}", Cookie=cookie)[2]


def test_two_users_see_their_own_fills(app, sandbox):
    account, other = sandbox.accounts["trade"][0], sandbox.accounts["sim"][0]
    alice, bob = log_in(app, account), log_in(app, other)
    for user, own in ((alice, account), (bob, other)):
        page = app.get("/", Cookie=user)[2]
        assert "You are logged in" in page and page.count("accid:") == page.count(f"accid:{own}")
        assert not hits(app.secrets(), page) and "access" not in page and "refresh" not in page
    assert "HK." in fills(app, alice, account)
    assert "not allowed this account" in fills(app, bob, account)
    # Tokens end; each user is refreshed, and only the one who logs out is logged out.
    sandbox.revoke_tokens()
    assert "HK." in fills(app, alice, account)
    assert app.get("/logout", "POST", Cookie=bob, Origin=app.base_url)[0] == 303
    assert "HK." in fills(app, alice, account)
    assert app.get(f"/fills?account={account}", Cookie=bob)[1]["Location"] == "/"
    # When the service has revoked everything, the user must log in again.
    sandbox.revoke_grants()
    assert fills(app, alice, account) == ""
    assert "Your login has ended" in app.get("/", Cookie=alice)[2]


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
    # A user who declines sees a page that says so.
    cookie, path = app.begin()
    declined = re.sub("code=[^&]*", "error=access_denied", path)
    assert "You did not allow it" in app.get(declined, Cookie=cookie)[2]


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
