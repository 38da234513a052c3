"""Reads pages in a blocking way while a signal's handler raises at random; see `test_delivery`.

CPython itself drops the value of a call, as in `row = next(pager)`, where a handler raises between
the return of the call and the assignment. A `for` loop has no such moment: what the iterator
returned is assigned before signals are looked for. `map` calls from C, so a loop over it tells what
the library loses from what the interpreter does.
"""

import contextlib
import random
import signal
from itertools import repeat
from operator import methodcaller

import boardlot as bl

from ..support.processes import options_of, report
from .tally import LONGEST, Tally, fills_of, ids, serve


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


# Each reads rows from the position of the pager to its end.
def each(results):
    def step(pager, taken):
        append = taken.append
        with contextlib.suppress(bl.ConfigError):  # Everything was received before.
            for result in results(pager):
                append(result)

    return step


def by_next(pager, taken):
    """The usual form, in which CPython can drop a row."""
    while (row := next(pager, None)) is not None:
        taken.append(row)


def by(method, *arguments):
    def step(pager, taken):
        append = taken.append
        with contextlib.suppress(bl.ConfigError):
            for result in map(methodcaller(method, *arguments), repeat(pager)):
                append(result)
                if len(result) == 0:
                    return

    return step


MODES = {
    "for": each(iter),
    "next": by_next,
    "pages": each(methodcaller("pages")),
    "batches": each(methodcaller("to_arrow", batches=True)),
    "parts": by("all", 23),
    "all": by("all"),
    **{name: by(f"to_{name}") for name in ("arrow", "pandas", "polars")},
}


def read_list(client, step, tally):
    pager, taken, interrupted = fills_of(client), [], 0
    while True:
        try:
            seconds = random.uniform(1e-5, 2 * LONGEST * 1.1**interrupted)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            step(pager, taken)
            signal.setitimer(signal.ITIMER_REAL, 0)
            break
        except Interrupted:
            interrupted += 1
        if random.random() < 0.2:
            pager = fills_of(client, resume=pager.checkpoint())
    tally.count([one for result in taken for one in ids(result)], interrupted)
    assert list(fills_of(client, resume=pager.checkpoint())) == []


def read_for(seconds, step):
    with serve() as (sandbox, fills), sandbox.client() as client:
        step(fills_of(client), [])  # Modules that load on first use are loaded.
        tally = Tally(fills, seconds)
        while tally.goes_on():
            read_list(client, step, tally)
    return tally.counts


def main():
    options = options_of("modes")
    random.seed(options.seed)
    signal.signal(signal.SIGALRM, interrupt)
    modes = options.modes.split(",")
    report(**{mode: read_for(options.seconds / len(modes), MODES[mode]) for mode in modes})


if __name__ == "__main__":
    main()
