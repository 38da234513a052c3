"""Results that threads share: records, iterators, pagers, responses, errors."""

import asyncio
import copy
import pickle
import threading
from collections import Counter
from typing import NamedTuple

import boardlot as bl

from .shared import Shared, same

ACCOUNT = "281756"

try:
    import pyarrow
except ImportError:  # Not every library is there for every CPython.
    pyarrow = None


def pager_of(client):
    return client.fills_history(ACCOUNT, "HK", page_size=10)


def ids(rows):
    return [row["deal_id"] for row in rows]


class Records(Shared):
    def make(self):
        self.records = pager_of(self.sandbox.client()).all()
        self.one = self.records[3]

    def operations(self):
        records, one = self.records, self.one
        calls = [
            *(lambda: len(records), lambda: records[3], lambda: records[-1], lambda: list(records)),
            *(lambda: records[5:20], lambda: records[::-1], lambda: list(reversed(records))),
            *(lambda: one in records, lambda: records.count(one), lambda: records.index(one)),
            *(lambda: records == records[:], lambda: records != [], lambda: records.meta),
            *(lambda: records.to_dicts(typed=True), records.to_dicts, lambda: records.errors),
            *(lambda: copy.copy(records), lambda: copy.deepcopy(records)),
            *(lambda: repr(records), lambda: records._repr_html_()),
            lambda: [(field.name, field.kind, field.unit) for field in records.schema],
        ]
        if pyarrow:
            calls += [records.to_arrow, lambda: pyarrow.table(records)]
        return same(*calls)


class SchemaField(Shared):
    def make(self):
        self.field = pager_of(self.sandbox.client()).all(max_items=1).schema[0]

    def operations(self):
        names = ("name", "kind", "unit", "doc", "values")
        return same(
            *(lambda name=name: getattr(self.field, name) for name in names),
            lambda: repr(self.field),
        )


class Delivery(Shared):
    """Rows that many receive, each once."""

    def prepare(self):
        self.client = self.sandbox.client()
        self.fills = ids(pager_of(self.client).all())
        self.lock, self.taken, self.ended = threading.Lock(), [], threading.Event()

    def take(self, rows):
        with self.lock:
            self.taken.extend(rows)

    def is_used_up(self):
        return self.ended.is_set()

    def finish(self):
        self.take(ids(self.rest()))
        assert Counter(self.taken) == Counter(self.fills)

    def next_of(self, iterator, rows_of=lambda row: [row]):
        def operation():
            try:
                found = next(iterator)
            except StopIteration:
                self.ended.set()
            else:
                self.take(ids(rows_of(found)))

        return operation


class RecordsIterator(Delivery):
    def make(self):
        self.prepare()
        self.iterator = iter(pager_of(self.client).all())

    def operations(self):
        following = self.next_of(self.iterator)
        return [following, following, self.hint]

    def hint(self):
        assert 0 <= self.iterator.__length_hint__() <= len(self.fills)

    def rest(self):
        return self.iterator


class ReversedRecords(RecordsIterator):
    def make(self):
        self.prepare()
        self.iterator = reversed(pager_of(self.client).all())


class Pager(Delivery):
    def make(self):
        self.prepare()
        self.pager = pager_of(self.client)

    def operations(self):
        pager = self.pager
        following = self.next_of(pager)
        return [
            *[following] * 8,
            self.next_of(pager.pages(), lambda page: page),
            self.some,
            lambda: self.resumed(pager.checkpoint()),
            lambda: self.true(pager.total is None and pager.requests >= 0),
            lambda: self.true("fills_history" in repr(pager) and iter(pager) is pager),
        ]

    def true(self, fact):
        assert fact

    def some(self):
        try:
            rows = self.pager.all(max_items=3)
        except bl.ConfigError:  # It is at its end.
            self.ended.set()
        else:
            self.take(ids(rows))

    def resumed(self, checkpoint):
        """What a checkpoint leaves is an end of the whole."""
        again = self.client.fills_history(ACCOUNT, "HK", page_size=10, resume=checkpoint)
        row = next(again, None)
        assert row is None or row["deal_id"] in self.fills

    def rest(self):
        return self.pager


class PageIterator(Delivery):
    def make(self):
        self.prepare()
        self.pager = pager_of(self.client)
        self.pages = self.pager.pages()

    def operations(self):
        return [self.next_of(self.pages, lambda page: page), lambda: iter(self.pages)]

    def rest(self):
        return self.pager


class Fill(NamedTuple):
    deal_id: str


class RowIterator(Delivery):
    def make(self):
        self.prepare()
        self.pager = pager_of(self.client)
        self.rows = self.pager.as_type(Fill)

    def operations(self):
        return [
            *[self.next_of(self.rows, lambda row: [row._asdict()])] * 4,
            lambda: iter(self.rows),
            self.rows.checkpoint,
        ]

    def rest(self):
        return self.pager


class AsyncPager(Delivery):
    """One pager in the event loops of all threads."""

    def make(self):
        self.prepare()
        self.async_client = self.sandbox.async_client()
        self.pager = pager_of(self.async_client)
        self.pages = self.pager.pages()

    def operations(self):
        return [lambda: asyncio.run(self.read())]

    async def read(self):
        try:
            for _ in range(3):
                self.take(ids([await anext(self.pager)]))
            self.take(ids(await anext(self.pages)))
        except StopAsyncIteration:
            self.ended.set()
        self.pager.checkpoint()

    def rest(self):
        async def read():
            return [row async for row in self.pager]

        return asyncio.run(read())


class Awaitable(Shared):
    """What `anext` returns where the row is there already: one gets it, the others a refusal."""

    def make(self):
        async def read():
            pager = pager_of(self.sandbox.async_client())
            await anext(pager)
            return [pager.__anext__() for _ in range(5)]

        self.awaitables = asyncio.run(read())
        self.lock, self.rows = threading.Lock(), []

    def operations(self):
        return [lambda awaitable=awaitable: self.step(awaitable) for awaitable in self.awaitables]

    def step(self, awaitable):
        try:
            awaitable.__await__().__next__()
        except StopIteration as ended:
            if ended.value is not None:
                with self.lock:
                    self.rows.append(ended.value["deal_id"])
        except RuntimeError as error:
            assert "orrowed" not in str(error), error
        except bl.ConfigError as error:
            # Another thread had the pager at that moment, and waiting for it takes an event loop.
            assert "event loop" in str(error), error

    def is_used_up(self):
        return len(self.rows) == 5

    def finish(self):
        assert len(set(self.rows)) == len(self.rows)


class Response(Shared):
    def make(self):
        path = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
        self.response = self.sandbox.client().request("GET", path)

    def operations(self):
        response = self.response
        return same(
            *(lambda: response.status, lambda: response.headers, lambda: response.content),
            *(response.json, lambda: repr(response)),
        )


class Explanation(Shared):
    def make(self):
        self.explained = self.sandbox.client().explain("POST", "/a", {"b": 1}, {"c": [1, 2]})

    def operations(self):
        names = ("method", "url", "payload_lines", "payload", "body_hash", "headers")
        return same(
            *(lambda name=name: getattr(self.explained, name) for name in names),
            lambda: repr(self.explained),
        )


class Events(Shared):
    """What hooks are called with."""

    def make(self):
        self.events = []
        seen = self.events.append
        self.sandbox.client(on_request=seen, on_response=seen).server_time()

    def operations(self):
        request, response = self.events
        names = ("method", "path", "attempt")
        more = ("status", "duration", "error")
        return same(
            *(lambda name=name: getattr(request, name) for name in names),
            *(lambda name=name: getattr(response, name) for name in names + more),
            lambda: (repr(request), repr(response)),
        )


class Error(Shared):
    """An error that several threads raise, as the outcome of a refresh that they share."""

    def make(self):
        try:
            self.sandbox.client().dividends("HK.99999")
        except bl.InvalidSymbol as error:
            self.error = error

    def operations(self):
        names = ("endpoint", "retryable", "hint", "checkpoint", "http_status", "code")
        names += ("error_code", "message", "headers", "body")
        return [
            *same(
                *(lambda name=name: getattr(self.error, name) for name in names),
                *(lambda: str(self.error), lambda: repr(self.error)),
                lambda: str(pickle.loads(pickle.dumps(self.error))),
                lambda: str(copy.copy(self.error)),
            ),
            self.raised,
        ]

    def raised(self):
        try:
            raise self.error
        except bl.InvalidSymbol as error:
            assert error is self.error


class ArrowStream(Shared):
    """Columns that are received once: one thread gets them, the others a refusal."""

    def make(self):
        records = pager_of(self.sandbox.client()).all()
        self.stream = records._arrow("float64", "raise", "utf8")
        self.lock, self.taken, self.refusals = threading.Lock(), [], 0

    def operations(self):
        return [self.take]

    def take(self):
        try:
            capsule = self.stream.__arrow_c_stream__()
        except bl.ConfigError:
            with self.lock:
                self.refusals += 1
        else:
            with self.lock:
                self.taken.append(capsule)

    def is_used_up(self):
        return self.refusals >= 7

    def finish(self):
        assert len(self.taken) == min(1, len(self.taken) + self.refusals)


RESULTS = (
    *(Records, SchemaField, RecordsIterator, ReversedRecords, Pager, PageIterator, AsyncPager),
    RowIterator,
    *(Awaitable, Response, Explanation, Events, Error, ArrowStream),
)
