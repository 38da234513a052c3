"""Shares one object of each class among eight threads that call its entries in random order.

Run in a child by `test_sharing`: a crash ends the child, a hang too, and both are reported with all
stacks. `python -m tests.stress.sharing --shared=Records --seconds=60` runs one class by hand.
"""

import asyncio
import random
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import boardlot as bl

from ..support.clients import settled
from ..support.operations import operations
from ..support.processes import options_of, report
from .entries import Workplace, entries

THREADS = 8
# The most errors that are reported; one alone fails the test.
REPORTED = 5
# After these, nothing is left to share.
ENDS = {"close", "aclose", "__exit__", "__aexit__", "cancel", "logout", "reset"}
# Errors that an operation may raise if its outcome depends on the others.
EXPECTED = (bl.BoardlotError, StopIteration, StopAsyncIteration, KeyError)


def kinds():
    """Classes whose objects are shared, and the clients with every public method.

    A keychain is the user's own.
    """
    classes = {entry.split(".")[0] for entry in entries() if "." in entry}
    return sorted(classes - {"KeyringStore"}) + ["Client", "FirstUse"]


def calls_of(workplace, kind):
    """Functions that call each entry of one object."""
    if kind == "Client":
        found = operations(workplace.sandbox.accounts)
        return [partial(each.result, workplace.client) for each in found]
    if kind == "FirstUse":
        # Imports and objects made on first use: this runs before anything else of the child.
        return [partial(workplace.caller(entry)) for entry in entries() if entry.endswith("()")]
    thing = workplace.instance(kind)
    names = [entry.partition(".") for entry in entries()]
    return [
        partial(call, thing, name, *workplace.arguments(f"{kind}.{name}"))
        for owner, _, name in names
        if owner == kind and name not in ENDS
    ]


def call(thing, name, positional, named):
    def called():
        attribute = getattr(thing, name)
        return attribute(*positional, **named) if callable(attribute) else attribute

    async def awaited():
        return await settled(called())

    return asyncio.run(awaited()) if "Async" in type(thing).__name__ else called()


def outcome_of(operation):
    """A value, or the class of an error."""
    try:
        return operation()
    except Exception as error:
        return type(error)


def share(workplace, kind, seconds, seed):
    """One object until time is up: how many calls, and their errors."""
    errors, calls, end = [], [0] * THREADS, 0.0

    def begin():
        nonlocal end
        end = time.monotonic() + seconds

    together = Barrier(THREADS, begin)
    found = calls_of(workplace, kind)
    # An outcome that is the same before and after all others is the same beside them.
    is_used_up = kind == "FirstUse" or "Iterator" in kind
    expected = {} if is_used_up else {each: outcome_of(each) for each in found}
    for each in [*found[::-1], *found] if expected else []:
        if not is_equal(outcome_of(each), expected.get(each)):
            expected.pop(each, None)

    def check(operation):
        try:
            value = operation()
        except Exception as error:
            if expected.get(operation) is not type(error) and not isinstance(error, EXPECTED):
                raise
        else:
            right = expected.get(operation)
            is_right = right is None or is_equal(value, right)
            assert is_right, f"{value!r} in place of {right!r}"

    def work(number):
        dice = random.Random(seed * THREADS + number)
        together.wait()
        # On a busy machine, the time may be up before the threads have started.
        while calls[number] < 4 or time.monotonic() < end:  # time: for how long they meet
            if len(errors) >= REPORTED:
                return
            try:
                check(dice.choice(found))
            except Exception:
                errors.append(traceback.format_exc(limit=-4))
            calls[number] += 1

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    return {"calls": sum(calls), "errors": errors[:REPORTED]}


def is_equal(one, other):
    try:
        return bool(one == other)
    except Exception:
        return False


def main():
    options = options_of("shared")
    names = options.shared.split(",")
    # With an interpreter lock, threads are switched as often as possible.
    sys.setswitchinterval(1e-5)
    found = {}
    with Workplace() as workplace:
        for name in names:
            # The last name on stderr is the class whose object hangs or crashes.
            print(name, file=sys.stderr, flush=True)
            found[name] = share(workplace, name, options.seconds / len(names), options.seed)
    report(**found)


if __name__ == "__main__":
    main()
