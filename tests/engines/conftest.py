"""A service with 100,000 fills, in this process, read by other processes; a cluster of Dask.

`tools/nightly/engines` runs the tests of Ray and Spark in an environment of their own.
"""

import contextlib
import os
import sys
import threading
import time
from datetime import timedelta

import boardlot as bl
import pytest

FILLS = 100_000
PARTITIONS = 12
PAGES = FILLS // 50


class Service:
    def __init__(self, sandbox, client, key):
        self.sandbox, self.client, self.key = sandbox, client, key
        now = client.server_time()
        self.asked = {
            "acc_id": sandbox.accounts["trade"][0],
            "trd_market": "HK",
            "start": now - timedelta(days=90),
            "end": now,
        }
        fills = client.fills_history(**self.asked, windows=8).select(
            "deal_id", "code", "qty", "updated_time"
        )
        self.expected = fills.to_pandas()
        # The fills of one security.
        self.code = self.expected["code"].mode()[0]
        self.expected_of_code = self.expected[self.expected["code"] == self.code]

    def client_with(self, **options):
        return bl.Client(self.sandbox.base_url, auth=bl.ApiKey(*self.key), **options)

    @contextlib.contextmanager
    def counted(self):
        """A list that has the requests of the block, after it."""
        before, found = self.sandbox._request_count, []
        yield found
        count = self.sandbox._request_count - before
        # No test sends as many as the sandbox keeps.
        found += self.sandbox.requests[-count:] if count else []

    @contextlib.contextmanager
    def timed(self):
        """A list of the moments at which requests of the block were seen, after it."""
        seen, start = [], self.sandbox._request_count

        def look():
            new = self.sandbox._request_count - start - len(seen)
            seen.extend([time.monotonic()] * new)

        with looking(look):
            yield seen

    @contextlib.contextmanager
    def failing(self, **faults):
        self.sandbox.faults = bl.Faults(**faults)
        try:
            yield
        finally:
            self.sandbox.faults = None

    @contextlib.contextmanager
    def a_worker_is_killed(self):
        """Kills a process that reads from the service; a list has its id after the block."""
        killed, start = [], self.sandbox._request_count

        def kill():
            if self.sandbox._request_count > start + PAGES // 4:
                for pid in readers(int(self.sandbox.base_url.rsplit(":", 1)[1])):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, 9)
                        killed.append(pid)
                        break
            return killed

        with self.failing(latency=0.002), looking(kill):
            yield killed


@contextlib.contextmanager
def looking(look):
    """Looks in another thread, until the block ends or that returns something."""
    over = threading.Event()

    def work():
        while not over.wait(0.005) and not look():  # time: between two looks at a counter
            pass

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def readers(port):
    """The other processes with a connection to this port."""
    import psutil

    # Not only children: an engine can start its workers through other processes.
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            is_other = process.pid != os.getpid()
            if is_other and any(
                c.raddr and c.raddr.port == port for c in process.net_connections()
            ):
                yield process.pid


@pytest.fixture(scope="package")
def service(tmp_path_factory):
    # The workers are this Python, and find this package as this process does.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # `uploaded_key` of tests/support needs a library that this environment lacks.
    made = bl.generate_key()
    path = tmp_path_factory.mktemp("key") / "key.pem"
    path.touch(mode=0o600)
    path.write_text(made.private_pem)
    with bl.Sandbox(seed=7, fills=FILLS) as sandbox:
        key = (sandbox.upload_key(made.public_pem), os.fspath(path))
        with bl.Client(sandbox.base_url, auth=bl.ApiKey(*key)) as client:
            yield Service(sandbox, client, key)


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    """A cluster for all tests of a file, of two threads each; it ends with the last of them."""
    import dask
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True}
    with (
        dask.config.set(temporary_directory=str(tmp_path_factory.mktemp("dask"))),
        LocalCluster(**options, dashboard_address="127.0.0.1:0") as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def cluster(two_processes):
    """The cluster that computes frames in this test, and in no other."""
    with two_processes.as_current():
        yield two_processes


@pytest.fixture(autouse=True)
def own_client_of_a_process():
    """That which this process has made to compute partitions here ends with the test."""
    from boardlot._support.engines import partitions

    yield
    partitions._client.cache_clear()
