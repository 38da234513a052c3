"""A program with an event that is not, or not quite, an exit, while threads use boardlot."""

import atexit
import sys
import threading
import time

sys.setswitchinterval(1e-5)


def begin():
    global sandbox, client  # noqa: PLW0603 - they live to the end
    import boardlot

    sandbox = boardlot.Sandbox(seed=7, fills=60)
    client = sandbox.client()
    rows = client.dividends("HK.00700")

    class Row:
        statement: str = ""

        def __init__(self, **values):
            for _ in range(50):
                pass

    def work():
        while True:
            rows.as_type(Row)

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.1)  # time: the threads are in the middle of their work, more or less


class Uploader:
    """Its finalizer waits for a thread."""

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


if sys.argv[1] == "first import":
    atexit.register(begin)
else:
    begin()
    atexit.register(Uploader().flush)

import tests.stress.lingering  # noqa: E402, F401 - alive until the interpreter ends
