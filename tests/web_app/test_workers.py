"""Promises 13, 14 and 32 for an application: forked workers, event loops, logs and pickles."""

import asyncio
import logging
import pickle
import sys
import threading

import boardlot as bl
import pytest

from ..support.applications import KINDS, REDIRECT, application, consent, fetch, log_in
from ..support.clients import client_of
from ..support.logins import quotes
from ..support.processes import run_python
from ..support.secret_search import appearances, hits
from ..support.service import Fault
from ..support.stores import DictStore

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)

# A server that loads the application before it forks, as `gunicorn --preload` does.
PRELOADED = """
    import os, sys
    import boardlot as bl
    from tests.support.applications import application, log_in
    with bl.Sandbox(seed=7) as sandbox:
        app = application(sandbox, bl.MemoryStore())
        log_in(sandbox, app, "alice")
        begun = app.authorization_url()
        callback = sandbox.authorize_demo_user(begun.url)
        session = {"state": begun.state, "code_verifier": begun.code_verifier}

        def call(user):
            with bl.Client(sandbox.base_url, auth=app.auth(user=user)) as client:
                return len(client.dividends("HK.00700"))

        assert call("alice") > 0
        sandbox.revoke_tokens()
        children = []
        for work in range(3):
            child = os.fork()
            if not child:
                if work == 0:
                    app.fetch_token(callback, **session, user="bob")
                    call("bob")
                else:
                    call("alice")
                os._exit(0)
            children.append(child)
        print({os.waitpid(child, 0)[1] for child in children})
    """


@pytest.mark.skipif(sys.platform == "win32", reason="fork of POSIX")
def test_security_32_forked_workers_log_in_and_refresh():
    out, _ = run_python(PRELOADED)
    assert out == "{0}\n"


class OnThreads(DictStore):
    """Refuses to be called on the thread of an event loop."""

    def __init__(self):
        super().__init__()
        self.threads = set()

    def check(self):
        self.threads.add(threading.get_ident())
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()

    def load(self, key):
        self.check()
        return super().load(key)

    def save(self, key, value):
        self.check()
        super().save(key, value)

    def delete(self, key):
        self.check()
        super().delete(key)


def test_a_store_is_never_called_on_an_event_loop(server):
    store = OnThreads()
    app = application(server, store, bl.AsyncOAuthApp)

    async def work():
        begun = app.authorization_url()
        session = {"state": begun.state, "code_verifier": begun.code_verifier}
        await app.fetch_token(server.authorize(begun.url), **session, user="alice")
        server.expire()
        async with bl.AsyncClient(server.base_url, auth=app.auth(user="alice")) as client:
            assert list(await quotes(client)) == []
        app.auth(user="alice").logout()

    asyncio.run(work())
    assert store.threads and threading.get_ident() not in store.threads


def test_a_login_that_is_cancelled_stores_nothing_and_blocks_nobody(server):
    store = DictStore()
    app = application(server, store, bl.AsyncOAuthApp)
    server.faults["authorization_code"] = [Fault(delay=0.5)]

    async def work():
        begun = app.authorization_url()
        session = {"state": begun.state, "code_verifier": begun.code_verifier}
        callback = server.authorize(begun.url)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(app.fetch_token(callback, **session, user="alice"), 0.1)
        # The code may have been used: this login is over.
        with pytest.raises(bl.OAuthError, match="start over"):
            await app.fetch_token(callback, **session, user="alice")
        assert store.kept == {}

    asyncio.run(work())
    assert log_in(server, app, "alice").user == "alice"


@kinds
def test_security_14_no_log_line_of_a_login_shows_a_secret(server, caplog, kind):
    caplog.set_level(1)
    logging.getLogger("boardlot").setLevel(1)
    app = application(server, kind=kind)
    begun = app.authorization_url()
    auth = fetch(app, consent(server, begun.url), begun)
    server.expire()
    assert list(quotes(client_of(server, auth))) == []
    server.expire()
    server.refresh.clear()
    with pytest.raises(bl.LoginRequired) as caught:
        quotes(client_of(server, app.auth(user="alice")))
    server.complaints.clear()
    assert [record for record in caplog.records if record.name.startswith("boardlot")]
    logged = "\n".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    secrets = {*server.secrets, begun.state, begun.code_verifier}
    assert not hits(secrets, logged)
    for thing in (caught.value, auth, app):
        for way, text in appearances(thing):
            assert not hits(secrets, text), f"{way} of {thing!r}"


def test_security_13_the_environment_supplies_no_secret(server, monkeypatch):
    (app, other) = application(server), application(server, confidential=False)
    for name in ("CLIENT_SECRET", "SECRET", "TOKEN", "ACCESS_TOKEN", "USER", "PASSPHRASE"):
        for prefix in ("BOARDLOT_", "BL_", "OAUTH_", ""):
            monkeypatch.setenv(prefix + name, "canary-7f1e0c55d2")
    for each in (app, other):
        log_in(server, each)
    assert not [seen for seen in server.received if b"canary" in seen.everything]
    assert "client_secret" not in server.of("authorization_code")[1].form


def test_credentials_of_a_user_are_pickled_with_the_user_and_no_secret(server):
    auth = bl.OAuth("c", store=bl.KeyringStore(), base_url="https://api.example.com", user="alice")
    again = pickle.loads(pickle.dumps(auth))
    assert repr(again) == repr(auth) == "OAuth('c', 'https://api.example.com', user='alice')"
    assert again.user == "alice" and bl.OAuth("c", store=bl.MemoryStore()).user is None


def test_an_application_belongs_to_one_service(server):
    app = application(server)
    auth = log_in(server, app)
    with pytest.raises(bl.ConfigError, match="are not sent to"):
        bl.Client("https://api.example.com", auth=auth)
    elsewhere = bl.OAuthApp(
        "https://api.example.com", app.client_id, redirect_uri=REDIRECT, store=DictStore()
    )
    with pytest.raises(bl.LoginRequired):
        elsewhere.auth(user="alice")
