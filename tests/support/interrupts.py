"""The time in which a blocking call ends after Ctrl-C."""

import os
import signal
import threading
import time

import pytest


def ends_at_once(work, name=signal.SIGINT, error=KeyboardInterrupt):
    """A signal ends the call within a fifth of a second: the best of three, on a busy machine."""
    assert any(interrupted(work, name, error) < 0.2 for _ in range(3))  # time: it is promised


def interrupted(work, name=signal.SIGINT, error=KeyboardInterrupt):
    """Seconds from the signal to the end of the call."""
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), name)  # To the process, as a terminal does.

    timer = threading.Timer(0.1, interrupt)  # time: no event tells that the call blocks
    timer.start()
    try:
        with pytest.raises(error):
            work()
        return time.monotonic() - sent[0]  # time: it is promised
    finally:
        timer.cancel()
        timer.join()
