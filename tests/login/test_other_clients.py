"""A client of other authors, Authlib's, logs in to the sandbox."""

import secrets

import authlib.integrations.requests_client as authlib
import pytest
import requests

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


@pytest.mark.parametrize("method", ["none", "client_secret_post"])
def test_a_login_yields_tokens_that_open_the_service_and_can_be_refreshed(sandbox, method):
    client, verifier = register(sandbox, method), secrets.token_urlsafe(48)
    assert client["token_endpoint_auth_method"] == method
    endpoint = {"token_endpoint": f"{sandbox.base_url}/oauth2/token"}
    endpoint |= {"token_endpoint_auth_method": method, "code_challenge_method": "S256"}
    known = (client["client_id"], client.get("client_secret"))
    page, fills = f"{sandbox.base_url}/oauth2/authorize/confirm", f"{sandbox.base_url}{FILLS}"
    with authlib.OAuth2Session(*known, redirect_uri=REDIRECT, **endpoint) as session:
        url, state = session.create_authorization_url(page, code_verifier=verifier)
        callback = sandbox.authorize_demo_user(url)
        first = session.fetch_token(
            authorization_response=callback, state=state, code_verifier=verifier
        )
        assert set(first["scope"].split()) == ALL_SCOPES
        opened = session.get(fills)
        assert (opened.status_code, opened.json()["s"]) == (200, "ok")
        renewed = session.refresh_token()
        assert renewed["access_token"] != first["access_token"]
        assert renewed["refresh_token"] == first["refresh_token"]
        sandbox.revoke_tokens()
        assert session.get(fills).status_code == 401
        session.refresh_token()
        assert session.get(fills).status_code == 200
