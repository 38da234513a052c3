"""Promise 9: the code is exchanged once, and the token response is held to the document.

A response with a usable Bearer token is used, as the code is used up by then, and maybe the refresh
token that the service replaces: whatever is thrown away is lost for good.
"""

import json
from datetime import datetime, timedelta, timezone

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
            login.result(90)
    assert server.counts["authorization_code"] == 1
    assert tells_to_log_in(caught.value), (str(caught.value), caught.value.hint)
    assert not any(b"refresh_token" in kept for kept in store.kept.values())
    assert closed(port)


def test_security_09_narrowed_scopes_are_reported(server):
    oauth = sign_in(server, scopes=["quote:read", "accid:281756"])
    assert scopes_of(oauth) == {"quote:read", "accid:281756"}
    client = client_of(server, oauth)
    assert list(quotes(client)) == []
    with pytest.raises(bl.PermissionDenied):
        client.sim_orders("1")
    assert server.counts["refresh_token"] == 0


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


ABSENT = object()
ODD = {
    "absent": ABSENT,
    "null": None,
    "empty": "",
    "control characters": "x\r\n\u0007",
    "not ASCII": "\u884c\u60c5",
    "a number": 70_000,
    "a huge number": 10**400,
    "a list": ["quote:read", 5, "accid:1 accid:2"],
    "an object": {"a": {}},
}
# Members that cannot be absent or odd: the token itself, and that it is a Bearer token.
NEEDED = {"access_token": ODD.keys(), "token_type": ODD.keys() - {"absent", "null"}}
MEMBERS = ["access_token", "token_type", "expires_in", "refresh_token", "scope", "more"]


def rewritten(member, value):
    def rewrite(body):
        fields = json.loads(body)
        fields.pop(member, None)
        return json.dumps(fields if value is ABSENT else {**fields, member: value}).encode()

    return Fault(rewrite=rewrite)


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("odd", ODD)
def test_security_09_every_usable_token_response_is_used(server, member, odd):
    fault, needed = rewritten(member, ODD[odd]), odd in NEEDED.get(member, ())
    # At a login.
    server.faults["authorization_code"] = fault
    store = DictStore()
    if needed:
        with pytest.raises((bl.OAuthError, bl.ProtocolError)):
            sign_in(server, store)
    else:
        client = client_of(server, sign_in(server, store))
        assert list(quotes(client)) == []
        assert server.counts["refresh_token"] == 0
    # At a refresh.
    del server.faults["authorization_code"]
    client = client_of(server, sign_in(server, store), max_retries=0)
    server.expire()
    server.faults["refresh_token"] = fault
    if needed:
        with pytest.raises(bl.BoardlotError):
            quotes(client)
        del server.faults["refresh_token"]
    assert list(quotes(client)) == []
    # The old refresh token is still there, unless the response had another one.
    server.faults.clear()
    server.expire()
    if member != "refresh_token" or odd != "not ASCII":
        assert list(quotes(client)) == []


def granted(server, grant, member, sent):
    """A login whose tokens came by `grant`, with this member in the response."""
    server.faults[grant] = rewritten(member, sent)
    oauth = sign_in(server)
    if grant == "refresh_token":
        server.expire()
        assert list(quotes(client_of(server, oauth))) == []
    return oauth


grants = pytest.mark.parametrize("grant", ["authorization_code", "refresh_token"])


@grants
@pytest.mark.parametrize(
    ("sent", "seconds"),
    [(3600, 3600), ("3600", 3600), (" 3600.5 ", 3600), (3.6e3, 3600), (0.5, 0)]
    + [(odd, None) for odd in (ABSENT, None, "", "soon", -5, "-5", True, [3600], {}, "NaN")],
)
def test_security_09_how_long_a_token_is_valid_is_read_or_unknown(server, grant, sent, seconds):
    oauth = granted(server, grant, "expires_in", sent)
    if seconds is None:
        assert oauth.expires_at is None
    else:
        left = oauth.expires_at - datetime.now(timezone.utc)
        assert timedelta(seconds=seconds - 60) < left <= timedelta(seconds=seconds + 1)


@grants
@pytest.mark.parametrize(
    ("sent", "scopes"),
    [
        ("quote:read accid:1", {"quote:read", "accid:1"}),
        (["quote:read", "accid:1"], {"quote:read", "accid:1"}),
        (["quote:read accid:1", 5, None], {"quote:read", "accid:1"}),
        ("quote:read \u884c\u60c5", {"quote:read", "\u884c\u60c5"}),
        ("quote:read bell\u0007", {"quote:read", "bell\\x07"}),
    ],
)
def test_security_09_scopes_are_read_from_a_text_or_a_list(server, grant, sent, scopes):
    assert scopes_of(granted(server, grant, "scope", sent)) == scopes


def test_security_51_a_new_refresh_token_beside_odd_members_replaces_the_old(server):
    """Its response is odd in every other way, and the old one is no longer valid."""
    (store, new) = DictStore(), "refresh-new with a space"

    def rewrite(body):
        with server._lock:
            server.refresh = {new: next(iter(server.refresh.values()))}
        token = json.loads(body)["access_token"]
        odd = {"access_token": token, "refresh_token": new, "expires_in": "", "scope": 5}
        return b"\xef\xbb\xbf" + json.dumps(odd).encode()

    oauth = sign_in(server, store)
    client = client_of(server, oauth)
    server.faults["refresh_token"] = [Fault(rewrite=rewrite)]
    for count in (1, 2):
        server.expire()
        assert list(quotes(client)) == []
        assert server.counts["refresh_token"] == count
    assert scopes_of(oauth) == set(server.scopes.split())
