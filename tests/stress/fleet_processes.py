"""Processes that share a rate limit, and what one can do to them."""

import json

from ..support.processes import python
from ..support.threads import wait_until


class Fleet:
    """Running workers, by their numbers."""

    def __init__(self, arrivals, limit, state, threads=0, tasks=0):
        self.arrivals, self.limit, self.state = arrivals, limit, state
        self.shape = {"threads": threads, "tasks": tasks}
        self.workers = {}
        self.started = 0

    def start(self, count, state=None):
        """Starts workers, and returns once they are ready to begin."""
        new = [self._spawn(state or self.state) for _ in range(count)]
        for number in new:
            assert self.workers[number].stdout.readline() == "ready\n"
        return new

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers.values():
            with worker:
                worker.kill()

    def _spawn(self, state):
        self.started += 1
        number = f"w{self.started}"
        settings = {"number": number, "base_url": self.arrivals.base_url, "limit": self.limit}
        code = "import json, sys, tests.stress.fleet_worker as w; w.main(**json.loads(sys.argv[1]))"
        environment = {"XDG_STATE_HOME": str(state), "HOME": str(state)}
        self.workers[number] = python(code, json.dumps({**settings, **self.shape}), env=environment)
        return number

    def begin(self, numbers):
        for number in numbers:
            self.workers[number].stdin.write("\n")
            self.workers[number].stdin.flush()

    def wait_for(self, count):
        """Waits until this many more requests have arrived."""
        wanted = len(self.arrivals.seen) + count
        wait_until(lambda: len(self.arrivals.seen) >= wanted)

    def wait_for_worker(self, number):
        """Waits until this process has sent another request."""
        before = len(self.arrivals.seen)
        wait_until(lambda: any(one == number for _, one in self.arrivals.seen[before:]))
