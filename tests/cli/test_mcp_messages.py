"""The messages that `boardlot mcp` receives: each gets a response, whatever it contains."""

import asyncio
import io
import json
import os

import pytest
from boardlot.cli.commands.mcp_stdio import Input, Output, messages

from ..support.mcp_process import raw, response_to, send


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


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
CALL = '"jsonrpc":"2.0","method":"tools/call","params"'


@pytest.mark.parametrize(
    ("message", "number", "said"),
    [
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\0"}}', 7, "Invalid control"),
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"}}', 7, "Unterminated"),
        ('{"id":8,' + CALL + ':{"name":"dividends","arguments":{"symbol":"\\ud800"}}}', 8, "valid"),
        ('{"id":"\\ud800","jsonrpc":"2.0","method":"ping"}', "\ud800", "valid"),
        (
            '{"jsonrpc":"2.0","id":9,"method":"ping","params":' + "[" * 300 + "]" * 300 + "}",
            9,
            "valid",
        ),
        ('{"jsonrpc":"2.0","id":9,"method":"ping","p":' + "[" * 99_999, 9, "too deeply"),
        ('{"jsonrpc":"2.0","id":1' + "0" * 5_000 + ',"method":"ping"}', None, "digits"),
        ('{"jsonrpc":"2.0","id":10,"method":"tools/call","params":[]}', 10, "valid"),
        ('{"jsonrpc":"2.0","id":11}', 11, "valid"),
        ('[{"jsonrpc":"2.0","id":12,"method":"ping"}]', None, "valid"),
        ("ping", None, "Expecting value"),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_a_message_that_cannot_be_read_gets_an_error(message, number, said, is_last):
    with raw() as (process, _):
        process.stdin.write(message.encode())
        if not is_last:
            process.stdin.write(b"\n")
            send(process, {"id": "next", "method": "ping"})
            refusal = json.loads(process.stdout.readline())
            assert "result" in response_to(process, "next")[0]
        rest, _ = process.communicate(timeout=60)
        if is_last:
            (refusal,) = map(json.loads, rest.splitlines())
        assert refusal["id"] == number and said in refusal["error"]["message"], refusal
        assert "expected one JSON-RPC message per line" in refusal["error"]["message"]
        assert process.returncode == 0


def test_an_unexpected_response_and_empty_lines_get_no_response():
    lines = [b"", b"\r", b' {"jsonrpc":"2.0","id":3,"result":5}', b'{"id":3,"error":"x"}']

    async def read():
        output = io.BytesIO()
        lines = Input(reading, Output(output))
        return [text async for text in messages(lines, Output(output))], output.getvalue()

    reading, writing = os.pipe()
    os.write(writing, b"\n".join([*lines, PING, lines[-1]]))
    os.close(writing)
    try:
        assert asyncio.run(read()) == ([PING.decode()], b"")
    finally:
        os.close(reading)


def test_it_ends_quietly_when_nobody_reads_its_output():
    with raw() as (process, _):
        process.stdout.close()
        send(process, {"id": "next", "method": "ping"})
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_the_longest_message_is_read_and_a_byte_more_is_not():
    with raw() as (process, _):
        for length, member in ((1 << 20, "result"), ((1 << 20) + 1, "error")):
            start = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"x":"'
            end = b'"}}}'
            process.stdin.write(start + b"x" * (length - len(start + end)) + end + b"\n")
            process.stdin.flush()
            assert member in response_to(process, 7)[0]
