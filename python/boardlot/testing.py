"""Tests for token stores that users write: `TokenStoreSuite`, which every built-in store passes."""

from __future__ import annotations

import inspect
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from . import Client, LoginRequired, OAuthApp, Sandbox, register_client

__all__ = ["TokenStoreSuite"]

_SECRET = b'{"refresh_token":"canary-7c1e","access_token":"canary-9b02"}'
_CALLBACK = "https://app.example.com/callback"
_THREADS = 4
_UPDATES = 10
# The seconds after which a lock counts as one that a thread never gets.
_TIMEOUT = 120.0


class TokenStoreSuite:
    """Tests for pytest of the behavior of every token store.

    Derive a class from it whose name begins with `Test`, with a fixture `open_store` that returns a
    function without arguments: it opens your store at the same location each time, as each of your
    workers does. pytest then runs all tests of the suite, each with its own key; the tests of
    `lock` are skipped for a store without it.

        class TestMyStore(TokenStoreSuite):
            @pytest.fixture
            def open_store(self, tmp_path):
                return lambda: MyStore(tmp_path / "tokens.db")
    """

    @pytest.fixture
    def open_store(self) -> Callable[[], Any]:
        """Returns a function that opens the store; yours replaces this one."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture named open_store")

    @pytest.fixture
    def key(self) -> str:
        """A key as boardlot makes them, which no other test uses."""
        return f"https://api.example.com client-{secrets.token_hex(8)} alice"

    def test_its_methods_are_not_coroutines(self, open_store: Callable[[], Any]) -> None:
        store = open_store()
        for name in ("load", "save", "delete"):
            assert not inspect.iscoroutinefunction(getattr(store, name)), name

    def test_a_key_that_was_never_saved_has_no_value(
        self, open_store: Callable[[], Any], key: str
    ) -> None:
        assert _loaded(open_store(), key) is None

    def test_a_value_is_loaded_as_the_bytes_that_were_saved(
        self, open_store: Callable[[], Any], key: str
    ) -> None:
        store = open_store()
        for value in (_SECRET, bytes(range(256)), b"\0", b"x" * 10_000):
            store.save(key, value)
            loaded = store.load(key)
            assert isinstance(loaded, bytes) and loaded == value

    def test_a_later_value_replaces_the_earlier_one(
        self, open_store: Callable[[], Any], key: str
    ) -> None:
        store = open_store()
        store.save(key, b"a long value, of which nothing remains")
        store.save(key, b"short")
        assert store.load(key) == b"short"

    def test_another_worker_sees_what_was_saved_and_deleted(
        self, open_store: Callable[[], Any], key: str
    ) -> None:
        one, other = open_store(), open_store()
        assert _loaded(other, key) is None
        one.save(key, b"first")
        assert other.load(key) == b"first"
        other.save(key, b"second")
        assert one.load(key) == b"second"
        one.delete(key)
        assert _loaded(other, key) is None
        assert _loaded(open_store(), key) is None

    def test_a_value_that_is_not_there_can_be_deleted(
        self, open_store: Callable[[], Any], key: str
    ) -> None:
        store = open_store()
        store.save(key, _SECRET)
        for _ in range(2):
            with suppress(KeyError):
                store.delete(key)
            assert _loaded(store, key) is None

    def test_keys_are_compared_exactly(self, open_store: Callable[[], Any], key: str) -> None:
        # The last two are one letter and two characters for one; boardlot uses the suffix itself.
        keys = [key, key.upper(), f"{key} ", f"{key} %refused", f"{key}%", f"{key}_"]
        keys += [key[:-1], f"{key}/../bob", f"{key}'", f"{key} ü", f"{key} u\u0308"]
        store = open_store()
        for one in keys:
            assert _loaded(store, one) is None
            store.save(one, one.encode())
        assert [store.load(one) for one in keys] == [one.encode() for one in keys]
        deleted = keys[::2]
        for one in deleted:
            store.delete(one)
        for one in keys:
            assert _loaded(store, one) == (None if one in deleted else one.encode())

    def test_threads_can_save_at_the_same_time(
        self, open_store: Callable[[], Any], key: str
    ) -> None:
        store, together = open_store(), threading.Barrier(_THREADS)

        def save(number: int) -> None:
            together.wait(_TIMEOUT)
            for _ in range(_UPDATES):
                store.save(f"{key} {number}", b"%d" % number)
                store.save(key, b"%d" % number * 1000)

        _in_threads(save)
        for number in range(_THREADS):
            assert store.load(f"{key} {number}") == b"%d" % number
        # One of the values, whole.
        assert store.load(key) in [b"%d" % number * 1000 for number in range(_THREADS)]

    def test_it_shows_no_value(self, open_store: Callable[[], Any], key: str) -> None:
        store = open_store()
        store.save(key, _SECRET)
        store.load(key)
        assert "canary" not in f"{store!r} {store}"

    def test_a_lock_excludes_other_workers(self, open_store: Callable[[], Any], key: str) -> None:
        _need_lock(open_store())
        open_store().save(key, b"0")
        together = threading.Barrier(_THREADS)

        def count(_number: int) -> None:
            store = open_store()
            together.wait(_TIMEOUT)
            for _ in range(_UPDATES):
                with store.lock(key):
                    store.save(key, b"%d" % (int(store.load(key)) + 1))

        _in_threads(count)
        assert open_store().load(key) == b"%d" % (_THREADS * _UPDATES)

    def test_a_lock_ends_with_an_exception_which_it_passes_on(
        self, open_store: Callable[[], Any], key: str
    ) -> None:
        store = _need_lock(open_store())
        store.save(key, b"before")
        with pytest.raises(_FailedError), store.lock(key):
            store.save(key, b"within")
            raise _FailedError
        # Saved or rolled back, but whole; and the next worker can enter.
        assert store.load(key) in (b"before", b"within")

        def enter(_number: int) -> None:
            other = open_store()
            with other.lock(key):
                other.save(key, b"after")

        _in_threads(enter)
        assert store.load(key) == b"after"

    def test_it_keeps_the_logins_of_an_application(
        self, open_store: Callable[[], Any], boardlot_sandbox: Sandbox
    ) -> None:
        address = boardlot_sandbox.base_url
        registered = register_client(address, redirect_uris=[_CALLBACK])

        def worker() -> OAuthApp:
            store = open_store()
            return OAuthApp(address, registered.client_id, redirect_uri=_CALLBACK, store=store)

        for user in ("alice", "bob"):
            begun = worker().authorization_url()
            callback = boardlot_sandbox.authorize_demo_user(begun.url)
            exchange = {"state": begun.state, "code_verifier": begun.code_verifier}
            worker().fetch_token(callback, **exchange, user=user)
        # Each user's tokens are refreshed, and those of one are forgotten.
        boardlot_sandbox.revoke_tokens()
        for user in ("alice", "bob"):
            with Client(address, auth=worker().auth(user=user)) as client:
                assert client.server_time().tzinfo is not None
                assert len(client.dividends("HK.00700")) > 0
        worker().auth(user="alice").logout()
        with (
            pytest.raises(LoginRequired),
            Client(address, auth=worker().auth(user="alice")) as client,
        ):
            client.dividends("HK.00700")
        with Client(address, auth=worker().auth(user="bob")) as client:
            assert len(client.dividends("HK.00700")) > 0


class _FailedError(Exception):
    pass


def _loaded(store: Any, key: str) -> bytes | None:
    """A value, or None; a store may raise KeyError instead."""
    try:
        loaded: bytes | None = store.load(key)
    except KeyError:
        return None
    return loaded


def _need_lock(store: Any) -> Any:
    if not hasattr(store, "lock"):
        pytest.skip("this store has no method lock: each worker refreshes tokens by itself")
    return store


def _in_threads(work: Callable[[int], None]) -> None:
    """Runs a function in threads; a thread that waits for a lock for ever is left behind."""
    failed: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [
        threading.Thread(target=run, args=(number,), daemon=True) for number in range(_THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_TIMEOUT)
        assert not thread.is_alive(), "a method of the store does not return"
    if failed:
        raise failed[0]
