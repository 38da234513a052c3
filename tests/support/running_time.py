"""Time in which this process could run, which a busy or stopped machine takes from it."""

import functools
import threading
import time

TICK = 0.02


class RunningTime:
    """Counts the ticks of a thread, which come late where others come late too."""

    def __init__(self):
        self.seconds = 0.0
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self):
        while True:
            time.sleep(TICK)
            self.seconds += TICK


@functools.cache
def _running_time():
    return RunningTime()


def running_time():
    """Seconds since the first call, as far as this process could run."""
    return _running_time().seconds
