"""Requests that an HTTP/2 service says it did not process are sent again, and cost no retry."""

import asyncio

import boardlot as bl
import pytest

from ..support.certificates import authority
from ..support.clients import client_of
from ..support.http2 import Http2
from ..support.service import StandInService, response
from ..support.threads import wait_until

PATH = "/api/v1.0/orders"
TIME = response({"server_time_ms": "1790000000123"})


def serving(http2):
    return StandInService(lambda _: TIME, context=authority().context(), http2=http2)


OPTIONS = {"ca_file": authority().ca_file, "max_retries": 0, "timeout": 90.0}


async def ask_many(client, count, at_once):
    places = asyncio.Semaphore(at_once)

    async def ask(number):
        async with places:
            # A POST that is not idempotent: only certainty allows to send it again.
            return await client.request("POST", PATH, body={"number": number})

    return await asyncio.gather(*(ask(number) for number in range(count)), return_exceptions=True)


# Of 64 at once, a connection that takes 20 leaves most of them for the next one, again and again.
WAVES = [(1, 20, 0), (16, 20, 0), (64, 20, 0), (16, 20, 3)]
LONG_WAVES = [(1, 100, 0), (64, 100, 0), (64, 20, 0), (64, 100, 3)]


@pytest.mark.parametrize(
    ("calls", "at_once", "each", "spent"),
    [
        *((140, *wave) for wave in WAVES),
        *(pytest.param(600, *wave, marks=pytest.mark.slow) for wave in LONG_WAVES),
    ],
)
def test_security_28_a_goaway_every_few_requests_fails_no_call(calls, at_once, each, spent):
    async def use():
        async with bl.AsyncClient(server.base_url, **OPTIONS) as client:
            return await ask_many(client, calls, at_once)

    http2 = Http2(streams_each=each, spent=spent)
    with serving(http2) as server:
        results = asyncio.run(use())
    assert [one for one in results if isinstance(one, BaseException)] == []
    assert all(one.status == 200 for one in results)
    # Each was processed once, and the connections really ended.
    assert http2.processed == calls
    assert http2.connections >= calls // each


def test_security_28_a_refused_stream_is_sent_again():
    http2 = Http2(refused=lambda number: number % 2 == 1)
    with serving(http2) as server:
        client = client_of(server, **OPTIONS)
        for _ in range(20):
            assert client.request("POST", PATH, body={}).status == 200
        assert (http2.requests, http2.processed) == (40, 20)


def test_security_28_a_service_that_rejects_forever_is_not_retried_forever():
    http2 = Http2(refused=lambda number: True)
    with serving(http2) as server:
        client = client_of(server, **OPTIONS)
        with pytest.raises(bl.TransportError, match="did not process"):
            client.request("POST", PATH, body={})
        assert http2.processed == 0 and 2 <= http2.requests <= 10


def test_a_request_that_no_connection_takes_is_sent_on_another_one():
    """Two are with the first connection, which may have processed them; the others wait for it."""

    async def use():
        async with bl.AsyncClient(server.base_url, **short) as client:
            first = asyncio.create_task(ask_many(client, 1, 1))
            await asyncio.to_thread(http2.limited.wait, 60)
            await asyncio.to_thread(wait_until, lambda: http2.requests)
            others = await ask_many(client, 5, 5)
            return await first + others

    short = {**OPTIONS, "timeout": 3.0, "connect_timeout": 1.0}
    http2 = Http2(full=1)
    with serving(http2) as server:
        results = asyncio.run(use())
    # The order of their tasks decides which of the others is with the first connection.
    late = [one for one in results if isinstance(one, bl.RequestTimeout)]
    assert len(late) == 2 and late[0] is results[0]
    assert [one.status for one in results if one not in late] == [200] * 4
    assert http2.processed == 4 and http2.connections >= 2


@pytest.mark.parametrize("with_length", [True, False])
def test_a_stream_that_is_reset_within_the_body_is_a_lost_response(with_length):
    """Without an error, which the HTTP library takes for the end of the body."""
    options = {**OPTIONS, "max_retries": 1}
    for cut, outcome in [(1, None), (2, bl.TransportError)]:
        for ask in (
            lambda client: client.server_time(),
            lambda client: client.request("GET", PATH).json()["server_time_ms"],
        ):
            http2 = Http2(cut=cut, with_length=with_length)
            with serving(http2) as server, client_of(server, **options) as client:
                if outcome is None:
                    assert ask(client)
                else:
                    with pytest.raises(outcome, match="ended before its body was complete") as it:
                        ask(client)
                    assert it.value.retryable
            assert http2.processed == 2
