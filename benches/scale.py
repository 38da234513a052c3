"""Fills of many accounts as Parquet, by each engine: rows per second, requests and memory.

    make wheel && tools/nightly/engines --collect-only
    target/engines/venv/bin/pip install --no-deps dist/*.whl
    target/engines/venv/bin/python -m benches.scale

prints the table of docs/scale-out.md. Every engine runs in a process of its own; the sandbox is in
this process. Memory is the highest sum over the processes of an engine, where shared pages count
once. The seconds are those of the whole process: its imports and, if an engine has workers, their
start and end.

`make bench` has the short measurements: engines in one process, without its start.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import boardlot as bl

from .harness import Row, Settings, Target, in_processes

# Number of fills of each account.
FILLS = 10_000
Asked = dict[str, Any]
IN_ONE_PROCESS = ["fetch_many", "polars", "dask, threads"]
DASK = (
    "its scheduler may take as long as the work: for whom one process is enough there is fetch_many"
)


def rows(settings: Settings) -> list[Row]:
    fills = int(settings.pick(FILLS, FILLS // 10))
    return [
        row(settings, "parquet", 10, fills, "to Parquet"),
        row(settings, "frame", 50, fills // 5, "to pandas"),
    ]


def row(settings: Settings, function: str, accounts: int, fills: int, target: str) -> Row:
    engines = [engine for engine in IN_ONE_PROCESS if function == "parquet" or engine in FRAME]
    with service(accounts, fills) as (_, job):
        contenders = {engine: (function, {"engine": engine, "job": job}) for engine in engines}
        taken = in_processes("scale", contenders, int(settings.pick(settings.rounds, 3)))
    return Row(
        f"Fills of {accounts} accounts with {fills:,} each {target}",
        "from the sandbox, which checks each signature; in one process",
        "s",
        taken,
        [Target("dask, threads", ("fetch_many",), 0.5, reason=DASK)],
        ours="fetch_many",
    )


def parquet(engine: str, job: dict[str, Any]) -> Callable[[], None]:
    def write(job: dict[str, Any]) -> None:
        PARQUET[engine](client, dict(job["asked"]), Path(tempfile.mkdtemp(dir=job["folder"])))

    client = client_of(job)
    # A first run imports the modules that the engine needs.
    write(with_accounts(job, 1))
    return lambda: write(job)


def frame(engine: str, job: dict[str, Any]) -> Callable[[], object]:
    client = client_of(job)
    FRAME[engine](client, with_accounts(job, 1)["asked"])
    return lambda: FRAME[engine](client, dict(job["asked"]))


def fetch_many_to_pandas(client: bl.Client, asked: Asked) -> object:
    accounts = asked.pop("acc_id")
    return client.fetch_many("fills_history", accounts, **asked).to_pandas()


def dask_to_pandas(client: bl.Client, asked: Asked) -> object:
    import boardlot.dask

    return boardlot.dask.from_range(client, "fills_history", npartitions=20, **asked).compute()


def fetch_many(client: bl.Client, asked: Asked, folder: Path) -> None:
    import pyarrow.parquet as pq

    accounts = asked.pop("acc_id")
    pq.write_table(
        client.fetch_many("fills_history", accounts, **asked).to_arrow(), folder / "fills.parquet"
    )


def polars(client: bl.Client, asked: Asked, folder: Path) -> None:
    import boardlot.polars

    boardlot.polars.scan(client, "fills_history", **asked).sink_parquet(folder / "fills.parquet")


def dask(client: bl.Client, asked: Asked, folder: Path) -> None:
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster):
        dask_threads(client, asked, folder)


def dask_threads(client: bl.Client, asked: Asked, folder: Path) -> None:
    import boardlot.dask

    frame = boardlot.dask.from_range(client, "fills_history", npartitions=20, **asked)
    frame.to_parquet(folder)


def ray(client: bl.Client, asked: Asked, folder: Path) -> None:
    import boardlot.ray
    from ray import init, shutdown

    init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    boardlot.ray.read(client, "fills_history", partitions=20, **asked).write_parquet(str(folder))
    shutdown()


def spark(client: bl.Client, asked: Asked, folder: Path) -> None:
    import boardlot.spark
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    running = session.getOrCreate()
    running.dataSource.register(boardlot.spark.DataSource)
    asked["acc_id"] = json.dumps(asked["acc_id"])
    options = {name: str(value) for name, value in asked.items()}
    reader = running.read.format("boardlot").options(**boardlot.spark.options(client), **options)
    reader = reader.options(method="fills_history", partitions="20")
    reader.load().write.mode("overwrite").parquet(str(folder))
    running.stop()


PARQUET: dict[str, Callable[[bl.Client, Asked, Path], None]] = {
    "fetch_many": fetch_many,
    "polars": polars,
    "dask, threads": dask_threads,
    "dask, two workers": dask,
    "Ray": ray,
    "Spark": spark,
}
FRAME: dict[str, Callable[[bl.Client, Asked], object]] = {
    "fetch_many": fetch_many_to_pandas,
    "dask, threads": dask_to_pandas,
}


@contextmanager
def service(accounts: int, fills: int) -> Iterator[tuple[bl.Sandbox, dict[str, Any]]]:
    """Yields a sandbox, and the data that a child needs to fetch from it."""
    key = bl.generate_key()
    with tempfile.TemporaryDirectory() as folder, bl.Sandbox(seed=7, fills=fills) as sandbox:
        path = Path(folder, "key.pem")
        path.touch(mode=0o600)
        path.write_text(key.private_pem)
        with sandbox.client() as client:
            end = client.server_time()
            times = {"start": (end - timedelta(days=90)).isoformat(), "end": end.isoformat()}
            asked = {"trd_market": "HK", **times}
            one = client.fills_history(sandbox.accounts["trade"][0], **asked, windows=8)
            rows = one.all()
        names = [f"9{number:05}" for number in range(accounts)]
        for name in names:
            sandbox.put("fills_history", rows, account=name)
        yield (
            sandbox,
            {
                "base_url": sandbox.base_url,
                "key": [sandbox.upload_key(key.public_pem), str(path)],
                "asked": {**asked, "acc_id": names},
                "folder": folder,
            },
        )


def with_accounts(job: dict[str, Any], count: int) -> dict[str, Any]:
    """The job for the first accounts only."""
    return {**job, "asked": {**job["asked"], "acc_id": job["asked"]["acc_id"][:count]}}


def client_of(job: dict[str, Any]) -> bl.Client:
    return bl.Client(job["base_url"], auth=bl.ApiKey(*job["key"]))


def memory(process: Any) -> int:
    """The memory of the process and its children, in bytes."""
    import psutil

    total = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            total += one.memory_full_info().pss
        except psutil.Error:
            continue
    return total


def measure(
    sandbox: bl.Sandbox, engine: str, job: dict[str, Any], fills: int
) -> tuple[float, int, int]:
    """Seconds, requests and bytes of one engine."""
    import psutil
    import pyarrow.dataset as ds

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        before, started, peak = sandbox._request_count, time.monotonic(), 0
        command = [sys.executable, "-m", "benches.scale", "--engine", engine, "--folder", folder]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "RAY_DEDUP_LOGS": "0"}
        with subprocess.Popen(
            [*command, "--job", json.dumps(job)],
            env=environment, stdout=subprocess.DEVNULL, stderr=errors,
        ) as child:  # fmt: skip
            process = psutil.Process(child.pid)
            while child.poll() is None:
                peak = max(peak, memory(process))
                time.sleep(0.25)
        seconds = time.monotonic() - started
        if child.returncode:
            errors.seek(0)
            raise RuntimeError(f"{engine} failed:\n{errors.read()}")
        found = ds.dataset(folder, format="parquet", exclude_invalid_files=True).count_rows()
        wanted = len(job["asked"]["acc_id"]) * fills
        if found != wanted:
            raise RuntimeError(f"{engine} wrote {found} rows; expected {wanted}")
        return seconds, sandbox._request_count - before, peak


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=PARQUET, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--job", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--engines", choices=PARQUET, nargs="+", default=list(PARQUET))
    parser.add_argument("--accounts", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--fills", type=int, default=FILLS, help="of each account")
    options = parser.parse_args()
    if options.engine:
        PARQUET[options.engine](client_of(options.job), options.job["asked"], options.folder)
        return
    with service(max(options.accounts), options.fills) as (sandbox, job):
        print("| Engine | Accounts | Seconds | Rows a second | Requests | Memory, MB |")
        print("|---|---:|---:|---:|---:|---:|")
        for engine in options.engines:
            for count in options.accounts:
                seconds, requests, peak = measure(
                    sandbox, engine, with_accounts(job, count), options.fills
                )
                print(
                    f"| {engine} | {count} | {seconds:.1f} "
                    f"| {count * options.fills / seconds:,.0f} "
                    f"| {requests:,} | {peak / 1e6:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
