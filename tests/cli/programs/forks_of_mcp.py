"""Runs commands one after another, each in a fork that has imported the SDK, which takes seconds.

The socket of its argument has the commands, with their environment and their three pipes, and gets
the number of each process and its exit status.
"""

import json
import os
import runpy
import socket
import sys

import boardlot.cli.commands.mcp_tools  # noqa: F401
import mcp.server.stdio  # noqa: F401


def run(command, environment, pipes):
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)
    # As at a start: the streams remember that what they had was a file.
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = ["boardlot", *command]
    runpy.run_module("boardlot", run_name="__main__", alter_sys=True)


channel = socket.socket(fileno=int(sys.argv[1]))
while True:
    message, pipes, _, _ = socket.recv_fds(channel, 1 << 20, 3)
    if not message:
        break
    child = os.fork()
    if child == 0:
        channel.close()
        run(*json.loads(message), pipes)
        break
    for pipe in pipes:
        os.close(pipe)
    channel.send(str(child).encode())
    _, status = os.waitpid(child, 0)
    channel.send(str(os.waitstatus_to_exitcode(status)).encode())
