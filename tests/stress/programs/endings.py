"""A script that ends while it is in the middle of something, which its last argument names.

What it leaves is global: it lives until the interpreter ends.
"""

import asyncio
import sys

import boardlot as bl

number = int(sys.argv[4])
wait = number % 17 / 300
auth = bl.ApiKey(*sys.argv[2:4])
client = bl.Client(sys.argv[1], auth=auth)
awaited = bl.AsyncClient(sys.argv[1], auth=auth)
left = []


def tasks():
    async def main():
        for _ in range(8):
            left.append(asyncio.ensure_future(awaited.server_time()))
        await asyncio.sleep(wait)  # time: another moment of the requests in each run

    asyncio.run(main())


def loop():
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # It says that a task was left, and rightly.
    left.extend([loop, loop.create_task(awaited.dividends("HK.00700"))])
    loop.call_later(wait, loop.stop)
    loop.run_forever()


def iteration():
    fills = client.fills_history("281756", "HK")
    left.append(fills)
    for _ in range(number * 7 % 120 + 1):
        next(fills)


def asynchronous_iteration():
    async def main():
        fills = awaited.fills_history("281756", "HK")
        for _ in range(number * 7 % 120 + 1):
            await anext(fills)

    asyncio.run(main())


ENDINGS = (tasks, loop, iteration, asynchronous_iteration)
{ending.__name__: ending for ending in ENDINGS}[sys.argv[5]]()
