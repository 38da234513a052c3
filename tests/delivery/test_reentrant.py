"""A call from a signal handler, a hook, a finalizer or beside a request returns at once."""

import sys

import pytest

from ..support.processes import needs_libraries_of, run_child
from .reentrant import PLACES, calls_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
CASES = [(place, call) for place in PLACES for call in calls_in(place)]


@pytest.mark.parametrize(("place", "call"), CASES)
def test_security_38_a_call_while_a_page_is_under_way_returns_at_once(place, call):
    needs_libraries_of(call)
    assert run_child("delivery.reentrant", grace=15.0, place=place, call=call) == {"ended": True}
