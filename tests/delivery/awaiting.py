"""Awaits pages under random deadlines and cancellations, in a busy loop; see `test_delivery`."""

import asyncio
import contextlib
import random
import time
from importlib import import_module
from operator import methodcaller

import boardlot as bl

from ..support.processes import options_of, report
from .tally import LONGEST, Tally, fills_of, ids, serve


# Each reads rows from the pager's position and passes them to `take`; true at the end of all rows.
async def by_next(pager, take):
    try:
        take(await anext(pager))
    except StopAsyncIteration:
        return True
    return False


def each(results):
    async def step(pager, take):
        with contextlib.suppress(bl.ConfigError):  # Everything was received before.
            async for result in results(pager):
                take(result)
        return True

    return step


async def by_parts(pager, take):
    limit = random.randint(1, 40)
    with contextlib.suppress(bl.ConfigError):
        rows = await pager.all(max_items=limit)
        take(rows)
        return len(rows) < limit
    return True


def whole(method):
    async def step(pager, take):
        with contextlib.suppress(bl.ConfigError):
            take(await getattr(pager, method)())
        return True

    return step


async def by_two_tasks(pager, take):
    await asyncio.gather(*(MODES["for"](pager, take) for _ in range(2)))
    return True


MODES = {
    "next": by_next,
    "for": each(aiter),
    "pages": each(methodcaller("pages")),
    "batches": each(methodcaller("to_arrow", batches=True)),
    "parts": by_parts,
    "two_tasks": by_two_tasks,
    "all": whole("all"),
    **{name: whole(f"to_{name}") for name in ("arrow", "pandas", "polars")},
}


# Each runs a step for at most so long; None where it was interrupted.
async def in_wait_for(step, seconds):
    with contextlib.suppress(asyncio.TimeoutError):
        return await asyncio.wait_for(step, seconds)


async def in_cancelled_task(step, seconds):
    task = asyncio.ensure_future(step)
    await asyncio.sleep(seconds)  # time: a deadline is what is tried
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        return await task


async def busy():
    """Keeps the loop from its work, so that much of it comes in one turn."""
    while True:
        time.sleep(random.choice([0, 0, 1e-4, 1e-3, 5e-3]))  # time: a busy loop is what is tried
        await asyncio.sleep(0)


async def read_list(client, step, tally):
    """One pager to its end, interrupted at random, and now and then resumed from a checkpoint."""
    pager, delivered, interrupted, in_a_row = fills_of(client), [], 0, 0

    def take(rows):
        delivered.extend(ids(rows))

    while True:
        # On a loaded machine no step may fit: the longest deadline grows until one does.
        seconds = random.uniform(0, LONGEST * 1.2**in_a_row)
        ended = await random.choice([in_wait_for, in_cancelled_task])(step(pager, take), seconds)
        if ended:
            break
        in_a_row = in_a_row + 1 if ended is None else 0
        if ended is None:
            interrupted += 1
            if random.random() < 0.2:
                pager = fills_of(client, resume=pager.checkpoint())
    tally.count(delivered, interrupted)
    # Delivered rows are behind the pager, however the iteration was interrupted.
    assert [row async for row in fills_of(client, resume=pager.checkpoint())] == []


async def read_for(seconds, step):
    disturbance = asyncio.ensure_future(busy())
    with serve() as (sandbox, fills):
        tally = Tally(fills, seconds)
        async with sandbox.async_client() as client:
            while tally.goes_on():
                await read_list(client, step, tally)
    disturbance.cancel()
    return tally.counts


def main():
    options = options_of("modes", "loop")
    modes = options.modes.split(",")
    random.seed(options.seed)

    async def read_in_all_modes():
        return {mode: await read_for(options.seconds / len(modes), MODES[mode]) for mode in modes}

    with contextlib.closing(import_module(options.loop).new_event_loop()) as event_loop:
        report(**event_loop.run_until_complete(read_in_all_modes()))


if __name__ == "__main__":
    main()
