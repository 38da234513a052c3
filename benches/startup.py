"""The cost of `import` over a bare interpreter, and the size of what is installed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from importlib.metadata import distribution

from .harness import Limit, Row, Settings, Taken

IMPORTS = ["boardlot", "longbridge", "asyncio", "requests"]
# Left out of a quick run.
HEAVY = ["httpx", "aiohttp", "openai"]
PARTS = {
    "boardlot": ["boardlot"],
    "longbridge": ["longbridge"],
    "polars with its parts": ["polars", "polars-runtime-32"],
    "pyarrow": ["pyarrow"],
}


def rows(settings: Settings) -> list[Row]:
    return [imports(settings), sizes(settings)]


def imports(settings: Settings) -> Row:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
    }

    def started(statement: str) -> tuple[float, float]:
        cpu, start = cpu_of_children(), time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], env=environment, check=True)
        return time.perf_counter() - start, cpu_of_children() - cpu

    names = IMPORTS if settings.quick else IMPORTS + HEAVY
    taken = {name: Taken() for name in names}
    for turn in range(int(settings.pick(31, 15)) + 1):
        bare, bare_cpu = started("pass")
        for name in names:
            seconds, cpu = started(f"import {name}")
            # The first turn writes the bytecode.
            if turn:
                taken[name].seconds.append(seconds - bare)
                taken[name].cpu.append(cpu - bare_cpu)
    return Row(
        "Import",
        "wall time of a new interpreter, less that of a bare one in the same round",
        "ms",
        taken,
        [Limit("boardlot", 3e-3)],
    )


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sizes(settings: Settings) -> Row:
    taken = {}
    targets = []
    if settings.wheel:
        taken["boardlot, the wheel"] = Taken(size=[settings.wheel.stat().st_size])
        targets = [Limit("boardlot, the wheel", 6e6, "size")]
    for name, parts in PARTS.items():
        taken[f"{name}, installed"] = Taken(size=[sum(map(installed, parts))])
    return Row(
        "Size",
        "the wheel, and what is on the disk once installed",
        "MB",
        taken,
        targets,
        ours="boardlot, installed",
        measure="size",
    )


def installed(part: str) -> int:
    files = distribution(part).files or []
    # Bytecode depends on who imported what.
    places = [file.locate() for file in files if file.suffix != ".pyc"]
    return sum(place.stat().st_size for place in places if place.is_file())
