"""The time in which a blocking call ends after Ctrl-C."""

import os
import signal
import threading
import time

import pytest


def ends_at_once(work, name=signal.SIGINT, error=KeyboardInterrupt):
    """Checks that a signal ends the call within a fifth of a second.

    A busy machine may schedule this process late, even several times; a call that ends late by
    itself does so each time.
    """
    assert any(interrupted(work, name, error) < 0.2 for _ in range(10))  # time: it is promised


def interrupted(work, name=signal.SIGINT, error=KeyboardInterrupt, clock=time.monotonic):
    """Seconds of `clock` from the signal to the end of the call."""
    sent, begun, over = [], threading.Event(), threading.Event()

    def interrupt():
        begun.wait()
        # time: no event shows that the call blocks
        if not over.wait(0.1):
            sent.append(clock())
            os.kill(os.getpid(), name)  # Sent to the process, as by a terminal.

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(error):
            begun.set()
            work()
        return clock() - sent[0]  # time: it is promised
    finally:
        over.set()
        thread.join()
