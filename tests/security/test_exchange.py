"""Promise 9: the code is exchanged once, and the token response is held to the document."""

import os

import boardlot as bl
import pytest

from ..support.authorization_server import challenge_of
from ..support.callbacks import closed, listener_address, query_of, visit
from ..support.clients import client_of
from ..support.logins import begin, quotes, scopes_of, sign_in, tells_to_log_in, waiting
from ..support.service import Fault
from ..support.stores import DictStore

MISHAPS = {
    "lost": Fault(lost=True),
    "dropped": Fault(drop=True),
    "503": Fault(status=503),
    "refused": Fault(error="invalid_grant", description="code expired"),
    "cut": Fault(body=b'{"access_token": "x"'),
}


@pytest.mark.parametrize("mishap", MISHAPS)
@pytest.mark.parametrize("by_hand", [False, True])
def test_security_09_a_response_that_may_be_lost_means_to_log_in_again(server, mishap, by_hand):
    store = DictStore()
    server.faults["authorization_code"] = MISHAPS[mishap]
    flow = begin(server, store)
    port, _ = listener_address(flow)
    url = server.authorize(flow.url)
    with pytest.raises(bl.BoardlotError) as caught:
        if by_hand:
            flow.finish(url)
        else:
            login = waiting(flow)
            visit(url)
            login.get()
    assert server.counts["authorization_code"] == 1
    assert tells_to_log_in(caught.value), (str(caught.value), caught.value.hint)
    assert not any(b"refresh_token" in kept for kept in store.kept.values())
    assert closed(port)


def test_security_09_a_refusal_of_the_exchange_has_its_error(server):
    server.faults["authorization_code"] = Fault(error="invalid_client", description="who?")
    with pytest.raises(bl.OAuthError) as caught:
        sign_in(server)
    assert (caught.value.error, caught.value.description) == ("invalid_client", "who?")


def test_security_09_narrowed_scopes_are_reported(server):
    oauth = sign_in(server, scopes=["quote:read", "accid:281756"])
    assert scopes_of(oauth) == {"quote:read", "accid:281756"}
    client = client_of(server, oauth)
    assert list(quotes(client)) == []
    with pytest.raises(bl.PermissionDenied):
        client.sim_orders("1")
    assert server.counts["refresh_token"] == 0


def test_security_09_all_scopes_are_reported(server):
    assert scopes_of(sign_in(server)) == set(server.scopes.split())


def test_security_09_login_needs_no_environment(server, monkeypatch):
    for name in ("HOME", "USER", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert os.environ.get("HOME") is None
    assert list(quotes(client_of(server, sign_in(server)))) == []


def test_security_09_the_exchange_sends_what_section_4_1_shows_and_nothing_else(server):
    flow = begin(server)
    url = server.authorize(flow.url)
    flow.finish(url)
    (request,) = server.of("authorization_code")
    content_type = request.header("Content-Type").partition(";")[0]
    assert (request.line, content_type) == (
        "POST /oauth2/token HTTP/1.1",
        "application/x-www-form-urlencoded",
    )
    assert request.header("Authorization") is None
    verifier = request.form["code_verifier"]
    assert request.form == {
        "grant_type": "authorization_code",
        "code": query_of(url)["code"],
        "client_id": query_of(flow.url)["client_id"],
        "redirect_uri": query_of(flow.url)["redirect_uri"],
        "code_verifier": verifier,
    }
    assert query_of(flow.url)["code_challenge"] == challenge_of(verifier)
