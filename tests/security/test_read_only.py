"""Promise 58: a client with `read_only` sends nothing that could change anything.

The ways to send are listed from the code: each public method of the clients, each command, each
place in the core that makes a request.
"""

import ast
import asyncio
import inspect
import pickle
import re
from pathlib import Path

import boardlot as bl
import pytest
from boardlot._endpoints import ENDPOINTS, Account
from boardlot.cli.application import COMMANDS, app
from click.testing import CliRunner

from ..support.service import StandInService, response

ROOT = Path(__file__).parents[2]
PLATE = ("POST", "/api/v1.0/quote/plate/HK.BK1001/stock")
METHODS = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "post", "QUERY"]
CHANGES = bl.Endpoint("place", "POST", "/api/v1.0/orders/{acc_id}", rows="data.list")
PAGED = bl.Endpoint("list", "POST", "/api/v1.0/list/{acc_id}", rows="data.list", paging="next_key")
CLIENTS = [bl.Client, bl.AsyncClient]
# An argument of each name that a method which takes any request or endpoint may have.
ARGUMENTS = {
    "endpoint": CHANGES,
    "method": "POST",
    "path": "/api/v1.0/orders/5001",
    "keys": ["5001"],
    "paging": "next_key",
    "rows": "data.list",
    "arguments": {"acc_id": "5001"},
}


def public(kind):
    names = [name for name in dir(kind) if not name.startswith("_")]
    methods = {name: getattr(kind, name) for name in names}
    return {name: method for name, method in methods.items() if callable(method)}


def takes_anything(method):
    """Whether the caller says what is sent: a method, a path or an endpoint."""
    return bool({"method", "endpoint"} & set(inspect.signature(method).parameters))


def call(client, name):
    """Calls a method with arguments for what may change something, and reads what it returns."""

    async def read(result):
        if inspect.isawaitable(result):
            result = await result
        if hasattr(result, "__anext__"):
            return await anext(result)
        return next(result) if hasattr(result, "__next__") else result

    parameters = list(inspect.signature(getattr(type(client), name)).parameters.values())[1:]
    names = {one.name for one in parameters}
    positional, named = [], {}
    for parameter in parameters:
        if parameter.default is not inspect.Parameter.empty:
            continue
        assert parameter.name in ARGUMENTS, f"{name} has a new argument: {parameter.name}"
        value = ARGUMENTS[parameter.name]
        if parameter.name in ("method", "endpoint") and "path" not in names:
            # `fetch_many` takes the name of a method, or an endpoint.
            value = PAGED if name.startswith("pages") else CHANGES
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            # Keys take the place of the first argument, and a path has its own.
            named.update({} if names & {"keys", "path"} else value)
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    if "path" in names and len(positional) == 1:
        positional.append(ARGUMENTS["path"])
    return asyncio.run(read(getattr(client, name)(*positional, **named)))


@pytest.fixture
def service():
    with StandInService(lambda _: response({"ret_code": 0, "data": {"list": []}})) as service:
        yield service


@pytest.mark.parametrize("kind", CLIENTS)
def test_security_58_methods_that_take_any_request_refuse_what_may_change_something(kind, service):
    ways = [name for name, method in public(kind).items() if takes_anything(method)]
    assert {"request", "call", "pages", "paginate", "fetch_many", "pages_many"} <= set(ways)
    for name in ways:
        client = kind(service.base_url, auth=bl.BearerToken("token"), read_only=True)
        with pytest.raises(bl.ConfigError, match="read-only") as error:
            call(client, name)
        assert error.value.hint
    assert not service.received


@pytest.mark.parametrize("kind", CLIENTS)
def test_security_58_each_method_of_an_endpoint_sends_get_or_the_post_of_plates(kind):
    fixed = [name for name, method in public(kind).items() if not takes_anything(method)]
    known = {endpoint.method: endpoint for endpoint in ENDPOINTS}
    assert set(known) <= set(fixed)
    with bl.Sandbox(seed=7) as sandbox:
        options = {"auth": sandbox.api_key(), "read_only": True}
        client = kind(sandbox.base_url, **options)
        for name in set(fixed) & set(known):
            arguments = [
                sandbox.accounts[one.kind][0] if isinstance(one, Account) else one
                for one in known[name].arguments
            ]
            result = getattr(client, name)(*arguments)
            if known[name].paged:
                result = next(result) if kind is bl.Client else anext(result)
            if inspect.isawaitable(result):
                asyncio.run(_awaited(result))
        # Nothing but reads of IPO lists.
        calendar = client.ipo_calendar()
        if inspect.isawaitable(calendar):
            asyncio.run(_awaited(calendar))
        sent = {(one.method, one.path) for one in sandbox.requests}
    assert PLATE in sent
    assert {method for method, path in sent if (method, path) != PLATE} == {"GET"}


async def _awaited(result):
    return await result


@pytest.mark.parametrize("kind", CLIENTS)
def test_no_public_method_is_forgotten(kind):
    """A new one takes a method or an endpoint, is one of the table, or is added to a test above."""
    known = {endpoint.method for endpoint in ENDPOINTS}
    others = {
        name
        for name, method in public(kind).items()
        if not takes_anything(method) and name not in known
    }
    assert others - {"aclose"} == {"close", "ipo_calendar", "with_options"}


@pytest.mark.parametrize("method", METHODS)
def test_any_other_http_method_is_refused(method, service):
    client = bl.Client(service.base_url, auth=bl.BearerToken("token"), read_only=True)
    with client, pytest.raises(bl.ConfigError):
        client.request(method, "/api/v1.0/server-time")
    assert not service.received


@pytest.mark.parametrize("where", ["request", "client"])
@pytest.mark.parametrize("sent", [("GET", "/api/v1.0/orders/1"), PLATE], ids=["get", "plates"])
@pytest.mark.parametrize(
    "name",
    [
        *("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"),
        *("x-http-method-override", "X-HTTP-METHOD", "x-mEtHoD-oVeRrIdE", "X_HTTP_Method_Override"),
    ],
)
def test_security_58_a_header_that_overrides_the_method_is_refused(name, sent, where, service):
    header = {name: "DELETE"}
    of_client = header if where == "client" else {}
    options = {"headers": header} if where == "request" else {}
    client = bl.Client(service.base_url, headers=of_client, read_only=True)
    with client, pytest.raises(bl.ConfigError, match="overrides the method; expected none"):
        client.request(*sent, **options)
    assert not service.received
    # It is the promise of `read_only` alone.
    with bl.Client(service.base_url, headers=of_client) as client:
        client.request(*sent, **options)
    assert len(service.received) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1.0/quote/plate/HK.BK1001/stock/more",
        "/api/v1.0/quote/plate//stock",
        "/api/v1.0/quote/plate/../stock",
        "/api/v1.0/quote/plate/%2e%2e/stock",
        "/api/v1.0/quote/plate/a%2Fb/stock",
        "/api/v1.0/quote/plate/HK.BK1001/stocks",
        "/api/v2.0/quote/plate/HK.BK1001/stock",
        "/oauth2/token",
        "/oauth2/register",
    ],
)
def test_a_path_that_is_like_that_of_plates_is_another(path, service):
    client = bl.Client(service.base_url, auth=bl.BearerToken("token"), read_only=True)
    with client, pytest.raises(bl.ConfigError):
        client.request("POST", path, body={})
    assert not service.received


def test_reading_works_by_every_way(service):
    with bl.Client(service.base_url, auth=bl.BearerToken("token"), read_only=True) as client:
        client.request("GET", "/any/path")
        client.request(*PLATE, body={"next_key": ""})
        client.call(bl.Endpoint("news", "GET", "/news", rows="data.list"))
    assert [(one.method, one.path) for one in service.received] == [
        ("GET", "/any/path"),
        PLATE,
        ("GET", "/news"),
    ]


def test_a_client_that_is_pickled_stays_read_only(tmp_path, service):
    client = bl.Client(service.base_url, read_only=True)
    copy = pickle.loads(pickle.dumps(client))
    with client, copy, pytest.raises(bl.ConfigError, match="read-only"):
        copy.request("DELETE", "/x")
    assert not service.received


@pytest.mark.parametrize("value", [1, "yes", "false", 0.0])
def test_only_true_and_false_are_values(value):
    with pytest.raises(bl.ConfigError, match="read_only"):
        bl.Client("https://api.example.com", read_only=value)


def test_a_login_is_refreshed():
    with bl.Sandbox(seed=7) as sandbox, sandbox.client("oauth", read_only=True) as client:
        sandbox.revoke_tokens()
        assert len(client.dividends("HK.00700")) > 0


class TestProfilesAndCommands:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "APPDATA"):
            monkeypatch.setenv(name, str(tmp_path))

    def test_a_profile_that_only_reads_does_so_whatever_the_caller_says(self, service):
        base = ["profile", "add", "watch", "--base-url", service.base_url]
        assert CliRunner().invoke(app, [*base, "--read-only"]).exit_code == 0
        for options in ({}, {"read_only": True}, {"read_only": False}):
            client = bl.Client(profile="watch", **options)
            with client, pytest.raises(bl.ConfigError, match="read-only"):
                client.request("DELETE", "/x")
        shown = CliRunner().invoke(app, ["profile", "show", "watch"]).stdout
        assert re.search(r"read.only +yes", shown)
        assert not service.received

    @pytest.mark.parametrize("where", ["before", "after"])
    def test_commands_that_send_any_request_refuse(self, where, service, tmp_path):
        (tmp_path / "own.toml").write_text('[place]\nmethod = "POST"\npath = "/o"\nrows = "data"\n')
        lines = {
            "request": ["request", "DELETE", "/x"],
            "call": ["call", "place", "--endpoints", str(tmp_path / "own.toml")],
        }
        assert set(lines) <= set(COMMANDS)
        for line in lines.values():
            option = ["--base-url", service.base_url, "--read-only"]
            words = [*option, *line] if where == "before" else [*line, *option]
            done = CliRunner().invoke(app, words)
            assert isinstance(done.exception, bl.ConfigError), done.output
        assert not service.received


def calls_of(tree, *names):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.split(".")[-1] in names:
                yield node


def test_every_client_of_a_command_gets_the_option_or_sends_nothing_else_than_reads():
    """Those without the settings' options are in these functions, which send fixed reads."""
    fixed = {
        # The server's time, and a check of the options.
        ("sandbox.py", "_responds"),
        ("profile.py", "_checked_entry"),
        ("login.py", "status"),
        # The sandbox that it starts itself.
        ("demo.py", "demo"),
        ("demo.py", "_fetch_concurrently"),
    }
    found = set()
    for path in (ROOT / "python/boardlot/cli").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for function in ast.walk(tree):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for made in calls_of(function, "Client", "AsyncClient"):
                text = ast.unparse(made)
                if "client_options" not in text and "read_only" not in text:
                    found.add((path.name, function.name))
    assert {file for file, _ in found} == {file for file, _ in fixed}, found


def test_the_core_makes_a_request_of_a_plan_in_one_place():
    """`Transport::request` checks; only a refresh of the client's own token passes it by."""
    makes = re.compile(r"\bplan\.request\(")
    found = {}
    for path in (ROOT / "crates/client/src").rglob("*.rs"):
        count = len(makes.findall(path.read_text("utf-8")))
        if count:
            found[path.name] = count
    assert found == {"transport.rs": 1, "authorize.rs": 1}
    source = (ROOT / "crates/client/src/http/transport.rs").read_text("utf-8")
    before = source.partition("plan.request(")[0].rpartition("pub fn request(")[2]
    assert "self.options.read_only && !plan.only_reads()" in before
