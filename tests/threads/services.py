"""Clients, sandboxes and cassettes that threads share."""

import asyncio
import json
import tempfile
import threading
from functools import partial
from pathlib import Path

import boardlot as bl

from ..support.operations import operations, plain
from .results import ACCOUNT, ids, pager_of
from .shared import Shared, same

DIVIDENDS = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
CODES = ["HK.00700", "US.AAPL", "HK.00005"]


def operations_of(sandbox):
    """All that give the same each time: the time does not."""
    found = operations(sandbox.accounts)
    return [operation for operation in found if operation.name != "server_time"]


class Client(Shared):
    def make(self):
        self.client = self.sandbox.client()

    def operations(self):
        client = self.client
        return same(
            *(lambda: client.server_time().tzinfo, lambda: client.base_url, lambda: repr(client)),
            *(partial(each.result, client) for each in operations_of(self.sandbox)),
            lambda: client.explain("GET", DIVIDENDS).payload_lines[1:],
            lambda: client.clock_offset,
        )


class RateLimit(Shared):
    """One limit for the clients of all threads."""

    def make(self):
        self.limit = bl.RateLimit(100_000)

    def operations(self):
        limit = self.limit
        client = self.sandbox.client(rate_limit=limit)
        return same(
            *(lambda: limit.rate, lambda: limit.burst, lambda: limit.name, lambda: repr(limit)),
            *(lambda: limit.used >= 0, lambda: limit.free <= 100_000),
            lambda: len(client.dividends("HK.00700")),
        )


class Endpoint(Shared):
    """One custom endpoint, called by all threads."""

    def make(self):
        self.client = self.sandbox.client()
        path = "/api/v1.0/quote/{symbol}/corporate-actions/dividends"
        self.endpoint = bl.Endpoint("own", "GET", path, rows="data.dividend_list")

    def operations(self):
        client, endpoint = self.client, self.endpoint
        return same(
            *(lambda: repr(endpoint), lambda: hash(endpoint)),
            lambda: client.call(endpoint, symbol="HK.00700"),
            lambda: client.fetch_many(endpoint, CODES),
        )


class AsyncClient(Shared):
    """One client in the event loops of all threads."""

    def make(self):
        self.client = self.sandbox.async_client()

    def operations(self):
        client = self.client
        calls = [each for each in operations_of(self.sandbox) if not each.pages]

        async def several():
            found = await asyncio.gather(*(each.start(client) for each in calls))
            return [plain(value) for value in found]

        async def rows():
            return [row["deal_id"] async for row in pager_of(client)]

        return same(lambda: asyncio.run(several()), lambda: asyncio.run(rows()))


class ClosedClient(Shared):
    """A client that one thread closes while the others use it: a response, or a clear refusal."""

    def make(self):
        self.client, self.closed = self.sandbox.client(), threading.Event()
        self.expected = list(self.client.dividends("HK.00700"))

    def operations(self):
        return [*[self.use] * 40, self.close]

    def use(self):
        closed = self.closed.is_set()
        try:
            assert list(self.client.dividends("HK.00700")) == self.expected and not closed
        except bl.ConfigError as error:
            assert "closed" in str(error)

    def close(self):
        self.client.close()
        self.closed.set()

    def is_used_up(self):
        return self.closed.is_set()


class DateRange(Shared):
    def make(self):
        self.range = bl.DateRange(next="extra.next_time")

    def operations(self):
        client = self.sandbox.client()
        path = "/api/v1.0/quote/HK.00700/history-kline"

        def pager():
            return client.paginate("GET", path, paging=self.range, rows="data.kline_list")

        return same(lambda: repr(self.range), lambda: pager().requests)


class Faults(Shared):
    def make(self):
        self.faults = bl.Faults(latency=0.001, seed=3)

    def operations(self):
        return same(
            *(lambda: repr(self.faults), lambda: self.faults == bl.Faults(latency=0.001, seed=3)),
            lambda: self.faults == bl.Faults(),
        )


class Sandbox(Shared):
    def make(self):
        self.own = bl.Sandbox(seed=5, fills=60)
        self.own.client().server_time()

    def operations(self):
        own = self.own
        return [
            *same(
                *(lambda: own.base_url, lambda: own.accounts, lambda: repr(own)),
                lambda: ids(pager_of(own.client()).all()),
                lambda: len(own.client(auth="oauth").dividends("HK.00700")),
                lambda: own.async_client().base_url,
            ),
            *(self.requests, self.faults, own.api_key, self.upload),
        ]

    def requests(self):
        for received in self.own.requests[-20:]:
            assert received.method in ("GET", "POST") and received.path.startswith("/")
            assert received.status >= 200 and isinstance(received.query, str) and repr(received)

    def faults(self):
        self.own.faults = bl.Faults(latency=0.0001)
        assert self.own.faults in (bl.Faults(latency=0.0001), bl.Faults())
        self.own.faults = None

    def upload(self):
        assert self.own.upload_key(bl.generate_key().public_pem)

    def finish(self):
        self.own.close()


class Recorder(Shared):
    """Every request of every thread is in the cassette, each line whole."""

    def make(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "cassette.jsonl"
        self.recorder = bl.Recorder(self.path)
        self.client = self.sandbox.client(cassette=self.recorder)
        self.lock, self.made = threading.Lock(), 0

    def operations(self):
        return [self.call, lambda: repr(self.recorder)]

    def call(self):
        assert self.client.dividends("HK.00700")
        with self.lock:
            self.made += 1

    def is_used_up(self):
        return self.made > 200

    def finish(self):
        self.recorder.close()
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        recorded = [line for line in lines if "dividends" in json.dumps(line)]
        assert len(recorded) == self.made
        self.folder.cleanup()


class Replay(Shared):
    def make(self):
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "cassette.jsonl"
        with bl.Recorder(path) as recorder:
            client = self.sandbox.client(cassette=recorder)
            self.expected = [list(client.dividends(code)) for code in CODES]
        self.replay = bl.Replay(path)
        self.client = bl.Client(cassette=self.replay)
        self.left = iter(range(len(CODES)))
        self.lock, self.done = threading.Lock(), 0

    def operations(self):
        return [self.call, *same(lambda: self.replay.base_url, lambda: repr(self.replay))]

    def call(self):
        with self.lock:
            place = next(self.left, None)
        if place is not None:
            assert list(self.client.dividends(CODES[place])) == self.expected[place]
            with self.lock:
                self.done += 1

    def is_used_up(self):
        return self.done == len(CODES)

    def finish(self):
        self.folder.cleanup()


class FirstUse(Shared):
    """What is imported and made on first use, by all threads at once in a new process."""

    def operations(self):
        sandbox = self.sandbox
        return [
            lambda: sandbox.client().server_time(),
            lambda: sandbox.client().dividends("HK.00700").to_dicts(typed=True),
            lambda: asyncio.run(self.awaited()),
            lambda: repr(sandbox.client().sim_positions(sandbox.accounts["sim"][0])),
            lambda: sandbox.client().fills_history(ACCOUNT, "HK").checkpoint(),
            lambda: bl.SimSide,
            lambda: sandbox.client().ipo_calendar(["hk"]),
            lambda: bl.generate_key().public_pem,
        ]

    async def awaited(self):
        async with self.sandbox.async_client() as client:
            return await client.server_time()


SERVICES = (
    *(Client, RateLimit, Endpoint, AsyncClient, ClosedClient, DateRange, Faults, Sandbox),
    *(Recorder, Replay, FirstUse),
)
