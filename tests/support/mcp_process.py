"""`boardlot mcp` as a process with bare pipes."""

import json
import subprocess
from contextlib import contextmanager

from .command_line import COMMAND

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
