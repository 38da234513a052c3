"""OAuth clients of other authors log in to the sandbox: Authlib and requests-oauthlib."""

import functools
import secrets

import authlib.integrations.requests_client as authlib
import pytest
import requests
import requests_oauthlib

REDIRECT = "http://127.0.0.1:8765/callback"
ALL_SCOPES = {"quote:read", "quote:write", "trade:read", "trade:write", "accid:*"}
FILLS = "/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag="
SANDBOX = {"fills": 20}


def register(sandbox, method):
    """RFC 7591: a client that may refresh its tokens."""
    grants = ["authorization_code", "refresh_token"]
    about = {"client_name": "Kestrel Notes", "client_uri": "https://kestrel.example/"}
    about |= {"redirect_uris": [REDIRECT], "grant_types": grants}
    about |= {"token_endpoint_auth_method": method}
    response = requests.post(f"{sandbox.base_url}/oauth2/register", json=about, timeout=60)
    assert response.status_code == 201, response.text
    return response.json()


methods = pytest.mark.parametrize("method", ["none", "client_secret_post"])


def check(sandbox, session, first, scopes, refresh):
    """The tokens open the service and can be refreshed."""
    fills = f"{sandbox.base_url}{FILLS}"
    assert set(scopes) == ALL_SCOPES
    opened = session.get(fills)
    assert (opened.status_code, opened.json()["s"]) == (200, "ok")
    renewed = refresh()
    assert renewed["access_token"] != first["access_token"]
    assert renewed["refresh_token"] == first["refresh_token"]
    sandbox.revoke_tokens()
    assert session.get(fills).status_code == 401
    refresh()
    assert session.get(fills).status_code == 200


@methods
def test_authlib_logs_in_and_refreshes(sandbox, method):
    client, verifier = register(sandbox, method), secrets.token_urlsafe(48)
    assert client["token_endpoint_auth_method"] == method
    endpoint = {"token_endpoint": f"{sandbox.base_url}/oauth2/token"}
    endpoint |= {"token_endpoint_auth_method": method, "code_challenge_method": "S256"}
    known = (client["client_id"], client.get("client_secret"))
    page = f"{sandbox.base_url}/oauth2/authorize/confirm"
    with authlib.OAuth2Session(*known, redirect_uri=REDIRECT, **endpoint) as session:
        url, state = session.create_authorization_url(page, code_verifier=verifier)
        callback = sandbox.authorize_demo_user(url)
        sent = {"authorization_response": callback, "state": state, "code_verifier": verifier}
        first = session.fetch_token(**sent)
        check(sandbox, session, first, first["scope"].split(), session.refresh_token)


@methods
def test_requests_oauthlib_logs_in_and_refreshes(sandbox, method, monkeypatch):
    # oauthlib rejects every http address, also of the machine itself, unless this allows it.
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    client, token_url = register(sandbox, method), f"{sandbox.base_url}/oauth2/token"
    known = {name: client[name] for name in ("client_id", "client_secret") if name in client}
    id_, page = client["client_id"], f"{sandbox.base_url}/oauth2/authorize/confirm"
    with requests_oauthlib.OAuth2Session(id_, redirect_uri=REDIRECT, pkce="S256") as session:
        callback = sandbox.authorize_demo_user(session.authorization_url(page)[0])
        # Its documented way for a client that does not use HTTP Basic.
        sent = {"authorization_response": callback, "include_client_id": True}
        first = session.fetch_token(token_url, client_secret=client.get("client_secret"), **sent)
        refresh = functools.partial(session.refresh_token, token_url, **known)
        check(sandbox, session, first, first["scope"], refresh)
