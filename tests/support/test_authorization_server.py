"""The authorization server itself, checked with the standard library's HTTP client."""

import http.client
import json
import secrets
from urllib.parse import urlencode

import pytest

from .authorization_server import AuthorizationServer, challenge_of
from .callbacks import query_of
from .service import Fault

REDIRECT = "http://127.0.0.1:4567/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
FUTURES = "/api/v1.0/quote/HK.HSImain/reference-future"


def ask(server, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        raw = reply.read()
        return reply.status, json.loads(raw) if raw[:1] == b"{" else raw
    finally:
        connection.close()


def post_form(server, **fields):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return ask(server, "POST", "/oauth2/token", urlencode(fields), headers)


def register(server, method="none"):
    request = {
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": method,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "client_name": "test",
    }
    headers = {"Content-Type": "application/json"}
    status, registered = ask(server, "POST", "/oauth2/register", json.dumps(request), headers)
    assert status == 201
    return registered


def asking(client_id, /, **change):
    query = {
        "client_id": client_id,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "redirect_uri": REDIRECT,
        "response_type": "code",
        "state": "s",
        **change,
    }
    return "/oauth2/authorize/confirm?" + urlencode(query)


def exchange(server, client_id, code, /, **change):
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": client_id,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        **change,
    }
    return post_form(server, **fields)


def signed_in(server, method="none", scopes=None):
    client = register(server, method)
    url = server.base_url + asking(client["client_id"])
    code = query_of(server.authorize(url, scopes))["code"]
    status, tokens = exchange(server, client["client_id"], code)
    assert status == 200
    return client, code, tokens


def test_the_challenge_is_that_of_rfc_7636_appendix_b():
    assert challenge_of(VERIFIER) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_login_a_call_a_refresh_and_the_second_use_of_a_code():
    with AuthorizationServer() as server:
        client, code, tokens = signed_in(server, scopes=["quote:read"])
        bearer = {"Authorization": "Bearer " + tokens["access_token"]}
        assert tokens["scope"] == "quote:read"
        assert ask(server, "GET", FUTURES, headers=bearer)[0] == 200
        assert ask(server, "GET", FUTURES)[0] == 401
        trading = "/api/v1.0/sim-trade/1/orders"
        assert ask(server, "GET", trading, headers=bearer)[0] == 403
        server.expire()
        assert ask(server, "GET", FUTURES, headers=bearer)[0] == 401
        known = {"client_id": client["client_id"], "refresh_token": tokens["refresh_token"]}
        status, new = post_form(server, grant_type="refresh_token", **known)
        assert status == 200 and "refresh_token" not in new
        bearer = {"Authorization": "Bearer " + new["access_token"]}
        assert ask(server, "GET", FUTURES, headers=bearer)[0] == 200
        status, refusal = exchange(server, client["client_id"], code)
        assert (status, refusal["error"]) == (400, "invalid_grant")
        status, refusal = post_form(server, grant_type="refresh_token", **known)
        assert (status, refusal["error"]) == (400, "invalid_grant")
        assert server.counts["refresh_token"] == 2
        assert server.secrets >= {code, tokens["access_token"], tokens["refresh_token"], VERIFIER}


@pytest.mark.parametrize(
    "change",
    [
        {"code_verifier": "x" * 43},
        {"redirect_uri": REDIRECT + "/"},
        {"client_id": "another"},
        {"code": "unknown"},
        {"extra": "1"},
    ],
)
def test_an_exchange_that_does_not_fit_is_rejected(change):
    with AuthorizationServer() as server:
        client = register(server)
        url = server.base_url + asking(client["client_id"])
        code = query_of(server.authorize(url))["code"]
        assert exchange(server, client["client_id"], code, **change)[0] in (400, 401)
        assert exchange(server, client["client_id"], code)[0] == 200


@pytest.mark.parametrize(
    "change",
    [
        {"code_challenge_method": "plain"},
        {"code_challenge": "short"},
        {"redirect_uri": REDIRECT.replace("4567", "4568")},
        {"response_type": "token"},
        {"state": ""},
    ],
)
def test_an_authorization_that_does_not_fit_is_rejected(change):
    with AuthorizationServer() as server:
        client = register(server)
        assert ask(server, "GET", asking(client["client_id"], **change))[0] == 400
        assert ask(server, "GET", asking(client["client_id"]))[0] == 302
        assert ask(server, "GET", asking("client-" + secrets.token_hex(8)))[0] == 400


def test_faults_are_played_and_used_up():
    with AuthorizationServer() as server:
        _, _, tokens = signed_in(server)
        bearer = {"Authorization": "Bearer " + tokens["access_token"]}
        server.faults["api"] = [Fault(drop=True), Fault(lost=True), Fault(status=503), Fault()]
        for _ in range(2):
            with pytest.raises((ConnectionError, http.client.HTTPException)):
                ask(server, "GET", FUTURES, headers=bearer)
        assert ask(server, "GET", FUTURES, headers=bearer) == (503, b"<html>busy</html>")
        assert ask(server, "GET", FUTURES, headers=bearer)[0] == 200
        server.faults["register"] = Fault(change={"client_name": None, "scope": 5})
        assert register(server)["scope"] == 5 and "client_name" not in register(server)
        server.faults["api"] = Fault(echo=True)
        assert tokens["access_token"] in str(ask(server, "GET", FUTURES, headers=bearer)[1])
