"""Awaits pages under random deadlines and cancellations, in a busy loop; see `test_delivery`."""

import asyncio
import contextlib
import random
import time

import boardlot as bl

from ..support.processes import options_of, report
from .tally import LONG, SHORT, Service, Tally, ids


# Each reads rows from the pager's position and passes them to `take`; true at the end of all rows.
async def by_next(pager, take):
    try:
        take([await anext(pager)])
    except StopAsyncIteration:
        return True
    return False


async def by_for(pager, take):
    async for row in pager:
        take([row])
    return True


async def by_pages(pager, take):
    async for page in pager.pages():
        take(page)
    return True


async def by_batches(pager, take):
    with contextlib.suppress(bl.ConfigError):  # Everything was received before.
        async for batch in pager.to_arrow(batches=True):
            take(batch.to_pylist())
    return True


async def by_parts(pager, take):
    limit = random.randint(1, 40)
    with contextlib.suppress(bl.ConfigError):  # Everything was delivered before.
        rows = await pager.all(max_items=limit)
        take(rows)
        return len(rows) < limit
    return True


def whole(method, rows_of):
    async def step(pager, take):
        with contextlib.suppress(bl.ConfigError):
            take(rows_of(await getattr(pager, method)()))
        return True

    return step


async def by_two_tasks(pager, take):
    await asyncio.gather(by_for(pager, take), by_for(pager, take))
    return True


MODES = {
    "next": (by_next, LONG),
    "for": (by_for, LONG),
    "pages": (by_pages, LONG),
    "batches": (by_batches, LONG),
    "parts": (by_parts, LONG),
    "two_tasks": (by_two_tasks, LONG),
    "all": (whole("all", list), SHORT),
    "arrow": (whole("to_arrow", lambda table: table.to_pylist()), SHORT),
    "pandas": (whole("to_pandas", lambda frame: frame.to_dict("records")), SHORT),
    "polars": (whole("to_polars", lambda frame: frame.to_dicts()), SHORT),
}


# Each runs a step for at most so long; None where it was interrupted.
async def in_timeout(step, seconds):
    try:
        async with asyncio.timeout(seconds):
            return await step
    except TimeoutError:
        return None


async def in_wait_for(step, seconds):
    try:
        return await asyncio.wait_for(step, seconds)
    except asyncio.TimeoutError:
        return None


async def in_cancelled_task(step, seconds):
    task = asyncio.ensure_future(step)
    await asyncio.sleep(seconds)
    task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        return None


WAYS = [in_wait_for, in_cancelled_task]
if hasattr(asyncio, "timeout"):
    WAYS.append(in_timeout)


async def busy():
    """Keeps the loop from its work, so that much of it comes in one turn."""
    while True:
        end = time.perf_counter() + random.choice([0, 0, 1e-4, 1e-3, 5e-3])
        while time.perf_counter() < end:
            pass
        await asyncio.sleep(0)


async def read_list(service, client, step, longest, tally):
    """One pager to its end, interrupted at random, and now and then resumed from a checkpoint."""
    pager, delivered, interrupted, in_a_row = service.open(client), [], 0, 0

    def take(rows):
        delivered.extend(ids(rows))

    while True:
        # On a loaded machine no step may fit: the longest deadline grows until one does.
        seconds = random.uniform(0, longest * 1.1**in_a_row)
        ended = await random.choice(WAYS)(step(pager, take), seconds)
        if ended:
            break
        in_a_row = in_a_row + 1 if ended is None else 0
        if ended is None:
            interrupted += 1
            if random.random() < 0.2:
                pager = service.open(client, resume=pager.checkpoint())
            elif random.random() < 0.1:
                assert pager.total is None and pager.requests >= 0
    tally.count(delivered, interrupted)
    # What was delivered is behind the pager, however the iteration was interrupted.
    assert [row async for row in service.open(client, resume=pager.checkpoint())] == []


async def read_for(seconds, mode):
    step, fills = MODES[mode]
    service = Service(fills)
    longest = service.page_seconds if fills == LONG else service.whole_seconds
    tally = Tally(service.fills)
    disturbance = asyncio.ensure_future(busy())
    end = time.monotonic() + seconds
    async with service.sandbox.async_client() as client:
        while time.monotonic() < end or not tally.complete():
            await read_list(service, client, step, longest, tally)
    disturbance.cancel()
    return tally.report()


def main():
    options = options_of("modes", "loop")
    modes = options.modes.split(",")
    random.seed(options.seed)
    if options.loop == "uvloop":
        import uvloop

        event_loop = uvloop.new_event_loop()
    else:
        event_loop = asyncio.new_event_loop()

    async def read_in_all_modes():
        return {mode: await read_for(options.seconds / len(modes), mode) for mode in modes}

    report(**event_loop.run_until_complete(read_in_all_modes()))


if __name__ == "__main__":
    main()
