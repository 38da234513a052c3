"""A program whose exit handler, older than the import, uses boardlot or waits for its thread."""

import asyncio
import atexit
import sys
import threading

handlers = []


@atexit.register
def at_exit():
    for handler in handlers:
        handler()


import boardlot  # noqa: E402 - after the handler

sandbox = boardlot.Sandbox(seed=7, fills=60)
client = sandbox.client(on_response=lambda event: None)


def a_background_event_loop():
    loop = asyncio.new_event_loop()
    worker = threading.Thread(target=loop.run_forever, daemon=True)

    async def flush():
        async with sandbox.async_client() as client:
            print("flushed", len(await client.dividends("HK.00700")) > 0)

    def stop():
        asyncio.run_coroutine_threadsafe(flush(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        worker.join()

    worker.start()
    asyncio.run_coroutine_threadsafe(flush(), loop).result()
    return stop


def a_flush_in_a_new_thread():
    def flush():
        print("flushed", len(client.fills_history("281756", "HK").all()) == 60)

    def stop():
        flush()
        worker = threading.Thread(target=flush)
        worker.start()
        worker.join()

    return stop


loop, thread = a_background_event_loop, a_flush_in_a_new_thread
handlers.append({"loop": loop, "thread": thread}[sys.argv[1]]())

import tests.stress.lingering  # noqa: E402, F401 - alive until the interpreter ends
