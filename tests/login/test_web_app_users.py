"""Promise 43: the users of an application share no tokens, refreshes, rejections or logouts,
and hold up one another neither by a lock nor by a login (promise 50)."""

import asyncio
import contextlib
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.applications import (
    KINDS,
    REDIRECT,
    application,
    auth_of,
    log_in,
    populate,
    session_of,
)
from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.service import Fault
from ..support.stores import DictStore
from ..support.threads import outcomes_of_threads, wait_until


class LockingStore(DictStore):
    """With a lock of its own for each key, which belongs to the thread that took it."""

    def __init__(self):
        super().__init__()
        self.locks = {}

    def lock(self, key):
        return self.locks.setdefault(key, threading.RLock())


def used(server, *credentials):
    """Calls the service with credentials of users."""
    return [row for auth in credentials for row in quotes(client_of(server, auth))]


async def gathered(work):
    return await asyncio.gather(*work)


def refreshed_with(server):
    """The refresh tokens that were sent, and how often."""
    return Counter(request.form["refresh_token"] for request in server.of("refresh_token"))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_security_43_users_have_tokens_of_their_own(server, kind):
    app = application(server, kind=kind)
    scopes = {"alice": ["quote:read"], "bob": ["trade:read", "accid:*"]}
    for user, granted in scopes.items():
        log_in(server, app, user, granted)
    for user, granted in scopes.items():
        assert auth_of(app, user).scopes == frozenset(granted)
    assert used(server, auth_of(app, "alice")) == []
    with pytest.raises(bl.PermissionDenied):
        used(server, auth_of(app, "bob"))
    with pytest.raises(bl.LoginRequired) as caught:
        auth_of(application(server, bl.MemoryStore(), kind=kind), "alice")
    assert "if another worker logged in, use a store that all workers" in str(caught.value)
    for nobody in ("Alice", "alice ", "bo", "carol"):
        with pytest.raises(bl.LoginRequired) as caught:
            auth_of(app, nobody)
        assert nobody in str(caught.value) and "authorization_url()" in caught.value.hint


def test_security_43_a_logout_is_that_of_one_user(server):
    store = DictStore()
    own = sign_in(server, store)
    app = application(server, store)
    alice, bob = log_in(server, app, "alice"), log_in(server, app, "bob")
    again = app.auth(user="alice")
    alice.logout()
    for gone in (lambda: alice, lambda: again, lambda: app.auth(user="alice")):
        with pytest.raises(bl.LoginRequired):
            used(server, gone())
    assert used(server, bob, app.auth(user="bob"), own) == []
    # The registration of the login of the machine's own user is not that of the application.
    assert server.base_url in store.kept
    assert used(server, log_in(server, app, "alice")) == []


def test_security_43_a_rejected_refresh_is_that_of_one_user(server):
    app = application(server)
    alice, bob = log_in(server, app, "alice"), log_in(server, app, "bob")
    revoked = next(iter(server.refresh))
    del server.refresh[revoked]
    server.expire()
    for auth in (alice, app.auth(user="alice"), alice):
        with pytest.raises(bl.LoginRequired, match="alice"):
            used(server, auth)
    assert used(server, bob) == []
    assert refreshed_with(server)[revoked] == 1
    with pytest.raises(bl.LoginRequired, match="no longer valid"):
        app.auth(user="alice")
    # A new login ends it.
    log_in(server, app, "alice")
    assert used(server, alice) == []


def test_a_login_in_another_process_takes_effect_with_auth(server):
    """Another process is a store object of its own, over the same values."""
    here, there = DictStore(), DictStore()
    there.kept = here.kept
    app = application(server, here, confidential=False)
    elsewhere = bl.OAuthApp(server.base_url, app.client_id, redirect_uri=REDIRECT, store=there)
    held = log_in(server, app, "alice", ["trade:read"])
    with pytest.raises(bl.PermissionDenied):
        used(server, held)
    log_in(server, elsewhere, "alice", ["quote:read"])
    assert app.auth(user="alice").scopes == held.scopes == frozenset({"quote:read"})
    # A new login replaces the tokens of every credential of the user.
    assert used(server, held) == []
    elsewhere.auth(user="alice").logout()
    for gone in (lambda: app.auth(user="alice"), lambda: held):
        with pytest.raises(bl.LoginRequired):
            used(server, gone())


@pytest.mark.parametrize("store", [DictStore, LockingStore, bl.MemoryStore])
def test_security_43_all_credentials_of_a_user_share_one_refresh(server, store):
    """Each has its own client and its own `OAuth`; some were made by hand."""
    store = store()
    app = application(server, store)
    (secret,) = (client.secret for client in server.clients.values())
    for user in ("alice", "bob"):
        log_in(server, app, user)
    server.expire()
    turn = iter(range(32))

    def work():
        n = next(turn)
        user = ("alice", "bob")[n % 2]
        named = {"store": store, "client_secret": secret, "base_url": server.base_url}
        made = bl.OAuth(app.client_id, user=user, **named)
        return len(used(server, app.auth(user=user) if n % 4 < 2 else made))

    assert outcomes_of_threads(32, work) == {0: 32}
    assert sorted(refreshed_with(server).values()) == [1, 1]


@pytest.mark.parametrize("number", [150, pytest.param(1_000, marks=pytest.mark.slow)])
def test_security_43_as_many_users_that_cross_an_expiry_cause_as_many_refreshes(number):
    store = LockingStore()
    users = [f"user-{n}" for n in range(number)]
    with bl.Sandbox(seed=7) as sandbox:
        app = application(sandbox, store, bl.AsyncOAuthApp)
        log_in(sandbox, app, "alice")
        populate(store, users)
        sandbox.revoke_tokens()

        async def use(user):
            options = {"auth": await app.auth(user=user), "timeout": 90.0, "connect_timeout": 60.0}
            async with bl.AsyncClient(sandbox.base_url, **options) as client:
                await quotes(client)

        # Some of them twice, as two requests of the user to the application would be.
        asyncio.run(gathered(map(use, [*users, *users[:100]])))
        sent = Counter((request.path, request.status) for request in sandbox.requests)
    tokens = [(status, count) for (path, status), count in sent.items() if path == "/oauth2/token"]
    assert tokens == [(200, number + 1)], sent


@pytest.mark.parametrize("kind", [DictStore, LockingStore])
def test_security_43_a_refresh_and_logouts_of_one_user_hold_up_no_other(server, kind):
    store = kind()
    app = application(server, store)
    alice, bob = (log_in(server, app, user) for user in ("alice", "bob"))
    clients = [client_of(server, auth, timeout=90.0) for auth in (alice, bob)]
    server.expire()
    allowed = threading.Event()
    server.faults["refresh_token"] = [Fault(until=allowed)]
    with ThreadPoolExecutor(101) as pool:
        refreshing = pool.submit(quotes, clients[0])
        wait_until(lambda: server.counts["refresh_token"] == 1)
        logouts = [pool.submit(alice.logout) for _ in range(100)]
        # Bob's own refresh and call, before that of alice has its response.
        assert list(quotes(clients[1])) == []
        assert not refreshing.done()
        allowed.set()
        for logout in logouts:
            logout.result()
        with contextlib.suppress(bl.BoardlotError):
            refreshing.result()
    assert not [key for key in store.kept if key.endswith(" alice")]


# The runtime's own pool has 512 threads.
@pytest.mark.parametrize("number", [600, pytest.param(1_000, marks=pytest.mark.slow)])
def test_security_50_many_logins_at_once_complete(number):
    """Of as many users, on several application objects."""
    store, applications = LockingStore(), 3
    with bl.Sandbox(seed=1) as sandbox:
        first = application(sandbox, store, bl.AsyncOAuthApp, confidential=False)
        options = {"redirect_uri": REDIRECT, "store": store, "timeout": 120.0}
        apps = [
            bl.AsyncOAuthApp(sandbox.base_url, first.client_id, **options)
            for _ in range(applications)
        ]

        async def log_in_one(n):
            app = apps[n % applications]
            begun = app.authorization_url()
            callback = await asyncio.to_thread(sandbox.authorize_demo_user, begun.url)
            return await app.fetch_token(callback, **session_of(begun), user=f"user-{n}")

        logged_in = asyncio.run(gathered(map(log_in_one, range(number))))
    assert {auth.user for auth in logged_in} == {f"user-{n}" for n in range(number)}
    assert len(store.kept) == number
