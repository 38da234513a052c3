"""Fills of many accounts as Parquet, by each engine: rows per second, requests and memory.

    make test-engines ARGS=--collect-only
    PYTHONPATH=python target/engines/venv/bin/python -m benches.scale

prints the table of docs/scale-out.md. Every engine runs in a process of its own; the sandbox is in
this one. Memory is the highest sum of what the processes of the engine have to themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import boardlot as bl
import psutil

# Of each account. The sandbox looks through all rows of a test for each page.
FILLS = 1_000
ENGINES = ["fetch_many", "polars", "dask", "ray", "spark"]


def fetch_many(client: bl.Client, asked: dict[str, Any], folder: Path) -> None:
    import pyarrow.parquet as pq

    accounts = asked.pop("acc_id")
    pq.write_table(
        client.fetch_many("fills_history", accounts, **asked).to_arrow(), folder / "fills.parquet"
    )


def polars(client: bl.Client, asked: dict[str, Any], folder: Path) -> None:
    import boardlot.polars

    boardlot.polars.scan(client, "fills_history", **asked).sink_parquet(folder / "fills.parquet")


def dask(client: bl.Client, asked: dict[str, Any], folder: Path) -> None:
    import boardlot.dask
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster):
        frame = boardlot.dask.from_range(client, "fills_history", npartitions=20, **asked)
        frame.to_parquet(folder)


def ray(client: bl.Client, asked: dict[str, Any], folder: Path) -> None:
    import boardlot.ray
    from ray import init, shutdown

    init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    boardlot.ray.read(client, "fills_history", partitions=20, **asked).write_parquet(str(folder))
    shutdown()


def spark(client: bl.Client, asked: dict[str, Any], folder: Path) -> None:
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


RUN: dict[str, Callable[[bl.Client, dict[str, Any], Path], None]] = {
    "fetch_many": fetch_many, "polars": polars, "dask": dask, "ray": ray, "spark": spark,
}  # fmt: skip


def memory(process: psutil.Process) -> int:
    """What the processes have to themselves, in bytes."""
    total = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            total += one.memory_full_info().uss
        except psutil.Error:
            continue
    return total


def measure(sandbox: bl.Sandbox, engine: str, job: dict[str, Any]) -> tuple[float, int, int]:
    """Seconds, requests and bytes of one engine."""
    import pyarrow.dataset as ds

    with tempfile.TemporaryDirectory() as folder:
        before, started, peak = len(sandbox.requests), time.monotonic(), 0
        command = [sys.executable, "-m", "benches.scale", "--engine", engine, "--folder", folder]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "RAY_DEDUP_LOGS": "0"}
        with subprocess.Popen(
            [*command, "--job", json.dumps(job)], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as child:  # fmt: skip
            process = psutil.Process(child.pid)
            while child.poll() is None:
                peak = max(peak, memory(process))
                time.sleep(0.1)
        seconds = time.monotonic() - started
        rows = ds.dataset(folder, format="parquet", exclude_invalid_files=True).count_rows()
        wanted = len(job["asked"]["acc_id"]) * FILLS
        assert (child.returncode, rows) == (0, wanted), (engine, child.returncode, rows)
        return seconds, len(sandbox.requests) - before, peak


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--engines", choices=ENGINES, nargs="+", default=ENGINES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--job", type=json.loads)
    parser.add_argument("--accounts", type=int, nargs="+", default=[10, 100])
    options = parser.parse_args()
    if options.engine:
        client = bl.Client(options.job["base_url"], auth=bl.ApiKey(*options.job["key"]))
        RUN[options.engine](client, options.job["asked"], options.folder)
        return
    key = bl.generate_key()
    with tempfile.TemporaryDirectory() as folder, bl.Sandbox(seed=7, fills=FILLS) as sandbox:
        path = Path(folder, "key.pem")
        path.touch(mode=0o600)
        path.write_text(key.private_pem)
        job = {"base_url": sandbox.base_url, "key": [sandbox.upload_key(key.public_pem), str(path)]}
        with sandbox.client() as client:
            end = client.server_time()
            asked = {"trd_market": "HK", "start": end - timedelta(days=90), "end": end}
            fills = client.fills_history(sandbox.accounts["trade"][0], **asked, windows=8)
            rows = fills.all().to_dicts()
        times = {name: asked[name].isoformat() for name in ("start", "end")}
        accounts = [f"9{number:05}" for number in range(max(options.accounts))]
        for account in accounts:
            sandbox.put("fills_history", rows, account=account)
        print("| Engine | Accounts | Seconds | Rows a second | Requests | Memory, MB |")
        print("|---|---|---|---|---|---|")
        for engine in options.engines:
            for count in options.accounts:
                job["asked"] = {**asked, **times, "acc_id": accounts[:count]}
                seconds, requests, peak = measure(sandbox, engine, job)
                print(
                    f"| `{engine}` | {count} | {seconds:.1f} | {count * len(rows) / seconds:,.0f} "
                    f"| {requests:,} | {peak / 1e6:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
