"""Exits while code of the caller's runs in boardlot; `atexit` handlers that wait for threads."""

import pytest

from ..support.processes import program, run_python

BESIDE = program(__file__, "beside")
HANDLERS = program(__file__, "exit_handlers")
ODD = program(__file__, "odd_exits")

CASES = {
    "beside a constructor": (BESIDE, "constructor"),
    "beside a hook": (BESIDE, "hook"),
    "beside a log handler": (BESIDE, "log handler"),
    "a background event loop": (HANDLERS, "loop"),
    "a flush in a new thread": (HANDLERS, "thread"),
    "a first import in a handler": (ODD, "first import"),
    "a finalizer that waits for a thread": (ODD, "finalizer"),
}


@pytest.mark.parametrize(("script", "case"), CASES.values(), ids=CASES)
def test_security_49_a_process_ends_beside_code_that_never_returns_and_whatever_handlers_do(
    script, case
):
    """A handler from before the import may use boardlot, and wait for threads that do."""
    out, errors = run_python(script, case)
    flushed = {"flushed True"} if script is HANDLERS else set()
    assert (set(out.splitlines()), errors) == (flushed, "")
