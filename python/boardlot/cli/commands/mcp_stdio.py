"""The input and output of `boardlot mcp`: one message per line, and none of them too long."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, BinaryIO

__all__ = ["MESSAGE_MAX", "Input", "Output", "messages"]

# Bytes of a message: the arguments of the longest call are a few thousand.
MESSAGE_MAX = 1 << 20
CHUNK = 1 << 16
# Chunks that were read and are not handled yet; then the client waits.
CHUNKS = 16
# How long the response to a last message without a line feed may take.
RESPONSE_SECONDS = 60.0
# Of a message that is too long the first and the last bytes are kept, for its id: there clients
# write it, and there it cannot be one of the arguments.
EDGE = 1 << 10
ID = rb'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{0,200}")'
MEMBER = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*'
ID_AT_START = re.compile(rb"\s*\{\s*(?:" + MEMBER + rb"){0,2}" + ID + rb"\s*,")
ID_AT_END = re.compile(rb",\s*(?:" + MEMBER + rb"){0,2}" + ID + rb"\s*\}\s*\Z")
PARSE_ERROR, INVALID_REQUEST = -32700, -32600


class Output:
    """The messages that are sent, one at a time."""

    def __init__(self, stdout: BinaryIO) -> None:
        self._stdout = stdout
        self._lock = asyncio.Lock()
        self.is_closed: bool = False
        # The id of a request, and whether its response was sent.
        self._awaited: tuple[Any, asyncio.Event] | None = None

    async def write(self, text: str) -> None:
        """Send messages, each with its line feed."""
        async with self._lock:
            await asyncio.to_thread(self._write, text.encode())
        if self._awaited is not None:
            number, sent = self._awaited
            if any(_id_of(line, response=True) == number for line in text.split("\n")):
                sent.set()

    def response_to(self, number: int | str) -> asyncio.Event:
        """Set when the response to the request with this id has been sent."""
        self._awaited = number, asyncio.Event()
        return self._awaited[1]

    async def flush(self) -> None:
        """Nothing is left: every message is sent when it is written."""

    def _write(self, message: bytes) -> None:
        try:
            self._stdout.write(message)
            self._stdout.flush()
        except BrokenPipeError:
            # The client has ended. What is buffered must not be written again.
            self.is_closed = True
            with suppress(OSError):
                self._stdout.close()
            raise


class Input:
    """The messages that are received, read by a thread that no signal has to wait for.

    One that is too long gets an error as its response, and is not stored while it arrives.
    """

    def __init__(self, stdin: int, output: Output) -> None:
        self._stdin = stdin
        self._output = output
        self.ended: bool = False

    async def __aiter__(self) -> AsyncIterator[str]:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes]()
        free = threading.Semaphore(CHUNKS)

        def read() -> None:
            chunk = b"-"
            with suppress(RuntimeError):  # The loop is closed.
                while chunk:
                    free.acquire()
                    try:
                        chunk = os.read(self._stdin, CHUNK)
                    except OSError:  # As of a terminal that was closed: nothing more arrives.
                        chunk = b""
                    loop.call_soon_threadsafe(queue.put_nowait, chunk)

        threading.Thread(target=read, name="boardlot-stdin", daemon=True).start()
        message = _Message()
        while chunk := await queue.get():
            free.release()
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                message.add(end)
                if await self._is_accepted(message):
                    yield message.text()
                message = _Message()
            message.add(rest)
        self.ended = True
        # The last one may have no line feed. At the end of the input the SDK ends what it has not
        # responded to yet, so that waits.
        if not message.is_empty and await self._is_accepted(message):
            text = message.text()
            number = _id_of(text, response=False)
            sent = None if number is None else self._output.response_to(number)
            yield text
            if sent is not None:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(sent.wait(), RESPONSE_SECONDS)

    async def _is_accepted(self, message: _Message) -> bool:
        if message.is_too_long:
            await self._output.write(message.refusal())
        return not message.is_too_long


async def messages(lines: Input, output: Output) -> AsyncIterator[str]:
    """The messages that the SDK can read; it drops the others without a word.

    A request that it cannot read gets an error as its response.
    """
    from mcp.types import jsonrpc_message_adapter

    async for text in lines:
        if not text.strip():
            continue
        try:
            jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError:
            refusal = _refusal_of(text)
            if refusal is not None:
                await output.write(refusal)
        else:
            yield text


def _refusal_of(text: str) -> str | None:
    """The error response to a message that cannot be read; none if it is itself a response."""
    expected = "expected one JSON-RPC message per line"
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        start, end = text[:EDGE].encode(), text[-EDGE:].encode()
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return _refusal(PARSE_ERROR, _id_at_edge(start, end), f"{reason}; {expected}")
    if _is_response(message):
        return None
    return _refusal(INVALID_REQUEST, _id_in(message), f"the message is not valid; {expected}")


def _refusal(code: int, number: int | str | None, message: str) -> str:
    error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
    return json.dumps(error) + "\n"


def _id_at_edge(start: bytes, end: bytes) -> Any:
    """The id of a message whose first and last bytes are known."""
    found = ID_AT_START.match(start) or ID_AT_END.search(end)
    return json.loads(found[1]) if found is not None else None


def _id_of(text: str, *, response: bool) -> int | str | None:
    """The id of a response or of a request, if the message is one and is whole."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _id_in(message) if _is_response(message) is response else None


def _is_response(message: Any) -> bool:
    return isinstance(message, dict) and ("result" in message or "error" in message)


def _id_in(message: Any) -> int | str | None:
    number = message.get("id") if isinstance(message, dict) else None
    is_id = isinstance(number, (int, str)) and not isinstance(number, bool)
    return number if is_id else None


class _Message:
    """One message, as far as it has arrived."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    @property
    def is_empty(self) -> bool:
        return self._length == 0

    @property
    def is_too_long(self) -> bool:
        return self._length > MESSAGE_MAX

    def add(self, part: bytes) -> None:
        self._length += len(part)
        self._parts.append(part)
        if self.is_too_long:
            whole = b"".join(self._parts)
            self._parts = [whole[:EDGE], whole[EDGE:][-EDGE:]]

    def text(self) -> str:
        return b"".join(self._parts).decode("utf-8", "replace")

    def refusal(self) -> str:
        """The error response to it, with its id as far as that is known."""
        text = f"a message of {self._length:,} bytes is too long; expected at most {MESSAGE_MAX:,}"
        return _refusal(INVALID_REQUEST, _id_at_edge(*self._parts), text)
