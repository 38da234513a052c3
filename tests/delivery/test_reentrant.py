"""A call from a signal handler, a hook, a finalizer or beside a request returns at once."""

import sys

import pytest

from ..support.processes import has_libraries_of, run_child
from .reentrant import PLACES, calls_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.mark.parametrize("place", PLACES)
def test_security_38_a_call_while_a_page_is_under_way_returns_at_once(place):
    calls = [call for call in calls_in(place) if has_libraries_of(call)]
    # `grace` is for each call, `seconds` for all of them.
    options = {"place": place, "calls": ",".join(calls), "grace": 120.0, "seconds": 120.0}
    outcomes = run_child("delivery.reentrant", **options)
    assert outcomes == dict.fromkeys(calls, "ended")
