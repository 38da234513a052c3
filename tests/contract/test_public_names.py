"""What errors of wrong calls name: classes and functions that users know, and no others."""

import asyncio
import gc
import inspect
import re
import typing
import warnings
from datetime import timedelta

import boardlot as bl
import pytest
from boardlot import _core

CALLBACK = "https://app.example.com/callback"
FILLS = "281756", "HK"
SANDBOX = {"fills": 60}
# What they return that has no name in the package, and needs none.
RETURNED = {
    "SchemaField",
    "StoredFills",
    "QueryResult",
    "RecordedRequest",
    "Finding",
    "Findings",
    "UpdateReport",
}
# A class of the package, or a private name, as an error would show it.
NAMED = re.compile(r"\b(?:boardlot\.)?(_?[A-Z]\w*)(?=\.\w+\(\))|\b(_[a-z]\w*)\(\)|boardlot\.(_\w+)")


def public_classes():
    """The classes that users can make or are given: not records, values, events and errors."""
    found = {name: getattr(bl, name) for name in bl.__all__}
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isclass(thing)
        # In Python 3.10, `dict[str, Any]` is said to be a class.
        and typing.get_origin(thing) is None
        and thing.__module__ != "boardlot._records"
        and not issubclass(thing, BaseException)
    }


@pytest.fixture(scope="module")
def instances(sandbox, tmp_path_factory):
    """An object of each of them."""
    folder = tmp_path_factory.mktemp("instances")
    with sandbox.client() as client:
        registered = bl.register_client(sandbox.base_url, redirect_uris=[CALLBACK])
        given = (sandbox.base_url, registered.client_id)
        app, async_app = (
            kind(*given, redirect_uri=CALLBACK, store=bl.MemoryStore())
            for kind in (bl.OAuthApp, bl.AsyncOAuthApp)
        )
        flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
        login = flow.finish(sandbox.authorize_demo_user(flow.url))
        async_client = sandbox.async_client()
        recorder = bl.Recorder(folder / "cassette")
        recorder.close()
        events = []
        with sandbox.client(on_request=events.append, on_response=events.append) as observed:
            observed.server_time()
        archive = bl.Archive(folder / "a.db")
        made = [
            *(sandbox, client, async_client, app, async_app, flow, login, registered, archive),
            *(bl.BearerToken("x" * 12), bl.generate_key(), bl.RateLimit(5), bl.Faults()),
            *(bl.MemoryStore(), bl.KeyringStore(), bl.EncryptedFileStore(folder / "t", "p")),
            *(bl.DateRange(next="x"), bl.Endpoint("x", "GET", "/x"), sandbox.api_key()),
            *(client.dividends("HK.00700"), client.fills_history(*FILLS)),
            *(async_client.fills_history(*FILLS), app.authorization_url(), *events),
            *(client.request("GET", "/api/v1.0/server-time"), client.explain("GET", "/x")),
            *(recorder, bl.Replay(folder / "cassette")),
        ]
        found = {type(one).__name__: one for one in made}
        yield found
        found.clear()
        archive.close()
        asyncio.run(async_client.close())
        made.clear()
        del app, async_app, flow, login
        gc.collect()


@pytest.mark.parametrize("name", [one for one in public_classes() if one != "TokenStore"])
def test_a_wrong_call_names_public_classes_alone(name, instances):
    kind, thing = public_classes()[name], instances[name]
    calls = [lambda **named: kind(**named), lambda: thing.nonsense, lambda: thing.nonsense()]
    methods = [getattr(thing, one) for one in dir(kind) if not one.startswith("_")]
    own = [one for one in methods if callable(one) and not hasattr(list, one.__name__)]
    for method in own:
        calls += [lambda m=method: m(nonsense=1), lambda m=method: m(*range(20))]
    calls += [
        lambda: kind(nonsense=1),
        lambda: kind(*range(20)),
        lambda: thing[0],
        lambda: len(thing),
    ]
    calls += [lambda: thing + 1, lambda: thing(), lambda: setattr(thing, "nonsense", 1)]
    for call in calls:
        shown = error_of(call)
        for found in NAMED.findall(shown):
            (seen,) = filter(None, found)
            assert hasattr(bl, seen) or seen in RETURNED or seen in EXCEPTIONS, shown


# A constructor's own name is Python's, and that of a base class.
EXCEPTIONS = {"__new__", "__init__", "ClientBase", "EnumType"}


def error_of(call):
    """The text of the error, and of what is awaited."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = call()
            if inspect.iscoroutine(value):
                asyncio.run(value)
        except Exception as error:
            return str(error)
    return ""


def test_the_compiled_classes_are_of_the_package():
    compiled = [one for name, one in public_classes().items() if getattr(_core, name, None) is one]
    assert len(compiled) >= 12
    for one in compiled:
        assert one.__module__ == "boardlot" and getattr(bl, one.__name__) is one


def test_a_call_of_an_archive_that_is_not_awaited_has_the_name_of_its_method(instances):
    """Python's warning says it: coroutine 'Archive.update' was never awaited."""
    archive, client = instances["Archive"], instances["AsyncClient"]
    for name, coroutine in (
        ("Archive.update", archive.update(client)),
        ("Archive.get", archive.get(client, "ipos", "hk", max_age=timedelta(hours=1))),
    ):
        assert coroutine.__qualname__ == name
        coroutine.close()
