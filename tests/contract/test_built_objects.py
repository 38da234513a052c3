"""What callers build are Python classes like others: tools read them, subclasses and copies work,
methods can be replaced, and a misspelled attribute is an error."""

import copy
import copyreg
import gc
import inspect
import pickle
import pydoc
import weakref
from unittest import mock

import boardlot as bl
import pytest
from boardlot import _core
from inline_snapshot import snapshot

from ..support.words import raises

URL = "https://api.example.com"
CALLBACK = "https://app.example.com/callback"
KLINE = ("kline", "GET", "/api/v1.0/quote/{symbol}/kline")
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)

# One of each, with what its constructor takes.
VALUES = {
    bl.RateLimit: lambda: bl.RateLimit(5, burst=2, name="desk"),
    bl.DateRange: lambda: bl.DateRange("until", next="data.next", unique="id"),
    bl.Endpoint: lambda: bl.Endpoint(
        *KLINE, record={"time": "date"}, paging=bl.DateRange(before="time"), doc="Bars"
    ),
    bl.Faults: lambda: bl.Faults(0.5, error_rate=0.25, seed=3),
}
APPLICATION = (URL, "client-1"), {"redirect_uri": CALLBACK, "store": bl.KeyringStore()}
OBJECTS = {
    bl.Recorder: lambda folder: bl.Recorder(folder / "new.jsonl"),
    bl.Replay: lambda folder: bl.Replay(folder / "old.jsonl"),
    bl.Sandbox: lambda _folder: bl.Sandbox(seed=7, fills=10),
    bl.OAuthApp: lambda _folder: bl.OAuthApp(*APPLICATION[0], **APPLICATION[1]),
    bl.AsyncOAuthApp: lambda _folder: bl.AsyncOAuthApp(*APPLICATION[0], **APPLICATION[1]),
    bl.LoginFlow: lambda _folder: begun(),
}
FUNCTIONS = [bl.login, bl.begin_login, bl.register_client, bl.load_endpoints]
CLASSES = [*VALUES, *OBJECTS]
PARAMETERS = {
    bl.RateLimit: "rate, *, burst=1, name=None, database=None",
    bl.DateRange: "end='end', *, next=None, before=None, unique=None",
    bl.Endpoint: "name, method, path, *, rows=None, paging=None, record=None, arguments=None, "
    "doc=''",
    bl.Faults: "latency=0.0, error_rate=0.0, drop_rate=0.0, truncate_rate=0.0, throttle_rate=0.0, "
    "html_rate=0.0, seed=0",
    bl.Recorder: "path, *, secrets=()",
    bl.Replay: "path",
    bl.Sandbox: "seed=0, port=0, fills=2000, orders=120, plate_stocks=500, token_lifetime=7200.0, "
    "clock_offset=0.0, faults=None, *, today=None, host='127.0.0.1'",
    bl.OAuthApp: "base_url, client_id, *, redirect_uri, store=None, client_secret=None, "
    "timeout=30.0, connect_timeout=5.0, max_connections=64, proxy=None, ca_file=None, "
    "client_cert=None",
    bl.load_endpoints: "path, /",
    bl.register_client: "base_url, *, redirect_uris, client_name='boardlot', confidential=False, "
    "timeout=30.0, connect_timeout=5.0, max_connections=64, proxy=None, ca_file=None, "
    "client_cert=None",
}
PARAMETERS[bl.AsyncOAuthApp] = PARAMETERS[bl.OAuthApp]
# A method of each.
METHODS = {
    bl.Recorder: "close",
    bl.Replay: "__str__",
    bl.Sandbox: "put",
    bl.OAuthApp: "auth",
    bl.AsyncOAuthApp: "authorization_url",
    bl.LoginFlow: "finish",
}


def begun():
    sandbox = bl.Sandbox(seed=7, fills=10)
    flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    flow.cancel()
    sandbox.close()
    return flow


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "old.jsonl").write_text("", "utf-8")
    return tmp_path


def plain(thing):
    """The parameters without their annotations."""
    parameters = inspect.signature(thing).parameters.values()
    listed = [it.replace(annotation=inspect.Parameter.empty) for it in parameters]
    return str(inspect.Signature(listed))[1:-1]


@pytest.mark.parametrize("kind", [*CLASSES, *FUNCTIONS], ids=lambda one: one.__name__)
def test_tools_read_what_they_read_of_python(kind):
    source = inspect.getsource(kind)
    assert kind.__name__ in source.partition(":\n")[0]
    assert kind.__doc__ and kind.__doc__.splitlines()[0] in source
    help_text = pydoc.plain(pydoc.render_doc(kind))
    assert kind.__doc__.split()[0] in help_text
    assert inspect.signature(kind)
    if inspect.isclass(kind):
        public = [it for name, it in vars(kind).items() if name[0] != "_" and callable(it)]
        assert all(inspect.getsource(one) and inspect.signature(one) for one in public)


@pytest.mark.parametrize("kind", PARAMETERS, ids=lambda one: one.__name__)
def test_a_signature_has_the_documented_names_and_defaults(kind):
    assert plain(kind) == PARAMETERS[kind]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda one: one.__name__)
def test_a_double_has_its_methods_and_no_others(kind):
    double = mock.create_autospec(kind, instance=True)
    assert isinstance(double, kind)
    with pytest.raises(AttributeError):
        _ = double.no_such_method


@pytest.mark.parametrize("kind", OBJECTS, ids=lambda one: one.__name__)
def test_a_method_of_an_instance_can_be_replaced(kind, folder):
    thing, method = OBJECTS[kind](folder), METHODS[kind]
    before = getattr(thing, method)
    with mock.patch.object(thing, method, return_value="replaced") as double:
        assert getattr(thing, method)(1, 2) == "replaced"
    double.assert_called_once_with(1, 2)
    assert getattr(thing, method) == before


@pytest.mark.parametrize("kind", CLASSES, ids=lambda one: one.__name__)
def test_an_attribute_that_nothing_reads_is_refused(kind, folder):
    thing = VALUES[kind]() if kind in VALUES else OBJECTS[kind](folder)
    with pytest.raises(AttributeError):
        thing.no_such_attribute = 1
    with pytest.raises(AttributeError, match="no_such_attribute"):
        _ = thing.no_such_attribute
    assert not hasattr(thing, "no_such_attribute")


def test_the_nearest_attribute_is_named():
    with bl.Sandbox(seed=7, fills=10) as sandbox:
        with pytest.raises(AttributeError, match=r"'fault'; did you mean 'faults'\?"):
            sandbox.fault = bl.Faults()
        with pytest.raises(AttributeError):
            sandbox.base_url = URL


@pytest.mark.parametrize("kind", VALUES, ids=lambda one: one.__name__)
def test_a_copy_of_a_value_is_the_value(kind):
    value = VALUES[kind]()
    assert copy.copy(value) is value and copy.deepcopy([value])[0] is value
    assert value == VALUES[kind]() and hash(value) == hash(VALUES[kind]())
    assert value != kind and value != VALUES[bl.Faults if kind is bl.DateRange else bl.DateRange]()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", VALUES, ids=lambda one: one.__name__)
def test_a_value_survives_a_pickle(kind, protocol):
    value = VALUES[kind]()
    loaded = pickle.loads(pickle.dumps(value, protocol))
    assert type(loaded) is kind and loaded == value and repr(loaded) == repr(value)


def test_limits_without_a_name_are_different_limits():
    assert bl.RateLimit(5) != bl.RateLimit(5)
    assert bl.RateLimit(5, name="a") != bl.RateLimit(5, name="b")
    limit = bl.RateLimit(5)
    assert limit in [limit] and len({limit, limit, bl.RateLimit(5)}) == 2


class Slow(bl.RateLimit):
    """Ten in a second, with a note."""

    note = ""


class Bars(bl.Endpoint):
    pass


class Desk(bl.Sandbox):
    """Has a constructor and private names of its own."""

    def __init__(self, label):
        super().__init__(seed=7, fills=10)
        self.label, self._core, self._sandbox = label, "mine", "mine"


class Recording(bl.Recorder):
    def __init__(self, folder):
        super().__init__(folder / "own.jsonl")
        self.folder = folder


class Playing(bl.Replay):
    def __init__(self, folder):
        super().__init__(folder / "old.jsonl")
        self.folder = folder


class App(bl.OAuthApp):
    def __init__(self, team):
        super().__init__(*APPLICATION[0], **APPLICATION[1])
        self.team = team


def test_a_subclass_of_a_value_is_taken_where_the_value_is():
    limit = Slow(10)
    limit.note = "mine"
    bars = Bars(*KLINE)
    with bl.Sandbox(seed=7, fills=10) as sandbox, sandbox.client(rate_limit=limit) as client:
        sandbox.serve(bars, [{"time": "2026-01-05"}])
        assert client.call(bars, symbol="HK.00700") == [{"time": "2026-01-05"}]
        assert client.explain(bars, symbol="HK.00700").rate_limit.startswith("10 requests")
    loaded = pickle.loads(pickle.dumps(limit))
    assert repr(loaded) == "Slow(10)" and loaded.note == "mine"


def test_a_subclass_may_have_a_constructor_and_names_of_its_own(folder):
    with Desk("east") as desk, desk.client(cassette=Recording(folder)) as client:
        assert desk.label == "east" and desk._core == "mine"
        assert len(client.dividends("HK.00700")) == 21
    with bl.Client(cassette=Playing(folder)) as client:
        assert client.base_url == "https://nothing-recorded.invalid"
    loaded = pickle.loads(pickle.dumps(Playing(folder)))
    assert loaded.folder == folder and loaded.base_url is None
    app = pickle.loads(pickle.dumps(App("desk")))
    assert app.team == "desk" and app.client_id == "client-1"


class Forgotten(bl.Sandbox):
    def __init__(self):
        pass


def test_a_constructor_that_does_not_call_that_of_the_base_says_so():
    forgotten = Forgotten()
    assert repr(forgotten) == "<Forgotten that is not initialized>"
    with pytest.raises(AttributeError, match=r"Forgotten.__init__ has to call super\(\).__init__"):
        _ = forgotten.base_url
    half_made = object.__new__(bl.RateLimit)
    assert repr(half_made) == "<RateLimit that is not initialized>"


@pytest.mark.parametrize("kind", [bl.Recorder, bl.Sandbox, bl.LoginFlow])
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_there_is_only_one_of_is_neither_copied_nor_pickled(kind, way, folder):
    thing = OBJECTS[kind](folder)
    with pytest.raises(bl.ConfigError, match=f"cannot pickle or copy a {kind.__name__}; "):
        way(thing)


@pytest.mark.parametrize("kind", [bl.Replay, bl.OAuthApp, bl.AsyncOAuthApp])
@pytest.mark.parametrize("protocol", PROTOCOLS[2:])
def test_what_holds_nothing_else_is_pickled_by_its_arguments(kind, protocol, folder):
    thing = OBJECTS[kind](folder)
    loaded = pickle.loads(pickle.dumps(thing, protocol))
    assert type(loaded) is kind and repr(loaded) == repr(thing)
    assert repr(copy.copy(thing)) == repr(thing)


def test_an_earlier_pickle_of_a_replay_calls_new_alone(folder):
    loaded = copyreg.__newobj__(bl.Replay, str(folder / "old.jsonl"))
    assert loaded.base_url is None and repr(loaded) == repr(bl.Replay(folder / "old.jsonl"))
    app = copyreg.__newobj_ex__(bl.AsyncOAuthApp, *APPLICATION)
    assert app.redirect_uri == CALLBACK


def test_a_login_is_begun_by_a_function():
    with pytest.raises(TypeError, match="begin_login"):
        bl.LoginFlow()


@pytest.mark.parametrize("kind", [*VALUES, bl.OAuthApp], ids=lambda one: one.__name__)
def test_they_can_be_referred_to_weakly(kind, folder):
    thing = VALUES[kind]() if kind in VALUES else OBJECTS[kind](folder)
    reference = weakref.ref(thing)
    assert reference() is thing
    del thing
    gc.collect()
    assert reference() is None


def test_an_endpoint_stays_generic():
    assert bl.Endpoint[dict[str, str]](*KLINE) == bl.Endpoint(*KLINE)


def test_an_error_shows_the_object_of_the_caller():
    class Limit:
        _boardlot_core = 5

    for wrong in (Limit(), bl.DateRange(next="next"), mock.Mock()):
        name = type(wrong).__name__
        with pytest.raises(bl.ConfigError, match=f"rate_limit is .*of type {name}"):
            bl.Client(URL, rate_limit=wrong)
        with pytest.raises(bl.ConfigError, match=f"cassette is of type {name}"):
            bl.Client(URL, cassette=wrong)
        with pytest.raises(bl.ConfigError, match=f"faults is of type {name}"):
            bl.Sandbox(faults=wrong)
    with (
        bl.Client(URL) as client,
        pytest.raises(bl.ConfigError, match="endpoint is of type Faults"),
    ):
        client.call(bl.Faults())


def test_what_cannot_be_replaced_says_what_to_do():
    store = bl.MemoryStore()
    with raises(
        AttributeError,
        snapshot(
            "a MemoryStore does not change, so its load cannot be set; in a test, pass an "
            "object of your own with load, save and delete as the store"
        ),
    ):
        mock.patch.object(store, "load").start()
    with bl.Sandbox(seed=7, fills=10) as sandbox, sandbox.client() as client:
        response = client.request("GET", "/api/v1.0/server-time")
        explanation = client.explain("GET", "/api/v1.0/server-time")
        for given in (response, explanation):
            double = f"mock.create_autospec(boardlot.{type(given).__name__}, instance=True)"
            with pytest.raises(AttributeError) as caught:
                mock.patch.object(given, "headers", {}).start()
            assert double in str(caught.value)
            assert eval(double, {"mock": mock, "boardlot": bl}).headers


STAY = [bl.MemoryStore, bl.KeyringStore, bl.ApiKey, bl.BearerToken, bl.OAuth, bl.GeneratedKey]


def test_what_holds_secrets_stays_compiled():
    assert all(getattr(_core, kind.__name__) is kind for kind in STAY)
