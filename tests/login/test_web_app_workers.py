"""Promise 32 for an application: forked workers, event loops and pickles."""

import asyncio
import pickle
import sys
import threading

import boardlot as bl
import pytest

from ..support.applications import application, awaited, log_in, session_of
from ..support.logins import quotes
from ..support.processes import program, run_python
from ..support.service import Fault
from ..support.stores import DictStore
from ..support.threads import wait_until

PRELOADED = program(__file__, "preloaded")


@pytest.mark.skipif(sys.platform == "win32", reason="fork of POSIX")
def test_security_32_forked_workers_log_in_and_refresh():
    out, _ = run_python(PRELOADED)
    assert out == "{0}\n"


class OnThreads(DictStore):
    """Refuses to be called on the thread of an event loop."""

    def __getattribute__(self, name):
        if name in ("load", "save", "delete"):
            with pytest.raises(RuntimeError):
                asyncio.get_running_loop()
        return super().__getattribute__(name)


def test_a_store_is_never_called_on_an_event_loop(server):
    store = OnThreads()
    app = application(server, store, bl.AsyncOAuthApp)

    async def work():
        begun = app.authorization_url()
        await app.fetch_token(server.authorize(begun.url), **session_of(begun), user="alice")
        server.expire()
        async with bl.AsyncClient(server.base_url, auth=await app.auth(user="alice")) as client:
            assert list(await quotes(client)) == []
        (await app.auth(user="alice")).logout()

    asyncio.run(work())
    assert store.saves == 2 and store.kept == {}


def test_a_login_that_is_cancelled_stores_nothing_and_blocks_nobody(server):
    store, allowed = DictStore(), threading.Event()
    app = application(server, store, bl.AsyncOAuthApp)
    server.faults["authorization_code"] = [Fault(until=allowed)]

    async def work():
        begun = app.authorization_url()
        session, callback = session_of(begun), server.authorize(begun.url)
        login = asyncio.ensure_future(awaited(app.fetch_token(callback, **session, user="alice")))
        await asyncio.to_thread(wait_until, lambda: server.counts["authorization_code"])
        login.cancel()
        with pytest.raises(asyncio.CancelledError):
            await login
        # The code may have been used: this login is over.
        with pytest.raises(bl.OAuthError, match="start over"):
            await app.fetch_token(callback, **session, user="alice")
        assert store.kept == {}

    asyncio.run(work())
    allowed.set()
    assert log_in(server, app, "alice").user == "alice"


def test_credentials_of_a_user_are_pickled_with_the_user_and_no_secret(server):
    auth = bl.OAuth("c", store=bl.KeyringStore(), base_url="https://api.example.com", user="alice")
    again = pickle.loads(pickle.dumps(auth))
    assert repr(again) == repr(auth) == "OAuth('c', 'https://api.example.com', user='alice')"
    assert again.user == "alice" and bl.OAuth("c", store=bl.MemoryStore()).user is None
