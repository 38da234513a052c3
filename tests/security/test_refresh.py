"""Promise 17: when a token is refreshed, and how it ends when it cannot be."""

import asyncio
import socket
import time
from datetime import datetime, timedelta, timezone

import boardlot as bl
import pytest

from ..support.callbacks import query_of
from ..support.clients import client_of
from ..support.logins import begin, expired_client, quotes, scopes_of, sign_in, tells_to_log_in
from ..support.service import Fault
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


def test_security_17_a_401_causes_one_refresh_and_one_retry(server):
    client = client_of(server, sign_in(server))
    assert list(quotes(client)) == []
    server.expire()
    assert list(quotes(client)) == []
    assert counts(server) == (3, 1)
    tokens = [seen.header("Authorization") for seen in server.of("api")]
    assert tokens[0] == tokens[1] != tokens[2]
    (seen,) = server.of("refresh_token")
    assert set(seen.form) == {"grant_type", "refresh_token", "client_id"}


@pytest.mark.parametrize("retries", [0, 5])
def test_security_17_a_401_that_stays_is_not_refreshed_again(server, retries):
    server.faults["api"] = Fault(status=401)
    client = client_of(server, sign_in(server), max_retries=retries)
    with pytest.raises((bl.AuthenticationError, bl.LoginRequired)) as caught:
        quotes(client)
    assert counts(server) == (2, 1)
    assert caught.value.hint


def status_of(client, *args, **kwargs):
    """Of a raw request; a 401 that stays may come as an answer or as its error."""
    try:
        return client.request(*args, **kwargs).status
    except bl.AuthenticationError as error:
        return error.http_status


def test_security_17_a_401_of_a_raw_request_is_refreshed_once_too(server):
    client = client_of(server, sign_in(server))
    server.expire()
    path = "/api/v1.0/quote/HK.HSImain/reference-future"
    assert client.request("GET", path).json()["ret_code"] == 0
    assert counts(server) == (2, 1)
    server.faults["api"] = Fault(status=401)
    assert status_of(client, "GET", path) == 401
    assert counts(server) == (4, 2)


def test_security_17_a_post_is_sent_again_after_a_401_only_once(server):
    client = client_of(server, sign_in(server))
    server.faults["api"] = Fault(status=401)
    assert status_of(client, "POST", "/api/v1.0/x", body={"a": 1}) == 401
    assert counts(server) == (2, 1)
    assert [seen.body for seen in server.of("api")] == [b'{"a":1}'] * 2


def test_security_17_a_403_is_not_refreshed(server):
    client = client_of(server, sign_in(server, scopes=["trade:read"]), max_retries=3)
    with pytest.raises(bl.PermissionDenied):
        quotes(client)
    assert counts(server) == (1, 0)


def test_security_17_a_token_is_refreshed_ahead_of_its_end(server):
    server.token_lifetime = 1
    client = client_of(server, sign_in(server))
    time.sleep(1.1)
    server.token_lifetime = 3600
    assert list(quotes(client)) == list(quotes(client)) == []
    # It was not even tried with the old token.
    assert counts(server) == (2, 1)


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
    used = {seen.form["refresh_token"] for seen in server.of("refresh_token")}
    assert len(used) == 1 and server.counts["refresh_token"] == 4


def test_security_17_the_refreshed_token_is_stored(server):
    store = DictStore()
    client = expired_client(server, store)
    assert list(quotes(client)) == []
    (client_id,) = server.clients
    assert list(quotes(client_of(server, bl.OAuth(client_id, store=store)))) == []
    assert server.counts["refresh_token"] == 1


def test_security_17_no_refresh_token_at_all_means_to_log_in(server):
    server.faults["authorization_code"] = Fault(change={"refresh_token": None})
    client = client_of(server, sign_in(server))
    assert list(quotes(client)) == []
    server.expire()
    with pytest.raises(bl.LoginRequired) as caught:
        quotes(client)
    assert server.counts["refresh_token"] == 0
    assert COMMAND in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("retries", [0, 5])
def test_security_17_invalid_grant_is_one_login_required_and_no_loop(server, retries):
    fault = Fault(error="invalid_grant", description="revoked")
    client = expired_client(server, refresh=fault, max_retries=retries)
    with pytest.raises(bl.LoginRequired) as caught:
        quotes(client)
    assert counts(server) == (1, 1)
    assert isinstance(caught.value, bl.OAuthError)
    assert caught.value.error == "invalid_grant"
    assert caught.value.retryable is False
    assert COMMAND in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("error", ["invalid_client", "unauthorized_client", "server_error"])
def test_security_17_another_refusal_is_an_oauth_error(server, error):
    client = expired_client(server, refresh=Fault(error=error, description="why"))
    with pytest.raises(bl.OAuthError) as caught:
        quotes(client)
    assert caught.value.error == error
    assert caught.value.hint


FAILING = {
    "503": Fault(status=503),
    "dropped": Fault(drop=True),
    "lost": Fault(lost=True),
    "html": Fault(body=b"<html>"),
    "mac": Fault(change={"token_type": "MAC"}),
    "no token": Fault(change={"access_token": None}),
}


@pytest.mark.parametrize("failing", FAILING)
def test_security_17_a_failed_refresh_keeps_the_tokens(server, failing):
    store = DictStore()
    client = expired_client(server, store, FAILING[failing])
    kept = dict(store.kept)
    with pytest.raises(bl.BoardlotError) as caught:
        quotes(client)
    assert not isinstance(caught.value, bl.LoginRequired)
    assert store.kept == kept and server.counts["refresh_token"] == 1
    server.faults.clear()
    assert list(quotes(client)) == []


@pytest.mark.parametrize("failing", ["503", "dropped"])
def test_security_17_a_refresh_is_tried_again_within_max_retries(server, failing):
    client = expired_client(server, refresh=[FAILING[failing]], max_retries=2)
    assert list(quotes(client)) == []
    assert server.counts["refresh_token"] == 2


def test_security_17_scopes_and_end_follow_the_refresh(server):
    oauth = sign_in(server, scopes=["quote:read", "trade:read"])
    ends = oauth.expires_at
    assert isinstance(ends, datetime) and ends.tzinfo is not None
    left = ends - datetime.now(timezone.utc)
    assert timedelta(seconds=7100) < left <= timedelta(seconds=7205)
    server.token_lifetime = 30_000
    server.faults["refresh_token"] = Fault(change={"scope": "quote:read"})
    server.expire()
    assert list(quotes(client_of(server, oauth))) == []
    assert scopes_of(oauth) == {"quote:read"}
    assert oauth.expires_at - datetime.now(timezone.utc) > timedelta(seconds=29_000)


def test_security_17_a_confidential_client_sends_its_secret_with_the_refresh(server):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    flow = begin(server)
    uri = query_of(flow.url)["redirect_uri"]
    uri = uri.replace(uri.split("/")[2], f"127.0.0.1:{port}")
    told = server.register(uri, "client_secret_post")
    store = DictStore()
    known = {"client_id": told["client_id"], "redirect_port": port}
    assert list(quotes(client_of(server, sign_in(server, store, **known)))) == []
    assert server.counts["register"] == 1
    oauth = bl.OAuth(told["client_id"], store=store, client_secret=told["client_secret"])
    client = client_of(server, oauth)
    server.expire()
    assert list(quotes(client)) == []
    (seen,) = server.of("refresh_token")
    assert seen.form["client_secret"] == told["client_secret"]
    assert seen.query == "" and seen.header("Authorization") is None
    sent = [each for each in server.received if server.kind_of(each) != "refresh_token"]
    assert not any(told["client_secret"].encode() in each.everything for each in sent)


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
    oauth.logout()
    with pytest.raises(bl.LoginRequired) as caught:
        quotes(client)
    assert tells_to_log_in(caught.value)
    assert counts(server) == (1, 0)
    assert not any(secret.encode() in v for v in store.kept.values() for secret in server.access)
    oauth.logout()


def test_security_17_async_calls_refresh_once_too(server):
    oauth = sign_in(server)

    async def use():
        async with bl.AsyncClient(server.base_url, auth=oauth, max_retries=0) as client:
            await quotes(client)
            server.expire()
            await quotes(client)
            server.expire()
            server.faults["refresh_token"] = Fault(error="invalid_grant")
            with pytest.raises(bl.LoginRequired):
                await quotes(client)

    asyncio.run(use())
    assert counts(server) == (4, 2)
