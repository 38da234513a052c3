"""One cluster for all tests of a file, which run in one process; it ends with the last of them."""

import pytest


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    """Of two threads each."""
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
    from boardlot._support import partitions

    yield
    partitions._client.cache_clear()
