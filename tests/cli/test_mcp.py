"""`boardlot mcp` as assistants use it: a process of its own, and the SDK's client over stdio."""

import asyncio
import io
import json
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone

import boardlot as bl
import pytest
from anyio.from_thread import start_blocking_portal
from boardlot.cli import main
from boardlot.cli.mcp_stdio import Input, Output
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from ..support.command_line import ACCOUNT, COMMAND, Service

# What the service document says only reads. A new endpoint must be added here by hand.
READS = {
    "server_time",
    "trading_days",
    "reference_futures",
    "ipo_list",
    "dividends",
    "plate_stocks",
    "crypto_orders",
    "sim_orders",
    "sim_positions",
    "fills_history",
}
OF_ACCOUNTS = {"crypto_orders", "sim_orders", "sim_positions", "fills_history"}


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
def started(*arguments, env=None):
    command, *before = COMMAND
    parameters = StdioServerParameters(
        command=command, args=[*before, *arguments], env=env and dict(env)
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(stdio_client(parameters)) as streams,
        portal.wrap_async_context_manager(ClientSession(*streams)) as session,
    ):
        yield Session(portal, session, portal.call(session.initialize))


@pytest.fixture(scope="module")
def demo():
    with started("mcp", "--demo") as session:
        yield session


@pytest.fixture(scope="module")
def live(service):
    """With the profile of a user, who allowed one account."""
    arguments = ["--profile", "live", "mcp", "--account", ACCOUNT]
    with started(*arguments, env=service.environment) as session:
        yield session


def test_each_endpoint_is_a_tool_that_only_reads(demo):
    tools = demo.tools()
    assert set(tools) == READS
    for tool in tools.values():
        assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
        assert tool.description and tool.input_schema["additionalProperties"] is False
    assert "read-only" in demo.greeting.instructions
    assert demo.greeting.server_info.version == bl.__version__


def test_arguments_are_those_of_the_endpoint(demo):
    schema = demo.tools()["ipo_list"].input_schema
    assert schema["required"] == ["market"]
    assert schema["properties"]["market"]["enum"] == ["hk", "us", "cn", "sg", "my"]
    assert set(schema["properties"]) == {"market", "request_type", "max_rows"}
    fills = demo.tools()["fills_history"].input_schema
    assert fills["required"] == ["acc_id", "trd_market"]
    assert set(fills["properties"]) - set(fills["required"]) == {
        "code",
        "start",
        "end",
        "max_rows",
        "resume",
    }


def test_rows_are_exact_and_their_codes_have_names(demo):
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        expected = client.dividends("HK.00700")
    response = demo.call("dividends", symbol="HK.00700", max_rows=3)
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
    given = {
        "trading_days": {"market": "HK", "start": "2026-01-01", "end": "2026-01-31"},
        "reference_futures": {"symbol": "HK.HSImain"},
        "ipo_list": {"market": "cn", "request_type": "all"},
        "crypto_orders": {"acc_id": "1001001"},
        "sim_positions": {"acc_id": "5001"},
        "fills_history": {"acc_id": ACCOUNT, "trd_market": "HK", "max_rows": 20},
    }
    for name, arguments in given.items():
        assert demo.call(name, **arguments)["rows"], name
    assert datetime.fromisoformat(demo.call("server_time")["server_time"])


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("dividends", {"symbol": "00700"}, "expected {market}.{code}"),
        ("dividends", {}, "'symbol' is a required property"),
        ("dividends", {"symbol": "HK.99999"}, "not a known symbol"),
        ("dividends", {"symbol": "HK.00700", "max_rows": 1001}, "1000"),
        ("dividends", {"symbol": "HK.00700", "concurrency": 9}, "concurrency"),
        ("ipo_list", {"market": "mars"}, "'mars' is not one of"),
        ("ipo_list", {"market": "hk", "request_type": "nonsense"}, "expected one of"),
        (
            "fills_history",
            {"acc_id": ACCOUNT, "trd_market": "HK", "start": "20260101"},
            "2026-01-01",
        ),
        ("plate_stocks", {"plate_code": "HK.BK1001", "resume": "{}"}, "checkpoint"),
        ("place_order", {"symbol": "HK.00700"}, "'place_order' is not a valid tool; expected one"),
        ("request", {"method": "POST", "path": "/"}, "'request' is not a valid tool; expected one"),
    ],
)
def test_a_mistake_is_explained_to_the_model(demo, tool, arguments, said):
    assert said in demo.refusal(tool, **arguments)


def test_a_mistake_of_any_length_is_explained_briefly(demo):
    long = "x" * 100_000
    assert len(demo.refusal("ipo_list", market=long)) < 500
    assert len(demo.refusal("ipo_list", market="hk", **{long: 1})) < 500
    assert len(demo.refusal(long)) < 700


def test_only_allowed_accounts_are_read(live, service):
    assert live.tools()["fills_history"].input_schema["properties"]["acc_id"]["enum"] == [ACCOUNT]
    assert live.call("fills_history", acc_id=ACCOUNT, trd_market="HK", max_rows=5)["rows"]
    before = len(service.sandbox.requests)
    for other in ("281757", f"{ACCOUNT} ", f"0{ACCOUNT}", "", "../281757"):
        assert live.refusal("fills_history", acc_id=other, trd_market="HK")
    assert len(service.sandbox.requests) == before


def test_without_accounts_their_tools_are_not_offered(service):
    with started("--profile", "live", "mcp", env=service.environment) as session:
        assert set(session.tools()) == READS - OF_ACCOUNTS
        assert "is not a valid tool" in session.refusal("sim_orders", acc_id="5001")


def test_nothing_but_the_ten_reads_ever_reaches_the_service(live, service):
    # The last test of `live`.
    live.call("plate_stocks", plate_code="HK.BK1001", max_rows=10)
    posts = {request.path for request in service.sandbox.requests if request.method != "GET"}
    assert len(posts) == 1 and "plate" in posts.pop()


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@contextmanager
def raw(*arguments, env=None):
    """The command with bare pipes."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    line = [*COMMAND, *(arguments or ("mcp", "--demo"))]
    with subprocess.Popen(line, env=env, **pipes) as process:
        try:
            process.stdin.write(b"not json\n" + json.dumps(INITIALIZE).encode() + b"\n")
            process.stdin.flush()
            responses = []
            while not any(response.get("id") == 1 for response in responses):
                responses.append(json.loads(process.stdout.readline()))
            yield process, responses
        finally:
            process.kill()


def test_stdout_is_the_protocol_alone_and_closing_stdin_ends_it():
    with raw() as (process, responses):
        rest, _ = process.communicate(timeout=60)
        # The SDK's notice of the line that was no message may come before the response or after it.
        responses += [json.loads(line) for line in rest.splitlines()]
    assert process.returncode == 0
    assert all(response["jsonrpc"] == "2.0" for response in responses)


def messages_of(parts):
    """What is read of a pipe into which these parts are written."""
    reading, writing = os.pipe()

    async def read():
        messages = []
        async for message in Input(reading, Output(io.BytesIO())):
            messages.append(message)
        return messages

    for part in parts:
        os.write(writing, part)
    os.close(writing)
    try:
        return asyncio.run(asyncio.wait_for(read(), 60))
    finally:
        os.close(reading)


@pytest.mark.parametrize("method", ["ping", "tools/call"])
def test_the_last_message_needs_no_line_feed(method):
    params = {"name": "server_time", "arguments": {}} if method == "tools/call" else {}
    last = {"jsonrpc": "2.0", "id": "last", "method": method, "params": params}
    with raw() as (process, _):
        send(process, {"method": "notifications/initialized"})
        rest, _ = process.communicate(json.dumps(last).encode(), timeout=60)
        assert process.returncode == 0
    (response,) = [one for one in map(json.loads, rest.splitlines()) if one.get("id") == "last"]
    assert "result" in response, response


def test_messages_are_read_up_to_the_end():
    assert messages_of([b"a\nb", b"c\n", b"last"]) == ["a", "bc", "last"]
    assert messages_of([b"a\n"]) == ["a"]
    assert messages_of([]) == []


def test_an_input_that_cannot_be_read_is_at_its_end():
    closed, writing = os.pipe()
    os.close(closed)
    os.close(writing)

    async def read():
        return [message async for message in Input(closed, Output(io.BytesIO()))]

    assert asyncio.run(asyncio.wait_for(read(), 60)) == []


def send(process, *messages):
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def response_to(process, number):
    """The response to a request, and those that came before it."""
    before = []
    while True:
        response = json.loads(process.stdout.readline())
        if response.get("id") == number:
            return response, before
        before.append(response)


@pytest.fixture
def slow(tmp_path):
    """A service whose responses take longer than the test."""
    service = Service(tmp_path, faults=bl.Faults(latency=300.0))
    yield service
    service.sandbox.close()


@pytest.mark.parametrize("at_once", [1, 3, 30])
def test_calls_in_flight_can_be_cancelled_at_once(at_once, slow):
    arguments = ["--profile", "live", "mcp", "--account", ACCOUNT]
    with raw(*arguments, env=slow.environment) as (process, _):
        send(process, {"method": "notifications/initialized"})
        for round_ in range(3):
            ids = [f"{round_}-{number}" for number in range(at_once)]
            call = {"name": "dividends", "arguments": {"symbol": "HK.00700"}}
            send(process, *({"id": one, "method": "tools/call", "params": call} for one in ids))
            # Once it has read them: they are dispatched in order.
            send(process, {"id": f"{round_}-list", "method": "tools/list"})
            response_to(process, f"{round_}-list")
            cancel = "notifications/cancelled"
            send(process, *({"method": cancel, "params": {"requestId": one}} for one in ids))
            send(process, {"id": f"{round_}-ping", "method": "ping"})
            response, before = response_to(process, f"{round_}-ping")
            assert response["result"] is not None and before == []
        process.stdin.close()
        assert process.wait(60) == 0
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("start", "end", "number"),
    [
        # As the SDKs of this protocol write them, and a message whose id is not at an edge.
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"', b'"}}', 7),
        (b'{"method":"ping","params":{"id":8,"x":"', b'"},"jsonrpc":"2.0","id":"a"}', "a"),
        (b'{"params":{"x":"', b'"},"id":7,"method":"ping","jsonrpc":"2.0","more":1}', None),
        (b'{"params":{"x":"', b'","id":8}}', None),
        (b"", b"", None),
    ],
)
def test_a_message_that_is_too_long_gets_an_error(start, end, number):
    with raw() as (process, _):
        process.stdin.write(start)
        for _ in range(60):
            process.stdin.write(b"x" * 1_000_000)
        process.stdin.write(end + b"\n")
        send(process, {"id": "next", "method": "ping"})
        refusal = json.loads(process.stdout.readline())
        assert refusal["id"] == number
        assert "is too long; expected at most 1,048,576" in refusal["error"]["message"]
        assert "result" in response_to(process, "next")[0]


def test_the_longest_message_is_read_and_a_byte_more_is_not():
    with raw() as (process, _):
        for length, member in ((1 << 20, "result"), ((1 << 20) + 1, "error")):
            start = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"x":"'
            end = b'"}}}'
            process.stdin.write(start + b"x" * (length - len(start + end)) + end + b"\n")
            process.stdin.flush()
            assert member in response_to(process, 7)[0]


def end_by(name, pause):
    with raw() as (process, _):
        time.sleep(pause)
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=60) == 128 + getattr(signal, name)
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it(name):
    end_by(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_at_any_moment_ends_it(name):
    chance = random.Random(16)
    # Side by side, so that a signal arrives in the middle of something.
    with ThreadPoolExecutor(8) as pool:
        pauses = [chance.choice([0, chance.random() * 0.02]) for _ in range(100)]
        list(pool.map(end_by, [name] * len(pauses), pauses))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mcp"], "no service selected"),
        (["--base-url", "https://api.example.com", "mcp", "--demo"], "--demo"),
    ],
)
def test_what_to_serve_must_be_clear(arguments, said, capsys):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
