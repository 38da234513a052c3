"""The time in which a blocking call ends after Ctrl-C."""

import os
import signal
import threading
import time

import pytest


def ends_at_once(work, name=signal.SIGINT, error=KeyboardInterrupt, alike=None):
    """Checks that a signal ends the call within a fifth of a second.

    A busy machine may schedule this process late, even several times; a call that ends late by
    itself does so each time. A call whose end is much work for several processes is late each time
    on a busy machine: it may take as long as `alike`, work of the same processes, takes beside it.
    """
    for _ in range(10):
        start = time.monotonic()  # time: it is promised
        if alike is not None:
            alike()
        most = max(0.2, time.monotonic() - start)  # time: it is promised
        if interrupted(work, name, error) < most:
            return
    pytest.fail(f"the call did not end within {most} s of the signal")


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
