"""Rows are delivered once, whatever interrupts; a call returns at once, wherever it is made."""

import json
import sys
from importlib.util import find_spec

import pytest

from ..support.processes import has_libraries_of, run_child
from .interruptions import AWAITED, BLOCKING, FRAMES
from .reentrant import PLACES, calls_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and loops of POSIX")
LOOPS = ["asyncio", "uvloop"]
# What is read in each of the ways in which it is interrupted.
WAYS = {
    "signals": [*BLOCKING],
    "asyncio": [*AWAITED],
    "uvloop": [*AWAITED],
    "in turn": ["for", "pages", "parts", "all"],
}


# For each way to read.
@pytest.fixture(scope="module", params=[0.15, pytest.param(60.0, marks=pytest.mark.slow)])
def fates(request):
    """The fate of the rows, by way and mode. One child reads all: it loads each library once."""
    ways = {
        way: [mode for mode in modes if has_libraries_of(mode)]
        for way, modes in WAYS.items()
        if way not in LOOPS or find_spec(way)
    }
    if request.param < 1:
        # A frame is the same coroutine in every kind of loop.
        ways = {
            way: [mode for mode in modes if way != "uvloop" or mode not in FRAMES]
            for way, modes in ways.items()
        }
    seconds = request.param * sum(map(len, ways.values()))
    results = run_child("pages.interruptions", ways=json.dumps(ways), seconds=seconds)
    print(results)
    assert {way: list(modes) for way, modes in results.items()} == ways
    for way, modes in results.items():
        for mode, found in modes.items():
            # Otherwise nothing was tried.
            assert found["lists"] > 0 and found["interrupted"] > 0, (way, mode)
    return results


def nothing_missing(mode, found):
    assert (found["lost"], found["doubled"], found["disordered"]) == (0, 0, 0), (mode, found)


@pytest.mark.parametrize("loop", LOOPS)
def test_security_37_deadlines_and_cancellations_lose_and_double_no_row(loop, fates):
    pytest.importorskip(loop)
    for mode, found in fates[loop].items():
        # Two tasks that share a pager take turns as they come.
        nothing_missing(mode, found | ({"disordered": 0} if mode == "two_tasks" else {}))


def test_security_37_loops_that_are_closed_while_a_task_waits_lose_and_double_no_row(fates):
    for mode, found in fates["in turn"].items():
        nothing_missing(mode, found)


def test_security_37_a_signal_handler_that_raises_loses_and_doubles_no_row(fates):
    for mode, found in fates["signals"].items():
        if mode != "next":
            nothing_missing(mode, found)


def test_security_37_an_interrupted_next_costs_at_most_the_row_that_python_itself_drops(fates):
    found = fates["signals"]["next"]
    assert found["lost"] <= found["interrupted"], found
    nothing_missing("next", {**found, "lost": 0})


@pytest.fixture(scope="module")
def outcomes():
    """How each call ends in each place. One child makes them all: it loads each library once."""
    calls = {place: [c for c in calls_in(place) if has_libraries_of(c)] for place in PLACES}
    # `grace` is for each call, `seconds` for all of them.
    options = {"calls": json.dumps(calls), "grace": 120.0, "seconds": 120.0}
    outcomes = run_child("pages.reentrant", **options)
    assert {place: list(made) for place, made in outcomes.items()} == calls
    return outcomes


@pytest.mark.parametrize("place", PLACES)
def test_security_38_a_call_while_a_page_is_under_way_returns_at_once(place, outcomes):
    assert set(outcomes[place].values()) == {"ended"}, outcomes[place]
