"""One cluster for all tests of dask, which run in one process; it ends with the last of them."""

import pytest


@pytest.fixture(scope="package")
def two_processes():
    """Of two threads each."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True}
    with (
        LocalCluster(**options, dashboard_address=None) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def cluster(two_processes):
    """What computes frames in this test, and in no other."""
    with two_processes.as_current():
        yield two_processes
