"""Stores of an application: how `lock` is used, and the encrypted SQLite store of the example."""

import contextlib
import os
import sqlite3
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.applications import REDIRECT, application, log_in
from ..support.clients import client_of
from ..support.logins import quotes
from ..support.processes import ROOT, program, python
from ..support.secret_search import hits
from ..support.service import Fault
from ..support.stores import DictStore
from ..support.threads import wait_until

EXAMPLE = ROOT / "examples" / "web_app"
KEY = bytes(range(32))
WORKER = program(__file__, "worker")


STORES = {"sqlite": ("token_store", "SqliteStore"), "postgres": ("postgres_store", "PostgresStore")}


def store_of(kind, place, key=KEY):
    """A store of the example, in this file or database."""
    module, name = STORES[kind]
    place = Path(place) if kind == "sqlite" else place
    return getattr(import_module(f"web_app.{module}"), name)(place, key)


@pytest.fixture
def example(monkeypatch):
    """Its modules can be imported."""
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))


@pytest.fixture
def sqlite_store(tmp_path, example):
    """Makes stores of the example over one file."""
    return partial(store_of, "sqlite", tmp_path / "tokens.db")


@contextlib.contextmanager
def workers(*arguments):
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(python(WORKER, *arguments)) for _ in range(4)]
        for child in children:
            stack.callback(child.kill)
        assert {child.stdout.readline() for child in children} == {"ready\n"}
        yield children


def round_of(children, user):
    """All workers call the service for one user at the same time."""
    for child in children:
        child.stdin.write(f"{user}\n")
        child.stdin.flush()
    return {child.stdout.readline().strip() for child in children}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_security_43_four_workers_refresh_a_user_once(server, tmp_path, request, example, kind):
    is_file = kind == "sqlite"
    place = tmp_path / "tokens.db" if is_file else request.getfixturevalue("postgres_address")
    app = application(server, store_of(kind, place))
    for user in ("alice", "bob"):
        log_in(server, app, user)
    (client,) = server.clients.values()
    with workers(server.base_url, app.client_id, client.secret, *STORES[kind], place) as children:
        assert round_of(children, "alice") == {"0"}
        assert server.counts["refresh_token"] == 0
        for n in range(1, 3):
            server.expire()
            assert round_of(children, "alice") == {"0"}
            assert server.counts["refresh_token"] == n
        assert round_of(children, "bob") == {"0"}
        assert server.counts["refresh_token"] == n + 1
        # The others read what one worker learns.
        server.expire()
        server.refresh.clear()
        assert round_of(children, "alice") == {"LoginRequired"}
        assert server.counts["refresh_token"] == n + 2
        app.auth(user="bob").logout()
        assert round_of(children, "bob") == {"LoginRequired"}
        assert server.counts["refresh_token"] == n + 2


class Recording(DictStore):
    """Notes what is called, and on which thread; the last two may fail."""

    def __init__(self):
        super().__init__()
        self.calls, self.failing = [], ""

    def __getattribute__(self, name):
        if name in ("load", "save", "delete"):
            self.note(name)
        return super().__getattribute__(name)

    def note(self, name):
        self.calls.append((name, threading.get_ident()))

    def names(self):
        return [name for name, _ in self.calls]

    def save(self, key, value):
        super().save(key, value)
        if self.failing == "save":
            raise OSError("disk full")

    @contextlib.contextmanager
    def lock(self, key):
        assert key.endswith(" alice")
        before = dict(self.kept)
        self.note("enter")
        try:
            yield
        finally:
            error = sys.exc_info()[0]
            self.note(f"leave with {error.__name__}" if error else "leave")
        if self.failing == "commit":
            self.kept = before
            raise OSError("no commit")


def test_a_lock_is_entered_used_and_left_on_one_thread(server):
    """So a thread's own connection or a reentrant lock will do."""
    store = Recording()
    app = application(server, store)
    store.calls.clear()
    auth = log_in(server, app)
    # The last `load` looks for a refusal of earlier tokens.
    assert store.names() == ["enter", "save", "load", "leave"]
    server.expire()
    client = client_of(server, app.auth(user="alice"))
    store.calls.clear()
    assert list(quotes(client)) == []
    names = store.names()
    locked = store.calls[names.index("enter") :]
    assert [name for name, _ in locked if name != "load"] == ["enter", "save", "leave"]
    # The value is read again under the lock and compared before it is replaced.
    assert names[names.index("enter") + 1] == names[names.index("save") - 1] == "load"
    assert len({thread for _, thread in locked}) == 1
    assert threading.get_ident() not in {thread for _, thread in store.calls}
    store.calls.clear()
    auth.logout()
    assert store.names() == ["load", "enter", "delete", "delete", "leave"]


@pytest.mark.parametrize(("failing", "said"), [("save", "disk full"), ("commit", "no commit")])
def test_a_change_that_fails_is_a_store_error_after_the_lock_is_left(server, failing, said):
    store = Recording()
    app = application(server, store)
    client = client_of(server, log_in(server, app))
    server.expire()
    store.failing = failing
    with pytest.raises(bl.StoreError, match=said) as caught:
        quotes(client)
    if failing == "save":
        # So that a transaction is rolled back.
        assert store.names()[-2:] == ["save", "leave with StoreError"]
        expected = "Correct the cause of the exception in Recording.save, then call again."
        assert caught.value.hint == expected
    # The new token is used from memory.
    assert list(quotes(client)) == []
    assert server.counts["refresh_token"] == 1
    with pytest.raises(bl.StoreError, match=said):
        log_in(server, app)


@pytest.mark.parametrize("returned", [None, 7])
def test_a_lock_that_is_not_a_context_manager_is_rejected_by_name(server, returned):
    class Wrong(DictStore):
        def lock(self, key):
            return returned

    message = f"Wrong.lock returned {type(returned).__name__}; expected a context manager"
    with pytest.raises(bl.StoreError, match=message) as caught:
        log_in(server, application(server, Wrong()))
    assert caught.value.hint == snapshot(
        "Correct Wrong.lock, or leave it out: each process then refreshes the token itself."
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Unseal the vault.", "Unseal the vault."),
        ("", "Correct the cause of the exception in Vault.load, then call again."),
    ],
)
def test_the_hint_of_a_store_error_that_a_store_raises_is_its_own(server, given, expected):
    class Vault(DictStore):
        def load(self, key):
            raise bl.StoreError("the vault is sealed", hint=given)

    with pytest.raises(bl.StoreError, match="the vault is sealed") as caught:
        application(server, Vault()).auth(user="alice")
    assert caught.value.hint == expected


def test_the_example_keeps_tokens_encrypted_and_each_with_its_user(server, tmp_path, sqlite_store):
    store = sqlite_store()
    app = application(server, store)
    for user in ("alice", "bob"):
        log_in(server, app, user)
    files = [path for path in tmp_path.iterdir() if path.name.startswith("tokens.db")]
    assert files and all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    content = b"".join(path.read_bytes() for path in files)
    assert not hits(server.secrets, content)
    assert app.auth(user="alice").scopes
    # Another key, a row of another user, a changed row: an error, never a token.
    options = {"redirect_uri": REDIRECT, "store": sqlite_store(os.urandom(32))}
    with pytest.raises(bl.StoreError, match="another key"):
        bl.OAuthApp(server.base_url, app.client_id, **options).auth(user="alice")
    with contextlib.closing(sqlite3.connect(tmp_path / "tokens.db")) as database, database:
        bob = "(select value from tokens where key like '% bob')"
        database.execute(f"update tokens set value = {bob} where key like '% alice'")
    with pytest.raises(bl.StoreError, match="was changed"):
        app.auth(user="alice")


def test_the_example_keeps_its_lock_for_as_long_as_a_refresh_takes(
    server, tmp_path, sqlite_store, monkeypatch
):
    store, other = sqlite_store(), sqlite_store()
    from web_app import token_store

    monkeypatch.setattr(token_store, "LOCK_SECONDS", 2.0)
    client = client_of(server, log_in(server, application(server, store)))
    server.expire()
    allowed = threading.Event()
    server.faults["refresh_token"] = Fault(until=allowed)

    def locks():
        with contextlib.closing(sqlite3.connect(tmp_path / "tokens.db")) as database:
            return dict(database.execute("select key, until from locks"))

    with ThreadPoolExecutor(1) as pool:
        refreshing = pool.submit(quotes, client)
        wait_until(lambda: server.counts["refresh_token"])
        ((key, until),) = locks().items()
        # Long after its first end, it has been prolonged while its holder is alive.
        wait_until(lambda: locks()[key] > until + 3.0)
        assert not other._take(key, "me")
        allowed.set()
        refreshing.result()
    assert other._take(key, "me")


def test_the_guide_shows_the_stores_of_the_example():
    guide = (ROOT / "docs" / "token-stores.md").read_text(encoding="utf-8")
    for name, fence in (("token_store.py", "python"), ("postgres_store.py", "py")):
        source = (EXAMPLE / name).read_text(encoding="utf-8")
        assert f"```{fence}\n{source}```\n" in guide, name
