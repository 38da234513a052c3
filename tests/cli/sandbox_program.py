"""The program `boardlot-sandbox`, compiled once and run as its users run it."""

import functools
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 120


def program():
    """The path of the program."""
    return compiled() or pytest.skip("needs cargo, which compiles boardlot-sandbox")


@functools.cache
def compiled():
    """The path of the program: that of BOARDLOT_TEST_SANDBOX, or compiled here; `None` without
    cargo. Called before the first test: Cargo may take longer than the limit of a test."""
    given = os.environ.get("BOARDLOT_TEST_SANDBOX")
    if given is not None:
        return given
    if shutil.which("cargo") is None:
        return None
    # As it is compiled for the crate's own test, which runs it.
    options = "ARGS=--no-run --message-format json-render-diagnostics"
    command = ["make", "--silent", "--no-print-directory", "test-rust", options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for message in map(json.loads, done.stdout.splitlines()):
        is_program = message.get("target", {}).get("kind") == ["bin"]
        if is_program and message["executable"] and not message["profile"]["test"]:
            return message["executable"]
    raise AssertionError("cargo compiled no program")


class Program:
    """Runs until it is left. What it printed as JSON is `ready`."""

    def __init__(self, *arguments, stderr=None):
        self.command = [program(), "--json", *map(str, arguments)]
        self.stderr = stderr

    def __enter__(self):
        pipes = {"stdout": subprocess.PIPE, "stderr": self.stderr}
        self.process = subprocess.Popen(self.command, text=True, **pipes)
        self.ready = json.loads(self.process.stdout.readline())
        self.base_url = self.ready["base_url"]
        return self

    def __exit__(self, *_):
        self.end()
        self.process.stdout.close()

    def end(self):
        """Ends it as a container is stopped, and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LONGEST)


def failed(*arguments):
    """What it says of arguments that are wrong, and its exit status."""
    done = subprocess.run(
        [program(), *map(str, arguments)], capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode != 0
    return done.returncode, done.stderr
