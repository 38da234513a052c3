"""Exits while code of the caller's runs in boardlot; `atexit` handlers that wait for threads."""

import textwrap

import pytest

from ..support.processes import run_python

# The code of the caller's, which never returns.
SLOW = {
    "constructor": """
        class Row:
            statement: str = ""
            def __init__(self, **values):
                busy()
        rows = sandbox.client().dividends("HK.00700")
        call = lambda: rows.as_type(Row)
    """,
    "hook": """
        client = sandbox.client(on_request=lambda event: busy())
        call = client.server_time
    """,
    "log handler": """
        import logging
        from unittest.mock import MagicMock
        class Handler(logging.Handler):
            def createLock(self):
                self.lock = MagicMock()  # `logging` itself would wait for a real one at the exit.
            def emit(self, record):
                busy()
        logging.getLogger("boardlot.http").setLevel("DEBUG")
        logging.getLogger("boardlot.http").addHandler(Handler())
        call = sandbox.client().server_time
    """,
}

BESIDE = """
import os, sys, tempfile, threading, time
import boardlot
sandbox = boardlot.Sandbox(seed=7, fills=60)
began = threading.Event()
def busy():
    began.set()
    while True:
        sum(range(100))
{code}
import tests.stress.lingering
threading.Thread(target=call, daemon=True).start()
assert began.wait(60)
"""

# Each uses boardlot, or waits for a thread that does, in a handler from before the import.
HANDLERS = {
    "a background event loop": """
        import asyncio
        loop = asyncio.new_event_loop()
        worker = threading.Thread(target=loop.run_forever, daemon=True)
        async def flush():
            async with sandbox.async_client() as client:
                print("flushed", len(await client.dividends("HK.00700")) > 0)
        def start():
            worker.start()
            asyncio.run_coroutine_threadsafe(flush(), loop).result()
        def stop():
            asyncio.run_coroutine_threadsafe(flush(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            worker.join()
    """,
    "a flush in a new thread": """
        def start(): ...
        def flush():
            print("flushed", len(client.fills_history("281756", "HK").all()) == 60)
        def stop():
            flush()
            worker = threading.Thread(target=flush)
            worker.start()
            worker.join()
    """,
}

EXIT = """
import atexit, threading, time
handlers = []
@atexit.register
def at_exit():
    for handler in handlers:
        handler()
import boardlot
sandbox = boardlot.Sandbox(seed=7, fills=60)
client = sandbox.client(on_response=lambda event: None)
{code}
handlers.append(stop)
start()
import tests.stress.lingering
"""


# Events that are not, or not quite, an exit.
ODD = {
    "a first import in a handler": """
        atexit.register(begin)
    """,
    "a finalizer that waits for a thread": """
        begin()
        class Uploader:
            def __init__(self):
                self.stop = stop = threading.Event()
                def work():
                    stop.wait()
                    client.server_time()
                self.thread = threading.Thread(target=work, daemon=True)
                self.thread.start()
            def flush(self): ...
            def __del__(self):
                self.stop.set()
                self.thread.join()
        atexit.register(Uploader().flush)
    """,
}

ODD_EXIT = """
import atexit, sys, threading, time
sys.setswitchinterval(1e-5)
def begin():
    global sandbox, client
    import boardlot
    sandbox = boardlot.Sandbox(seed=7, fills=60)
    client = sandbox.client()
    rows = client.dividends("HK.00700")
    class Row:
        statement: str = ""
        def __init__(self, **values):
            for _ in range(50): pass
    def work():
        while True:
            rows.as_type(Row)
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.1)
{code}
import tests.stress.lingering
"""


CASES = {
    **{f"beside a {name}": (BESIDE, code) for name, code in SLOW.items()},
    **{name: (EXIT, code) for name, code in HANDLERS.items()},
    **{name: (ODD_EXIT, code) for name, code in ODD.items()},
}


@pytest.mark.parametrize(("script", "code"), CASES.values(), ids=CASES)
def test_security_49_a_process_ends_beside_code_that_never_returns_and_whatever_handlers_do(
    script, code
):
    """A handler from before the import may use boardlot, and wait for threads that do."""
    out, errors = run_python(script.format(code=textwrap.dedent(code)))
    assert (set(out.splitlines()), errors) == ({"flushed True"} if script is EXIT else set(), "")
