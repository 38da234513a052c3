"""Forks, exits in the middle of an iteration, Ctrl-C, cancelled tasks: no hang and no crash."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import boardlot as bl
import pytest

from ..support.keys import uploaded_key

EXITS = int(os.environ.get("BOARDLOT_TEST_EXITS", "40"))

ASYNC_ITERATION = """
import asyncio, boardlot as bl, sys
client = bl.AsyncClient(sys.argv[1], auth=bl.ApiKey(sys.argv[2], sys.argv[3]))
async def main():
    seen = 0
    async for fill in client.fills_history("281756", "HK"):
        seen += 1
        if seen == int(sys.argv[4]):
            break
asyncio.run(main())
"""

ITERATION = """
import boardlot as bl, sys
client = bl.Client(sys.argv[1], auth=bl.ApiKey(sys.argv[2], sys.argv[3]))
for seen, fill in enumerate(client.fills_history("281756", "HK"), 1):
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


@pytest.mark.parametrize("script", [ASYNC_ITERATION, ITERATION], ids=["async", "sync"])
def test_a_script_that_ends_in_the_middle_of_an_iteration_ends_well(sandbox, credentials, script):
    def start(number):
        stop = str(1 + number * 7 % 120)
        command = [sys.executable, "-c", script, sandbox.base_url, *credentials, stop]
        return subprocess.Popen(command, stderr=subprocess.PIPE)

    for first in range(0, EXITS, 4):
        running = [start(number) for number in range(first, min(first + 4, EXITS))]
        for process in running:
            _, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (0, b"")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forty_forked_children_use_the_clients_of_their_parent(sandbox):
    client, asynchronous = sandbox.client(), sandbox.async_client()
    account = sandbox.accounts["trade"][0]
    pager = client.fills_history(account, "HK", page_size=10)
    for _ in range(5):
        next(pager)
    # Its page ahead is under way in the parent; the children have to ask for their own.
    rest = [fill["deal_id"] for fill in client.fills_history(account, "HK")][5:]
    children = []
    for _ in range(40):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                client.server_time()
                asyncio.run(asynchronous.server_time())
                same = [fill["deal_id"] for fill in pager] == rest
                status = 0 if same else 2
            finally:
                os._exit(status)
        children.append(child)
    deadline = time.monotonic() + 60
    for child in children:
        done, status = os.waitpid(child, os.WNOHANG)
        while not done and time.monotonic() < deadline:
            time.sleep(0.02)
            done, status = os.waitpid(child, os.WNOHANG)
        if not done:
            os.kill(child, signal.SIGKILL)
        assert (done, os.waitstatus_to_exitcode(status)) == (child, 0)
    assert [fill["deal_id"] for fill in pager] == rest


def test_a_cancelled_task_cancels_its_request():
    async def main():
        async with slow.async_client() as client:
            task = asyncio.create_task(client.server_time())
            await asyncio.sleep(0.1)
            started = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # At once, and not with the response.
            assert time.monotonic() - started < 15
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.dividends("HK.00700"), 0.1)

    with bl.Sandbox(faults=bl.Faults(latency=30.0)) as slow:
        asyncio.run(main())


def test_a_thousand_tasks_at_once(sandbox):
    async def main():
        client = sandbox.async_client()
        return await asyncio.gather(*(client.server_time() for _ in range(1000)))

    assert len(asyncio.run(main())) == 1000


def test_importing_loads_no_heavy_module():
    heavy = ["asyncio", "dataclasses", "typing", "enum", "decimal", "datetime", "pandas", "polars"]
    script = f"import sys, boardlot; print([m for m in {heavy!r} if m in sys.modules])"
    command = [sys.executable, "-S", "-c", "import sys; sys.path[:0] = {!r}; {}"]
    paths = [path for path in sys.path if path]
    command[-1] = command[-1].format(paths, script)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_subinterpreter_is_rejected_by_the_import():
    script = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import sys
source = f"import sys; sys.path[:] = {sys.path!r}\\nimport boardlot"
refused = None
try:
    refused = interpreters.run_string(interpreters.create(), source)
except Exception as error:
    refused = error
print(refused)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "subinterpreter" in done.stdout
