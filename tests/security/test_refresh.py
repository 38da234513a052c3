"""Promise 17: when a token is refreshed, and how it ends when it cannot be."""

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import (
    quotes,
    sign_in,
    tells_to_log_in,
)
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


def test_security_17_a_login_of_a_confidential_client_refreshes_with_its_secret(server):
    client = client_of(server, sign_in(server, confidential=True))
    (known,) = server.clients.values()
    server.expire()
    assert list(quotes(client)) == []
    (request,) = server.of("refresh_token")
    assert request.form["client_secret"] == known.secret is not None


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
