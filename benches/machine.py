"""The state of the machine: the work of two spinning threads, and the speed of copying memory.

The figures of requests over loopback depend on this state more than on anything else, so a run
prints it in its first lines, and a run in a bad state is not kept.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .harness import cores

SPIN_SECONDS = 0.5
COPY_BYTES = 64 << 20
# Limits of a good state: the second core does nearly as much as the first, and nothing else runs.
SPIN_LEAST = 1.8
LOAD_MOST = 0.5


@dataclass(frozen=True)
class State:
    """`spin` is the work of two processes that count, as a multiple of the work of one."""

    spin: float
    copy_bytes_per_second: float
    load: float

    def lines(self) -> Iterator[str]:
        yield f"two spinning processes do {self.spin:.2f} times the work of one"
        yield f"memory is copied at {self.copy_bytes_per_second / 1e9:.1f} GB/s"
        yield f"load of the machine before: {self.load:.1f}"

    def problems(self) -> list[str]:
        """The reasons why the figures of a run that begins now would say little about boardlot."""
        found = []
        if cores() < 2:
            found.append("there is one core, which the server shares")
        if self.spin < SPIN_LEAST:
            found.append(f"two spinning processes do {self.spin:.2f} times the work of one")
        if self.load > LOAD_MOST * cores():
            found.append(f"something else runs: the load is {self.load:.1f}")
        return found


def state() -> State:
    """Measures the state now, in about two seconds."""
    return State(_spin(2) / _spin(1), _copy(), os.getloadavg()[0])


def _spin(processes: int) -> float:
    """The total that this many processes count to, in the same time."""
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        # Each process has started before the time runs.
        pool.map(_count, [0.01] * processes, chunksize=1)
        return sum(pool.map(_count, [SPIN_SECONDS] * processes, chunksize=1))


def _count(seconds: float) -> int:
    end = time.perf_counter() + seconds
    count = 0
    while time.perf_counter() < end:
        count += 1
    return count


def _copy() -> float:
    source, target = memoryview(bytearray(COPY_BYTES)), bytearray(COPY_BYTES)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        target[:] = source
        best = min(best, time.perf_counter() - start)
    return COPY_BYTES / best
