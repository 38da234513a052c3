"""The input and output of `boardlot mcp`: one message per line, and none of them too long."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import BinaryIO

__all__ = ["MESSAGE_MAX", "Input", "Output"]

# Bytes of a message: the arguments of the longest call are a few thousand.
MESSAGE_MAX = 1 << 20
CHUNK = 1 << 16
# Chunks that were read and are not handled yet; then the client waits.
CHUNKS = 16
# Of a message that is too long the first and the last bytes are kept, for its id: there clients
# write it, and there it cannot be one of the arguments.
EDGE = 1 << 10
ID = rb'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{0,200}")'
MEMBER = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*'
ID_AT_START = re.compile(rb"\s*\{\s*(?:" + MEMBER + rb"){0,2}" + ID + rb"\s*,")
ID_AT_END = re.compile(rb",\s*(?:" + MEMBER + rb"){0,2}" + ID + rb"\s*\}\s*\Z")
INVALID_REQUEST = -32600


class Output:
    """The messages that are sent, one at a time."""

    def __init__(self, stdout: BinaryIO) -> None:
        self._stdout = stdout
        self._lock = asyncio.Lock()

    async def write(self, text: str) -> None:
        """Send messages, each with its line feed."""
        async with self._lock:
            await asyncio.to_thread(self._write, text.encode())

    async def flush(self) -> None:
        """Nothing is left: every message is sent when it is written."""

    def _write(self, message: bytes) -> None:
        self._stdout.write(message)
        self._stdout.flush()


class Input:
    """The messages that are received, read by a thread that no signal has to wait for.

    One that is too long is answered with an error, and is not kept while it arrives.
    """

    def __init__(self, stdin: int, output: Output) -> None:
        self._stdin = stdin
        self._output = output
        self.ended = False

    async def __aiter__(self) -> AsyncIterator[str]:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes]()
        free = threading.Semaphore(CHUNKS)

        def read() -> None:
            chunk = b"-"
            with suppress(RuntimeError):  # The loop is closed.
                while chunk:
                    free.acquire()
                    chunk = os.read(self._stdin, CHUNK)
                    loop.call_soon_threadsafe(queue.put_nowait, chunk)

        threading.Thread(target=read, name="boardlot-stdin", daemon=True).start()
        message = _Message()
        while chunk := await queue.get():
            free.release()
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                message.add(end)
                if message.is_too_long:
                    await self._output.write(message.refusal())
                else:
                    yield message.text()
                message = _Message()
            message.add(rest)
        self.ended = True


class _Message:
    """One message, as far as it has arrived."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

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
        """The error that answers it, with its id as far as that is known."""
        start, end = self._parts
        found = ID_AT_START.match(start) or ID_AT_END.search(end)
        error = {
            "jsonrpc": "2.0",
            "id": json.loads(found[1]) if found is not None else None,
            "error": {
                "code": INVALID_REQUEST,
                "message": f"a message of {self._length:,} bytes is too long; "
                f"expected at most {MESSAGE_MAX:,}",
            },
        }
        return json.dumps(error) + "\n"
