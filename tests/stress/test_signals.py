"""Promise 32: Ctrl-C within a fifth of a second in every blocking call; SIGTERM does its work."""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.interrupts import ends_at_once
from ..support.logins import begin, quotes, sign_in
from ..support.operations import operations
from ..support.processes import program, python
from ..support.service import Fault, StandInService, response
from ..support.stores import KEY, PASSPHRASE
from ..support.threads import wait_until

fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")
ACCOUNTS = {"crypto": ["1"], "sim": ["2"], "trade": ["3"]}


@pytest.fixture(scope="module")
def silent():
    """A service that never responds."""
    with StandInService(lambda _: response(b"{}", delay=600.0)) as server:
        yield server


@pytest.mark.parametrize("operation", operations(ACCOUNTS), ids=str)
def test_security_32_ctrl_c_ends_every_operation(silent, operation):
    client = client_of(silent, timeout=300.0)
    ends_at_once(lambda: list(operation.start(client)))


@pytest.mark.parametrize("way", ["all", "pages", "to_arrow", "to_pandas", "to_polars"])
def test_security_32_ctrl_c_ends_every_way_to_read_pages(silent, way):
    if way.startswith("to_"):
        # The reaction of a library to Ctrl-C while it is imported is its own affair.
        pytest.importorskip(way.removeprefix("to_").replace("arrow", "pyarrow"))
    read = getattr(client_of(silent, timeout=300.0).plate_stocks("HK.BK1001"), way)
    ends_at_once(lambda: next(read()) if way == "pages" else read())


@pytest.mark.filterwarnings("ignore:rate_limit is")
def test_security_32_ctrl_c_ends_every_kind_of_waiting():
    with StandInService(lambda _: response(b"", 429, {"Retry-After": "50"})) as throttled:
        ends_at_once(client_of(throttled, max_retries=2, timeout=300.0).server_time)
    time_of = response({"server_time_ms": "1790000000123"})
    with StandInService(lambda _: time_of) as server:
        # Its turn comes in minutes.
        limited = client_of(server, rate_limit=0.01, timeout=300.0)
        ends_at_once(lambda: [limited.server_time() for _ in range(99)])
    released = threading.Event()

    def wait(_):
        released.wait(90)
        return time_of

    with StandInService(wait) as server, ThreadPoolExecutor(1) as pool:
        narrow = client_of(server, max_connections=1, timeout=300.0)
        first = pool.submit(narrow.server_time)
        wait_until(lambda: server.received)
        ends_at_once(narrow.server_time)
        released.set()
        first.result()


def test_security_32_ctrl_c_ends_every_step_of_a_login_and_a_refresh(server):
    oauth = sign_in(server)
    client = client_of(server, oauth)
    server.expire()
    server.faults["refresh_token"] = Fault(delay=600.0)
    ends_at_once(lambda: quotes(client))
    server.faults = {"register": Fault(delay=600.0)}
    ends_at_once(lambda: begin(server))
    server.faults = {"authorization_code": Fault(delay=600.0)}
    ends_at_once(lambda: sign_in(server))
    server.faults = {}
    ends_at_once(lambda: begin(server).wait())


def test_security_32_ctrl_c_ends_a_loop_that_awaits(silent):
    async def use():
        async with bl.AsyncClient(silent.base_url, timeout=300.0) as client:
            await asyncio.gather(*(client.server_time() for _ in range(8)))

    ends_at_once(lambda: asyncio.run(use()))


@contextlib.contextmanager
def handled(handler):
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def test_security_32_a_custom_handler_runs_within_a_blocking_call(silent):
    class Ended(Exception):
        pass

    def end(*_):
        raise Ended

    with handled(end):
        ends_at_once(client_of(silent, timeout=300.0).server_time, signal.SIGTERM, Ended)


def test_security_32_a_call_continues_after_a_handler_that_returns():
    noted = []

    def respond(_):
        os.kill(os.getpid(), signal.SIGTERM)
        wait_until(lambda: noted)
        return response({"server_time_ms": "1790000000123"})

    with handled(lambda *_: noted.append(1)), StandInService(respond) as server:
        assert client_of(server, timeout=90.0).server_time().tzinfo is not None
    assert noted == [1]


BLOCKED = program(__file__, "blocked")


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_security_32_a_script_without_a_handler_dies_at_once(silent, mode, name):
    before = len(silent.received)
    with python(BLOCKED, silent.base_url, mode, stderr=subprocess.PIPE) as child:
        wait_until(lambda: len(silent.received) >= before + 5)
        os.kill(child.pid, name)
        _, errors = child.communicate()
    assert child.returncode == -name
    assert ("KeyboardInterrupt" in errors) == (name == signal.SIGINT)
    assert "panicked" not in errors and "Fatal" not in errors


@contextlib.contextmanager
def held(place, ending=".lock"):
    """The lock file beside it, as another process holds it."""
    with place.with_name(place.name + ending).open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_security_32_ctrl_c_ends_the_wait_for_a_file_that_another_process_changes(place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    store.save(KEY, b"value")
    with held(place):
        ends_at_once(lambda: store.save(KEY, b"new"))
        ends_at_once(lambda: store.delete(KEY))
        assert store.load(KEY) == b"value"
    store.save(KEY, b"new")
    assert store.load(KEY) == b"new"


def test_security_32_ctrl_c_ends_a_login_a_refresh_and_a_logout_that_wait(server, place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    oauth = sign_in(server, store)
    client = client_of(server, oauth)
    server.expire()
    with held(place, ".refresh.lock"):
        ends_at_once(lambda: quotes(client))
        ends_at_once(oauth.logout)
        ends_at_once(lambda: sign_in(server, store))


def test_a_wait_in_another_thread_is_not_ended_by_ctrl_c(place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    store.save(KEY, b"value")
    with ThreadPoolExecutor(1) as pool:
        with held(place):
            saving = pool.submit(store.save, KEY, b"new")
            ends_at_once(lambda: store.delete(KEY))
            assert not saving.done()
        saving.result()
    assert store.load(KEY) == b"new"
