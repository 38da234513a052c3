"""A result that has arrived, and a cancellation in each of the turns of the loop around it.

The loop is held until the page is there; then so many turns pass before the cancellation. So each
order of "arrived", "drained", "cancelled" and "received" is tried, and none is left to chance.
"""

import asyncio
import time

import boardlot as bl
import pytest

from ..support.processes import needs_libraries_of
from .tally import Service, ids

STEPS = {
    "next": lambda pager: anext(pager),
    "next_page": lambda pager: anext(pager.pages()),
    "some": lambda pager: pager.all(max_items=15),
    "all": lambda pager: pager.all(),
    "arrow": lambda pager: pager.to_arrow(),
    "batches": lambda pager: anext(pager.to_arrow(batches=True)),
}
# What applications put between a task and what it awaits. Not `gather`: it drops by itself what its
# own tasks have received.
WRAPPED = {
    "bare": lambda awaitable: awaitable,
    "wait_for": lambda awaitable: asyncio.wait_for(awaitable, 60),
}
TURNS = [*range(8), None]


@pytest.fixture(scope="module")
def service():
    return Service(25)


def new_loop_of(name):
    module = pytest.importorskip("uvloop") if name == "uvloop" else asyncio
    return module.new_event_loop()


def rows_of(result):
    rows = [result] if isinstance(result, dict) else result
    return ids(rows.to_pylist() if hasattr(rows, "to_pylist") else rows)


async def delivered(service, step, wrapped, turns, kept):
    """The rows of a task that is cancelled after so many turns (None: never), and the rest."""
    async with service.sandbox.async_client() as client:
        await client.server_time()  # The connection is there.
        pager, rows = service.open(client), []

        async def receive():
            result = await wrapped(step(pager))
            rows.extend(rows_of(result))

        task = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        # The loop sees nothing of it.
        time.sleep(kept)
        for _ in range(turns or 0):
            await asyncio.sleep(0)
        if turns is not None:
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            assert task.exception() is None
        try:
            return rows, rows_of(await pager.all())
        except bl.ConfigError:
            return rows, []


@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_security_37_a_cancellation_in_any_turn_loses_and_doubles_no_row(
    service, loop, step, wrapped
):
    needs_libraries_of(step)
    # Long enough for a page to arrive, or for all.
    kept = max(0.05, 5 * service.whole_seconds)
    for turns in TURNS:
        event_loop = new_loop_of(loop)
        try:
            work = delivered(service, STEPS[step], WRAPPED[wrapped], turns, kept)
            received, left = event_loop.run_until_complete(work)
        finally:
            event_loop.close()
        assert received + left == service.fills, f"cancelled after {turns} turns"
        # At once it has received nothing, at the end something: else nothing was tried.
        assert turns not in (0, None) or bool(received) == (turns is None)
