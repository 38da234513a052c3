"""`rate_limit` spaces requests evenly, also if calls that wait for their turn are given up."""

import asyncio
import random
import time

import boardlot as bl
import pytest

from ..support.service import StandInService, response

TIME = response({"server_time_ms": "1790000000123"})
RATE = 40.0


async def used(base_url, given_up):
    """How many of 60 calls succeeded; some of them replace calls that were given up."""
    async with bl.AsyncClient(base_url, rate_limit=RATE, max_retries=0) as client:
        calls = [asyncio.ensure_future(client.server_time()) for _ in range(40)]
        await asyncio.sleep(0.1)
        for number in given_up:
            calls[number].cancel()
        await asyncio.sleep(0.01)
        calls += [asyncio.ensure_future(client.server_time()) for _ in range(20)]
        results = await asyncio.gather(*calls, return_exceptions=True)
    return sum(not isinstance(one, BaseException) for one in results)


@pytest.mark.parametrize(
    "given_up",
    [range(10, 30), range(39, 19, -1), random.Random(1).sample(range(8, 40), 20), []],
    ids=["early ones", "the last first", "any", "none"],
)
def test_requests_keep_their_distance_whichever_is_cancelled(given_up):
    with StandInService(lambda _: TIME) as server:
        started = time.time()
        succeeded = asyncio.run(used(server.base_url, given_up))
        times = sorted(received.at for received in server.received)
    # On a busy machine one that was to be given up may have left before.
    assert 60 - len(given_up) <= succeeded <= len(times)
    interval = 1 / RATE
    # However late the machine is, none arrives before its place; the clocks may differ by a little.
    for place, at in enumerate(times):
        assert at - started > place * interval - 0.01
    # And what was given up is used again, not lost.
    assert times[-1] - times[0] < (len(times) + 4) * interval + 1.0
