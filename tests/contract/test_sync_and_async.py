"""`Client` and `AsyncClient` have the same methods."""

import inspect
import pickle
import typing
import weakref

import boardlot as bl
import pytest
from boardlot._endpoints import ENDPOINTS

# The protocols of `with` and `async with`.
OWN = {"__enter__", "__exit__", "__aenter__", "__aexit__"}


def methods(kind):
    return {n: m for n, m in vars(kind).items() if inspect.isfunction(m) and n not in OWN}


def test_both_have_the_same_methods():
    assert methods(bl.Client).keys() == methods(bl.AsyncClient).keys()


@pytest.mark.parametrize("name", methods(bl.Client))
def test_both_take_the_same_arguments_and_say_the_same_but_for_their_examples(name):
    def words(method):
        return [line for line in (method.__doc__ or "").splitlines() if ">>>" not in line]

    one, other = methods(bl.Client)[name], methods(bl.AsyncClient)[name]
    assert inspect.signature(one).parameters == inspect.signature(other).parameters
    assert words(one) == words(other)


def test_what_is_awaited_is_a_coroutine_function_and_pagers_are_not():
    awaited = {n for n, m in methods(bl.AsyncClient).items() if inspect.iscoroutinefunction(m)}
    paged = {endpoint.method for endpoint in ENDPOINTS if endpoint.paged}
    others = {"pages", "pages_many", "paginate", "explain", "__init__"}
    assert methods(bl.AsyncClient).keys() - awaited == paged | others
    assert not any(inspect.iscoroutinefunction(method) for method in methods(bl.Client).values())


def test_the_constructor_shows_its_defaults():
    parameters = list(inspect.signature(bl.Client).parameters.values())
    given = {one.name: one.default for one in parameters if one.default is not None}
    assert given == {
        "timeout": 30.0,
        "connect_timeout": 5.0,
        "max_retries": 2,
        "max_connections": 64,
        "max_body_bytes": 32 * 1024 * 1024,
        "read_only": False,
    }
    names = "base_url auth profile timeout connect_timeout max_retries rate_limit max_connections"
    names += " max_body_bytes proxy ca_file client_cert headers ws_quote_url ws_trade_url"
    # Options are added at the end.
    assert [one.name for one in parameters[: len(names.split())]] == names.split()


@pytest.mark.parametrize("client", [bl.Client, bl.AsyncClient])
def test_the_annotations_of_every_method_can_be_evaluated_and_it_is_pickled_by_name(client):
    for name, method in inspect.getmembers(client, inspect.isfunction):
        assert pickle.loads(pickle.dumps(method)) is method
        assert set(typing.get_type_hints(method)) == set(method.__annotations__), name


@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient])
def test_a_method_of_one_client_can_be_replaced(kind, monkeypatch):
    client, other = kind("https://api.example.com"), kind("https://api.example.com")
    monkeypatch.setattr(client, "dividends", lambda symbol: [symbol])
    assert client.dividends("HK.00700") == ["HK.00700"]
    assert other.dividends.__func__ is kind.dividends and weakref.ref(client)() is client


def test_the_annotations_of_everything_public_can_be_evaluated():
    modules = ["archive", "calendar", "plots", "frames", "notebook", "polars", "doctor", "errors"]
    found = [bl, *(pytest.importorskip(f"boardlot.{name}") for name in modules)]
    public = {id(thing): thing for module in found for thing in public_functions(module)}
    for function in public.values():
        typing.get_type_hints(function)
    assert len(public) > 100


def public_functions(module):
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        # In Python 3.10, `dict[str, Any]` is said to be a class.
        if inspect.isclass(thing) and typing.get_origin(thing) is None:
            members = (inspect.getattr_static(thing, one) for one in dir(thing) if one[0] != "_")
            members = (one.fget if isinstance(one, property) else one for one in members)
            yield from (one for one in members if inspect.isfunction(one))
        elif inspect.isfunction(thing):
            yield thing
