"""Work in many threads at the same time, and waiting for what they do."""

import threading
import time
from collections import Counter


def outcomes_of_threads(number, work):
    """Runs `work` in so many threads at once; counts its results and the classes of its errors."""
    outcomes = Counter()
    lock = threading.Lock()
    gate = threading.Barrier(number)

    def one():
        gate.wait(30)
        try:
            outcome = work()
        except Exception as error:
            outcome = type(error).__name__
        with lock:
            outcomes[outcome] += 1

    threads = [threading.Thread(target=one, daemon=True) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not any(thread.is_alive() for thread in threads)
    return outcomes


def wait_until(condition, seconds=90.0, what="it"):
    """Waits until the condition is true; returns what it was."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"{what} did not come about"
        time.sleep(0.005)
    return found
