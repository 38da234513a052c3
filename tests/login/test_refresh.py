"""Promise 17: when a token is refreshed, and how it ends when it cannot be. A rejected token is
recognized by what the service says, whatever its status is."""

import json

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import expired_client, quotes, sign_in, tells_to_log_in
from ..support.service import Fault, StandInService, response
from ..support.stores import DictStore

COMMAND = "boardlot login"


def counts(server):
    return server.counts["api"], server.counts["refresh_token"]


def test_security_17_a_call_bears_the_token_and_nothing_else(server):
    client = client_of(server, sign_in(server))
    assert list(quotes(client)) == []
    (seen,) = server.of("api")
    assert seen.header("Authorization") == "Bearer " + next(iter(server.access))
    for name in ("X-Api-Key", "X-Nonce", "X-Timestamp"):
        assert seen.header(name) is None
    (client_id,) = server.clients
    assert client_id.encode() not in seen.everything


def test_security_17_a_refresh_without_refresh_token_keeps_the_old(server):
    store = DictStore()
    client = client_of(server, sign_in(server, store))
    (client_id,) = server.clients
    for n in range(1, 4):
        server.expire()
        assert list(quotes(client)) == []
        assert server.counts["refresh_token"] == n
    # Another client finds it in the store.
    server.expire()
    again = client_of(server, bl.OAuth(client_id, store=store))
    assert list(quotes(again)) == []
    forms = [request.form for request in server.of("refresh_token")]
    assert set(map(frozenset, forms)) == {frozenset(("grant_type", "refresh_token", "client_id"))}
    assert len({form["refresh_token"] for form in forms}) == 1
    assert server.counts["refresh_token"] == 4


def test_security_17_no_refresh_token_at_all_means_to_log_in(server):
    server.faults["authorization_code"] = Fault(change={"refresh_token": None})
    client = client_of(server, sign_in(server))
    assert list(quotes(client)) == []
    server.expire()
    with pytest.raises(bl.LoginRequired) as caught:
        quotes(client)
    assert server.counts["refresh_token"] == 0
    assert COMMAND in f"{caught.value} {caught.value.hint}"


def test_security_17_nothing_stored_means_to_log_in(server):
    client = client_of(server, bl.OAuth("client-unknown", store=bl.MemoryStore()))
    with pytest.raises(bl.LoginRequired) as caught:
        quotes(client)
    assert COMMAND in f"{caught.value} {caught.value.hint}"
    assert sum(server.counts.values()) == 0


def test_security_17_after_logout_one_has_to_log_in(server):
    store = DictStore()
    oauth = sign_in(server, store)
    client = client_of(server, oauth)
    assert list(quotes(client)) == []
    (client_id,) = server.clients
    assert sorted(store.kept) == [server.base_url, f"{server.base_url} {client_id}"]
    oauth.logout()
    with pytest.raises(bl.LoginRequired) as caught:
        quotes(client)
    assert tells_to_log_in(caught.value)
    assert counts(server) == (1, 0)
    assert store.kept == {}
    oauth.logout()


FUTURES = "/api/v1.0/quote/HK.HSImain/reference-future"
PLATE = "/api/v1.0/quote/plate/HK.BK1/stock"
REJECTIONS = {
    "401 with a page": (401, {}, b"<html>who are you?</html>"),
    "200 and RFC 6750": (200, {}, {"error": "invalid_token", "error_description": "x"}),
    "200 and a code of its own": (200, {}, {"code": 10001, "msg": "access token expired"}),
    "200 and error.code": (200, {}, {"ret_code": -9, "error": {"code": "token_expired"}}),
    "400 and a text": (400, {}, b"access token expired"),
    "403 and a challenge": (403, {"WWW-Authenticate": 'Bearer error="invalid_token"'}, b""),
}
rejections = pytest.mark.parametrize("rejection", REJECTIONS)
CALLS = {
    "call": lambda client: client.reference_futures("HK.HSImain"),
    "request": lambda client: client.request("GET", FUTURES),
    "request with POST": lambda client: client.request("POST", PLATE, body={"limit": 7}),
    "pages": lambda client: client.plate_stocks("HK.BK1001").all(),
    "many": lambda client: client.fetch_many("reference_futures", ["HK.HSImain"]),
}


@rejections
def test_security_17_a_rejected_token_causes_one_refresh_and_one_retry(server, rejection):
    client = client_of(server, sign_in(server), max_retries=2)
    server.rejection = REJECTIONS[rejection]
    for name, call in CALLS.items():
        server.expire()
        server.counts.clear()
        assert getattr(call(client), "status", 200) == 200, name
        assert (server.counts["api"], server.counts["refresh_token"]) == (2, 1), name


@rejections
def test_security_17_a_rejection_that_stays_is_an_authentication_error(server, rejection):
    status, headers, body = REJECTIONS[rejection]
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    client = client_of(server, sign_in(server), max_retries=3)
    server.faults["api"] = Fault(status=status, headers=headers, body=body)
    for call in CALLS.values():
        server.received.clear()
        with pytest.raises(bl.AuthenticationError) as caught:
            call(client)
        assert caught.value.http_status == status and not caught.value.retryable
        assert COMMAND in caught.value.hint
        # The same request with another token.
        first, second = server.of("api")
        assert (first.line, first.body) == (second.line, second.body)
        assert first.header("Authorization") != second.header("Authorization")
    with StandInService(lambda _: response(body, status, headers)) as service:
        with pytest.raises(bl.AuthenticationError):
            quotes(client_of(service, bl.BearerToken("token")))
        assert len(service.received) == 1


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(200, -3, bl.InvalidParameter), (200, -12006, bl.ClockSkewError), (429, 1, bl.RateLimited)],
)
def test_security_17_what_merely_mentions_a_token_is_not_refreshed(server, status, code, kind):
    client = client_of(server, sign_in(server))
    server.faults["api"] = json_fault(status, {"ret_code": code, "ret_msg": "token expired"})
    with pytest.raises(kind) as caught:
        quotes(client)
    assert type(caught.value) is kind
    assert (server.counts["api"], server.counts["refresh_token"]) == (1, 0)


def test_security_17_a_raw_request_leaves_all_other_responses_to_the_caller(server):
    client = client_of(server, sign_in(server))
    for status, body in [
        (400, {"error": {"code": "invalid_parameter"}, "message": "invalid token"}),
        (200, {"s": "ok", "message": "access token expired"}),
        (200, {"data": [{"message": "access token expired"}]}),
        (404, {"code": 404, "msg": "no such path"}),
    ]:
        sent = json.dumps(body).encode()
        server.faults["api"] = Fault(status=status, body=sent)
        result = client.request("GET", "/api/v1.0/other")
        assert (result.status, result.content) == (status, sent)
    assert server.counts["refresh_token"] == 0


def json_fault(status, body):
    return Fault(status=status, body=json.dumps(body).encode())


# RFC 6749, section 5.2.
FINAL = {
    "invalid_grant": Fault(error="invalid_grant", description="revoked"),
    "invalid_client": Fault(error="invalid_client", status=401),
    "404": Fault(error="invalid_grant", status=404),
    "200": json_fault(200, {"error": "invalid_grant"}),
    # As GitHub refuses.
    "a code of its own with 200": json_fault(200, {"error": "bad_refresh_token"}),
}
# Responses that read like a rejection. Proxies and firewalls send such responses too.
OTHERS = {
    "401 without a body": Fault(status=401, body=b""),
    "code and message": json_fault(200, {"code": 400, "message": "refresh token expired"}),
    "a sentence": json_fault(400, {"error": "Refresh token is no longer valid"}),
}
PROXIES = {
    "AWS, expired": json_fault(403, {"message": "The security token included is expired"}),
    "Envoy, JWT": Fault(status=401, body=b"Jwt is expired"),
}
# Trouble of the service, which says nothing of the refresh token.
TROUBLE = {
    "503 in words of a rejection": json_fault(503, {"error": "invalid_grant"}),
    "lost": Fault(lost=True),
    "no token": Fault(change={"access_token": None}),
    "429": json_fault(429, {"error": "invalid_grant"}),
    "a page with 401": Fault(status=401, body=b"<html>proxy</html>"),
    "server_error": Fault(error="server_error"),
    "a redirect": Fault(status=302, headers={"Location": "/login"}, body=b""),
}
NOT_FINAL = {**OTHERS, **PROXIES, **TROUBLE}


@pytest.mark.parametrize("response", NOT_FINAL)
def test_security_51_what_rfc_6749_does_not_define_ends_no_login(server, response):
    store = DictStore()
    client = expired_client(server, store, NOT_FINAL[response])
    kept = dict(store.kept)
    for n in (1, 2):
        with pytest.raises(bl.BoardlotError) as caught:
            quotes(client)
        required = isinstance(caught.value, bl.LoginRequired)
        expected = "Call again: the stored login is unchanged" if required else ""
        assert caught.value.hint.startswith(expected) and caught.value.hint
        assert response in PROXIES or required == (response in OTHERS)
        # The refresh token is good, and it is tried again.
        assert server.counts["refresh_token"] == n
    assert store.kept == kept
    server.faults.clear()
    assert list(quotes(client)) == []


@pytest.mark.parametrize("refusal", FINAL)
def test_security_17_a_rejected_refresh_is_remembered_until_a_new_login(server, refusal):
    store = DictStore()
    client = expired_client(server, store, FINAL[refusal], max_retries=2)
    (client_id,) = server.clients
    for n in range(20):
        with pytest.raises(bl.LoginRequired) as caught:
            quotes(client)
        error, hint = caught.value.error, caught.value.hint
        sent = FINAL[refusal].error or json.loads(FINAL[refusal].body)["error"]
        assert n > 0 or error == sent
        assert isinstance(caught.value, bl.OAuthError) and caught.value.retryable is False
        # A client that is not authenticated needs its secret; otherwise a new login helps.
        assert ("client_secret" if error == "invalid_client" else "boardlot login") in hint
    # Nothing is requested again: no refresh, and no call with a token that is known to be rejected.
    assert (server.counts["api"], server.counts["refresh_token"]) == (1, 1)
    again = client_of(server, bl.OAuth(client_id, store=store))
    with pytest.raises(bl.LoginRequired):
        quotes(again)
    assert server.counts["refresh_token"] == 1
    server.faults.clear()
    sign_in(server, store)
    for each in (client, again):
        assert list(quotes(each)) == []


def test_security_17_a_new_login_may_have_the_same_refresh_token(server):
    store = DictStore()
    client = expired_client(server, store, Fault(error="invalid_grant"))
    with pytest.raises(bl.LoginRequired):
        quotes(client)
    (old,) = {seen.form["refresh_token"] for seen in server.of("refresh_token")}
    server.faults = {"authorization_code": Fault(change={"refresh_token": old})}
    sign_in(server, store)
    assert list(quotes(client)) == []
    server.expire()
    assert list(quotes(client)) == []


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_success_mark_beside_an_error_status_is_reported_as_it_is(status):
    body = {"ret_code": 0, "ret_msg": "success", "data": {"reference_list": []}}
    refused = pytest.raises(bl.ApiError, match=f"HTTP {status}")
    with StandInService([response(body, status)]) as service, refused as caught:
        quotes(client_of(service))
    assert caught.value.http_status == status


def test_a_client_that_the_service_does_not_know_is_not_a_wrong_secret():
    """RFC 6749 has one error for both: the description tells them apart."""
    store, callback = bl.MemoryStore(), "https://app.example.com/callback"
    with bl.Sandbox(token_lifetime=0.0, fills=0) as sandbox:
        registered = bl.register_client(
            sandbox.base_url, redirect_uris=[callback], confidential=True
        )
        secret = registered.client_secret
        app = bl.OAuthApp(
            sandbox.base_url,
            registered.client_id,
            redirect_uri=callback,
            client_secret=secret,
            store=store,
        )
        begun = app.authorization_url()
        session = {"state": begun.state, "code_verifier": begun.code_verifier}
        login = app.fetch_token(sandbox.authorize_demo_user(begun.url), **session, user="alice")
        sandbox.reset()
        with (
            bl.Client(sandbox.base_url, auth=login) as client,
            pytest.raises(bl.LoginRequired) as caught,
        ):
            client.dividends("HK.00700")
    said = str(caught.value)
    assert f"client_id '{registered.client_id}' is not known to the service" in said
    assert "client_secret" not in said and secret not in said
    assert "Register the client again" in caught.value.hint
