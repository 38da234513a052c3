"""The gain of decoding with two threads over one, on a CPython without the interpreter lock.

`python -m benches.free_threading` prints it: pages of 50 fills from memory to lists of dicts,
each thread with a reader of its own, and both with one. Medians of nine rounds.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from . import data, hooks

PAGES = 20_000
ROUNDS = 9
Reader = Callable[[bytes], Any]


def main() -> None:
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        sys.exit("this CPython has the interpreter lock")
    body = data.FILLS_HEAD + data.dumps(data.fills(50)) + b',"page_flag":"2","completed":false}}'
    readers = [hooks.reader_of("fills_history", hooks.FILLS) for _ in range(2)]
    decode(readers, body)
    own, shared = [], []
    for _ in range(ROUNDS):
        alone = decode(readers[:1], body)
        own.append(2 * alone / decode(readers, body))
        shared.append(2 * alone / decode([readers[0]] * 2, body))
    for what, ratios in (("each its own reader", own), ("one reader", shared)):
        rounds = " ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        print(f"two threads, {what}: {statistics.median(ratios):.2f} times one thread ({rounds})")


def decode(readers: list[Reader], body: bytes) -> float:
    """The seconds that a thread for each reader takes for its pages."""
    start = threading.Barrier(len(readers) + 1)

    def work(reader: Reader) -> None:
        start.wait()
        for _ in range(PAGES):
            reader(body)

    threads = [threading.Thread(target=work, args=(reader,)) for reader in readers]
    for thread in threads:
        thread.start()
    start.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
