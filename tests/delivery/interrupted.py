"""Reads pages in a blocking way while a signal's handler raises at random; see `test_delivery`.

CPython itself drops the value of a call, as in `row = next(pager)`, where a handler raises between
the return of the call and the assignment. A `for` loop has no such moment: what the iterator
returned is assigned before signals are looked for. `map` calls from C, so a loop over it tells what
the library loses from what the interpreter does.
"""

import contextlib
import random
import signal
import time
from itertools import repeat
from operator import methodcaller

import boardlot as bl

from ..support.processes import options_of, report
from .tally import LONG, SHORT, Service, Tally, ids


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


# Each reads rows from the position of the pager to its end.
def by_for(pager, taken):
    append = taken.append
    for row in pager:
        append((row,))


def by_next(pager, taken):
    """The usual form, in which CPython can drop a row."""
    while (row := next(pager, None)) is not None:
        taken.append((row,))


def by_pages(pager, taken):
    append = taken.append
    for page in pager.pages():
        append(page)


def by_batches(pager, taken):
    append = taken.append
    with contextlib.suppress(bl.ConfigError):  # Everything was received before.
        for batch in pager.to_arrow(batches=True):
            append(batch)


def by_parts(pager, taken):
    append = taken.append
    with contextlib.suppress(bl.ConfigError):
        for rows in map(methodcaller("all", random.randint(1, 40)), repeat(pager)):
            append(rows)
            if not rows:
                return


def whole(method):
    def step(pager, taken):
        append = taken.append
        # The second call finds nothing left.
        with contextlib.suppress(bl.ConfigError):
            for result in map(methodcaller(method), repeat(pager)):
                append(result)
                if len(result) == 0:
                    return

    return step


MODES = {
    "for": (by_for, LONG),
    "next": (by_next, LONG),
    "pages": (by_pages, LONG),
    "batches": (by_batches, LONG),
    "parts": (by_parts, LONG),
    "all": (whole("all"), SHORT),
    "arrow": (whole("to_arrow"), SHORT),
    "pandas": (whole("to_pandas"), SHORT),
    "polars": (whole("to_polars"), SHORT),
}


def rows_in(result):
    """The rows of anything that a step takes."""
    if hasattr(result, "to_pylist"):
        return result.to_pylist()
    if hasattr(result, "iloc"):
        return result.to_dict("records")
    return result.to_dicts() if hasattr(result, "columns") else result


def read_list(service, step, longest, tally):
    pager, taken, interrupted = service.open(service.client), [], 0
    while True:
        try:
            seconds = random.uniform(1e-5, longest * 1.05**interrupted)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            step(pager, taken)
            signal.setitimer(signal.ITIMER_REAL, 0)
            break
        except Interrupted:
            interrupted += 1
        if random.random() < 0.2:
            pager = service.open(service.client, resume=pager.checkpoint())
    delivered = [one for result in taken for one in ids(rows_in(result))]
    tally.count(delivered, interrupted)
    assert list(service.open(service.client, resume=pager.checkpoint())) == []


def read_for(seconds, mode):
    step, fills = MODES[mode]
    service = Service(fills)
    step(service.open(service.client), [])  # Modules that load on first use are loaded.
    signal.signal(signal.SIGALRM, interrupt)
    longest = 2 * (service.page_seconds if fills == LONG else service.whole_seconds)
    tally = Tally(service.fills)
    end = time.monotonic() + seconds
    while time.monotonic() < end or not tally.complete():
        read_list(service, step, longest, tally)
    return tally.report()


def main():
    options = options_of("modes")
    random.seed(options.seed)
    modes = options.modes.split(",")
    report(**{mode: read_for(options.seconds / len(modes), mode) for mode in modes})


if __name__ == "__main__":
    main()
