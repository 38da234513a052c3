"""Ordinary programs that end while tasks, threads, hooks or handlers of theirs use boardlot.

`python -m tests.stress.ending NAME URL KEY_ID KEY_FILE` runs one of them.
"""

import asyncio
import atexit
import contextlib
import logging
import sys
import threading

import boardlot as bl

ACCOUNT = "281756", "HK"
THREADS = 4


def tasks_left_behind(options):
    async def main():
        client = bl.AsyncClient(**options)
        tasks = [asyncio.create_task(client.dividends("HK.00700")) for _ in range(8)]
        await tasks[0]

    asyncio.run(main())


def a_loop_left_behind(options):
    client, loop = bl.AsyncClient(**options), asyncio.new_event_loop()
    # It says that a task was left, and rightly.
    loop.set_exception_handler(lambda *_: None)

    async def work():
        while True:
            await client.dividends("HK.00700")

    task = loop.create_task(work())
    loop.run_until_complete(client.server_time())
    assert not task.done()


def a_loop_in_a_daemon_thread(options):
    client, loop = bl.AsyncClient(**options), asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    async def work():
        while True:
            await asyncio.gather(*(client.server_time() for _ in range(4)))

    asyncio.run_coroutine_threadsafe(work(), loop)
    asyncio.run_coroutine_threadsafe(client.server_time(), loop).result()


def threads(options):
    client = bl.Client(**options)
    for _ in range(THREADS):
        threading.Thread(target=client.server_time).start()


def daemon_threads(options):
    client = bl.Client(**options)
    in_daemon_threads(lambda: client.dividends("HK.00700"))


def daemon_threads_that_read_rows(options):
    client = bl.Client(**options)
    in_daemon_threads(lambda: list(client.fills_history(*ACCOUNT)))


def daemon_threads_that_make_rows_of_a_class(options):
    rows = bl.Client(**options).dividends("HK.00700")
    in_daemon_threads(lambda: rows.as_type(Dividend))


def daemon_threads_with_hooks(options):
    seen = []
    hooks = {"on_request": lambda _event: None, "on_response": seen.append}
    client = bl.Client(**options, **hooks)
    in_daemon_threads(client.server_time)


def daemon_threads_with_a_log_handler(options):
    logger = logging.getLogger("boardlot.http")
    logger.setLevel("DEBUG")
    logger.addHandler(logging.NullHandler())
    client = bl.Client(**options)
    in_daemon_threads(client.server_time)


def a_handler_at_the_exit(options):
    client = bl.Client(**options)
    atexit.register(client.server_time)
    in_daemon_threads(lambda: client.dividends("HK.00700"))


class Dividend:
    statement: str = ""

    def __init__(self, **values):
        self.values = values


def in_daemon_threads(call):
    """Calls again and again in daemon threads, and returns once each of them has called."""
    called = threading.Barrier(THREADS + 1)

    def work():
        call()
        called.wait()
        while True:
            # The client may be collected before the thread ends.
            with contextlib.suppress(bl.BoardlotError):
                call()

    for _ in range(THREADS):
        threading.Thread(target=work, daemon=True).start()
    called.wait()


PROGRAMS = {
    program.__name__.replace("_", " "): program
    for program in (
        tasks_left_behind,
        a_loop_left_behind,
        a_loop_in_a_daemon_thread,
        threads,
        daemon_threads,
        daemon_threads_that_read_rows,
        daemon_threads_that_make_rows_of_a_class,
        daemon_threads_with_hooks,
        daemon_threads_with_a_log_handler,
        a_handler_at_the_exit,
    )
}


if __name__ == "__main__":
    name, url, *key = sys.argv[1:]
    PROGRAMS[name]({"base_url": url, "auth": bl.ApiKey(*key)})
