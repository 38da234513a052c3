"""A model of the event loop: what was delivered and what is left are all rows, in every order of
"finished", "drained", "cancelled" and "delivered".

The awaitables are driven by hand, as a task drives them, so that each event happens where the model
says: the request finishes while the loop stands still, the loop is drained, the task is cancelled
before it resumes, or resumes and receives.
"""

import asyncio
import contextlib
import itertools
import random
import time

import boardlot as bl
import pytest

from ..support.clients import settled
from ..support.paged_service import PagedList
from ..support.service import StandInService

LENGTHS = [2, 0, 3, 1]
METHOD = "crypto_orders"


class Step:
    """One awaitable of a pager, and what the code that awaits it has received."""

    def __init__(self, make):
        self.make = make
        self.operation = self.waiter = None
        self.received = []
        self.over = False

    def run(self, event):
        if not self.over:
            getattr(self, event)()

    def start(self):
        self.operation = self.make().__await__()
        self.advance()

    def resume(self):
        # A task resumes when its future is done, and not before.
        if self.waiter is not None and self.waiter.done():
            self.advance()

    def cancel(self):
        if self.operation is not None:
            with contextlib.suppress(asyncio.CancelledError):
                self.operation.throw(asyncio.CancelledError())
            self.over = True

    def drop(self):
        self.operation = self.waiter = None
        self.over = True

    def advance(self):
        try:
            self.waiter = self.operation.send(None)
        except StopIteration as end:
            rows = [end.value] if isinstance(end.value, dict) else end.value
            self.received = rows.to_pylist() if hasattr(rows, "to_pylist") else list(rows)
            self.over = True
        except StopAsyncIteration:
            self.over = True


async def finish():
    """The loop is blocked while requests come to their ends."""
    time.sleep(0.004)  # time: other orders are tried by it; what is promised holds for each


async def drain():
    """The loop hears what has finished, and resolves its futures."""
    for _ in range(5):
        await asyncio.sleep(0.001)  # time: as above


STEPS = {
    "row": lambda pager: anext(pager),
    "page": lambda pager: anext(pager.pages()),
    "batch": lambda pager: anext(pager.record_batches()),
    "all": lambda pager: pager.all(),
    "part": lambda pager: pager.all(max_items=2),
    "frame": lambda pager: pager.to_arrow(),
}
# Events of one awaitable; the loop's own events fall anywhere between.
FATES = [
    ["start", "resume"],
    ["start", "cancel"],
    ["start", "drop"],
    ["start", "resume", "resume"],
    ["start", "resume", "cancel"],
    ["cancel", "start", "resume"],
]


async def play(client, book, kind, fate, gaps):
    pager = client.crypto_orders(7)
    step = Step(lambda: STEPS[kind](pager))
    pairs = itertools.zip_longest(fate, gaps, fillvalue=())
    for event in [each for one, gap in pairs for each in (one, *gap)]:
        if callable(event):
            await event()
        else:
            step.run(event)
        # Read at every moment, and never waited for.
        pager.checkpoint(), pager.total, repr(pager)
    step.run("cancel")
    # (Undeclared fields of batches are text.)
    delivered = [int(row["n"]) for row in step.received]
    resumed = client.crypto_orders(7, resume=pager.checkpoint())
    assert delivered + [row["n"] async for row in resumed] == [row["n"] for row in book.rows]
    rest = [row["n"] async for row in pager]
    assert delivered + rest == [row["n"] for row in book.rows]


@pytest.mark.filterwarnings("ignore:.* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:this pager is used up:UserWarning")
@pytest.mark.parametrize("count", [50, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["asyncio", "uvloop"])
def test_security_37_one_awaitable_in_every_order_of_events(kind, count):
    pauses = [(), (finish,), (drain,), (finish, drain)]
    orders = list(itertools.product(STEPS, FATES, itertools.product(pauses, repeat=2)))
    book = PagedList(METHOD, LENGTHS)

    async def play_all(server):
        async with bl.AsyncClient(server.base_url, auth=bl.BearerToken("t")) as client:
            for case in random.Random(kind).sample(orders, count):
                try:
                    await play(client, book, *case)
                except Exception as error:
                    raise AssertionError(f"in the order {case}") from error

    loop = pytest.importorskip(kind).new_event_loop()
    with StandInService(book) as server, contextlib.closing(loop):
        loop.run_until_complete(play_all(server))


def test_security_37_a_task_left_behind_in_a_closed_loop_does_not_block_the_pager():
    book = PagedList(METHOD, LENGTHS)

    async def begin(pager):
        coroutine = pager.all()
        coroutine.send(None)
        return coroutine

    with (
        StandInService(book) as server,
        contextlib.closing(asyncio.new_event_loop()) as other,
    ):
        client = bl.AsyncClient(server.base_url, auth=bl.BearerToken("token-of-a-test"))
        pager = client.crypto_orders(7)
        loop = asyncio.new_event_loop()
        with contextlib.closing(loop):
            left_behind = loop.run_until_complete(begin(pager))
            # The loop has stopped, and may go on.
            with pytest.raises(bl.ConfigError, match="is being read"):
                other.run_until_complete(settled(pager.all()))
        assert list(other.run_until_complete(settled(pager.all()))) == book.rows
        other.run_until_complete(client.close())
    left_behind.close()
    with pytest.raises(bl.ConfigError, match="exhausted"):
        asyncio.run(settled(pager.all()))
