"""Connections that died while nobody looked, as while a laptop slept, are no error."""

import threading
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.addresses import port_of
from ..support.proxy import Proxy

SIDE_BY_SIDE = 16


def side_by_side(work):
    """Does it on many threads at once, so that as many connections are used."""
    barrier = threading.Barrier(SIDE_BY_SIDE)

    def one(_):
        barrier.wait()
        return work()

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return list(pool.map(one, range(SIDE_BY_SIDE)))


@pytest.mark.parametrize("way", ["closed", "reset", "silent"])
def test_stale_connections_are_not_an_error(way):
    with bl.Sandbox(seed=5, plate_stocks=40) as sandbox:
        with sandbox.client() as direct:
            right = list(direct.plate_stocks("HK.BK1001"))
        options = {"auth": sandbox.api_key(), "timeout": 3.0}
        with (
            Proxy(port_of(sandbox.base_url)) as proxy,
            bl.Client(proxy.base_url, **options) as client,
        ):
            for _ in range(2):
                side_by_side(client.server_time)
                assert proxy.end_connections(way) > 3
                assert client.server_time().tzinfo is not None
                assert list(client.plate_stocks("HK.BK1001")) == right
                side_by_side(client.server_time)
                proxy.end_connections(way)
                lists = side_by_side(lambda: list(client.plate_stocks("HK.BK1001")))
                assert lists == [right] * SIDE_BY_SIDE
