"""Both clients are Python classes like others: subclasses, copies, pickles, replaced methods, and
what tools read of them."""

import asyncio
import copy
import gc
import inspect
import pickle
from unittest import mock

import boardlot as bl
import pytest
from boardlot import _core

from ..support.keys import uploaded_key

FILLS = "281756", "HK"
KINDS = [bl.Client, bl.AsyncClient]
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
WAYS = {
    **{f"pickle {n}": lambda client, n=n: pickle.loads(pickle.dumps(client, n)) for n in PROTOCOLS},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
# Names that a subclass may give to its own methods: those of the core, and of boardlot's methods.
PRIVATE_NAMES = [
    *(f"_{name}" for name in dir(_core._ClientCore) if not name.startswith("_")),
    *(f"_{name}" for name in dir(bl.Client) if not name.startswith("_")),
    *("_core", "_call_mode", "_sandbox", "_has", "_ipo_calendar", "_client", "_blocking"),
]


def helper(*_arguments):
    return "mine"


ADDRESSES = {}


class Environment:
    """The part of a subclass that is the same for both kinds."""

    def __init__(self, environment, *, key, desk=7):
        super().__init__(ADDRESSES[environment], auth=key, timeout=12)
        self.environment, self.desk = environment, desk


class Mine(Environment, bl.Client):
    pass


class AsyncMine(Environment, bl.AsyncClient):
    pass


for name in PRIVATE_NAMES:
    setattr(Mine, name, helper)
    setattr(AsyncMine, name, helper)


@pytest.fixture
def key(sandbox, tmp_path, monkeypatch):
    monkeypatch.setitem(ADDRESSES, "dev", sandbox.base_url)
    return bl.ApiKey(*uploaded_key(sandbox, tmp_path))


def settled(result):
    async def awaited():
        return await result

    return asyncio.run(awaited()) if inspect.isawaitable(result) else result


def rows_of(client):
    """The number of rows of each kind of result."""
    settled(client.server_time())
    lists = (
        client.dividends("HK.00700"),
        client.fills_history(*FILLS).all(max_items=30),
        client.fetch_many("dividends", ["HK.00700"]),
        client.pages_many("fills_history", [FILLS[0]], trd_market="HK").all(max_items=10),
        client.ipo_calendar(["sg"]),
    )
    return [len(settled(one)) for one in lists]


@pytest.mark.parametrize("kind", [Mine, AsyncMine])
def test_a_subclass_may_have_a_constructor_and_private_names_of_its_own(kind, key, sandbox):
    mine = kind("dev", key=key)
    plain = kind.__mro__[2](sandbox.base_url, auth=key)
    assert rows_of(mine) == rows_of(plain)
    assert {getattr(mine, name)() for name in PRIVATE_NAMES} == {"mine"}
    assert mine.explain("GET", "/x").url == f"{sandbox.base_url}/x"
    settled(mine.close())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [Mine, AsyncMine])
def test_a_copy_of_it_has_its_options_and_what_it_has_stored(kind, way, key, sandbox):
    mine = kind("dev", key=key, desk=8)
    mine.book = ["a"]
    same = WAYS[way](mine)
    assert type(same) is kind
    assert (same.environment, same.desk, same.book) == ("dev", 8, ["a"])
    assert (same.book is mine.book) == (way == "copy")
    assert same.__reduce__()[1][1]["timeout"] == 12
    assert rows_of(same) == rows_of(mine)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_a_client_has_the_options_that_are_not_the_defaults(kind, way):
    client = kind("https://a.example.com", max_retries=0, timeout=30.0, ws_quote_url="wss://q.b")
    same = WAYS[way](client)
    given = {"base_url": client.base_url, "max_retries": 0, "ws_quote_url": "wss://q.b"}
    assert same.__reduce__()[1:] == ((kind, given),)
    assert (repr(same), same.ws_quote_url) == (repr(client), "wss://q.b")


@pytest.mark.parametrize("kind", KINDS)
def test_a_constructor_that_does_not_call_its_base_is_named(kind):
    class Forgetful(kind):
        def __init__(self):
            self.desk = 7

    client = Forgetful()
    assert repr(client) == "<Forgetful that is not initialized>"
    for use in (
        lambda: client.base_url,
        lambda: client.desks,
        lambda: client.fills_history(*FILLS),
        lambda: client.explain("GET", "/x"),
        lambda: pickle.dumps(client),
    ):
        with pytest.raises(AttributeError, match=r"Forgetful.__init__ has to call super\(\)"):
            use()


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_is_shown_before_and_after_its_constructor(kind):
    shown = []

    class Shown(kind):
        def __init__(self, address):
            shown.append(repr(self))
            super().__init__(address)
            shown.append(repr(self))

    Shown("https://api.example.com")
    assert shown == ["<Shown that is not initialized>", "Shown('https://api.example.com')"]


def sandboxes_client(kind):
    sandbox = bl.Sandbox(seed=7, fills=160)
    return sandbox.client() if kind is bl.Client else sandbox.async_client()


async def all_rows(kind):
    pager = sandboxes_client(kind).fills_history(*FILLS, page_size=10)
    gc.collect()
    return await pager.all()


def test_pages_keep_the_client_alive_and_that_its_sandbox():
    import polars as pl

    client = bl.Sandbox(seed=7, fills=160).client
    assert len(client().fills_history(*FILLS, page_size=10).all()) == 160
    pager = client().fills_history(*FILLS, page_size=10)
    del client
    gc.collect()
    assert len(pl.DataFrame(pager)) == 160
    assert len(asyncio.run(all_rows(bl.AsyncClient))) == 160


def test_an_update_keeps_an_async_client_alive(tmp_path):
    async def updated():
        with bl.Archive(tmp_path / "archive.db") as archive:
            work = archive.update(sandboxes_client(bl.AsyncClient), fills=[FILLS])
            gc.collect()
            return (await work).new

    assert asyncio.run(updated()) == 160


@pytest.mark.parametrize("kind", KINDS)
def test_tools_read_the_classes(kind):
    assert list(inspect.signature(kind).parameters)[:3] == ["base_url", "auth", "profile"]
    assert inspect.getsource(kind).startswith(f"@explained\nclass {kind.__name__}(")
    assert "def request(" in inspect.getsource(kind.request)
    assert f"class {kind.__name__}(" in help_of(kind)


def help_of(thing):
    import pydoc

    return pydoc.render_doc(thing, renderer=pydoc.plaintext)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mock_of_a_class_takes_its_arguments_alone(kind):
    made = mock.create_autospec(kind)("https://api.example.com", timeout=3)
    settled(made.dividends("HK.00700"))
    with pytest.raises(TypeError, match="symbol"):
        settled(made.dividends(symbols=["HK.00700"]))
    with pytest.raises(AttributeError):
        made.quotes("HK.00700")
    with pytest.raises(TypeError, match="time_out"):
        mock.create_autospec(kind)("https://api.example.com", time_out=3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_method_of_one_client_can_be_replaced(kind):
    client, other = kind("https://api.example.com"), kind("https://api.example.com")
    with mock.patch.object(client, "dividends", autospec=True, return_value=5) as replaced:
        assert settled(client.dividends("HK.00700")) == 5
        assert other.dividends is not replaced
    assert "dividends" not in vars(client)
    with pytest.raises(AttributeError, match="'quotes'"), mock.patch.object(client, "quotes"):
        pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*_core._CLIENT_OPTIONS, "base_url", "clock_offset"])
def test_an_option_cannot_be_set_on_a_client(kind, name):
    with pytest.raises(AttributeError):
        setattr(kind("https://api.example.com"), name, None)
