"""The messages that `boardlot mcp` receives: each gets a response, whatever it contains."""

import asyncio
import io
import json
import os

import pytest
from boardlot.cli.commands.mcp_stdio import Input, Output, messages

from ..support.mcp_process import raw, response_to, send


@pytest.fixture(autouse=True)
def no_response_is_awaited(monkeypatch):
    monkeypatch.setattr("boardlot.cli.commands.mcp_stdio.RESPONSE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def process():
    with raw() as (process, _):
        send(process, {"method": "notifications/initialized"})
        yield process


def read(*parts):
    """The messages that a pipe has, into which these parts are written, and the responses."""
    reading, writing = os.pipe()
    for part in parts:
        os.write(writing, part)
    os.close(writing)
    output = io.BytesIO()

    async def read_all():
        lines = Input(reading, Output(output))
        return [message async for message in messages(lines, Output(output))]

    try:
        return asyncio.run(read_all()), output.getvalue()
    finally:
        os.close(reading)


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def test_messages_are_read_up_to_the_end():
    assert read(PING[:7], PING[7:] + b"\n", PING) == ([PING.decode()] * 2, b"")
    assert read() == ([], b"")


def test_an_unexpected_response_and_empty_lines_get_no_response():
    lines = [b"", b"\r", b' {"jsonrpc":"2.0","id":3,"result":5}', b'{"id":3,"error":"x"}']
    assert read(b"\n".join([*lines, PING, lines[-1]])) == ([PING.decode()], b"")


def test_the_last_message_needs_no_line_feed():
    call = {"name": "server_time", "arguments": {}}
    last = {"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": call}
    with raw() as (process, _):
        send(process, {"method": "notifications/initialized"})
        rest, _ = process.communicate(json.dumps(last).encode(), timeout=60)
        assert process.returncode == 0
    (response,) = [one for one in map(json.loads, rest.splitlines()) if one.get("id") == "last"]
    assert "result" in response, response


@pytest.mark.parametrize(
    ("start", "end", "number"),
    [
        # As the SDKs of this protocol write them, and messages whose id is not at an edge.
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"', b'"}}', 7),
        (b'{"method":"ping","params":{"id":8,"x":"', b'"},"jsonrpc":"2.0","id":"a"}', "a"),
        (b'{"params":{"x":"', b'"},"id":7,"method":"ping","jsonrpc":"2.0","more":1}', None),
    ],
)
def test_a_message_that_is_too_long_gets_an_error(start, end, number, process):
    process.stdin.write(start + b"x" * (60 << 20) + end + b"\n")
    send(process, {"id": "next", "method": "ping"})
    response, (refusal,) = response_to(process, "next")
    assert "result" in response and refusal["id"] == number
    assert "is too long; expected at most 1,048,576" in refusal["error"]["message"]


CALL = '"jsonrpc":"2.0","method":"tools/call","params"'


@pytest.mark.parametrize(
    ("message", "number", "said"),
    [
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\0"}}', 7, "Invalid control"),
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"}}', 7, "Unterminated"),
        ('{"id":8,' + CALL + ':{"name":"dividends","arguments":{"symbol":"\\ud800"}}}', 8, "valid"),
        ('{"id":"\\ud800","jsonrpc":"2.0","method":"ping"}', "\ud800", "valid"),
        ('{"jsonrpc":"2.0","id":9,"method":"ping","p":' + "[" * 99_999, 9, "too deeply"),
        ('{"jsonrpc":"2.0","id":1' + "0" * 5_000 + ',"method":"ping"}', None, "digits"),
        ('{"id":10,' + CALL + ":[]}", 10, "valid"),
        ('{"jsonrpc":"2.0","id":11}', 11, "valid"),
        ('[{"jsonrpc":"2.0","id":12,"method":"ping"}]', None, "valid"),
        ("ping", None, "Expecting value"),
    ],
)
def test_a_message_that_cannot_be_read_gets_an_error(message, number, said, process):
    process.stdin.write(message.encode() + b"\n")
    send(process, {"id": "next", "method": "ping"})
    response, (refusal,) = response_to(process, "next")
    assert "result" in response
    assert refusal["id"] == number and said in refusal["error"]["message"], refusal
    assert "expected one JSON-RPC message per line" in refusal["error"]["message"]


def test_it_ends_quietly_when_nobody_reads_its_output():
    with raw() as (process, _):
        process.stdout.close()
        send(process, {"id": "next", "method": "ping"})
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_the_longest_message_is_read_and_a_byte_more_is_not(process):
    start = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"x":"'
    for length, member in ((1 << 20, "result"), ((1 << 20) + 1, "error")):
        process.stdin.write(start + b"x" * (length - len(start) - 4) + b'"}}}\n')
        process.stdin.flush()
        assert member in response_to(process, 7)[0]
