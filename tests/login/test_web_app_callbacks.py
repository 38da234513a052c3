"""Promises 1, 6, 9 and 44: which callbacks complete a login of a user, and what the others say."""

import re
from urllib.parse import urlencode

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.applications import KINDS, REDIRECT, application, consent, fetch
from ..support.authorization_server import challenge_of
from ..support.callbacks import query_of
from ..support.clients import client_of
from ..support.logins import quotes
from ..support.secret_search import hits
from ..support.stores import DictStore
from ..support.words import raises

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def app(request, server):
    return application(server, kind=request.param)


@pytest.fixture
def begun(app):
    return app.authorization_url()


def test_the_authorization_url_has_what_section_4_1_shows_and_nothing_is_sent(server, app):
    begun = [app.authorization_url() for _ in range(101)]
    page, _, _ = begun[0].url.partition("?")
    assert page == f"{server.base_url}/oauth2/authorize/confirm"
    assert query_of(begun[0].url) == {
        "client_id": app.client_id,
        "code_challenge": challenge_of(begun[0].code_verifier),
        "code_challenge_method": "S256",
        "redirect_uri": REDIRECT,
        "response_type": "code",
        "state": begun[0].state,
    }
    assert len({one.state for one in begun}) == 101
    assert {len(verifier) for verifier in {one.code_verifier for one in begun}} == {43}
    assert len({one.code_verifier for one in begun}) == 101
    assert server.counts == {"register": 1}


@kinds
@pytest.mark.parametrize("origin", ["https://app.example.com", ""])
def test_a_callback_completes_the_login_in_another_worker(server, kind, origin):
    store = DictStore()
    app = application(server, store, kind)
    begun = app.authorization_url()
    (client,) = server.clients.values()
    options = {"redirect_uri": REDIRECT, "client_secret": client.secret, "store": store}
    worker = kind(server.base_url, app.client_id, **options)
    callback = consent(server, begun.url).replace("https://app.example.com", origin)
    auth = fetch(worker, callback, begun)
    assert auth.user == "alice" and "quote:read" in auth.scopes
    assert list(quotes(client_of(server, auth))) == []
    (request,) = server.of("authorization_code")
    assert request.form["redirect_uri"] == REDIRECT


WRONG = {
    "a wrong state": lambda q: {**q, "state": "x" * 43},
    "no code": lambda q: {"state": q["state"]},
    "two codes": lambda q: [*q.items(), ("code", "another")],
    "a code and an error": lambda q: {**q, "error": "access_denied"},
    "an error with another state": lambda q: {"error": "access_denied", "state": "x"},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_security_44_a_callback_that_does_not_match_sends_nothing(server, app, begun, wrong):
    query = query_of(consent(server, begun.url))
    forged = f"{REDIRECT}?{urlencode(WRONG[wrong](query))}"
    with pytest.raises(bl.OAuthError) as caught:
        fetch(app, forged, begun)
    assert not isinstance(caught.value, bl.LoginRequired)
    assert caught.value.error in ("invalid_request", "access_denied") and caught.value.hint
    assert not hits([query["code"], begun.state, begun.code_verifier], str(caught.value))
    assert server.counts == {"register": 1}
    # The real one still works: nothing was used up.
    assert fetch(app, f"{REDIRECT}?{urlencode(query)}", begun).user == "alice"


def test_security_14_an_error_in_a_callback_shows_no_secret_of_the_login(server, app):
    (client,) = server.clients.values()
    for name in ("error", "error_description"):
        begun = app.authorization_url()
        secrets = [begun.code_verifier, client.secret]
        error = {"error": "x", name: f"it was {' and '.join(secrets)}", "state": begun.state}
        with pytest.raises(bl.OAuthError) as caught:
            fetch(app, f"{REDIRECT}?{urlencode(error)}", begun)
        shown = [str(caught.value), caught.value.error, caught.value.description]
        assert not hits(secrets, repr(shown)) and "it was" in shown[0]
    assert server.counts == {"register": 1}


@pytest.mark.parametrize("missing", [{"state": None}, {"state": ""}, {"code_verifier": None}])
def test_security_1_a_session_without_a_login_completes_none(server, app, begun, missing):
    """A forged callback with an empty state must not match an empty session."""
    for query in ("code=x&state=", "code=x", f"code=x&state={begun.state}"):
        with raises(
            bl.OAuthError,
            snapshot(
                "invalid_request: no login was begun in this session, or it has already ended: "
                "start over"
            ),
        ):
            fetch(app, f"{REDIRECT}?{query}", begun, **missing)
    assert server.counts == {"register": 1}


def test_security_43_swapped_callbacks_of_two_users_are_both_rejected(server, app):
    begun = {user: app.authorization_url() for user in ("alice", "bob")}
    back = {user: consent(server, own.url) for user, own in begun.items()}
    for user, other in (("alice", "bob"), ("bob", "alice")):
        with pytest.raises(bl.OAuthError, match="state"):
            fetch(app, back[other], begun[user], user)
    assert server.counts["authorization_code"] == 0
    for user, own in begun.items():
        assert fetch(app, back[user], own, user).user == user


def test_a_state_and_a_verifier_that_are_swapped_are_recognized(server, app, begun):
    swapped = {"state": begun.code_verifier, "code_verifier": begun.state}
    with pytest.raises(bl.OAuthError, match="state and code_verifier are swapped"):
        fetch(app, consent(server, begun.url), begun, **swapped)
    assert fetch(app, consent(server, begun.url), begun, "alice").user == "alice"


@pytest.mark.parametrize("verifier", ["short", "x" * 129, "ü" * 43])
def test_a_code_verifier_outside_its_grammar_is_not_sent(server, app, begun, verifier):
    with pytest.raises(bl.ConfigError, match="code_verifier") as caught:
        fetch(app, consent(server, begun.url), begun, code_verifier=verifier)
    assert verifier not in str(caught.value) and server.counts == {"register": 1}


@kinds
def test_security_44_a_state_is_good_for_one_exchange(server, kind):
    store = DictStore()
    app = application(server, store, kind, confidential=False)
    begun = app.authorization_url()
    callback = consent(server, begun.url)
    auth = fetch(app, callback, begun)
    with pytest.raises(bl.OAuthError, match="start over"):
        fetch(app, callback, begun)
    # A second exchange would have made the service revoke what the first one returned.
    assert server.counts["authorization_code"] == 1
    assert list(quotes(client_of(server, auth))) == []
    # Another worker does not know, and learns it from the service.
    store.kept.clear()
    worker = kind(server.base_url, app.client_id, redirect_uri=REDIRECT, store=store)
    with pytest.raises(bl.OAuthError) as caught:
        fetch(worker, callback, begun)
    assert caught.value.error == "invalid_grant" and "start over" in caught.value.description
    assert "login" in caught.value.hint.lower() and store.kept == {}


@pytest.mark.parametrize("named", ["https://honest.example", ""])
def test_security_44_a_callback_of_another_service_sends_nothing(server, app, begun, named):
    """A hostile service sent the browser to an honest one, and does not get its code (RFC 9207)."""
    callback = server.authorize(begun.url)
    expected = f"iss is '{named}'; expected the service of this login, {server.base_url}"
    with pytest.raises(bl.OAuthError, match=re.escape(expected)):
        fetch(app, f"{callback}&{urlencode({'iss': named})}", begun)
    assert server.counts["authorization_code"] == 0
    # The login is still in progress, and completed by the callback of its own service.
    assert fetch(app, f"{callback}&{urlencode({'iss': server.base_url})}", begun).scopes


@pytest.mark.parametrize(
    ("description", "said"),
    [(None, "access_denied"), (" ", "access_denied"), ("no", "access_denied: no")],
)
def test_an_error_without_a_description_ends_with_its_code(server, app, description, said):
    begun = app.authorization_url()
    error = {"error": "access_denied", "state": begun.state}
    if description is not None:
        error["error_description"] = description
    with pytest.raises(bl.OAuthError) as caught:
        fetch(app, f"{REDIRECT}?{urlencode(error)}", begun)
    assert str(caught.value) == said and caught.value.description == (description or "")
