"""64 tasks for an hour with faults on: flat memory, no file left open, no wrong record.

    python -m tests.stress.soak 60

Half of them share a client with a key, half one that is logged in with tokens that soon run out;
one makes a new client each time. Every result is compared with what the sandbox holds.
"""

import asyncio
import collections
import random
import statistics
import sys
import time
from datetime import datetime, timedelta, timezone

import boardlot as bl

from ..support.logins import demo_login
from ..support.operations import operations, plain
from ..support.sandbox_process import Used, allow_many_files

TASKS = 64
SANDBOX = {"seed": 53, "fills": 160, "orders": 60, "plate_stocks": 120, "token_lifetime": 10.0}
FAULTS = {"latency": 0.002, "throttle_rate": 0.005, "html_rate": 0.02}
FAULTS |= dict.fromkeys(("error_rate", "drop_rate", "truncate_rate"), 0.03)
OPTIONS = {"timeout": 5.0, "max_retries": 2}
# Memory may grow by so much between the second and the last third: noise, not a leak.
GROWTH_MIB = 8.0


class Soak:
    """The work, and what was seen of it."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.operations = operations(sandbox.accounts)
        self.done, self.errors = collections.Counter(), collections.Counter()
        self.wrong, self.samples = [], []
        self.key = sandbox.api_key()
        with bl.Client(sandbox.base_url, auth=self.key) as client:
            self.truth = {each: each.result(client) for each in self.operations}

    async def run(self, seconds, pause):
        self.end = time.monotonic() + seconds
        url = self.sandbox.base_url
        login = demo_login(self.sandbox)
        self.sandbox.faults = bl.Faults(**FAULTS)
        async with (
            bl.AsyncClient(url, auth=self.key, **OPTIONS) as keyed,
            bl.AsyncClient(url, auth=login, **OPTIONS) as logged_in,
        ):
            clients = [(keyed, logged_in)[number % 2] for number in range(TASKS - 1)]
            work = [self.work(number, client) for number, client in enumerate(clients)]
            await asyncio.gather(*work, self.work(TASKS, None), self.watch(pause))

    def goes_on(self):
        # time: an hour of operations, each of which is compared
        is_over = time.monotonic() >= self.end and self.has_met_all()
        return not is_over and not self.wrong

    def has_met_all(self):
        """Each operation and an error: on a busy machine, not all within some seconds."""
        return self.errors and {each.name for each in self.operations} <= self.done.keys()

    async def work(self, number, shared):
        dice = random.Random(number)
        while self.goes_on():
            operation = dice.choice(self.operations)
            client = shared or bl.AsyncClient(self.sandbox.base_url, auth=self.key, **OPTIONS)
            try:
                begun = operation.start(client)
                value = plain(await (begun.all() if operation.pages else begun))
            except bl.BoardlotError as error:
                self.errors[type(error).__name__] += 1
                continue
            finally:
                if client is not shared:
                    await client.close()
            self.done[operation.name] += 1
            value = value[0] if operation.pages else value
            if not is_right(value, self.truth[operation], operation):
                self.wrong.append(f"{operation}: {value!r:.500}")

    async def watch(self, pause):
        while self.goes_on():
            await asyncio.sleep(pause)  # time: between two samples
            self.samples.append(Used.of())

    def growth(self):
        """MiB and files that it grew by from the second to the last third."""
        third = len(self.samples) // 3
        parts = self.samples[third : 2 * third], self.samples[2 * third :]
        memory = [statistics.median(one.memory for one in part) for part in parts]
        files = [max(one.files for one in part) for part in parts]
        return memory[1] - memory[0], files[1] - files[0]


def is_right(value, right, operation):
    if isinstance(right, datetime):
        return abs(value - datetime.now(timezone.utc)) < timedelta(minutes=1)
    # The envelope of `request` is the caller's: a refusal, too, is a response.
    return value == right or (operation.name == "request" and b'"dividend_list"' not in value[1])


def soak(seconds, pause):
    allow_many_files()
    with bl.Sandbox(**SANDBOX) as sandbox:
        made = Soak(sandbox)
        asyncio.run(made.run(seconds, pause))
        return made


def main(minutes="60"):
    seconds = float(minutes) * 60
    made = soak(seconds, max(1.0, seconds / 600))
    print(f"{made.done.total()} operations right, {len(made.wrong)} wrong", *made.wrong)
    print("errors:", dict(made.errors))
    print(*made.samples[:: max(1, len(made.samples) // 12)], sep="\n")
    memory, files = made.growth()
    print(f"{memory:+.1f} MiB, {files:+} files from the second to the last third")
    return 0 if memory < GROWTH_MIB and files < TASKS and not made.wrong else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
