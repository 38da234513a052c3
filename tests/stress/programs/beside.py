"""A program that exits while code of its own, which never returns, runs in boardlot."""

import logging
import sys
import threading
from unittest.mock import MagicMock

import boardlot

sandbox = boardlot.Sandbox(seed=7, fills=60)
began = threading.Event()


def busy():
    began.set()
    while True:
        sum(range(100))


def constructor():
    class Row:
        statement: str = ""

        def __init__(self, **values):
            busy()

    rows = sandbox.client().dividends("HK.00700")
    return lambda: rows.as_type(Row)


def hook():
    return sandbox.client(on_request=lambda event: busy()).server_time


def log_handler():
    class Handler(logging.Handler):
        def createLock(self):
            self.lock = MagicMock()  # `logging` itself would wait for a real one at the exit.

        def emit(self, record):
            busy()

    logging.getLogger("boardlot.http").setLevel("DEBUG")
    logging.getLogger("boardlot.http").addHandler(Handler())
    return sandbox.client().server_time


call = {"constructor": constructor, "hook": hook, "log handler": log_handler}[sys.argv[1]]()

import tests.stress.lingering  # noqa: E402, F401 - alive until the interpreter ends

threading.Thread(target=call, daemon=True).start()
assert began.wait(60)
