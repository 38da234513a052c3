"""The fault matrix of promise 31: every kind of fault x every operation x seeds.

What comes out through the faulty service is compared record by record with what the sandbox holds.
"""

import asyncio
import collections
import concurrent.futures
import contextlib
import random
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import boardlot as bl

from ..support.addresses import port_of
from ..support.certificates import authority
from ..support.clients import MODES, settled, stream
from ..support.operations import operations, plain
from ..support.stores import DictStore
from ..support.threads import wait_until
from .fault_exchanges import FaultyService
from .fault_kinds import KINDS, contexts

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


# Short where a kind of fault makes wait; elsewhere nothing but a hang takes as long as that.
SHORT = {"timeout": 0.5, "connect_timeout": 0.25}
AMPLE = {"timeout": 60.0, "connect_timeout": 60.0}
# More than one call may take: its attempts, the waits between them, a refresh and the clock. It is
# measured in time in which this process could run.
DEADLINE = 8.0
SIDE_BY_SIDE = 24


class Store(DictStore):
    """A store of tokens that can be made unwritable."""

    unwritable = False

    def save(self, key, value):
        if self.unwritable:
            raise OSError("no space left on device")
        super().save(key, value)


@dataclass(frozen=True)
class Case:
    """One operation while one kind of fault happens."""

    kind: object
    operation: object
    mode: str
    seed: int

    def __str__(self):
        return f"{self.kind} x {self.operation} x {self.mode} x {self.seed}"


class World:
    """A sandbox and what it holds, got without any fault."""

    def __init__(self, sandbox, clock):
        self.sandbox, self.clock = sandbox, clock
        self.operations = operations(sandbox.accounts)
        # Made once, before many threads ask for them: keys take their time.
        authority(), contexts()
        with sandbox.client() as client:
            self.truth = {each: whole(each, client) for each in self.operations}

    def cases(self, seed):
        return [
            Case(kind, operation, mode, seed)
            for kind in KINDS
            for operation in self.operations
            for mode in MODES
        ]


@contextlib.contextmanager
def serve():
    sandbox = bl.Sandbox(seed=31, fills=230, orders=70, plate_stocks=170)
    with sandbox, RunningTime() as clock:
        yield World(sandbox, clock)


def whole(operation, client):
    found = operation.result(client)
    assert not operation.pages or len(found) > 60, operation
    return found


class CaseRun:
    """A case while it runs; `run` raises what is wrong."""

    def __init__(self, case, world):
        self.case, self.world = case, world
        self.kind, self.operation = case.kind, case.operation
        self.dice = random.Random(str(case))
        self.left = self.dice.randint(1, 4)
        self.faults = self.errors = 0
        self.slowest = 0.0
        self.options = {
            **(SHORT if self.kind.delays else AMPLE),
            "max_retries": self.dice.choice([0, 0, 1, 2]),
            "max_body_bytes": 1 << 20,
        }

    def plan(self, _request):
        """Fails some requests and, in the end, none."""
        if self.left == 0 or self.kind.unresolved or self.dice.random() > 0.6:
            return False
        self.left -= 1
        self.faults += 1
        return True

    def run(self):
        context = None
        if self.kind.certificate:
            context = authority().context()
            self.options["ca_file"] = authority().ca_file
        target = port_of(self.world.sandbox.base_url)
        with FaultyService(target, self.kind, self.plan, self.dice, context) as self.service:
            self.service.store = Store()
            self.make_client()
            asyncio.run(self.use_client())
            assert not self.service.followed, "a redirect was followed"

    def make_client(self, base_url=None):
        kind = bl.Client if self.case.mode == "sync" else bl.AsyncClient
        # A credential of its own for each: it belongs to one origin.
        auth = self.login() if self.kind.auth == "oauth" else self.world.sandbox.api_key()
        self.client = kind(base_url or self.service.base_url, auth=auth, **self.options)

    def login(self):
        flow = bl.begin_login(self.service.base_url, store=self.service.store)
        sandbox = self.world.sandbox
        url = flow.url.replace(self.service.base_url, sandbox.base_url)
        return flow.finish(sandbox.authorize_demo_user(url))

    async def use_client(self):
        try:
            await (self.read_pages() if self.operation.pages else self.repeat_call())
        finally:
            await settled(self.client.close())

    async def repeat_call(self):
        """Calls until the faults are used up: each result is correct, or there is none."""
        for leg in range(60):
            if self.kind.unresolved:
                self.make_client("https://boardlot.invalid" if leg in (1, 2) else None)
            self.begun = self.world.clock.seconds
            try:
                value = plain(await settled(self.operation.start(self.client)))
                self.on_time()
            except bl.BoardlotError as error:
                self.judge(error)
            else:
                self.compare(value)
                if (leg > 2 if self.kind.unresolved else self.left == 0) or leg > 20:
                    return
        raise AssertionError("it went on failing after the last fault")

    def compare(self, value):
        right = self.world.truth[self.operation]
        if isinstance(right, datetime):
            assert abs(value - datetime.now(timezone.utc)) < timedelta(minutes=1), value
        elif self.operation.name == "request":
            # The envelope is the caller's: a response that equals what was sent is correct.
            assert value == right or value in self.service.mutated, value
        else:
            assert value == right, "wrong records"

    async def read_pages(self):
        """Resumes from each checkpoint: together it must be the whole list, each row once."""
        rows, checkpoint = [], None
        for leg in range(40):
            # Sometimes an iteration is left in the middle, as a script is that ends.
            stop = self.dice.randint(1, 90) if leg < 3 else None
            # A host that is not there is another service: it takes no checkpoint of this one.
            elsewhere = self.kind.unresolved and leg % 2 == 1
            if self.kind.unresolved:
                self.make_client("https://boardlot.invalid" if elsewhere else None)
            pager = self.operation.start(self.client, None if elsewhere else checkpoint)
            try:
                done = await self.take(pager, rows, stop)
            except bl.BoardlotError as error:
                self.judge(error)
                assert isinstance(error.checkpoint, str), f"no checkpoint: {error!r}"
                checkpoint = checkpoint if elsewhere else error.checkpoint
                continue
            if done:
                break
            checkpoint = pager.checkpoint()
        else:
            raise AssertionError("it went on failing after the last fault")
        right = self.world.truth[self.operation]
        assert rows == right, f"{len(rows)} rows for {len(right)}"

    async def take(self, pager, rows, stop):
        """Takes up to `stop` rows; true where that was the end."""
        taken, self.begun = 0, self.world.clock.seconds
        async for row in stream(pager):
            rows.append(row)
            taken += 1
            self.on_time()
            if taken == stop:
                return False
            self.begun = self.world.clock.seconds
        return True

    def judge(self, error):
        """An error is of its kind, says what to do, and leaves the way open."""
        self.errors += 1
        self.on_time()
        # Its very class: a time-out, say, is a `TransportError` too, but not what a reset causes.
        assert type(error) in self.kind.errors, f"{error!r} from {self.kind}"
        assert error.hint, f"no hint: {error!r}"
        self.service.store.unwritable = False
        if self.kind.delays and self.left == 0:
            # No fault is left: the machine is so busy that right responses take as long.
            self.options = {**self.options, **AMPLE}
            self.make_client()
        if self.errors > 2:
            wait_until(lambda: not self.service.is_away)
        if self.service.refuses_grants:
            self.service.refuses_grants = False
            self.make_client()

    def on_time(self):
        took = self.world.clock.seconds - self.begun
        self.slowest = max(self.slowest, took)
        assert took < DEADLINE + 1, f"hung for {took:.1f} s"


def run_case(case, world):
    """Runs a case. Returns what is wrong with it, or None; and its run."""
    case_run, wrong = CaseRun(case, world), None
    try:
        case_run.run()
    except Exception as error:
        retries = case_run.options["max_retries"]
        wrong = f"{case} ({retries} retries): {type(error).__name__}: {error}"[:1000]
    return wrong, case_run


@dataclass
class Outcome:
    """The outcome of many cases."""

    cases: int
    failures: list
    faults: collections.Counter
    errors: collections.Counter
    slowest: float


def run_cases(cases, world):
    """Runs cases side by side; faults and errors are counted by their kind."""
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        runs = list(pool.map(lambda case: run_case(case, world), cases))
    faults, errors = collections.Counter(), collections.Counter()
    for _, case_run in runs:
        faults[case_run.kind.name] += case_run.faults
        errors[case_run.kind.name] += case_run.errors
    failures = [wrong for wrong, _ in runs if wrong]
    return Outcome(
        len(cases), failures, faults, errors, max(case_run.slowest for _, case_run in runs)
    )
