"""`boardlot mcp` as assistants use it: a process of its own, and the SDK's client over stdio, or
bare pipes."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

import boardlot as bl
import pytest
from boardlot.cli import main
from boardlot.cli.commands import mcp

from ..support.command_line import ACCOUNT, COMMAND, Service
from ..support.vectors import table
from ..support.words import assert_transcript

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Fork:
    """The command with bare pipes, in a fork of a process that has imported the SDK."""

    def __init__(self, channel, arguments, environment):
        ends = [os.pipe() for _ in range(3)]
        (its_stdin, stdin), (stdout, its_stdout), (stderr, its_stderr) = ends
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self.stderr = os.fdopen(stderr, "rb")
        its = [its_stdin, its_stdout, its_stderr]
        message = json.dumps([arguments, dict(environment)]).encode()
        socket.send_fds(channel, [message], its)
        for pipe in its:
            os.close(pipe)
        self.channel = channel
        self.pid, self.status = int(channel.recv(64)), None

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        if self.status is None:
            self.status = int(self.channel.recv(64))
        return self.status

    def close(self):
        if self.status is None:
            self.send_signal(signal.SIGKILL)
            self.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            with suppress(BrokenPipeError):
                pipe.close()


@pytest.fixture(scope="module")
def forks():
    """The socket of the process that forks."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = Path(__file__).parent / "programs" / "forks_of_mcp.py"
    line = [sys.executable, str(program), str(its.fileno())]
    with ours, subprocess.Popen(line, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL) as process:
        its.close()
        # A command that hangs fails its test.
        ours.settimeout(120)
        yield ours
        ours.close()
    assert process.returncode == 0


@pytest.fixture
def raw(forks):
    """Starts the command, and returns its process and its first responses."""

    @contextmanager
    def start(*arguments, env=os.environ):
        with closing(Fork(forks, arguments or ("mcp", "--demo"), env)) as process:
            process.stdin.write(b"not json\n")
            send(process, {"id": 1, "method": "initialize", "params": INITIALIZE})
            response, before = response_to(process, 1)
            yield process, [*before, response]

    return start


def send(process, *messages):
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def response_to(process, number):
    """The response to a request, and those that came before it."""
    before = []
    while True:
        line = process.stdout.readline()
        assert line, process.stderr.read().decode()
        response = json.loads(line)
        if response.get("id") == number:
            return response, before
        before.append(response)


OF_ACCOUNTS = {"crypto_orders", "sim_orders", "sim_positions", "fills_history"}
# Endpoints that only read, by the service document. A new endpoint must be added here by hand.
READS = {
    "server_time",
    "trading_days",
    "reference_futures",
    "ipo_list",
    "dividends",
    "plate_stocks",
}


class Session:
    """The protocol's client, for tests that are not async."""

    def __init__(self, portal, session, greeting):
        self._portal, self._session, self.greeting = portal, session, greeting

    def tools(self):
        listed = self._portal.call(self._session.list_tools).tools
        return {tool.name: tool for tool in listed}

    def call(self, name, **arguments):
        done = self._portal.call(self._session.call_tool, name, arguments)
        assert not done.is_error, done.content
        assert json.loads(done.content[0].text) == done.structured_content
        return done.structured_content

    def refusal(self, name, **arguments):
        done = self._portal.call(self._session.call_tool, name, arguments)
        assert done.is_error and done.structured_content is None
        return done.content[0].text


@contextmanager
def started(*arguments):
    # They take half a second, which only the process with these tests needs.
    from anyio.from_thread import start_blocking_portal
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    command, *before = COMMAND
    parameters = StdioServerParameters(command=command, args=[*before, *arguments])
    with (
        start_blocking_portal() as portal,
        # By default it is what `sys.stderr` was when the module was imported: during any test.
        portal.wrap_async_context_manager(stdio_client(parameters, sys.__stderr__)) as streams,
        portal.wrap_async_context_manager(ClientSession(*streams)) as session,
    ):
        yield Session(portal, session, portal.call(session.initialize))


@pytest.fixture(scope="module")
def demo():
    with started("mcp", "--demo") as session:
        yield session


def test_each_endpoint_is_a_tool_that_only_reads(demo):
    tools = demo.tools()
    assert set(tools) == READS | OF_ACCOUNTS
    for tool in tools.values():
        assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
        assert tool.description and tool.input_schema["additionalProperties"] is False
    assert "read-only" in demo.greeting.instructions
    assert demo.greeting.server_info.version == bl.__version__


def test_arguments_are_those_of_the_endpoint(demo):
    tools = demo.tools()
    market = tools["ipo_list"].input_schema["properties"]["market"]
    assert market["enum"] == ["hk", "us", "cn", "sg", "my"]
    fills = tools["fills_history"].input_schema
    assert fills["required"] == ["acc_id", "trd_market"]
    optional = {"code", "start", "end", "max_rows", "resume"}
    assert set(fills["properties"]) == {*fills["required"], *optional}


def test_rows_are_exact_and_their_codes_have_names(demo):
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        expected = client.dividends("HK.00700")
    response = demo.call("dividends", symbol="HK.00700", max_rows=3.0)
    assert response["total"] == len(expected) > 3 and len(response["rows"]) == 3
    first = response["rows"][0]
    assert first["currency"] == "HKD" and first["process"] == expected[0]["process"]
    assert response["fields"]["currency"].startswith("Dividend currency")
    orders = demo.call("sim_orders", acc_id="5001")["rows"]
    # Section 3.2 of the service document.
    names = {2: "submitted", 3: "partially filled", 4: "filled", 5: "cancelled", 6: "rejected"}
    assert orders and all(names[row["status"]] == row["status_name"] for row in orders)
    assert all(isinstance(row["price"], str) for row in orders)
    time = datetime.fromisoformat(orders[0]["create_time"])
    assert time.utcoffset().total_seconds() == 0 and time < datetime.now(timezone.utc)


def test_a_list_is_read_on_from_where_it_was_cut(demo):
    found, arguments = [], {}
    while True:
        response = demo.call("plate_stocks", plate_code="HK.BK1001", max_rows=200, **arguments)
        found += [row["code"] for row in response["rows"]]
        if response["next"] is None:
            break
        arguments = {"resume": response["next"]}
    assert len(found) == len(set(found)) == 500


def test_every_tool_responds(demo):
    for name, arguments in table("command_lines")["calls of a model"].items():
        assert demo.call(name, **arguments)["rows"], name
    assert datetime.fromisoformat(demo.call("server_time")["server_time"])


def test_a_mistake_is_explained_to_the_model(demo):
    def refusal(call):
        tool, arguments = call.split(" ", 1)
        return demo.refusal(tool, **json.loads(arguments))

    assert_transcript(Path(__file__).with_name("refusals") / "model.txt", refusal)


def test_a_mistake_of_any_length_is_explained_briefly(demo):
    long = "x" * 100_000
    for tool, arguments in (("ipo_list", {"market": long}), ("ipo_list", {long: 1}), (long, {})):
        assert len(demo.refusal(tool, **arguments)) < 700


@pytest.fixture
def asked(raw, service):
    """Starts the command with the profile of a user, and returns how requests are responded to."""

    @contextmanager
    def start(*arguments):
        line = ["--profile", "live", "mcp", *arguments]
        with raw(*line, env=service.environment) as (process, _):
            send(process, {"method": "notifications/initialized"})
            numbers = count(2)

            def ask(method, **params):
                number = next(numbers)
                send(process, {"id": number, "method": method, "params": params})
                return response_to(process, number)[0]["result"]

            yield ask

    return start


def test_only_allowed_accounts_are_read(asked, service):
    def fills(account, **more):
        arguments = {"acc_id": account, "trd_market": "HK", **more}
        return ask("tools/call", name="fills_history", arguments=arguments)

    with asked("--account", ACCOUNT) as ask:
        (tool,) = [x for x in ask("tools/list")["tools"] if x["name"] == "fills_history"]
        assert tool["inputSchema"]["properties"]["acc_id"]["enum"] == [ACCOUNT]
        assert fills(ACCOUNT, max_rows=5)["structuredContent"]["rows"]
        before = len(service.sandbox.requests)
        for other in ("281757", f"{ACCOUNT} ", f"0{ACCOUNT}", "", "../281757"):
            refused = fills(other)
            assert refused["isError"] and "structuredContent" not in refused
        assert len(service.sandbox.requests) == before


def test_without_accounts_their_tools_are_not_offered(asked):
    with asked() as ask:
        assert {tool["name"] for tool in ask("tools/list")["tools"]} == READS
        refused = ask("tools/call", name="sim_orders", arguments={"acc_id": "5001"})
        assert refused["isError"] and "is not a valid tool" in refused["content"][0]["text"]


@pytest.mark.parametrize("reads", [True, False])
def test_stdout_is_the_protocol_alone_and_closing_an_end_ends_it(reads, raw):
    with raw() as (process, responses):
        if not reads:
            process.stdout.close()
            send(process, {"id": "next", "method": "ping"})
        process.stdin.close()
        assert process.wait() == 0
        # The SDK's notice of the line that was no message may come before the response or after it.
        responses.extend(map(json.loads, process.stdout) if reads else [])
        assert reads or process.stderr.read() == b""
    assert all(response["jsonrpc"] == "2.0" for response in responses)


@pytest.mark.parametrize(
    ("limit", "of_profile", "shown"),
    [([], None, "5"), (["--rate-limit", "7"], 3, "7"), ([], 3, "3"), (["--shared"], 3, "3")],
)
def test_the_rate_limit_is_that_of_the_options_or_the_profile(
    limit, of_profile, shown, service, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(mcp.signal, "signal", lambda *_: None)
    key = ["--key-id", service.key_id, "--key-file", str(service.key_file)]
    kept = [] if of_profile is None else ["--rate-limit", str(of_profile)]
    url = ["--base-url", service.sandbox.base_url]
    assert main([*url, *key, *kept, "profile", "add", "limited"]) == 0
    found = []

    async def read(_, client):
        async with client:
            found.append(client.explain("GET", "/api/v1.0/server-time").rate_limit)

    monkeypatch.setattr(mcp, "_run", read)
    assert main(["--profile", "limited", *limit, "mcp"]) == 0
    assert found[0].startswith(f"{shown} ")
    assert ("(name " in found[0]) is ("--shared" in limit)


@pytest.fixture
def slow(tmp_path):
    """A service whose responses take longer than the test."""
    with closing(Service(tmp_path, faults=bl.Faults(latency=300.0))) as service:
        yield service


def test_calls_in_flight_can_be_cancelled_at_once(slow, raw):
    arguments = ["--profile", "live", "mcp", "--account", ACCOUNT]
    with raw(*arguments, env=slow.environment) as (process, _):
        send(process, {"method": "notifications/initialized"})
        ids = [f"call {number}" for number in range(30)]
        call = {"name": "dividends", "arguments": {"symbol": "HK.00700"}}
        send(process, *({"id": one, "method": "tools/call", "params": call} for one in ids))
        # Once it has read them: they are dispatched in order.
        send(process, {"id": "list", "method": "tools/list"})
        response_to(process, "list")
        cancel = "notifications/cancelled"
        send(process, *({"method": cancel, "params": {"requestId": one}} for one in ids))
        send(process, {"id": "ping", "method": "ping"})
        response, before = response_to(process, "ping")
        assert response["result"] is not None and before == []
        process.stdin.close()
        assert process.wait() == 0
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(how, raw):
    with raw() as (process, _):
        process.send_signal(how)
        assert process.wait() == 128 + how
        assert b"Traceback" not in process.stderr.read()


def test_what_to_serve_must_be_clear(boardlot, config):
    assert "no service selected" in boardlot("mcp").refusal
