"""What child processes do with a client that they were given; they load nothing but boardlot."""

import asyncio

import boardlot as bl


def deal_ids(client):
    return [fill["deal_id"] for fill in client.fills_history("281756", "HK")]


def read_all(client):
    """Every row of a pager, and a call of the other client."""
    rows = deal_ids(client)

    async def awaited():
        async with bl.AsyncClient(client.base_url) as other:
            return await other.server_time()

    assert asyncio.run(awaited()).tzinfo is not None
    return rows
