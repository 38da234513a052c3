"""One process of a fleet: threads or tasks that ask for the time until it is to stop.

It prints a line when it is ready, begins at the first line that it reads, and ends at the next.
"""

import asyncio
import contextlib
import sys
import threading

import boardlot as bl


def main(number, base_url, limit, threads, tasks):
    options = {"rate_limit": bl.RateLimit(**limit), "headers": {"X-Worker": number}}
    options["max_connections"] = 256
    print("ready", flush=True)
    sys.stdin.readline()

    def ask():
        while True:
            with contextlib.suppress(bl.RateLimited):
                client.server_time()

    async def ask_awaiting(client):
        while True:
            with contextlib.suppress(bl.RateLimited):
                await client.server_time()

    async def run():
        async with bl.AsyncClient(base_url, **options) as client:
            asking = [asyncio.ensure_future(ask_awaiting(client)) for _ in range(tasks)]
            await asyncio.to_thread(sys.stdin.readline)
            return asking

    if tasks:
        asyncio.run(run())
    else:
        client = bl.Client(base_url, **options)
        for _ in range(threads):
            threading.Thread(target=ask, daemon=True).start()
        sys.stdin.readline()
