"""Pagers of each kind that are forked after some rows."""

import asyncio
import os

import boardlot as bl
import pytest

from tests.support.processes import forked

sandbox = bl.Sandbox(seed=7, fills=120)
sandbox.faults = bl.Faults(latency=0.2)
client = sandbox.async_client()


async def rest(pager):
    return [fill["deal_id"] async for fill in pager]


async def main():
    def make(resume=None):
        return client.fills_history("281756", "HK", page_size=50, resume=resume)

    whole, statuses = await rest(make()), []
    for taken in (0, 50, 100):
        pager = make()
        assert [(await pager.__anext__())["deal_id"] for _ in range(taken)] == whole[:taken]
        # A thread that the child does not have is working for it.
        waiting = asyncio.ensure_future(pager.__anext__())
        await asyncio.sleep(0)

        def go_on(pager=pager, taken=taken):
            with pytest.raises(bl.ConfigError, match="another one from its checkpoint"):
                asyncio.run(rest(pager))
            assert asyncio.run(rest(make(pager.checkpoint()))) == whole[taken:]

        child = forked(go_on)
        statuses.append(os.waitpid(child, 0)[1])
        assert [(await waiting)["deal_id"], *await rest(pager)] == whole[taken:]
    print(len(whole), statuses)


asyncio.run(main())
