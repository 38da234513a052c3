"""One user's lock, login or logout holds up no other user (promises 43 and 50)."""

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.applications import REDIRECT, application, log_in
from ..support.clients import client_of
from ..support.logins import quotes
from ..support.service import Fault
from ..support.stores import DictStore
from ..support.threads import wait_until
from .test_users import LockingStore

CROWD = 1_000


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


def test_security_50_a_thousand_logins_at_once_complete():
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
            session = {"state": begun.state, "code_verifier": begun.code_verifier}
            return await app.fetch_token(callback, **session, user=f"user-{n}")

        async def log_in_all():
            return await asyncio.gather(*map(log_in_one, range(CROWD)))

        logged_in = asyncio.run(log_in_all())
    assert {auth.user for auth in logged_in} == {f"user-{n}" for n in range(CROWD)}
    assert len(store.kept) == CROWD
