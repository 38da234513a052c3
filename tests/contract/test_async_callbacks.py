"""Callbacks that would have to be awaited: each is refused when it is passed, as boardlot calls
them on threads of its own. One table has them all."""

import contextlib
import functools
import inspect
import warnings
from unittest import mock

import boardlot as bl
import pytest
from boardlot import doctor
from inline_snapshot import snapshot

URL = "http://127.0.0.1:1"
CALLBACK = "https://app.example.com/callback"


async def function(*arguments):
    return None


async def generator(*arguments):
    yield None


class Object:
    async def __call__(self, *arguments):
        return None

    async def method(self, *arguments):
        return None


ASYNC = {
    "a function": function,
    "a generator": generator,
    "a method": Object().method,
    "an object": Object(),
    "a partial function": functools.partial(functools.partial(function, 1), 2),
    "a lambda of a mock": mock.AsyncMock(),
    "a context manager": contextlib.asynccontextmanager(generator),
}
if hasattr(inspect, "markcoroutinefunction"):
    ASYNC["a marked function"] = inspect.markcoroutinefunction(lambda *arguments: function())


def store_with(**methods):
    members = {name: lambda self, *arguments: None for name in ("load", "save", "delete")}
    return type("Store", (), {**members, **{k: staticmethod(f) for k, f in methods.items()}})()


# Every callable that a caller passes, but classes, which are called to make their instances.
WAYS = {
    "Client(on_request=)": lambda call: bl.Client(URL, on_request=call),
    "Client(on_response=)": lambda call: bl.Client(URL, on_response=call),
    "AsyncClient(on_request=)": lambda call: bl.AsyncClient(URL, on_request=call),
    "AsyncClient(on_response=)": lambda call: bl.AsyncClient(URL, on_response=call),
    "EncryptedFileStore(passphrase=)": lambda call: bl.EncryptedFileStore("tokens", call),
    "examine(auth=)": lambda call: list(doctor.examine(URL, auth=call)),
    **{
        f"{name}(store=.{method})": functools.partial(
            lambda use, method, call: use(store_with(**{method: call})), use, method
        )
        for method in ("load", "save", "delete", "lock")
        for name, use in {
            "OAuth": lambda store: bl.OAuth("id", store=store),
            "OAuthApp": lambda store: bl.OAuthApp(URL, "id", redirect_uri=CALLBACK, store=store),
            "AsyncOAuthApp": lambda store: bl.AsyncOAuthApp(
                URL, "id", redirect_uri=CALLBACK, store=store
            ),
            "begin_login": lambda store: bl.begin_login(URL, store=store),
            "login": lambda store: bl.login(URL, store=store, open_browser=False),
        }.items()
    },
}


@pytest.mark.parametrize("kind", ASYNC)
@pytest.mark.parametrize("way", WAYS)
def test_a_callback_that_nothing_would_await_is_refused_when_it_is_passed(way, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(bl.ConfigError, match="async") as refused:
            WAYS[way](ASYNC[kind])
    name = way.partition("(")[2].rstrip(")").replace("store=", "Store").rstrip("=")
    assert name in str(refused.value)


def test_the_way_to_write_a_store_is_said():
    with pytest.raises(bl.ConfigError, match=r"Store\.save is an async method") as refused:
        bl.OAuth("id", store=store_with(save=function))
    assert str(refused.value) == snapshot(
        "store: Store.save is an async method, which nothing would await; expected plain "
        "methods load(key), save(key, data) and delete(key)"
    )
    assert refused.value.hint == snapshot(
        "Write `def` instead of `async def`, with the blocking client of the database, "
        "such as redis.Redis for redis.asyncio.Redis: a store is called on a worker "
        "thread, never on an event loop."
    )


def sync(asynchronous):
    """As `asgiref.sync.async_to_sync` does."""

    @functools.wraps(asynchronous)
    def call(*arguments):
        with contextlib.suppress(StopIteration):
            asynchronous(*arguments).send(None)

    return call


PLAIN = {
    "a function": lambda *arguments: None,
    "a function around an async one": sync(function),
    "a mock": mock.Mock(return_value=None),
    "a partial function": functools.partial(lambda *arguments: None, 1),
    "a class": dict,
}


@pytest.mark.parametrize("kind", PLAIN)
def test_other_callables_are_taken(kind):
    with bl.Client(URL, on_request=PLAIN[kind], on_response=PLAIN[kind]):
        bl.EncryptedFileStore("tokens", PLAIN[kind])
        bl.OAuth("id", store=store_with(load=PLAIN[kind], lock=PLAIN[kind]), base_url=URL)


# As `redis.asyncio` has them: plain methods that return what has to be awaited.
@pytest.mark.parametrize("method", ["load", "save", "delete"])
def test_a_method_that_returns_a_coroutine_is_an_error_that_names_it(method, sandbox):
    kept = bl.MemoryStore()
    store = store_with(load=kept.load, save=kept.save, delete=kept.delete)
    auth = logged_in(sandbox, store)
    setattr(type(store), method, staticmethod(lambda *arguments: function()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(bl.StoreError, match=rf"Store\.{method} returned coroutine") as refused:
            auth.logout() if method == "delete" else use(sandbox, store, method)
    assert "plain method" in refused.value.hint and not refused.value.retryable


@pytest.mark.parametrize("value", ["{}", 5, object()])
def test_a_result_of_another_type_is_an_error_that_does_not_show_it(value, sandbox):
    store = store_with(load=lambda key: value)
    auth = bl.OAuth("id", store=store, base_url=sandbox.base_url)
    with pytest.raises(bl.StoreError) as refused:
        _ = auth.scopes
    expected = f"Store.load returned {type(value).__name__}; expected bytes or None"
    assert str(refused.value) == expected


def logged_in(sandbox, store):
    flow = bl.begin_login(sandbox.base_url, store=store)
    return flow.finish(sandbox.authorize_demo_user(flow.url))


def use(sandbox, store, method):
    if method == "save":
        return logged_in(sandbox, store)
    return bl.OAuth("id", store=store, base_url=sandbox.base_url).scopes
