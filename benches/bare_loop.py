"""The share of a request that is reqwest, the signature and the scan alone.

`inner/bare_loop.rs` does these three in a loop, without a client around them and without Python,
against the server of fixed pages. The loop takes turns with boardlot; the medians of the rounds are
printed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import run, server
from .startup import cpu_of_children

SECONDS = 2.0
ROUNDS = 7
INNER = Path(__file__).parent / "inner" / "Cargo.toml"


def main() -> int:
    if "--inside" in sys.argv:
        measure()
        return 0
    wheel = run.newest_wheel()
    if wheel is None:
        sys.exit("there is no wheel in dist/: run `make wheel` first")
    command = [str(run.installed(wheel)), "-m", "benches.bare_loop", "--inside"]
    return subprocess.call(command, cwd=run.ROOT)


def measure() -> None:
    # boardlot is not installed outside the venv of the benchmarks.
    import boardlot as bl

    from .wire import SIDE_BY_SIDE, timed

    program = compiled()
    pem = bl.generate_key().private_pem

    def bare(tasks: int) -> int:
        command = [program, base, key_file.name, str(tasks), str(SECONDS)]
        return int(subprocess.check_output(command, text=True))

    with (
        tempfile.NamedTemporaryFile("w", suffix=".pem") as key_file,
        server.fixed_pages() as base,
        bl.Client(base, auth=bl.ApiKey("key-id", pem)) as client,
        ThreadPoolExecutor(SIDE_BY_SIDE) as pool,
    ):
        key_file.write(pem)
        key_file.flush()
        requests = timed(lambda: client.sim_orders("1"), SECONDS)

        def call(_: int) -> int:
            return requests()

        contenders: dict[str, Callable[[], int]] = {
            "bare loop, one after another": lambda: bare(1),
            "boardlot, one after another": requests,
            "bare loop, 32 tasks": lambda: bare(SIDE_BY_SIDE),
            "boardlot, 32 threads": lambda: sum(pool.map(call, range(SIDE_BY_SIDE))),
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for _ in range(ROUNDS):
            for name, work in contenders.items():
                before = cpu()
                count = work()
                taken[name].append((count / SECONDS, (cpu() - before) / count * 1e6))
    for name, rounds in taken.items():
        rates, costs = zip(*rounds, strict=True)
        rate, cost = statistics.median(rates), statistics.median(costs)
        print(f"{name:30} {rate:9,.0f} requests/s {cost:6.1f} µs of CPU for each")


def compiled() -> str:
    """Compiles the loop in Rust, and returns the path of the program."""
    command = ["cargo", "bench", "--locked", "--manifest-path", str(INNER)]
    command += ["--target-dir", "target"]
    command += ["--bench", "bare_loop", "--no-run", "--message-format=json"]
    messages = map(json.loads, subprocess.check_output(command, text=True).splitlines())
    programs = [message["executable"] for message in messages if message.get("executable")]
    return programs[-1]


def cpu() -> float:
    """The CPU seconds of this process and of its ended children."""
    return time.process_time() + cpu_of_children()


if __name__ == "__main__":
    sys.exit(main())
