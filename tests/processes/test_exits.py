"""Forks, exits in the middle of an iteration, Ctrl-C, cancelled tasks: no hang and no crash."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.keys import uploaded_key
from ..support.processes import run_python

EXITS = int(os.environ.get("BOARDLOT_TEST_EXITS", "16"))

ITERATION = """
import asyncio, boardlot as bl, sys
kind = bl.AsyncClient if sys.argv[5] == "async" else bl.Client
client = kind(sys.argv[1], auth=bl.ApiKey(sys.argv[2], sys.argv[3]))
fills = client.fills_history("281756", "HK")
async def main():
    seen = 0
    async for fill in fills:
        seen += 1
        if seen == int(sys.argv[4]):
            break
if sys.argv[5] == "async":
    asyncio.run(main())
else:
    for seen, fill in enumerate(fills, 1):
        if seen == int(sys.argv[4]):
            break
"""


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7, fills=400) as sandbox:
        yield sandbox


@pytest.fixture
def credentials(sandbox, tmp_path):
    """A key id and the path of its private key."""
    return uploaded_key(sandbox, tmp_path)


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_script_that_ends_in_the_middle_of_an_iteration_ends_well(sandbox, credentials, mode):
    def end(number):
        stop = 1 + number * 7 % 120
        assert run_python(ITERATION, sandbox.base_url, *credentials, stop, mode) == ("", "")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(end, range(EXITS)))


def test_importing_loads_no_heavy_module():
    heavy = ["asyncio", "dataclasses", "typing", "enum", "decimal", "datetime", "pandas", "polars"]
    script = f"import sys, boardlot; print([m for m in {heavy!r} if m in sys.modules])"
    paths = [path for path in sys.path if path]
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {paths!r}; {script}"]
    assert subprocess.check_output(command, text=True) == "[]\n"


SUBINTERPRETER = """
    import sys
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    source = f"import sys; sys.path[:] = {sys.path!r}\\nimport boardlot"
    try:
        print(interpreters.run_string(interpreters.create(), source))
    except Exception as error:
        print(error)
    """


def test_a_subinterpreter_is_rejected_by_the_import():
    assert "subinterpreter" in run_python(SUBINTERPRETER)[0]
