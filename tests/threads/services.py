"""Clients, sandboxes and tapes that threads share."""

import asyncio
import json
import tempfile
import threading
from pathlib import Path

import boardlot as bl

from .results import ACCOUNT, ids, pager_of
from .shared import Shared, same

DIVIDENDS = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
CODES = ["HK.00700", "US.AAPL", "HK.00005"]


class Client(Shared):
    def make(self):
        self.client = self.sandbox.client()

    def operations(self):
        client = self.client
        accounts = self.sandbox.accounts
        return same(
            *(lambda: client.server_time().tzinfo, lambda: client.base_url, lambda: repr(client)),
            lambda: client.trading_days("HK", "2026-01-01", "2026-02-01"),
            lambda: client.reference_futures("HK.HSImain"),
            lambda: len(client.ipo_list("hk")),
            lambda: client.dividends("HK.00700"),
            lambda: len(client.sim_orders(accounts["sim"][0])),
            lambda: client.sim_positions(accounts["sim"][0]),
            lambda: ids(pager_of(client).all()),
            lambda: client.plate_stocks("HK.BK1001").all(max_items=30),
            lambda: len(client.crypto_orders(accounts["crypto"][0]).all()),
            lambda: client.fetch_many("dividends", CODES),
            lambda: client.request("GET", DIVIDENDS).json(),
            lambda: client.explain("GET", DIVIDENDS).payload_lines[1:],
            lambda: client.clock_offset,
            lambda: len(client.ipo_calendar(["hk"])),
        )


class Endpoint(Shared):
    """One endpoint of the user's own, called by all threads."""

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

        async def several():
            found = await asyncio.gather(
                client.dividends("HK.00700"),
                client.reference_futures("HK.HSImain"),
                client.fetch_many("dividends", CODES),
                client.request("GET", DIVIDENDS),
                pager_of(client).all(),
            )
            return *map(list, found[:3]), found[3].json(), ids(found[4])

        async def rows():
            return [row["deal_id"] async for row in pager_of(client)]

        return same(lambda: asyncio.run(several()), lambda: asyncio.run(rows()))


class ClosedClient(Shared):
    """A client that one thread closes while the others use it: an answer, or a clear refusal."""

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
    """Every request of every thread is on the tape, each line whole."""

    def make(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "tape.jsonl"
        self.recorder = bl.Recorder(self.path)
        self.client = self.sandbox.client(tape=self.recorder)
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
        path = Path(self.folder.name) / "tape.jsonl"
        with bl.Recorder(path) as recorder:
            client = self.sandbox.client(tape=recorder)
            self.expected = [list(client.dividends(code)) for code in CODES]
        self.replay = bl.Replay(path)
        self.client = bl.Client(tape=self.replay)
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
    *(Client, Endpoint, AsyncClient, ClosedClient, DateRange, Faults, Sandbox),
    *(Recorder, Replay, FirstUse),
)
