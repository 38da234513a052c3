"""Streams of pagers within code that a call waits for, and at the end of the program."""

from importlib.util import find_spec

import pytest

from ..support.processes import run_child, run_python
from .stream_callbacks import CALLERS, USES

engines = pytest.mark.parametrize("engine", list(filter(find_spec, USES)))


@engines
def test_a_stream_is_read_and_released_in_whatever_code_a_call_waits_for(monkeypatch, engine):
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    outcomes = run_child("records.stream_callbacks", seconds=60.0, engine=engine)
    assert len(outcomes) >= 2 * 3 * len(CALLERS)
    assert {case: found for case, found in outcomes.items() if found != [True]} == {}


AT_EXIT = """
import atexit, builtins, sys, threading
import boardlot as bl
from tests.records.stream_callbacks import USES, Kept, pager_of

sandbox = bl.Sandbox(seed=7, fills=60)
USE = USES[sys.argv[1]]()["collected"]

class Late:
    # Read and released when the interpreter has begun to end.
    def __init__(self):
        self.pager, self.use = pager_of(sandbox), USE

    def __del__(self, Exception=Exception):
        try:
            self.use(self.pager)
        except Exception:
            pass

def hold():
    return Kept(pager_of(sandbox).__arrow_c_stream__(), Late())

USE(pager_of(sandbox))
atexit.register(lambda: USE(pager_of(sandbox)))
builtins.held, main, local = hold(), hold(), threading.local()
local.held = hold()

# A thread that the end of the program finds in a stream. DuckDB aborts there by itself, as soon as
# CPython before 3.14 ends the thread within it: also if it reads a table of pyarrow.
begun = threading.Event()

def read():
    while True:
        USE(pager_of(sandbox))
        begun.set()

if sys.argv[1] != "duckdb":
    threading.Thread(target=read, daemon=True).start()
    begun.wait()
print("ends")
"""


@engines
def test_the_program_ends_with_streams_that_were_not_read_to_their_end(engine):
    for _ in range(2):
        assert run_python(AT_EXIT, engine, seconds=120.0, env={"PYTHONDEVMODE": "1"})[0] == "ends\n"
