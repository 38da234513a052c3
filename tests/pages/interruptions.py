"""Reads lists under random interruptions, and compares what was delivered with what there is to
deliver; see `test_delivery`. The ways to interrupt are a signal's handler that raises, deadlines
and cancellations in a busy event loop of a kind (its module's name), and loops that are closed in
turn.

CPython itself drops the value of a call, as in `row = next(pager)`, where a handler raises between
the return of the call and the assignment. A `for` loop has no such moment: what the iterator
returned is assigned before signals are looked for. `map` calls from C, so a loop over it tells what
the library loses from what the interpreter does.
"""

import asyncio
import contextlib
import json
import random
import signal
import time
from collections import Counter
from importlib import import_module
from itertools import repeat
from operator import methodcaller

import boardlot as bl

from ..support.clients import settled, stream
from ..support.processes import options_of, report

ACCOUNT = "281756"
FILLS = 100
PAGE = 10
# Seconds: about as long as a page takes.
LONGEST = 0.005
FRAMES = ("arrow", "pandas", "polars")


class Raised(Exception):
    """The error of a constructor."""


class Fill:
    """A row whose constructor raises now and then: its row is tried again."""

    deal_id: str

    def __init__(self, deal_id):
        if random.random() < 0.2:
            raise Raised
        self.deal_id = deal_id


def fills_of(client, resume=None):
    return client.fills_history(ACCOUNT, "HK", page_size=PAGE, resume=resume)


def values_of(rows, name):
    """The values of a field in anything that a pager returns, or a row."""
    if isinstance(rows, (dict, Fill)):
        return [rows[name] if isinstance(rows, dict) else getattr(rows, name)]
    if hasattr(rows, "to_pylist"):
        rows = rows.to_pylist()
    elif hasattr(rows, "iloc"):
        rows = rows.to_dict("records")
    elif hasattr(rows, "columns"):
        rows = rows.to_dicts()
    return [row[name] for row in rows]


def ids(rows):
    return values_of(rows, "deal_id")


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


async def by_typed(pager, take):
    rows = pager.as_type(Fill)
    while True:
        with contextlib.suppress(Raised):
            async for row in rows:
                take(row)
            return True


async def by_two_tasks(pager, take):
    await asyncio.gather(*(AWAITED["for"](pager, take) for _ in range(2)))
    return True


AWAITED = {
    "next": by_next,
    "for": each(aiter),
    "pages": each(methodcaller("pages")),
    "batches": each(methodcaller("record_batches")),
    "parts": by_parts,
    "typed": by_typed,
    "two_tasks": by_two_tasks,
    "all": whole("all"),
    **{name: whole(f"to_{name}") for name in FRAMES},
}


def each_in_turn(results):
    def step(pager, take):
        with contextlib.suppress(bl.ConfigError):
            for result in results(pager):
                take(result)

    return step


def next_in_turn(pager, take):
    """The usual form, in which CPython can drop a row."""
    while (row := next(pager, None)) is not None:
        take(row)


def typed_in_turn(pager, take):
    rows = pager.as_type(Fill)
    while True:
        with contextlib.suppress(Raised):
            for row in rows:
                take(row)
            return


def by(method, *arguments):
    def step(pager, take):
        with contextlib.suppress(bl.ConfigError):
            for result in map(methodcaller(method, *arguments), repeat(pager)):
                take(result)
                if len(result) == 0:
                    return

    return step


BLOCKING = {
    "for": each_in_turn(iter),
    "next": next_in_turn,
    "pages": each_in_turn(methodcaller("pages")),
    "batches": each_in_turn(methodcaller("record_batches")),
    "parts": by("all", 23),
    "typed": typed_in_turn,
    "all": by("all"),
    **{name: by(f"to_{name}") for name in FRAMES},
}


# Each runs a step for at most so long; None where it was interrupted.
async def in_wait_for(step, pager, take, seconds):
    with contextlib.suppress(asyncio.TimeoutError):
        return await asyncio.wait_for(step(pager, take), seconds)


async def in_cancelled_task(step, pager, take, seconds):
    task = asyncio.ensure_future(step(pager, take))
    await asyncio.sleep(seconds)  # time: a deadline is what is tried
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        return await task


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


async def until_a_signal(step, pager, take, seconds):
    with contextlib.suppress(Interrupted):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        step(pager, take)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return True


# The task that does it, for as long as the loop runs.
BUSY = []


async def busy():
    """Keeps the loop from its work, so that much of it comes in one turn."""
    while True:
        time.sleep(random.choice([0, 0, 1e-4, 1e-3, 5e-3]))  # time: a busy loop is what is tried
        await asyncio.sleep(0)


async def read_list(client, step, ways):
    """One pager to its end, interrupted at random, and now and then resumed from a checkpoint."""
    pager, taken, interrupted, in_a_row = fills_of(client), [], 0, 0
    while True:
        # On a loaded machine no step may fit: the longest deadline grows until one does.
        seconds = random.uniform(1e-5, LONGEST * 1.2**in_a_row)
        ended = await random.choice(ways)(step, pager, taken.append, seconds)
        if ended:
            break
        in_a_row = in_a_row + 1 if ended is None else 0
        if ended is None:
            interrupted += 1
            if random.random() < 0.2:
                pager = fills_of(client, resume=pager.checkpoint())
    # Delivered rows are behind the pager, however the iteration was interrupted.
    assert [row async for row in stream(fills_of(client, resume=pager.checkpoint()))] == []
    return [one for result in taken for one in ids(result)], interrupted


async def read_for(sandbox, seconds, step, ways, is_async):
    """Counts over many lists what was lost, doubled, or out of order."""
    counts = Counter(lists=0, interrupted=0, lost=0, doubled=0, disordered=0)
    with sandbox.client() as blocking:
        fills = ids(fills_of(blocking).all())
        if not is_async:
            step(fills_of(blocking), [].append)  # What loads on first use is loaded.
        client = sandbox.async_client() if is_async else blocking
        end = time.monotonic() + seconds
        # time: many lists, each of which is checked
        while time.monotonic() < end or not (counts["lists"] and counts["interrupted"]):
            delivered, interrupted = await read_list(client, step, ways)
            found = Counter(delivered)
            in_order = [one for one in fills if one in found]
            counts.update(
                lists=1,
                interrupted=interrupted,
                lost=len(fills) - len(in_order),
                doubled=found.total() - len(found),
                disordered=list(dict.fromkeys(delivered)) != in_order,
            )
        await settled(client.close())
    return counts


def read_in_loops(sandbox, seconds, step):
    """One pager by several event loops in turn, each of which is closed while a task waits."""
    counts = Counter(lists=0, interrupted=0, lost=0, doubled=0, disordered=0)
    with sandbox.client() as blocking:
        fills = ids(fills_of(blocking).all())
        client, end = sandbox.async_client(), time.monotonic() + seconds
        # time: many lists, each of which is checked
        while time.monotonic() < end or not (counts["lists"] and counts["interrupted"]):
            pager, taken, ended, longest = fills_of(client), [], False, LONGEST
            while not ended:
                loop = asyncio.new_event_loop()
                with contextlib.closing(loop):
                    coroutine = step(pager, taken.append)
                    task = loop.create_task(coroutine)
                    loop.call_later(random.uniform(1e-5, longest), loop.stop)
                    loop.run_forever()
                    ended = task.done() and task.result()
                counts["interrupted"] += not ended
                longest *= 1.2  # On a loaded machine, a whole list takes its time.
                if not task.done():
                    task._log_destroy_pending = False
                    if random.random() < 0.5:
                        coroutine.close()  # Else the collector does it, whenever that is.
            found = Counter(one for result in taken for one in ids(result))
            counts.update(lists=1, lost=len(fills) - len(found), doubled=found.total() - len(found))
        asyncio.run(settled(client.close()))
    return counts


async def read_in_modes(sandbox, modes, seconds, is_async):
    table, ways = (BLOCKING, [until_a_signal])
    if is_async:
        table, ways = AWAITED, [in_wait_for, in_cancelled_task]
        BUSY.append(asyncio.ensure_future(busy()))
    return {mode: await read_for(sandbox, seconds, table[mode], ways, is_async) for mode in modes}


def read(sandbox, way, modes, seconds):
    if way == "in turn":
        return {mode: read_in_loops(sandbox, seconds, AWAITED[mode]) for mode in modes}
    reading = read_in_modes(sandbox, modes, seconds, way != "signals")
    if way != "signals":
        return import_module(way).run(reading)
    signal.signal(signal.SIGALRM, interrupt)
    try:
        # Nothing in it waits, so that it needs no loop.
        reading.send(None)
    except StopIteration as done:
        return done.value


def main():
    """Reads in modes of the ways `{way: modes}`."""
    options = options_of("ways")
    ways = json.loads(options.ways)
    random.seed(options.seed)
    seconds = options.seconds / sum(map(len, ways.values()))
    with bl.Sandbox(seed=3, fills=FILLS) as sandbox:
        report(**{way: read(sandbox, way, modes, seconds) for way, modes in ways.items()})


if __name__ == "__main__":
    main()
