"""The cost of `import` and of the first request, and the size of what is installed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import distribution

from .harness import ROOT, Limit, Row, Settings, Taken
from .wire import lines, orders_of

IMPORTS = ["boardlot", "longbridge", "asyncio", "requests"]
# The path in `crates/sandbox/Containerfile`.
SANDBOX = ROOT / "target/x86_64-unknown-linux-musl/release/boardlot-sandbox"
# Packages that a quick run leaves out.
HEAVY = ["httpx", "httpx2", "aiohttp", "openai"]
PARTS = {
    "boardlot": ["boardlot"],
    "longbridge": ["longbridge"],
    "polars with its parts": ["polars", "polars-runtime-32"],
    "pyarrow": ["pyarrow"],
}


def rows(settings: Settings) -> list[Row]:
    return [imports(settings), first_request(settings), sizes(settings)]


def imports(settings: Settings) -> Row:
    names = IMPORTS if settings.quick else IMPORTS + HEAVY
    return Row(
        "Import",
        "wall time of a new interpreter, less that of a bare one in the same round",
        "ms",
        beyond("pass", {name: f"import {name}" for name in names}, int(settings.pick(31, 15))),
        [Limit("boardlot", 20e-3, reason="most of it is typing, enum, re and datetime")],
    )


def first_request(settings: Settings) -> Row:
    """The first request over loopback, so without TLS; it includes the runtime and the first
    reading of the clock."""
    with lines() as (base, key_id, pem), tempfile.NamedTemporaryFile("w", suffix=".pem") as key:
        key.write(pem)
        key.flush()
        ours = "import boardlot as bl; from pathlib import Path"
        theirs = "from benches import peers, wire; from benches.signer import Signer"
        client = f"bl.Client({base!r}, auth=bl.ApiKey({key_id!r}, Path({key.name!r})))"
        get = f"peers.Requests(Signer({key_id!r}, open({key.name!r}).read())).get"
        contenders = {
            "boardlot": f"{ours}; {client}.sim_orders('1')",
            "requests": f"{theirs}; wire.dicts({get}({orders_of(base)!r}))",
        }
        rounds = int(settings.pick(31, 15))
        taken = {
            **beyond(ours, {"boardlot": contenders["boardlot"]}, rounds),
            **beyond(theirs, {"requests": contenders["requests"]}, rounds),
        }
    return Row(
        "First signed request of a process",
        "a new interpreter that sends one, less one that only imports what it needs for it",
        "ms",
        taken,
        [Limit("boardlot", 15e-3, "cpu", "with the import, less than an interpreter's own start")],
        measure="cpu",
    )


def beyond(bare: str, contenders: Mapping[str, str], rounds: int) -> dict[str, Taken]:
    """The cost of these statements in new interpreters beyond the cost of `bare` in the same
    round."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
    }

    def started(statement: str) -> tuple[float, float]:
        cpu, start = cpu_of_children(), time.perf_counter()
        command = [sys.executable, "-c", statement]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        return time.perf_counter() - start, cpu_of_children() - cpu

    taken = {name: Taken() for name in contenders}
    for turn in range(rounds + 1):
        least, least_cpu = started(bare)
        for name, statement in contenders.items():
            seconds, cpu = started(statement)
            # The first turn only writes the bytecode.
            if turn:
                taken[name].seconds.append(seconds - least)
                taken[name].cpu.append(cpu - least_cpu)
    return taken


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sizes(settings: Settings) -> Row:
    taken = {}
    targets = []
    if settings.wheel:
        taken["boardlot, the wheel"] = Taken(size=[settings.wheel.stat().st_size])
        targets = [Limit("boardlot, the wheel", 6e6, "size", "what anyone downloads in a second")]
    if SANDBOX.exists():
        taken["boardlot-sandbox, static"] = Taken(size=[SANDBOX.stat().st_size])
        reason = "its image, which may have 12 MB, contains nothing else"
        targets.append(Limit("boardlot-sandbox, static", 10e6, "size", reason))
    for name, parts in PARTS.items():
        taken[f"{name}, installed"] = Taken(size=[sum(map(installed, parts))])
    return Row(
        "Size",
        "the wheel, the sandbox as a program, and what is on the disk once installed",
        "MB",
        taken,
        targets,
        ours="boardlot, installed",
        measure="size",
    )


def installed(part: str) -> int:
    files = distribution(part).files or []
    # Bytecode depends on earlier imports.
    places = [file.locate() for file in files if file.suffix != ".pyc"]
    return sum(place.stat().st_size for place in places if place.is_file())
