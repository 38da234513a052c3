"""A program that ends with streams that were not read to their end."""

import atexit
import builtins
import sys
import threading

import boardlot as bl

from tests.records.stream_callbacks import USES, Kept, pager_of

sandbox = bl.Sandbox(seed=7, fills=60)
USE = USES[sys.argv[1]]()["collected"]


class Late:
    # Read and released when the interpreter has begun to end.
    def __init__(self):
        self.pager, self.use = pager_of(sandbox), USE

    def __del__(self, Exception=Exception):
        try:  # noqa: SIM105 - modules may be gone
            self.use(self.pager)
        except Exception:
            pass


def hold():
    return Kept(pager_of(sandbox).__arrow_c_stream__(), Late())


USE(pager_of(sandbox))
atexit.register(lambda: USE(pager_of(sandbox)))
builtins.held, main, local = hold(), hold(), threading.local()
local.held = hold()

# A thread that the end of the program finds in a stream. DuckDB aborts there by itself, as soon as
# CPython before 3.14 ends the thread within it: also if it reads a table of pyarrow.
begun = threading.Event()


def read():
    while True:
        USE(pager_of(sandbox))
        begun.set()


if sys.argv[1] != "duckdb":
    threading.Thread(target=read, daemon=True).start()
    begun.wait()
print("ends")
