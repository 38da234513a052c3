"""Promise 32: forks, spawned processes, threads, event loops and scripts that end: no deadlock.
And what an import does."""

import asyncio
import itertools
import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.keys import uploaded_key
from ..support.processes import program, run_python
from ..support.threads import outcomes_of_threads
from .readers import read_all

LONG = 500
# Newer CPythons warn of a fork beside threads.
QUIET = {"PYTHONWARNINGS": "ignore"}

SANDBOX = {"fills": 120}


@pytest.fixture
def key_file(sandbox, tmp_path):
    """A key id and the path of its private key."""
    return uploaded_key(sandbox, tmp_path)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_security_32_children_of_every_kind_get_the_client_and_use_it(sandbox, key_file, method):
    context = multiprocessing.get_context(method)
    with bl.Client(sandbox.base_url, auth=bl.ApiKey(*key_file)) as client, context.Pool(2) as pool:
        right = read_all(client)
        assert pool.map(read_all, [client] * 4) == [right] * 4
        pool.close()
        pool.join()


FORKED_PAGERS = program(__file__, "forked_pagers")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_security_32_a_child_goes_on_from_the_checkpoint_of_a_pager_that_its_parent_waits_for():
    out, _ = run_python(FORKED_PAGERS, env=QUIET, seconds=300.0)
    assert out.split(maxsplit=1) == ["120", "[0, 0, 0]\n"]


FORKED_BY_C = """
    import asyncio, ctypes, os, sys
    import boardlot as bl
    from tests.support.processes import forked
    client, awaited = bl.Client(sys.argv[1]), bl.AsyncClient(sys.argv[1])
    def use():
        client.server_time(), asyncio.run(awaited.server_time())
    use()
    print(os.waitpid(forked(use, ctypes.PyDLL(None).fork), 0)[1])
    """
FORKED_LOGIN = """
    import os, pytest, sys
    import boardlot as bl
    from tests.support.processes import forked
    flow = bl.begin_login(sys.argv[1], store=bl.MemoryStore(), timeout=90.0)
    def use():
        for end in (flow.wait, lambda: flow.finish("http://127.0.0.1/callback?code=a&state=b")):
            with pytest.raises(bl.OAuthError, match="begun in another process"):
                end()
    print(os.waitpid(forked(use), 0)[1])
    """


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("code", [FORKED_BY_C, FORKED_LOGIN], ids=["unnoticed", "login"])
def test_security_32_a_fork_that_python_does_not_know_of_or_in_a_login(sandbox, code):
    out, _ = run_python(code, sandbox.base_url, env=QUIET, seconds=300.0)
    assert out.split() == ["0"]


@pytest.mark.parametrize("rounds", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_security_32_asyncio_and_uvloop_loops_in_eight_threads_share_a_client(sandbox, rounds):
    uvloop = pytest.importorskip("uvloop")
    runs = itertools.cycle([asyncio.run, uvloop.run])
    with sandbox.client() as one:
        right = list(one.fills_history("281756", "HK"))
    client = sandbox.async_client()

    async def use():
        for _ in range(rounds):
            await asyncio.gather(*(client.server_time() for _ in range(10)))
            task = asyncio.create_task(client.dividends("HK.00700"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with pytest.raises(bl.InvalidSymbol):
                await client.dividends("HK.99999")
            pager = client.fills_history("281756", "HK", page_size=20)
            assert [row async for row in pager] == right
            frame = await client.fills_history("281756", "HK").to_arrow()
            assert frame.num_rows == len(right)

    assert outcomes_of_threads(8, lambda: next(runs)(use())) == {None: 8}


ENDINGS = program(__file__, "endings")


@pytest.mark.parametrize("ending", ["tasks", "loop", "iteration", "asynchronous_iteration"])
@pytest.mark.parametrize("rounds", [2, pytest.param(LONG, marks=pytest.mark.slow)])
def test_security_32_a_script_may_end_at_any_moment(sandbox, key_file, ending, rounds):
    def end(number):
        words = [sandbox.base_url, *key_file, number, ending]
        out, errors = run_python(ENDINGS, *words, seconds=300.0)
        quiet = "\n".join(line for line in errors.splitlines() if "Warning" not in line)
        assert (out, quiet) == ("", "")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(end, range(rounds)))


SUBINTERPRETER = program(__file__, "subinterpreter")


def test_a_subinterpreter_is_rejected_by_the_import():
    assert "subinterpreter" in run_python(SUBINTERPRETER)[0]
