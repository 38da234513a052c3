"""`register_client`: what is sent and returned, and what is rejected before anything is sent."""

import json
import pickle
from datetime import datetime, timedelta, timezone

import boardlot as bl
import pytest

from ..support.applications import KINDS, REDIRECT, application, log_in
from ..support.callbacks import kept_port, listener_address
from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.secret_search import appearances, hits
from ..support.service import Fault, StandInService, response
from ..support.stores import DictStore


@pytest.mark.parametrize("confidential", [False, True])
def test_a_registration_sends_what_section_2_1_shows(server, confidential):
    uris = [REDIRECT, "http://127.0.0.1:8000/callback"]
    asked = {"redirect_uris": uris, "client_name": "My app", "confidential": confidential}
    registered = bl.register_client(server.base_url, **asked)
    (request,) = server.of("register")
    assert (request.method, request.path) == ("POST", "/oauth2/register")
    assert request.header("Authorization") is None
    assert json.loads(request.body) == {
        "redirect_uris": uris,
        "token_endpoint_auth_method": "client_secret_post" if confidential else "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "client_name": "My app",
    }
    (known,) = server.clients.values()
    assert (registered.client_id, registered.client_secret) == (known.client_id, known.secret)
    assert (registered.client_secret is not None) is confidential
    assert registered.redirect_uris == uris
    age = datetime.now(timezone.utc) - registered.issued_at
    assert timedelta(seconds=-2) < age < timedelta(minutes=2)


LEFT_OUT = dict.fromkeys(["client_secret", "scope", "client_id_issued_at", "redirect_uris"])
UNUSABLE = [{"client_id_issued_at": time} for time in (253_402_300_800, 10**30)]
UNUSABLE += [{"redirect_uris": [REDIRECT, uri]} for uri in ("https://a.example/\x1b[2J", "nowhere")]


@pytest.mark.parametrize("change", [LEFT_OUT, *({**LEFT_OUT, **change} for change in UNUSABLE)])
def test_a_response_without_a_secret_or_the_rest_is_not_an_error(server, change):
    server.faults["register"] = Fault(change=change)
    registered = bl.register_client(server.base_url, redirect_uris=[REDIRECT], confidential=True)
    assert registered.client_secret is registered.scope is registered.issued_at is None
    assert registered.redirect_uris == [REDIRECT], "those that were asked for"


RECORD = {
    "client_id": "client-7",
    "client_id_issued_at": 1_790_000_000,
    "client_name": "My app",
    "redirect_uris": [REDIRECT],
    "grant_types": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_method": "none",
    "response_types": ["code"],
    "registration_access_token": "management-canary",
    "registration_client_uri": "https://api.example.com/oauth2/register/client-7",
    "scope": "quote:read quote:write trade:read trade:write accid:*",
    "pkce_required": True,
}


def test_a_registration_keeps_every_field_of_the_record_in_section_2_1():
    with StandInService([response(RECORD), response({"client_id": "client-7"})]) as server:
        full, bare = (
            bl.register_client(server.base_url, redirect_uris=[REDIRECT]) for _ in range(2)
        )
    assert {name: getattr(full, name) for name in RECORD} == RECORD
    assert full.issued_at.timestamp() == RECORD["client_id_issued_at"]
    given = {"client_id", "redirect_uris"}
    assert all(getattr(bare, name) is None for name in RECORD.keys() - given)
    assert "canary" not in repr(full) + str(full)


@pytest.mark.parametrize("value", [-1, 1.5, {}, "\x1b[2J", [7], ["\x1b[2J"]], ids=ascii)
def test_a_field_of_the_record_in_another_form_is_none(value):
    record = dict.fromkeys(RECORD, value) | {"client_id": "client-7"}
    with StandInService([response(record)]) as server:
        registered = bl.register_client(server.base_url, redirect_uris=[REDIRECT])
    others = RECORD.keys() - {"client_id", "redirect_uris"}
    assert {getattr(registered, name) for name in others} == {None}
    assert registered.redirect_uris == [REDIRECT]


def test_a_secret_that_was_obtained_elsewhere_is_sent_and_not_stored_for_each_user(server):
    store = DictStore()
    auth = log_in(server, application(server, store))
    (known,) = server.clients.values()
    server.expire()
    assert list(quotes(client_of(server, auth))) == []
    for kind in ("authorization_code", "refresh_token"):
        (request,) = server.of(kind)
        assert request.form["client_secret"] == known.secret
    assert len(store.kept) == 1
    assert known.secret.encode() not in b"".join(store.kept.values())


@pytest.mark.parametrize(
    "uris",
    [
        *([], REDIRECT, [7], None, ["/callback"], [REDIRECT, "app.example.com/callback"]),
        *([REDIRECT + "\n"], ["//user:canary@app.example.com/callback"]),
    ],
)
def test_redirect_uris_that_are_none_are_rejected_before_anything_is_sent(server, uris):
    with pytest.raises(bl.ConfigError, match="redirect_uris") as caught:
        bl.register_client(server.base_url, redirect_uris=uris)
    assert "canary" not in str(caught.value)
    assert server.received == []


@pytest.mark.parametrize(
    "uri",
    [
        *("http://localhost:8000/callback", "http://app.example.com/callback?x=1"),
        *("com.example.app:/callback", "myapp://callback", "https://user@app.example.com/cb"),
    ],
)
def test_a_redirect_uri_is_passed_on_as_it_is_and_logs_in(uri):
    with bl.Sandbox(seed=7) as sandbox:
        registered = bl.register_client(sandbox.base_url, redirect_uris=[uri])
        assert registered.redirect_uris == [uri]
        client_id, store = registered.client_id, bl.MemoryStore()
        app = bl.OAuthApp(sandbox.base_url, client_id, redirect_uri=uri, store=store)
        begun = app.authorization_url()
        back = sandbox.authorize_demo_user(begun.url)
        assert back.startswith(uri)
        login = {"state": begun.state, "code_verifier": begun.code_verifier, "user": "alice"}
        auth = app.fetch_token(back, **login)
        with sandbox.client(auth) as client:
            assert len(client.sim_positions("5001")) > 0


def test_a_registration_that_is_rejected_says_why(server):
    server.faults["register"] = Fault(error="invalid_client_metadata", description="no name")
    with pytest.raises(bl.OAuthError) as caught:
        bl.register_client(server.base_url, redirect_uris=[REDIRECT])
    assert caught.value.error == "invalid_client_metadata"
    assert caught.value.hint.startswith("Register with other")
    assert "no name" in str(caught.value)
    assert server.counts["register"] == 1


def test_security_14_a_registration_and_an_application_show_no_secret(server):
    registered = bl.register_client(server.base_url, redirect_uris=[REDIRECT], confidential=True)
    app = application(server, bl.MemoryStore())
    auth = log_in(server, app)
    for thing in (app, auth):
        for way, text in appearances(thing):
            assert not hits(server.secrets, text), f"{way} of {thing!r}"
    assert registered.client_secret not in repr(registered)
    for thing in (registered, app, auth, app.authorization_url()):
        with pytest.raises(bl.ConfigError, match="cannot pickle"):
            pickle.dumps(thing)


@pytest.mark.parametrize("kind", KINDS)
def test_an_application_without_a_secret_is_pickled_with_its_store(server, kind):
    app = application(server, bl.KeyringStore(), kind, confidential=False, timeout=7.0)
    again = pickle.loads(pickle.dumps(app))
    assert type(again) is kind and repr(again) == repr(app)
    assert (again.client_id, again.redirect_uri) == (app.client_id, REDIRECT)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"redirect_uri": "app.example.com/callback"}, "redirect_uri"),
        ({"client_id": "a\nb"}, "client_id"),
        ({"store": object()}, "store"),
        ({"client_secret": 7}, "client_secret"),
        ({"client_secret": ""}, "client_secret is empty; expected the secret of the registration"),
        ({"client_secret": "secret\n"}, "client_secret is not valid"),
        ({"timeout": 0}, "timeout"),
        ({"base_url": "http://api.example.com"}, "base_url"),
    ],
)
def test_an_application_that_cannot_work_is_rejected_by_name(change, names):
    arguments = {"base_url": "https://api.example.com", "client_id": "client-1", **change}
    arguments = {"redirect_uri": REDIRECT, "store": bl.MemoryStore(), **arguments}
    for kind in KINDS:
        with pytest.raises(bl.ConfigError, match=names):
            kind(**arguments)
    if "client_secret" in change:
        with pytest.raises(bl.ConfigError, match=names):
            bl.OAuth("client-1", store=bl.MemoryStore(), **change)


def registered_as(server, change):
    """Registers as the service decides: with these members of its response changed."""
    secret = change.get("client_secret")
    known = server._registered({"token_endpoint_auth_method": "none", "redirect_uris": []})
    client = server.clients[known["client_id"]]
    client.secret = secret if change.get("token_endpoint_auth_method") != "none" else None
    server.secrets.update(filter(None, [secret]))
    server.faults["register"] = Fault(
        change={"client_id": client.client_id, **({"client_secret": None} | change)}
    )


SECRET = "secret-of-the-service-0123456789"
REPLACED = [
    ({"token_endpoint_auth_method": "client_secret_post", "client_secret": SECRET}, SECRET),
    ({"token_endpoint_auth_method": None, "client_secret": SECRET}, SECRET),
    ({"token_endpoint_auth_method": "client_secret_post", "client_secret": None}, None),
    ({"token_endpoint_auth_method": "none", "client_secret": None}, None),
    ({"token_endpoint_auth_method": "none", "client_secret": SECRET}, None),
]


@pytest.mark.parametrize("confidential", [False, True])
@pytest.mark.parametrize("change, secret", REPLACED)
def test_what_was_registered_is_what_the_response_says(server, change, secret, confidential):
    registered_as(server, change)
    asked = {"redirect_uris": [REDIRECT], "confidential": confidential}
    registered = bl.register_client(server.base_url, **asked)
    assert registered.client_secret == secret
    if change["client_secret"] is None and change["token_endpoint_auth_method"] != "none":
        return
    store = DictStore()
    flow = begin(server, store, confidential=confidential)
    oauth = flow.finish(server.authorize(flow.url))
    client = client_of(server, oauth)
    server.expire()
    with kept_port(listener_address(flow)[0]):
        assert list(quotes(client)) == []
        asked = server.counts["register"]
        sign_in(server, store, confidential=confidential)
    for kind in ("authorization_code", "refresh_token"):
        assert {request.form.get("client_secret") for request in server.of(kind)} == {secret}
    assert server.counts["register"] == asked, "the next login uses the same client"
