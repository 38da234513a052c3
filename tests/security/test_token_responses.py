"""Promise 9: a response with a usable Bearer token is used, at a login and at a refresh.

The code, or a refresh token that the service replaces, is used up by then: whatever is thrown away
is lost for good.
"""

import json
from datetime import datetime, timedelta, timezone

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import quotes, scopes_of, sign_in
from ..support.service import Fault
from ..support.stores import DictStore

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


@pytest.mark.parametrize("grant", ["authorization_code", "refresh_token"])
@pytest.mark.parametrize(
    ("sent", "seconds"),
    [(3600, 3600), ("3600", 3600), (" 3600.5 ", 3600), (3.6e3, 3600), (0.5, 0)]
    + [(odd, None) for odd in (ABSENT, None, "", "soon", -5, "-5", True, [3600], {}, "NaN")],
)
def test_security_09_how_long_a_token_is_valid_is_read_or_unknown(server, grant, sent, seconds):
    server.faults[grant] = rewritten("expires_in", sent)
    oauth = sign_in(server)
    if grant == "refresh_token":
        server.expire()
        assert list(quotes(client_of(server, oauth))) == []
    if seconds is None:
        assert oauth.expires_at is None
    else:
        left = oauth.expires_at - datetime.now(timezone.utc)
        assert timedelta(seconds=seconds - 60) < left <= timedelta(seconds=seconds + 1)


@pytest.mark.parametrize("grant", ["authorization_code", "refresh_token"])
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
    server.faults[grant] = rewritten("scope", sent)
    oauth = sign_in(server)
    if grant == "refresh_token":
        server.expire()
        assert list(quotes(client_of(server, oauth))) == []
    assert scopes_of(oauth) == scopes


@pytest.mark.parametrize("grant", ["authorization_code", "refresh_token"])
def test_security_09_a_byte_order_mark_changes_nothing(server, grant):
    server.faults[grant] = Fault(rewrite=lambda body: b"\xef\xbb\xbf" + body)
    client = client_of(server, sign_in(server))
    server.expire()
    assert list(quotes(client)) == []
    assert server.counts["refresh_token"] == 1


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
