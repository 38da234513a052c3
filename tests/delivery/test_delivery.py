"""Rows delivered and rows left are all rows, each once, whatever interrupts and whenever."""

import sys

import pytest

from ..support.processes import needs_libraries_of, run_child
from . import awaiting, interrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and loops of POSIX")
TIMES = [1.0, pytest.param(60.0, marks=pytest.mark.slow)]


def delivered(module, seconds, **options):
    needs_libraries_of(options["mode"])
    found = run_child(f"delivery.{module}", seconds=seconds, **options)
    print(options, found)
    # Otherwise nothing was tried.
    assert found["walks"] > 0 and found["interrupted"] >= seconds
    return found


def nothing_missing(found):
    assert (found["lost"], found["doubled"]) == (0, 0), found


@pytest.mark.parametrize("seconds", TIMES)
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("mode", awaiting.MODES)
def test_security_37_deadlines_and_cancellations_lose_and_double_no_row(mode, loop, seconds):
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    found = delivered("awaiting", seconds, mode=mode, loop=loop)
    nothing_missing(found)
    # Two tasks that share a pager take turns as they come.
    assert mode == "two_tasks" or found["disordered"] == 0, found


@pytest.mark.parametrize("seconds", TIMES)
@pytest.mark.parametrize("mode", [mode for mode in interrupted.MODES if mode != "next"])
def test_security_37_a_signal_handler_that_raises_loses_and_doubles_no_row(mode, seconds):
    found = delivered("interrupted", seconds, mode=mode)
    nothing_missing(found)
    assert found["disordered"] == 0, found


@pytest.mark.parametrize("seconds", TIMES)
def test_security_37_an_interrupted_next_costs_at_most_the_row_that_python_itself_drops(seconds):
    found = delivered("interrupted", seconds, mode="next")
    assert (found["doubled"], found["disordered"]) == (0, 0), found
    assert found["lost"] <= found["interrupted"], found
