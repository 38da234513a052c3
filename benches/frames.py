"""Pages of 50 fills in memory to a typed pandas frame: floats and UTC timestamps.

Each contender in a process of its own, which reads the pages before its memory is watched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from . import data, hooks
from .harness import Row, Settings, Target, in_processes

DECIMALS = ["qty", "price"]
TIMES = ["create_time", "updated_time"]
COLUMNS = [
    "trd_side", "deal_id", "order_id", "code", "stock_name", "qty", "price", "create_time",
    "updated_time", "counter_broker_id", "counter_broker_name", "status",
]  # fmt: skip
INTEGERS = [*TIMES, "counter_broker_id"]


def rows(settings: Settings) -> list[Row]:
    hooks.require()
    count = int(settings.pick(1_000_000, 50_000))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fills.jsonl"
        data.write_pages(path, count)
        taken = in_processes(
            "frames",
            {
                name: (function, {"path": str(path)})
                for name, function in {
                    "boardlot": "boardlot_pandas",
                    "orjson + pandas": "orjson_pandas",
                    "orjson + polars": "orjson_polars",
                    "pyarrow.json": "pyarrow_json",
                }.items()
            },
            settings.rounds,
        )
    return [
        Row(
            f"{count:,} fills to a typed pandas frame",
            "pages of 50 in memory; peak memory is the growth over them",
            "s",
            taken,
            [
                Target("boardlot", ("orjson + pandas",), 11.0),
                Target("boardlot", ("orjson + pandas",), 6.0, "peak"),
                Target("boardlot", ("pyarrow.json",), 2.7),
            ],
            ["pyarrow.json reads all pages joined to one text, with a thread for each core."],
        )
    ]


def warmed(path: str, work: Callable[[list[bytes]], object]) -> Callable[[], object]:
    """The work on the pages of that file, done once on two pages so that all is imported."""
    pages = data.read_pages(path)
    work([data.fills_page(rows, None) for rows in data.fills_rows(2)])
    return lambda: work(pages)


def boardlot_pandas(path: str) -> Callable[[], object]:
    return warmed(path, lambda pages: hooks.pager_of(pages).to_pandas())


def orjson_pandas(path: str) -> Callable[[], object]:
    import orjson
    import pandas as pd

    def work(pages: list[bytes]) -> pd.DataFrame:
        rows = []
        for page in pages:
            rows.extend(orjson.loads(page)["d"]["order_fills"])
        return typed(pd.DataFrame(rows, columns=COLUMNS))

    return warmed(path, work)


def typed(frame):
    """The types that boardlot returns, in a pandas frame of the service's own values."""
    import pandas as pd

    for name in DECIMALS:
        frame[name] = frame[name].astype("float64")
    for name in TIMES:
        frame[name] = pd.to_datetime(frame[name], unit="us", utc=True)
    return frame


def orjson_polars(path: str) -> Callable[[], object]:
    import orjson
    import polars as pl

    schema = {name: pl.Int64 if name in INTEGERS else pl.String for name in COLUMNS}

    def work(pages: list[bytes]) -> object:
        rows = []
        for page in pages:
            rows.extend(orjson.loads(page)["d"]["order_fills"])
        frame = pl.DataFrame(rows, schema=schema).with_columns(
            pl.col(DECIMALS).cast(pl.Float64), pl.from_epoch(pl.col(TIMES), "us")
        )
        return frame.with_columns(pl.col(TIMES).dt.replace_time_zone("UTC"))

    return warmed(path, work)


def pyarrow_json(path: str) -> Callable[[], object]:
    import io

    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import json

    fields = [pa.field(name, pa.int64() if name in INTEGERS else pa.string()) for name in COLUMNS]
    response = pa.struct([pa.field("order_fills", pa.list_(pa.struct(fields)))])
    parse = json.ParseOptions(
        explicit_schema=pa.schema([pa.field("d", response)]), unexpected_field_behavior="ignore"
    )
    read = json.ReadOptions(block_size=8 << 20)

    def work(pages: list[bytes]) -> object:
        whole = io.BytesIO(b"\n".join(pages))
        table = json.read_json(whole, read_options=read, parse_options=parse)
        lists = pc.struct_field(table["d"], "order_fills")
        rows = pa.Table.from_struct_array(pc.list_flatten(lists))
        for name in DECIMALS:
            at = COLUMNS.index(name)
            rows = rows.set_column(at, name, pc.cast(rows[name], pa.float64()))
        for name in TIMES:
            at = COLUMNS.index(name)
            rows = rows.set_column(at, name, pc.cast(rows[name], pa.timestamp("us", "UTC")))
        return rows.to_pandas()

    return warmed(path, work)
