"""OAuth clients of other authors log in to the sandbox: Authlib and requests-oauthlib."""

import secrets
from html.parser import HTMLParser

import authlib.integrations.requests_client as authlib
import pytest
import requests
import requests_oauthlib

REDIRECT = "http://127.0.0.1:8765/callback"
ALL_SCOPES = {"quote:read", "quote:write", "trade:read", "trade:write", "accid:*"}
FILLS = "/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag="


SANDBOX = {"fills": 20}


@pytest.fixture(autouse=True)
def loopback_without_tls(monkeypatch):
    """oauthlib rejects every http address, also of the machine itself, unless this allows it."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")


class Authlib:
    """Authlib's session."""

    def __init__(self, sandbox, client):
        self.base_url = sandbox.base_url
        self.session = authlib.OAuth2Session(
            client["client_id"],
            client.get("client_secret"),
            redirect_uri=REDIRECT,
            code_challenge_method="S256",
            token_endpoint=f"{self.base_url}/oauth2/token",
            token_endpoint_auth_method=client["token_endpoint_auth_method"],
        )
        self.verifier = secrets.token_urlsafe(48)

    def authorization_url(self):
        page = f"{self.base_url}/oauth2/authorize/confirm"
        url, self.state = self.session.create_authorization_url(page, code_verifier=self.verifier)
        return url

    def fetch_token(self, callback):
        return self.session.fetch_token(
            authorization_response=callback, state=self.state, code_verifier=self.verifier
        )

    def refresh(self):
        return self.session.refresh_token()


class RequestsOAuthlib:
    """The session of requests-oauthlib."""

    def __init__(self, sandbox, client):
        self.base_url, self.token_url = sandbox.base_url, f"{sandbox.base_url}/oauth2/token"
        self.client = client
        self.session = requests_oauthlib.OAuth2Session(
            client["client_id"], redirect_uri=REDIRECT, pkce="S256"
        )

    def authorization_url(self):
        return self.session.authorization_url(f"{self.base_url}/oauth2/authorize/confirm")[0]

    def fetch_token(self, callback):
        # Its documented way for a client that does not use HTTP Basic.
        return self.session.fetch_token(
            self.token_url,
            authorization_response=callback,
            client_secret=self.client.get("client_secret"),
            include_client_id=True,
        )

    def refresh(self):
        known = ("client_id", "client_secret")
        client = {name: self.client[name] for name in known if name in self.client}
        return self.session.refresh_token(self.token_url, **client)


@pytest.fixture(params=[Authlib, RequestsOAuthlib])
def library(request):
    """Makes sessions, which are closed after the test."""
    sessions = []

    def make(*arguments):
        client = request.param(*arguments)
        sessions.append(client.session)
        return client

    yield make
    for session in sessions:
        session.close()


def register(sandbox, method):
    """RFC 7591: a client that may refresh its tokens."""
    grants = ["authorization_code", "refresh_token"]
    about = {"client_name": "Kestrel Notes", "client_uri": "https://kestrel.example/"}
    about |= {"redirect_uris": [REDIRECT], "grant_types": grants}
    about |= {"token_endpoint_auth_method": method}
    response = requests.post(f"{sandbox.base_url}/oauth2/register", json=about, timeout=60)
    assert response.status_code == 201, response.text
    return response.json()


class Form(HTMLParser):
    """The form of a page, as it is before a person changes anything."""

    def __init__(self, page):
        super().__init__()
        self.fields, self.buttons = [], {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "form":
            assert (attributes["method"], attributes.get("action", "")) == ("post", "")
        elif tag == "input" and (attributes["type"] != "checkbox" or "checked" in attributes):
            self.fields.append((attributes["name"], attributes["value"]))
        elif tag == "button":
            self.buttons[attributes["value"]] = attributes["name"]


def press(url, button):
    """Opens the login page, presses one of its buttons and returns the callback's URL."""
    with requests.Session() as browser:
        page = browser.get(url, timeout=60)
        assert page.status_code == 200, page.text
        form = Form(page.text)
        fields = [*form.fields, (form.buttons[button], button)]
        sent = browser.post(url, data=fields, allow_redirects=False, timeout=60)
    assert sent.status_code == 303, sent.text
    callback = sent.headers["location"]
    assert callback.startswith(f"{REDIRECT}?")
    return callback


def scopes(token):
    """The granted scopes: in Authlib a text, in oauthlib a list."""
    scope = token["scope"]
    return set(scope.split() if isinstance(scope, str) else scope)


@pytest.mark.parametrize("method", ["none", "client_secret_post"])
def test_a_login_yields_tokens_that_open_the_service_and_can_be_refreshed(sandbox, library, method):
    client = library(sandbox, register(sandbox, method))
    first = client.fetch_token(press(client.authorization_url(), "allow"))
    assert scopes(first) == ALL_SCOPES
    opened = client.session.get(f"{sandbox.base_url}{FILLS}")
    assert (opened.status_code, opened.json()["s"]) == (200, "ok")
    renewed = client.refresh()
    assert renewed["access_token"] != first["access_token"]
    assert renewed["refresh_token"] == first["refresh_token"]
    sandbox.revoke_tokens()
    assert client.session.get(f"{sandbox.base_url}{FILLS}").status_code == 401
    client.refresh()
    assert client.session.get(f"{sandbox.base_url}{FILLS}").status_code == 200
