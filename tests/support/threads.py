"""Work in many threads at the same time, and waiting for conditions."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor


def outcomes_of_threads(number, work):
    """Runs `work` in this many threads at once; counts its results and the classes of errors."""
    gate = threading.Barrier(number)

    def one(_):
        gate.wait()
        try:
            return work()
        except Exception as error:
            return type(error).__name__

    with ThreadPoolExecutor(number) as pool:
        return Counter(pool.map(one, range(number)))


def wait_until(condition, what="it"):
    """Waits until the condition is true, and returns its value."""
    end = time.monotonic() + 90
    while not (found := condition()):
        # time: for a condition that never comes
        assert time.monotonic() < end, f"{what} did not come about"
        time.sleep(0.005)  # time: looks again
    return found
