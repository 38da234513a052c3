"""Shares one object of a public class among threads that call its methods in random order.

Run as a child by `test_sharing`, for some classes one after another: a crash ends the child, a hang
too, and both are reported with all stacks. `python -m tests.threads.sharing --shared=Pager
--seconds=60` runs one class by hand.
"""

import random
import sys
import threading
import time
import traceback
from collections import Counter

import boardlot as bl

from ..support.processes import options_of, report
from .credentials import CREDENTIALS
from .results import RESULTS
from .services import SERVICES

THREADS = 8
# The most errors that are reported; one alone fails the test.
REPORTED = 5
SHARED = {each.__name__: each for each in (*RESULTS, *CREDENTIALS, *SERVICES)}


def round_of(shared, operations, end, seed):
    """Eight threads on one object, until it is used up or time is up; returns calls and errors."""
    calls, errors = Counter(), []
    begin = threading.Barrier(THREADS)

    def work(number):
        dice = random.Random(seed * THREADS + number)
        begin.wait()
        # On a busy machine, the time may be up before the threads have started.
        while calls[number] < 2 or time.monotonic() < end:
            if shared.is_used_up() or len(errors) >= REPORTED:
                break
            operation = dice.choice(operations)
            try:
                operation()
            except Exception:
                errors.append(traceback.format_exc(limit=-4))
            calls[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not errors:
        try:
            shared.finish()
        except Exception:
            errors.append(traceback.format_exc(limit=-4))
    return calls.total(), errors


def share(kind, seconds, seed):
    """Rounds of one class for so many seconds: how many calls and rounds, and their errors."""
    calls, errors, rounds, end = 0, [], 0, None
    with bl.Sandbox(seed=7, fills=120, orders=30, plate_stocks=60) as sandbox:
        while not rounds or (time.monotonic() < end and not errors):
            shared = kind(sandbox)
            operations = shared.operations()
            # What the first one needs is loaded by now.
            end = end or time.monotonic() + seconds
            made, errors = round_of(shared, operations, end, seed + rounds)
            calls, rounds = calls + made, rounds + 1
    return {"calls": calls, "rounds": rounds, "errors": errors[:REPORTED]}


def main():
    options = options_of("shared")
    names = options.shared.split(",")
    # With an interpreter lock, threads change places as often as they can.
    sys.setswitchinterval(1e-5)
    found = {}
    for name in names:
        # What comes last on stderr is the class whose object hangs or crashes.
        print(name, file=sys.stderr, flush=True)
        found[name] = share(SHARED[name], options.seconds / len(names), options.seed)
    report(**found)


if __name__ == "__main__":
    main()
