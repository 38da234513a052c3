"""A cluster fills one archive in PostgreSQL, each worker with accounts of its own."""

import boardlot as bl
import pytest


def update(target, url, account):
    with bl.Client(url) as client, bl.Archive(target) as archive:
        report = archive.update(client, fills=[(account, "HK")])
        return account, report.new, len(report.errors)


def test_the_workers_of_a_cluster_share_an_archive(postgres, service, book):
    distributed = pytest.importorskip("distributed")
    accounts = [str(100 + number) for number in range(6)]
    for account in accounts:
        book.put_fills(70, account)
    target = postgres.address()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as dask,
    ):
        done = [dask.submit(update, target, service.base_url, one, pure=False) for one in accounts]
        assert sorted(dask.gather(done)) == [(account, 70, 0) for account in accounts]
    with bl.Archive(target) as archive:
        for account in accounts:
            assert archive.fills(account, "HK") == book.expected(account)
