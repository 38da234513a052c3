"""Requests that an HTTP/2 service says it did not process are sent again, and cost no retry."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.certificates import Authority
from ..support.http2 import Http2
from ..support.service import StandInService, response

PATH = "/api/v1.0/orders"
TIME = response({"server_time_ms": "1790000000123"})


@pytest.fixture(scope="module")
def authority():
    return Authority()


def serving(authority, http2):
    return StandInService(lambda _: TIME, context=authority.context(), http2=http2)


def options(authority, **more):
    return {"ca_file": authority.ca_file, "max_retries": 0, "timeout": 20.0, **more}


async def ask_many(client, count, at_once):
    places = asyncio.Semaphore(at_once)

    async def ask(number):
        async with places:
            # A POST that is not idempotent: only certainty allows to send it again.
            return await client.request("POST", PATH, body={"number": number})

    return await asyncio.gather(*(ask(number) for number in range(count)), return_exceptions=True)


@pytest.mark.parametrize("at_once", [1, 20, 64])
def test_security_28_a_goaway_every_100_requests_fails_none_of_1500_calls(authority, at_once):
    async def use():
        async with bl.AsyncClient(server.base_url, **options(authority)) as client:
            return await ask_many(client, 1500, at_once)

    http2 = Http2(streams_each=100)
    with serving(authority, http2) as server:
        results = asyncio.run(use())
    assert [one for one in results if isinstance(one, BaseException)] == []
    assert all(one.status == 200 for one in results)
    # Each was processed once, and the connections really ended.
    assert http2.processed == 1500
    assert http2.connections >= 15


def test_security_28_threads_fail_no_call_either(authority):
    http2 = Http2(streams_each=10)
    with (
        serving(authority, http2) as server,
        bl.Client(server.base_url, **options(authority)) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        calls = pool.map(lambda n: client.request("POST", PATH, body={"n": n}).status, range(300))
        assert list(calls) == [200] * 300
        assert http2.processed == 300


def test_security_28_a_refused_stream_is_sent_again(authority):
    http2 = Http2(refused=lambda number: number % 2 == 1)
    with serving(authority, http2) as server:
        client = bl.Client(server.base_url, **options(authority))
        for _ in range(20):
            assert client.request("POST", PATH, body={}).status == 200
        assert (http2.requests, http2.processed) == (40, 20)


def test_security_28_a_service_that_rejects_forever_is_not_retried_forever(authority):
    http2 = Http2(refused=lambda number: True)
    with serving(authority, http2) as server:
        client = bl.Client(server.base_url, **options(authority))
        with pytest.raises(bl.TransportError, match="did not process"):
            client.request("POST", PATH, body={})
        assert http2.processed == 0 and 2 <= http2.requests <= 10


def test_a_request_that_no_connection_takes_is_sent_on_another_one(authority):
    """Two are with the first connection, which may have processed them; the others wait for it."""

    async def use():
        async with bl.AsyncClient(server.base_url, **short) as client:
            first = asyncio.create_task(ask_many(client, 1, 1))
            while not (http2.requests and http2.limited.is_set()):
                await asyncio.sleep(0.01)
            others = await ask_many(client, 5, 5)
            return await first + others

    short = options(authority, timeout=3.0, connect_timeout=1.0)
    http2 = Http2(full=1)
    with serving(authority, http2) as server:
        results = asyncio.run(use())
    # Which of the others is with the first connection depends on the order of their tasks.
    late = [one for one in results if isinstance(one, bl.RequestTimeout)]
    assert len(late) == 2 and late[0] is results[0]
    assert [one.status for one in results if one not in late] == [200] * 4
    assert http2.processed == 4 and http2.connections >= 2
