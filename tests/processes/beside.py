"""Ends a process while daemon threads call entries of the compiled module; see `test_entries`."""

import contextlib
import io
import sys
import threading
import time
import warnings
from pathlib import Path

from ..support.entries import Workplace
from . import lingering  # noqa: F401


def call_repeatedly(call, made):
    """Calls until the process ends; whatever the call raises is not the subject."""
    while True:
        with contextlib.suppress(BaseException):
            call()
        made.set()
        time.sleep(0)


def exit_beside(folder, names):
    """Calls entries in daemon threads, and returns when each was called at least once."""
    warnings.simplefilter("ignore")
    # `login` shows its address there. What the interpreter itself says is still seen.
    sys.stderr = io.StringIO()
    workplace = Workplace(Path(folder)).__enter__()
    calls = [workplace.caller(name) for name in names]
    for call in calls:
        # Imports of frame libraries take ten times as long beside threads that compete.
        with contextlib.suppress(Exception):
            call()
    # Threads are switched as often as possible.
    sys.setswitchinterval(1e-5)
    made = [threading.Event() for _ in calls]
    for call, event in zip(calls, made, strict=True):
        threading.Thread(target=call_repeatedly, args=(call, event), daemon=True).start()
    for event in made:
        event.wait()
    # What threads use is left to the end of the process.
    workplace.stack.pop_all()


if __name__ == "__main__":
    exit_beside(sys.argv[1], sys.argv[2:])
