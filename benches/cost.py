"""The cost of a request to the client's process: instructions, counted by callgrind, and CPU time.

Elapsed time depends on how the machine wakes threads; the instructions of the process hardly depend
on anything. Each contender sends signed requests one after another and decodes each response to 50
dicts, in a process of its own. The cost of the start is subtracted: the count of few requests from
that of many.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import peers
from .harness import ROOT, Row, Settings, Taken, Target, kept, say

OURS = "boardlot"
BARE = "bare loop in Rust, which makes no dicts"
# The best of the native clients, by their times in `wire.py`.
PEERS: dict[str, type[peers.Sync]] = {
    "httpr": peers.Httpr,
    "primp": peers.Primp,
    "pyreqwest": peers.Pyreqwest,
}
if not peers.HAS_PYREQWEST:
    del PEERS["pyreqwest"]
KERNEL = "the kernel's part is the same for all of them; lever: fewer wakes of the runtime"
CALL = "the rest is Python's call, checked arguments, retries, limits and the clock"
WARM_UP = 50
# Numbers of requests under callgrind, which takes fifty times as long.
FEW, MANY = 50, 350
ROUNDS = 3
INSTRUCTIONS = re.compile(r"Collected : (\d+)")


def rows(settings: Settings) -> list[Row]:
    from .wire import lines

    rounds = int(settings.pick(ROUNDS, 1))
    count = int(settings.pick(20_000, 2_000))
    has_callgrind = shutil.which("valgrind") is not None
    with lines() as (base, key_id, pem), tempfile.NamedTemporaryFile("w", suffix=".pem") as key:
        key.write(pem)
        key.flush()
        line = [base, key_id, key.name]
        taken = {name: Taken() for name in (OURS, *PEERS)}
        for turn in range(rounds):
            for name, ones in taken.items():
                say(f"          {name}, round {turn + 1} of {rounds}")
                ones.cpu.append(cpu(name, count, line))
                if has_callgrind:
                    most, least = (instructions(name, size, line) for size in (MANY, FEW))
                    ones.instructions.append((most - least) / (MANY - FEW))
        if shutil.which("cargo"):
            taken[BARE] = Taken(cpu=[bare_cpu(base, key.name) for _ in range(rounds)])
    native = tuple(PEERS)
    return [
        Row(
            "What a request costs the client's process",
            "signed, sent one after another, decoded to 50 dicts; CPU of all its threads",
            "µs",
            taken,
            [
                Target(OURS, native, 1 / 0.7, "cpu", KERNEL),
                kept(OURS, native, 1.87, "instructions"),
                Target(OURS, (BARE,), 1 / 1.2, "cpu", CALL),
            ],
            [] if has_callgrind else ["valgrind is not installed: no instructions were counted."],
            measure="cpu",
        )
    ]


def cpu(name: str, count: int, line: list[str]) -> float:
    output = subprocess.check_output(command(name, count, line), cwd=ROOT, text=True)
    return float(output) / count


def instructions(name: str, count: int, line: list[str]) -> int:
    callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*callgrind, *command(name, count, line)],
        cwd=ROOT,
        # A fixed seed makes dicts of strings the same in each process.
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = INSTRUCTIONS.search(done.stderr)
    if found is None:
        raise RuntimeError(f"callgrind counted nothing:\n{done.stderr}")
    return int(found[1])


def command(name: str, count: int, line: list[str]) -> list[str]:
    return [sys.executable, "-m", "benches.cost", name, str(count), *line]


def bare_cpu(base: str, key_file: str) -> float:
    from .bare_loop import compiled
    from .startup import cpu_of_children

    program = compiled()
    before = cpu_of_children()
    count = int(subprocess.check_output([program, base, key_file, "1", "2"], text=True))
    return (cpu_of_children() - before) / count


def main(name: str, count: int, base: str, key_id: str, key_file: str) -> None:
    """Sends that many requests, and prints the CPU seconds that they took."""
    from .signer import Signer
    from .wire import dicts, orders_of

    if name in PEERS:
        peer = PEERS[name](Signer(key_id, Path(key_file).read_text()))
        url = orders_of(base)

        def request() -> object:
            return dicts(peer.get(url))
    else:
        import boardlot as bl

        client = bl.Client(base, auth=bl.ApiKey(key_id, Path(key_file)))

        def request() -> object:
            return client.sim_orders("1")

    for _ in range(WARM_UP):
        request()
    start = time.process_time()
    for _ in range(count):
        request()
    print(time.process_time() - start)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
