"""`boardlot sandbox` in a process of its own, ended with the test even if no signal ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Running:
    """`boardlot sandbox` in a process of its own, once it serves."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-u", "-m", "boardlot", "--format", "json", "sandbox", *options]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, env=dict(os.environ), **pipes)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.info = json.loads(line) if line else {}

    def end(self, how: signal.Signals) -> str:
        """The output from the signal on."""
        self.process.send_signal(how)
        return "".join(self.process.communicate(timeout=60))


@contextmanager
def running(*options: str) -> Iterator[Running]:
    started = Running(*options)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate(timeout=60)
