"""One user's lock, login or logout holds up no other user (promises 43 and 50)."""

import asyncio
import contextlib
import threading
import time

import boardlot as bl
import pytest

from ..support.applications import REDIRECT, application, awaited, log_in, populate
from ..support.clients import client_of
from ..support.logins import quotes
from ..support.service import Fault
from ..support.stores import DictStore

CROWD = 1_000


class Locked(DictStore):
    """Its lock is exclusive for each user, and slow for one of them."""

    def __init__(self):
        super().__init__()
        self.locks = {}
        self.slow = threading.Event()
        self.slow.set()

    @contextlib.contextmanager
    def lock(self, key):
        with self.locks.setdefault(key, threading.Lock()):
            if key.endswith(" alice"):
                self.slow.wait(30)
            yield


@pytest.mark.parametrize("kind", [DictStore, Locked])
def test_security_43_logins_and_logouts_of_one_user_hold_up_no_other(server, kind):
    store = kind()
    app = application(server, store, kind=bl.AsyncOAuthApp)
    clients = {}
    for user in ("alice", "bob"):
        clients[user] = client_of(server, log_in(server, app, user))
    alice = bl.OAuth(
        app.client_id, store=store, base_url=server.base_url, user="alice", client_secret="any"
    )
    server.expire()
    released = threading.Event()
    if kind is Locked:
        released = store.slow
        released.clear()
    else:
        server.faults["refresh_token"] = [Fault(until=released)]
    refreshing = threading.Thread(target=outcome, args=(clients["alice"],))
    refreshing.start()
    time.sleep(0.3)
    crowds = [threading.Thread(target=alice.logout, daemon=True) for _ in range(CROWD)]
    for thread in crowds:
        thread.start()
    began = time.monotonic()
    assert list(quotes(clients["bob"])) == []
    took = time.monotonic() - began
    assert refreshing.is_alive(), "the lock of alice is still held"
    assert took < 10.0, f"bob waited {took:.1f} s for alice"
    released.set()
    refreshing.join(30)
    for thread in crowds:
        thread.join(30)
        assert not thread.is_alive()
    assert not [key for key in store.kept if key.endswith(" alice")]


def outcome(client):
    with contextlib.suppress(bl.BoardlotError):
        list(quotes(client))


@pytest.mark.parametrize("applications", [1, 25])
def test_security_50_a_thousand_logins_at_once_complete(applications):
    """Of as many users, on one application object and on many."""
    store = Locked()
    with bl.Sandbox(seed=1) as sandbox:
        registered = bl.register_client(sandbox.base_url, redirect_uris=[REDIRECT])
        apps = [
            bl.AsyncOAuthApp(
                sandbox.base_url,
                registered.client_id,
                redirect_uri=REDIRECT,
                store=store,
                timeout=120.0,
            )
            for _ in range(applications)
        ]

        async def log_in_all():
            begun = [apps[n % applications].authorization_url() for n in range(CROWD)]
            callbacks = [
                await asyncio.to_thread(sandbox.authorize_demo_user, each.url) for each in begun
            ]
            logins = (
                apps[n % applications].fetch_token(
                    callbacks[n],
                    state=begun[n].state,
                    code_verifier=begun[n].code_verifier,
                    user=f"user-{n}",
                )
                for n in range(CROWD)
            )
            return await asyncio.wait_for(asyncio.gather(*map(awaited, logins)), 200)

        logged_in = asyncio.run(log_in_all())
    assert {auth.user for auth in logged_in} == {f"user-{n}" for n in range(CROWD)}
    assert len(store.kept) == CROWD


def test_security_50_a_thousand_refreshes_under_locks_complete(server):
    store = Locked()
    app = application(server, store)
    log_in(server, app)
    populate(store, [f"user-{n}" for n in range(CROWD)])
    server.expire()

    async def call_all():
        async def call(n):
            options = {"base_url": server.base_url, "user": f"user-{n}"}
            secret = next(iter(server.clients.values())).secret
            auth = bl.OAuth(app.client_id, store=store, client_secret=secret, **options)
            async with bl.AsyncClient(server.base_url, auth=auth, timeout=60.0) as client:
                return len(await client.reference_futures("HK.HSImain"))

        return await asyncio.gather(*map(call, range(CROWD)))

    assert set(asyncio.run(call_all())) == {0}
    assert server.counts["refresh_token"] == CROWD
