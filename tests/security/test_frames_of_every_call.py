"""Promise 14 for crash reporters, of every public function: after an error, no variable of a frame
of boardlot's has a value that the caller passed, whatever it was."""

import asyncio
import inspect
from contextlib import ExitStack
from importlib import import_module

import boardlot as bl
import pytest
from boardlot import _records

from ..support.secret_search import CANARY, PACKAGE, variables_with

URL = "http://127.0.0.1:1"
CALLBACK = "https://app.example.com/callback"
FILLS = "281756", "HK"
MODULES = ["boardlot", "boardlot.auth", "boardlot.calendar", "boardlot.dask", "boardlot.doctor",
           "boardlot.frames", "boardlot.notebook", "boardlot.otel", "boardlot.plots",
           "boardlot.polars"]  # fmt: skip
OBJECTS = ["ApiKey", "Archive", "AsyncClient", "AsyncOAuthApp", "AsyncPager", "Client",
           "EncryptedFileStore", "Instrumentor", "IpoCalendar", "LoginFlow", "MemoryStore", "OAuth",
           "OAuthApp", "Pager", "QueryResult", "Records", "Sandbox", "StoredFills"]  # fmt: skip
# A method that delivers rows has no wrapper which could empty its frame: an interrupt in that would
# lose the rows. They take numbers and the names of forms.
DELIVERING = {f"Pager.{name}" for name in ("all", "to_arrow", "to_pandas", "to_polars")}
# Pagers are made by clients; the events of a calendar are a generator over records.
INTERNAL = {"boardlot.Pager", "IpoCalendar.of"}


class Unfit:
    """A value that nothing accepts."""

    def __repr__(self):
        return CANARY


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """A function that makes an object of a class."""
    from boardlot.otel import Instrumentor

    folder = tmp_path_factory.mktemp("objects")
    with ExitStack() as stack:
        sandbox = stack.enter_context(bl.Sandbox(seed=7, fills=20))
        client = stack.enter_context(sandbox.client())
        archive = stack.enter_context(bl.Archive(folder / "archive.db"))
        archive.update(client, fills=[FILLS])
        app = {"redirect_uri": CALLBACK, "store": bl.MemoryStore()}
        makers = {
            "ApiKey": sandbox.api_key,
            "Archive": lambda: archive,
            "AsyncClient": lambda: bl.AsyncClient(URL, max_retries=0),
            "AsyncOAuthApp": lambda: bl.AsyncOAuthApp(URL, "id", **app),
            "AsyncPager": lambda: sandbox.async_client().fills_history(*FILLS),
            "Client": lambda: bl.Client(URL, max_retries=0),
            "EncryptedFileStore": lambda: bl.EncryptedFileStore(folder / "store", lambda: "words"),
            "Instrumentor": Instrumentor,
            "IpoCalendar": lambda: client.ipo_calendar(["sg"]),
            "LoginFlow": lambda: bl.begin_login(sandbox.base_url, store=bl.MemoryStore()),
            "MemoryStore": bl.MemoryStore,
            "OAuth": lambda: bl.OAuth("client", store=bl.MemoryStore()),
            "OAuthApp": lambda: bl.OAuthApp(URL, "id", **app),
            "Pager": lambda: client.fills_history(*FILLS),
            "QueryResult": lambda: archive.sql("select 1 as one"),
            "Records": lambda: client.dividends("HK.00700"),
            "Sandbox": lambda: sandbox,
            "StoredFills": lambda: archive.fills(*FILLS),
        }
        yield lambda name: makers[name]()


def functions_of(module):
    """The public functions and classes of a module."""
    for name in import_module(module).__all__:
        thing = getattr(import_module(module), name)
        is_error = isinstance(thing, type) and issubclass(thing, Exception)
        if callable(thing) and not is_error and name not in _records.__all__:
            yield f"{module}.{name}", thing


def methods_of(name, make):
    """The public methods of a class, each of an object of its own."""
    kind = type(make())
    for own in dir(kind):
        if not own.startswith("_") and own not in vars(list) and callable(getattr(kind, own)):
            yield f"{name}.{own}", getattr(make(), own)


async def awaited(result):
    return await (anext(result) if hasattr(result, "__anext__") else result)


def outcome(function, value):
    """The error of a call with this value in place of each argument, or of its first result."""
    positional, named = [], {}
    for one in inspect.signature(function).parameters.values():
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            positional.append(value)
        else:
            named[one.name] = value
    if not (positional or named):
        return None
    try:
        result = function(*positional, **named)
        if inspect.isawaitable(result) or hasattr(result, "__anext__"):
            asyncio.run(awaited(result))
        elif hasattr(result, "__next__"):
            next(result)
    except BaseException as error:
        return error


def leaks(functions):
    found = {}
    for name, function in functions:
        if name not in DELIVERING | INTERNAL:
            errors = [outcome(function, CANARY), outcome(function, Unfit())]
            variables = [one for error in errors for one in variables_with(CANARY, error)]
            # Messages name the values that are not secret.
            found[name] = [one for one in variables if one.startswith(PACKAGE)]
    assert found
    return {name: variables for name, variables in found.items() if variables}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Some calls make a file of the name that they are given."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", MODULES)
def test_security_14_what_is_passed_to_the_functions_of_a_module(module):
    assert leaks(functions_of(module)) == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OBJECTS)
def test_security_14_what_is_passed_to_the_methods_of_an_object(name, objects):
    assert leaks(methods_of(name, lambda: objects(name))) == {}


@pytest.mark.parametrize("name", ["Client", "AsyncClient"])
def test_security_14_what_is_assigned_to_an_option(name, objects):
    with pytest.raises(AttributeError) as raised:
        objects(name).proxy = CANARY
    assert variables_with(CANARY, raised.value) == []
