"""`rate_limit` spaces requests evenly, also if calls that wait for their turn are given up."""

import asyncio
import random
import time

import boardlot as bl
import pytest

from ..support.service import StandInService, response
from ..support.threads import wait_until

TIME = response({"server_time_ms": "1790000000123"})
RATE = 40.0


async def used(base_url, given_up, received):
    """The number of 60 calls that succeeded; some of them replace calls that were given up."""
    async with bl.AsyncClient(base_url, rate_limit=RATE, max_retries=0) as client:
        calls = [asyncio.ensure_future(client.server_time()) for _ in range(40)]
        await asyncio.to_thread(wait_until, lambda: received)
        for number in given_up:
            calls[number].cancel()
        calls += [asyncio.ensure_future(client.server_time()) for _ in range(20)]
        results = await asyncio.gather(*calls, return_exceptions=True)
    return sum(not isinstance(one, BaseException) for one in results)


@pytest.mark.parametrize(
    "given_up",
    [range(10, 30), random.Random(1).sample(range(8, 40), 20), []],
    ids=["early ones", "any", "none"],
)
def test_requests_keep_their_distance_whichever_is_cancelled(given_up):
    with StandInService(lambda _: TIME) as server:
        started = time.time()
        succeeded = asyncio.run(used(server.base_url, given_up, server.received))
        times = sorted(received.at for received in server.received)
    # On a busy machine one that was to be given up may have left before.
    assert 60 - len(given_up) <= succeeded <= len(times)
    interval = 1 / RATE
    # time: however late the machine is, none is early; the clocks may differ by a little
    early = [place for place, at in enumerate(times) if at - started <= place * interval - 0.01]
    assert early == []
