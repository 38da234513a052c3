"""Objects that nobody can reach any more are collected, with their threads and files."""

import asyncio
import gc
import inspect
import weakref
from pathlib import Path

import boardlot as bl
import pytest

from ..support.processes import program, run_python
from ..support.sandbox_process import SandboxProcess, Used
from ..support.threads import wait_until
from .cycles import CYCLES, Owner, collect

SANDBOX = {"fills": 60}


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """Exempts objects that existed before from each collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def wait_for_the_end(reference):
    """A request that is being given up may hold its client for a moment longer."""

    def look():
        collect()
        return reference() is None

    wait_until(look, "the end of an object")


def tied(tie, sandbox, path):
    owner = Owner()
    path.mkdir()
    tie(*[owner, sandbox, path][: len(inspect.signature(tie).parameters)])
    return owner


# A warning about a coroutine holds it, and pytest keeps the warning.
pytestmark = pytest.mark.filterwarnings("ignore:.* was never awaited:RuntimeWarning")


@pytest.mark.parametrize("tie", CYCLES, ids=lambda tie: tie.__name__)
def test_security_41_an_owner_and_what_refers_back_to_it_are_collected(sandbox, tmp_path, tie):
    kept, freed = (tied(tie, sandbox, tmp_path / name) for name in ("kept", "freed"))
    freed.let_go()
    references = [weakref.ref(kept), weakref.ref(freed)]
    del kept, freed
    for reference in references:
        wait_for_the_end(reference)


def test_security_41_an_object_in_use_is_not_collected(sandbox):
    owner = Owner()
    client = bl.Client(sandbox.base_url, on_request=owner.seen)
    reference = weakref.ref(owner)
    del owner
    collect()
    client.server_time()
    assert reference().calls == 1


def make(base_url, kind, alive):
    owner = Owner()
    owner.client = kind(base_url, on_request=owner.seen, on_response=owner.seen)
    alive.add(owner)
    return owner.client


def use(base_url, count, alive):
    """Clients with hooks that refer to their owners, made, used and dropped."""

    async def some(number):
        for _ in range(number):
            await make(base_url, bl.AsyncClient, alive).server_time()

    for first in range(0, count, 100):
        number = min(100, count - first)
        for _ in range(number):
            make(base_url, bl.Client, alive).server_time()
        asyncio.run(some(number))


@pytest.mark.parametrize("count", [100, pytest.param(5_000, marks=pytest.mark.slow)])
def test_security_41_clients_that_come_and_go_leave_no_client_thread_or_file(count):
    alive = weakref.WeakSet()
    with SandboxProcess(seed=7) as sandbox:
        use(sandbox.base_url, 10, alive)  # What is made once is made.
        collect()
        before = Used.of()
        use(sandbox.base_url, count, alive)

        def is_over():
            collect()
            after = Used.of()
            return not alive and after.files <= before.files and after.threads <= before.threads

        # Connections are closed in the background.
        wait_until(is_over, "the end of the clients, their threads and files")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_ten_thousand_clients_that_are_in_use_take_less_than_100_mb(sandbox, tmp_path):
    key, file = bl.generate_key(), tmp_path / "key.pem"
    file.touch(0o600)
    file.write_text(key.private_pem)
    line = (sandbox.base_url, sandbox.accounts["sim"][0], sandbox.upload_key(key.public_pem))
    kilobytes, _ = run_python(program(__file__, "clients_in_use"), *line, str(file))
    assert float(kilobytes) < 10
