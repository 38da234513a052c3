"""Streams of pagers within code that a call waits for, and at the end of the program."""

from importlib.util import find_spec

import pytest

from ..support.processes import program, run_child, run_python
from .stream_callbacks import CALLERS, USES

engines = pytest.mark.parametrize("engine", list(filter(find_spec, USES)))


@engines
def test_a_stream_is_read_and_released_in_whatever_code_a_call_waits_for(monkeypatch, engine):
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    outcomes = run_child("records.stream_callbacks", seconds=60.0, engine=engine)
    assert len(outcomes) >= 2 * 3 * len(CALLERS)
    assert {case: found for case, found in outcomes.items() if found != [True]} == {}


AT_EXIT = program(__file__, "streams_at_exit")


@engines
def test_the_program_ends_with_streams_that_were_not_read_to_their_end(engine):
    for _ in range(2):
        assert run_python(AT_EXIT, engine, seconds=120.0, env={"PYTHONDEVMODE": "1"})[0] == "ends\n"
