"""Time in which this process could run, which a busy or stopped machine takes from it."""

import threading

TICK = 0.02


class RunningTime:
    """Counts the ticks of a thread in `seconds`: they come late where others come late too."""

    def __init__(self):
        self.seconds = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _tick(self):
        while not self._over.wait(TICK):  # time: this is a clock
            self.seconds += TICK
