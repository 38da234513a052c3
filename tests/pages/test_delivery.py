"""Rows are delivered once, whatever interrupts; a call returns at once, wherever it is made."""

import sys

import pytest

from ..support.processes import has_libraries_of, run_child
from .interruptions import AWAITED, BLOCKING
from .reentrant import PLACES, calls_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and loops of POSIX")
# For each way to read.
TIMES = [0.15, pytest.param(60.0, marks=pytest.mark.slow)]


def delivered(modes, seconds, loop=""):
    """The fate of the rows of each mode."""
    modes = [mode for mode in modes if has_libraries_of(mode)]
    options = {"modes": ",".join(modes), "seconds": seconds * len(modes), "loop": loop}
    results = run_child("pages.interruptions", **options)
    print(options, results)
    assert list(results) == modes
    for mode, found in results.items():
        # Otherwise nothing was tried.
        assert found["lists"] > 0 and found["interrupted"] > 0, mode
    return results.items()


def nothing_missing(mode, found):
    assert (found["lost"], found["doubled"], found["disordered"]) == (0, 0, 0), (mode, found)


@pytest.mark.parametrize("seconds", TIMES)
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_security_37_deadlines_and_cancellations_lose_and_double_no_row(loop, seconds):
    pytest.importorskip(loop)
    for mode, found in delivered(AWAITED, seconds, loop):
        # Two tasks that share a pager take turns as they come.
        nothing_missing(mode, found | ({"disordered": 0} if mode == "two_tasks" else {}))


@pytest.mark.parametrize("seconds", TIMES)
def test_security_37_loops_that_are_closed_while_a_task_waits_lose_and_double_no_row(seconds):
    for mode, found in delivered(["for", "pages", "parts", "all"], seconds, "in turn"):
        nothing_missing(mode, found)


@pytest.mark.parametrize("seconds", TIMES)
def test_security_37_a_signal_handler_that_raises_loses_and_doubles_no_row(seconds):
    for mode, found in delivered([mode for mode in BLOCKING if mode != "next"], seconds):
        nothing_missing(mode, found)


@pytest.mark.parametrize("seconds", TIMES)
def test_security_37_an_interrupted_next_costs_at_most_the_row_that_python_itself_drops(seconds):
    ((_, found),) = delivered(["next"], seconds)
    assert found["lost"] <= found["interrupted"], found
    nothing_missing("next", {**found, "lost": 0})


@pytest.mark.parametrize("place", PLACES)
def test_security_38_a_call_while_a_page_is_under_way_returns_at_once(place):
    calls = [call for call in calls_in(place) if has_libraries_of(call)]
    # `grace` is for each call, `seconds` for all of them.
    options = {"place": place, "calls": ",".join(calls), "grace": 120.0, "seconds": 120.0}
    outcomes = run_child("pages.reentrant", **options)
    assert outcomes == dict.fromkeys(calls, "ended")
