"""Measures the contenders of a row, which take turns, round after round, in one run.

A contender that needs memory measured, or a fresh interpreter, runs in a process of its own; the
others run here. Measured are wall time, CPU seconds of all threads of the client's process, and the
growth of its peak memory over the memory that it held before.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Taken:
    """The measurements of one contender for one piece of work, with a value for each round."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)
    size: list[float] = field(default_factory=list)
    instructions: list[float] = field(default_factory=list)

    def median(self, measure: str = "seconds") -> float | None:
        values = getattr(self, measure)
        return statistics.median(values) if values else None


def ratio_of(theirs: Taken, ours: Taken, measure: str) -> float | None:
    """The ratio of their costs: the median of the rounds, each compared with its own.

    A disturbance of the machine in a round affects both.
    """
    pairs = list(zip(getattr(theirs, measure), getattr(ours, measure), strict=False))
    if not pairs:
        return None
    # A cost of zero counts as a very small one.
    return statistics.median(one / max(other, 1e-12) for one, other in pairs)


@dataclass(frozen=True)
class Target:
    """`ours` is to take at most the least of `theirs` divided by `factor`."""

    ours: str
    theirs: tuple[str, ...]
    factor: float
    measure: str = "seconds"
    # The source of the factor; if the factor is not reached, the change that would reach it.
    reason: str = ""


def kept(ours: str, theirs: str | tuple[str, ...], seen: float, measure: str = "seconds") -> Target:
    """A target that keeps the ratio of a whole run (the run in results.md when the target was set)
    within 5 %."""
    peers = (theirs,) if isinstance(theirs, str) else theirs
    return Target(ours, peers, round(0.95 * seen, 2), measure, f"kept within 5 % of {seen:g}")


@dataclass(frozen=True)
class Limit:
    """`ours` is to stay under a value in the measure's own unit."""

    ours: str
    most: float
    measure: str = "seconds"
    reason: str = ""


@dataclass
class Row:
    """One row of the results: contenders on the same work."""

    title: str
    work: str
    unit: str
    taken: dict[str, Taken] = field(default_factory=dict)
    targets: Sequence[Target | Limit] = ()
    notes: list[str] = field(default_factory=list)
    # The contender that ratios are relative to.
    ours: str = "boardlot"
    # The measured quantity.
    measure: str = "seconds"
    # True if the contenders are sizes of one kind of work, each named by a number first.
    is_curve: bool = False


@dataclass(frozen=True)
class Done:
    """The number of pieces of work done, from work that counts itself, and the memory of each if it
    was measured there."""

    pieces: int
    size: float | None = None


@dataclass(frozen=True)
class Settings:
    quick: bool = False
    wheel: Path | None = None

    @property
    def rounds(self) -> int:
        return 5

    def pick(self, full: float, quick: float) -> float:
        return quick if self.quick else full


def interleave(
    contenders: Mapping[str, Callable[[], object]], rounds: int, seconds: float
) -> dict[str, Taken]:
    """Measures rounds of small work: each contender repeats it for about that long in each
    round."""
    counts = {}
    for name, work in contenders.items():
        work()
        counts[name] = _repeats(work, seconds)
    taken = {name: Taken() for name in contenders}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, work in contenders.items():
                count = counts[name]
                cpu, start = time.process_time(), time.perf_counter()
                for _ in range(count):
                    work()
                elapsed = time.perf_counter() - start
                taken[name].seconds.append(elapsed / count)
                taken[name].cpu.append((time.process_time() - cpu) / count)
    finally:
        gc.enable()
    return taken


def _repeats(work: Callable[[], object], seconds: float) -> int:
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            work()
        elapsed = time.perf_counter() - start
        if elapsed > seconds / 4:
            return max(1, round(count * seconds / elapsed))
        count *= 2


def take_turns(contenders: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, Taken]:
    """Measures rounds of work that counts itself: each contender returns the number of pieces that
    it did."""
    taken = {name: Taken() for name in contenders}
    for turn in range(rounds + 1):
        for name, work in contenders.items():
            gc.collect()
            cpu, start = time.process_time(), time.perf_counter()
            count = work()
            elapsed = time.perf_counter() - start
            # The first turn opens connections and fills caches.
            if turn:
                taken[name].seconds.append(elapsed / count)
                taken[name].cpu.append((time.process_time() - cpu) / count)
    return taken


def in_processes(
    module: str,
    contenders: Mapping[str, tuple[str, Mapping[str, object]]],
    rounds: int,
) -> dict[str, Taken]:
    """Measures rounds of work in processes of their own.

    `contenders` maps a name to a function of `benches.<module>` and its arguments. The function
    prepares itself, and returns the work proper, which alone is measured.
    """
    taken = {name: Taken() for name in contenders}
    for _ in range(rounds):
        for name, (function, arguments) in contenders.items():
            measured = child(module, function, arguments)
            taken[name].seconds.append(measured["seconds"])
            taken[name].cpu.append(measured["cpu"])
            if measured["peak"] is not None:
                taken[name].peak.append(measured["peak"])
            if measured["size"] is not None:
                taken[name].size.append(measured["size"])
    return taken


def child(module: str, function: str, arguments: Mapping[str, object]) -> dict[str, float]:
    command = [sys.executable, "-m", "benches.harness", module, function, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module}.{function} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(module: str, function: str, arguments: Mapping[str, object]) -> dict[str, object]:
    work = getattr(importlib.import_module(f"benches.{module}"), function)(**arguments)
    gc.collect()
    before = _start_of_peak()
    cpu, start = time.process_time(), time.perf_counter()
    result = work()
    elapsed, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = None if before is None else max(0, status("VmHWM") - before)
    # The result was kept until here, so that its memory counts.
    pieces = result.pieces if isinstance(result, Done) else 1
    resident = None if before is None else status("VmRSS")
    return {
        "seconds": elapsed / pieces,
        "cpu": cpu / pieces,
        "peak": peak,
        "resident": resident,
        "size": result.size if isinstance(result, Done) else None,
    }


def _start_of_peak() -> int | None:
    """Returns the memory that is held now, and starts the peak again from here; only on Linux."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return status("VmRSS")
    except OSError:
        return None


def status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    # The module is imported by its own name: in `__main__`, its classes would be different ones.
    from benches.harness import measure

    print(json.dumps(measure(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
