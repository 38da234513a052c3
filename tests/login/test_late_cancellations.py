"""A code that was sent: its tokens are stored, whoever still waits, and before anybody is woken."""

import asyncio
import threading
import time

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.applications import application, consent, fetch, log_in, outcome, session_of
from ..support.callbacks import call, closed, listener_address
from ..support.clients import client_of
from ..support.fixtures import opened, openers, server
from ..support.interrupts import interrupted
from ..support.logins import begin, callback_query, in_a_thread, quotes
from ..support.service import Fault
from ..support.stores import DictStore
from ..support.threads import wait_until
from ..support.words import raises

__all__ = ["opened", "openers", "server"]


@pytest.fixture
def allowed(server):
    """The exchange of a code gets its response once this is set."""
    allowed = threading.Event()
    server.faults["authorization_code"] = Fault(until=allowed)
    yield allowed
    allowed.set()


async def is_sent(server):
    await asyncio.to_thread(wait_until, lambda: server.counts["authorization_code"])


def tokens_of(store):
    return [key for key, data in store.kept.items() if b"access_token" in data]


def works(server, oauth):
    return list(quotes(client_of(server, oauth))) == []


def test_a_cancelled_fetch_token_stores_its_tokens(server, allowed):
    store = DictStore()
    app = application(server, store, bl.AsyncOAuthApp)

    async def cancelled():
        begun = app.authorization_url()
        fetching = app.fetch_token(consent(server, begun.url), **session_of(begun), user="alice")
        task = asyncio.ensure_future(fetching)
        await is_sent(server)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert tokens_of(store) == []
    allowed.set()
    wait_until(lambda: tokens_of(store))
    assert works(server, outcome(app.auth(user="alice")))


def test_an_interrupted_fetch_token_stores_its_tokens(server, allowed):
    store = DictStore()
    app = application(server, store)
    begun = app.authorization_url()
    callback = consent(server, begun.url)

    def fetch_late():
        fetch(app, callback, begun)

    interrupted(fetch_late)
    wait_until(lambda: server.counts["authorization_code"])
    allowed.set()
    wait_until(lambda: tokens_of(store))
    assert works(server, app.auth(user="alice"))


@pytest.mark.parametrize("way", ["await", "wait", "finish", "cancel"])
def test_a_login_that_is_cancelled_late_stores_its_tokens(server, allowed, way):
    store = DictStore()
    flow = begin(server, store)
    callback_url, query = server.authorize(flow.url), callback_query(server, flow)

    async def awaited():
        task = asyncio.ensure_future(await_flow())
        await is_sent(server)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def await_flow():
        return await flow

    if way == "finish":
        interrupted(lambda: flow.finish(callback_url))
    else:
        page = in_a_thread(lambda: call(flow, query=query))
        if way == "await":
            asyncio.run(awaited())
        else:
            wait_until(lambda: server.counts["authorization_code"])
        if way == "wait":
            interrupted(flow.wait)
        flow.cancel()
        page.result(90)
        assert closed(listener_address(flow)[0])
    assert tokens_of(store) == []
    allowed.set()
    (key,) = wait_until(lambda: tokens_of(store))
    oauth = bl.OAuth(key.split(" ")[-1], store=store, base_url=server.base_url)
    assert works(server, oauth)


class SlowStore(DictStore):
    """Saves tokens once `may_save` is set."""

    def __init__(self):
        super().__init__()
        self.saving, self.may_save = threading.Event(), threading.Event()

    def save(self, key, value):
        if b"access_token" in value:
            self.saving.set()
            assert self.may_save.wait(90)
        super().save(key, value)


def test_tokens_are_stored_before_anybody_is_woken(server):
    store = SlowStore()
    flow = begin(server, store)
    query = callback_query(server, flow)
    calls = [in_a_thread(flow.wait), in_a_thread(lambda: call(flow, query=query))]
    app_store = SlowStore()
    app = application(server, app_store)
    calls.append(in_a_thread(lambda: log_in(server, app)))
    for one in (store, app_store):
        assert one.saving.wait(90)
    assert not any(one.done() for one in calls)
    for one in (store, app_store):
        one.may_save.set()
    oauth, page, user = (one.result(90) for one in calls)
    assert page.status == 200 and works(server, oauth) and works(server, user)


def test_what_is_pasted_and_what_the_browser_sends_is_checked_alike(server):
    flow = begin(server)
    good, bad = callback_query(server, flow), "code=x&state=forged"
    redirect_uri = server.authorize(flow.url).partition("?")[0]
    assert call(flow, query=bad).status == 400
    with raises(
        bl.OAuthError,
        snapshot("invalid_request: the state of the callback is not the state of this login"),
    ):
        flow.finish(f"{redirect_uri}?{bad}")
    # Pasted while the browser's own is being exchanged: the login has one outcome.
    allowed = threading.Event()
    server.faults["authorization_code"] = Fault(until=allowed)
    page = in_a_thread(lambda: call(flow, query=good))
    wait_until(lambda: server.counts["authorization_code"])
    late = in_a_thread(lambda: flow.finish(f"{redirect_uri}?{good}"))
    time.sleep(0.2)  # time: for what is pasted to arrive
    allowed.set()
    assert page.result(90).status == 200
    try:
        assert works(server, late.result(90))
    except bl.OAuthError as error:  # On a busy machine, it may come after the end.
        assert "this login has ended" in str(error)
    with raises(bl.OAuthError, snapshot("invalid_request: this login has ended; begin another")):
        flow.finish(f"{redirect_uri}?{good}")
    assert works(server, flow.wait())
    assert server.counts["authorization_code"] == 1
