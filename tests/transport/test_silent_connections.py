"""Connections that fall silent without an end, as after a sleep, in a NAT, or in a failover.

New ones work: the first retry of each call uses one, over HTTP/1.1 and HTTP/2.
"""

import asyncio
import threading

import boardlot as bl
import pytest

from ..support.certificates import authority
from ..support.clients import MODES, run
from ..support.http2 import Http2
from ..support.paged_service import PagedList
from ..support.proxy import Proxy
from ..support.service import StandInService, response
from ..support.threads import wait_until
from .side_by_side import side_by_side

VERSIONS = ["1.1", "2"]
LIST = PagedList("crypto_orders", [3, 3, 3])
DIVIDENDS = {
    "ret_code": 0,
    "ret_msg": "success",
    "data": {"total_dividend_count": 0, "total_dividend_money": 0, "dividend_list": []},
}
# Long enough to connect on a busy machine.
OPTIONS = {"ca_file": authority().ca_file, "max_retries": 1, "timeout": 3.0}


def respond(request):
    if "server-time" in request.path:
        return response({"server_time_ms": "1790000000123"})
    return response(DIVIDENDS) if "dividends" in request.path else LIST(request)


def serving(version):
    http2 = Http2() if version == "2" else None
    return StandInService(respond, context=authority().context(), http2=http2)


class SilentProxy(Proxy):
    """Passes TLS on as it is; its address is that of the service."""

    def __enter__(self):
        super().__enter__()
        self.base_url = self.base_url.replace("http:", "https:")
        return self

    def fall_silent(self):
        assert self.end_connections("silent") > 0


async def call(client):
    assert (await client.call("server_time")).year == 2026


async def read_pages(client):
    assert await client.rows(client.listing("crypto_orders")) == LIST.rows


async def collect(client):
    assert len(await client.call("fetch_many", "dividends", ["HK.00700", "HK.00005"])) == 0


def with_each_client(use, **options):
    """Runs `use(client, proxy)` for each kind of client and version of HTTP."""

    def work(mode, version):
        with serving(version) as server, SilentProxy(server.port) as proxy:
            run(mode, proxy, lambda client: use(client, proxy), **{**OPTIONS, **options})

    side_by_side(work, MODES, VERSIONS)


def test_the_first_retry_uses_another_connection():
    async def use(client, proxy):
        await collect(client)
        # The second time, the connections of the first retries fall silent, too.
        for operation in (collect, collect, read_pages, call):
            proxy.fall_silent()
            await operation(client)

    with_each_client(use)


def test_a_list_that_is_being_read_continues():
    """Each page is requested while its connection is silent."""

    async def use(client, proxy):
        pager, rows = client.listing("crypto_orders"), []
        for _ in LIST.pages:
            rows += await client.rows(pager, 3)
            # The last one may have been closed meanwhile.
            proxy.end_connections("silent")
        assert rows == LIST.rows

    with_each_client(use)


def test_a_request_that_is_not_retried_fails_once():
    """The next call does not wait for the connection that has failed."""

    async def use(client, proxy):
        await call(client)
        proxy.fall_silent()
        with pytest.raises(bl.RequestTimeout):
            await client.call("request", "POST", "/api/v1.0/orders", body={"a": 1})
        await call(client)

    with_each_client(use, max_retries=0)


def test_a_silent_connection_is_closed_when_its_caller_gives_up():
    options = {**OPTIONS, "timeout": 90.0, "max_retries": 0}

    async def use(proxy):
        async with bl.AsyncClient(proxy.base_url, **options) as client:
            await client.server_time()
            proxy.fall_silent()
            with pytest.raises(asyncio.TimeoutError):
                # time: the caller's own limit, far below that of the client
                await asyncio.wait_for(client.server_time(), 1.5)
            await asyncio.to_thread(wait_until, lambda: not proxy.connections)
            assert (await client.server_time()).year == 2026

    def work(version):
        with serving(version) as server, SilentProxy(server.port) as proxy:
            asyncio.run(use(proxy))

    side_by_side(work, VERSIONS)


def test_threads_of_a_client_recover_beside_each_other():
    side_by_side(recover, VERSIONS)


def recover(version):
    outcomes, together = [], threading.Barrier(9)

    def ask(client):
        client.server_time()
        together.wait(90)
        together.wait(90)
        outcomes.append(client.server_time().year)

    with (
        serving(version) as server,
        SilentProxy(server.port) as proxy,
        bl.Client(proxy.base_url, **OPTIONS) as client,
    ):
        threads = [threading.Thread(target=ask, args=[client]) for _ in range(8)]
        for thread in threads:
            thread.start()
        together.wait(90)
        proxy.fall_silent()
        together.wait(90)
        for thread in threads:
            thread.join()
    assert outcomes == [2026] * 8
