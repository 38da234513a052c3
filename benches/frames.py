"""Pages of 50 fills in memory to typed frames of pandas, polars and Arrow.

Each contender runs in a process of its own, which reads the pages before its memory is watched. The
other libraries are measured in the usual way, a frame of all dicts, and in the best way, column by
column.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import data, hooks
from .harness import Limit, Row, Settings, Target, in_processes, kept

DECIMALS = ["qty", "price"]
TIMES = ["create_time", "updated_time"]
COLUMNS = [
    "trd_side", "deal_id", "order_id", "code", "stock_name", "qty", "price", "create_time",
    "updated_time", "counter_broker_id", "counter_broker_name", "status",
]  # fmt: skip
INTEGERS = [*TIMES, "counter_broker_id"]


PEER_PANDAS = {
    "orjson + pandas": "orjson_pandas",
    "orjson + pandas, gc off": "orjson_pandas_without_gc",
    "orjson, by columns": "orjson_columns",
    "msgspec, by columns": "msgspec_columns",
    "orjson + pyarrow, in batches": "orjson_batches",
    "pyarrow.json": "pyarrow_json",
}
PEER_POLARS = {
    "orjson + polars": "orjson_polars",
    "msgspec, by columns": "msgspec_polars",
    "polars.read_ndjson": "polars_ndjson",
}
PEER_ARROW = {
    "orjson + pyarrow, in batches": "orjson_arrow",
    "msgspec, by columns": "msgspec_arrow",
    "pyarrow.json": "pyarrow_json_arrow",
}
NOTES = [
    "Typed means: prices and quantities are floats, times are UTC timestamps of microseconds.",
    "By columns: a list for each field is filled page by page, so that no dict or struct lives "
    "longer than its page; the garbage collector is off.",
    "pyarrow.json and polars.read_ndjson read all pages joined to one text, with a thread for each "
    "core, which a client that fetches page after page can do only at the end.",
    "windows=8: the same number of fills, of eight windows of the time range.",
]
HALVES = "half of it finds values in 304 MB of JSON, half makes columns; lever: the scanner"
WINDOWS = 8
BY_WINDOWS = f"boardlot, windows={WINDOWS}"
CORES = "pages of different windows are parsed on different cores"


def rows(settings: Settings) -> list[Row]:
    hooks.require()
    count = int(settings.pick(1_000_000, 50_000))
    with tempfile.TemporaryDirectory() as folder:
        path, windows = Path(folder) / "fills.jsonl", Path(folder) / "windows.jsonl"
        data.write_pages(path, data.fills_pages(count))
        data.write_pages(windows, pages_of_windows(count))

        def row(
            kind: str, ours: str, peers: dict[str, str], targets: Sequence[Target | Limit]
        ) -> Row:
            contenders: dict[str, tuple[str, dict[str, Any]]] = {
                name: (work, {"path": str(path)}) for name, work in peers.items()
            }
            own = {
                "boardlot": (ours, {"path": str(path)}),
                BY_WINDOWS: (ours, {"path": str(windows), "windows": WINDOWS}),
            }
            taken = in_processes("frames", own | contenders, settings.rounds)
            return Row(
                f"{count:,} fills to a typed {kind}",
                "pages of 50 in memory; peak memory is the growth over them",
                "s",
                taken,
                targets,
                NOTES,
            )

        pandas = [
            kept("boardlot", "orjson + pandas", 13.13),
            kept("boardlot", "orjson + pandas", 8.31, "peak"),
            kept("boardlot", "pyarrow.json", 2.34),
            Target(BY_WINDOWS, ("pyarrow.json",), 2.8, reason=CORES),
            Target("boardlot", ("pyarrow.json",), 5.0, "cpu", HALVES),
            Limit("boardlot", 1.3 * 175e6, "peak", "1.3 times the frame, which has 175 MB"),
        ]
        polars = [
            kept("boardlot", "polars.read_ndjson", 4.14),
            Target(BY_WINDOWS, ("polars.read_ndjson",), 4.2, reason=CORES),
            Target("boardlot", ("polars.read_ndjson",), 5.0, "cpu", HALVES),
            kept("boardlot", "msgspec, by columns", 4.40, "peak"),
        ]
        arrow = [
            kept("boardlot", "pyarrow.json", 2.71),
            Target(BY_WINDOWS, ("pyarrow.json",), 3.5, reason=CORES),
            Target("boardlot", ("pyarrow.json",), 5.0, "cpu", HALVES),
            Limit("boardlot", 1.1 * 147e6, "peak", "1.1 times the table, which has 147 MB"),
        ]
        return [
            row("pandas frame", "boardlot_pandas", PEER_PANDAS, pandas),
            row("polars frame", "boardlot_polars", PEER_POLARS, polars),
            row("Arrow table", "boardlot_arrow", PEER_ARROW, arrow),
        ]


def warmed(path: str, work: Callable[[list[bytes]], object]) -> Callable[[], object]:
    """The work on the pages of that file; it is done once on two pages, so that all modules are
    imported."""
    pages = data.read_pages(path)
    work([data.fills_page(rows, None) for rows in data.fills_rows(2)])
    return lambda: work(pages)


def pages_of_windows(count: int) -> Iterator[bytes]:
    return data.fills_of_windows(count, WINDOWS, hooks.START, hooks.END)


def boardlot(path: str, windows: int, work: Callable[[Any], object]) -> Callable[[], object]:
    pages = data.read_pages(path)
    few = list(pages_of_windows(WINDOWS * data.PAGE_ROWS))
    work(hooks.pager_of(few, windows=WINDOWS))
    return lambda: work(hooks.pager_of(pages, windows=windows))


def boardlot_pandas(path: str, windows: int = 1) -> Callable[[], object]:
    return boardlot(path, windows, lambda pager: pager.to_pandas())


def boardlot_polars(path: str, windows: int = 1) -> Callable[[], object]:
    return boardlot(path, windows, lambda pager: pager.to_polars())


def boardlot_arrow(path: str, windows: int = 1) -> Callable[[], object]:
    return boardlot(path, windows, lambda pager: pager.to_arrow())


def without_gc(work: Callable[..., object]) -> Callable[..., object]:
    """The work with the garbage collector off, as users do it who know that it visits every new
    object."""

    def run(*arguments: object) -> object:
        gc.disable()
        try:
            return work(*arguments)
        finally:
            gc.enable()

    return run


def orjson_pandas(path: str) -> Callable[[], object]:
    return warmed(path, frame_of_dicts)


def orjson_pandas_without_gc(path: str) -> Callable[[], object]:
    return warmed(path, without_gc(frame_of_dicts))


def frame_of_dicts(pages: list[bytes]) -> object:
    import orjson
    import pandas as pd

    rows = []
    for page in pages:
        rows.extend(orjson.loads(page)["d"]["order_fills"])
    return typed(pd.DataFrame(rows, columns=COLUMNS))


def typed(frame):
    """Gives a pandas frame of the service's own values the types that boardlot returns."""
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


Columns = dict[str, list]


def orjson_lists(pages: list[bytes]) -> Columns:
    """A list for each field, by orjson; decimal texts become floats at once."""
    import orjson

    columns: Columns = {name: [] for name in COLUMNS}
    for page in pages:
        rows = orjson.loads(page)["d"]["order_fills"]
        for name, values in columns.items():
            if name in DECIMALS:
                values.extend([float(row[name]) for row in rows])
            else:
                values.extend([row[name] for row in rows])
    return columns


def msgspec_decoder(*others: tuple[str, type]) -> Callable[[bytes], Any]:
    """Returns a decoder of pages, with `others` of their members, by msgspec: structs are not
    garbage collected, and msgspec reads the decimals itself.
    """
    import msgspec

    types = {name: int if name in INTEGERS else float for name in [*INTEGERS, *DECIMALS]}
    fields = [(name, types.get(name, str)) for name in COLUMNS]
    fill = msgspec.defstruct("Fill", fields, gc=False)
    fills = msgspec.defstruct("Fills", [("order_fills", list[fill]), *others], gc=False)
    response = msgspec.defstruct("Response", [("d", fills)], gc=False)
    # The decoder is not strict: a float may be sent as a text.
    decode = msgspec.json.Decoder(response, strict=False).decode
    return lambda page: decode(page).d


def msgspec_lists(fills: Iterable[Any]) -> Columns:
    """A list for each field, of pages decoded by msgspec."""
    from operator import attrgetter

    columns: Columns = {name: [] for name in COLUMNS}
    takers = [(columns[name].extend, attrgetter(name)) for name in COLUMNS]
    for page in fills:
        for extend, get in takers:
            extend(map(get, page.order_fills))
    return columns


def msgspec_columns_of(pages: list[bytes]) -> Columns:
    return msgspec_lists(map(msgspec_decoder(), pages))


def pandas_of(columns: Columns) -> object:
    import numpy as np
    import pandas as pd

    arrays = {
        name: np.array(values, "int64" if name in INTEGERS else "float64")
        if name in INTEGERS or name in DECIMALS
        else values
        for name, values in columns.items()
    }
    frame = pd.DataFrame(arrays, copy=False)
    for name in TIMES:
        frame[name] = pd.to_datetime(frame[name], unit="us", utc=True)
    return frame


def polars_of(columns: Columns) -> object:
    import polars as pl

    types = dict.fromkeys(INTEGERS, pl.Int64) | dict.fromkeys(DECIMALS, pl.Float64)
    frame = pl.DataFrame(columns, schema={name: types.get(name, pl.String) for name in COLUMNS})
    return frame.with_columns(pl.col(TIMES).cast(pl.Datetime("us", "UTC")))


def arrow_of(columns: Columns) -> object:
    import pyarrow as pa

    return pa.table({name: pa.array(columns[name], type_of(name)) for name in COLUMNS})


def type_of(name: str) -> object:
    import pyarrow as pa

    if name in TIMES:
        return pa.timestamp("us", "UTC")
    if name in DECIMALS:
        return pa.float64()
    return pa.int64() if name in INTEGERS else pa.string()


def orjson_columns(path: str) -> Callable[[], object]:
    return warmed(path, without_gc(lambda pages: pandas_of(orjson_lists(pages))))


def msgspec_columns(path: str) -> Callable[[], object]:
    return warmed(path, without_gc(lambda pages: pandas_of(msgspec_columns_of(pages))))


def msgspec_polars(path: str) -> Callable[[], object]:
    return warmed(path, without_gc(lambda pages: polars_of(msgspec_columns_of(pages))))


def msgspec_arrow(path: str) -> Callable[[], object]:
    return warmed(path, without_gc(lambda pages: arrow_of(msgspec_columns_of(pages))))


def arrow_batches(pages: list[bytes]) -> object:
    """A table of batches of 200 pages, so that few dicts live at a time."""
    import orjson
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.schema([(name, pa.int64() if name in INTEGERS else pa.string()) for name in COLUMNS])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(pages), 200):
            rows = []
            for page in pages[start : start + 200]:
                rows.extend(orjson.loads(page)["d"]["order_fills"])
            yield pa.RecordBatch.from_pylist(rows, texts)

    table = pa.Table.from_batches(batches(), texts)
    return pa.table({name: pc.cast(table[name], type_of(name)) for name in COLUMNS})


def orjson_arrow(path: str) -> Callable[[], object]:
    return warmed(path, without_gc(arrow_batches))


def orjson_batches(path: str) -> Callable[[], object]:
    return warmed(path, without_gc(lambda pages: arrow_batches(pages).to_pandas()))


def polars_ndjson(path: str) -> Callable[[], object]:
    import polars as pl

    fill = pl.Struct({name: pl.Int64 if name in INTEGERS else pl.String for name in COLUMNS})
    schema = {"d": pl.Struct({"order_fills": pl.List(fill)})}

    def work(pages: list[bytes]) -> object:
        whole = pl.read_ndjson(b"\n".join(pages), schema=schema)
        fills = whole.select(pl.col("d").struct.field("order_fills")).explode("order_fills")
        return fills.unnest("order_fills").with_columns(
            pl.col(DECIMALS).cast(pl.Float64), pl.col(TIMES).cast(pl.Datetime("us", "UTC"))
        )

    return warmed(path, work)


def pyarrow_json(path: str) -> Callable[[], object]:
    return warmed(path, lambda pages: pyarrow_table(pages).to_pandas())


def pyarrow_json_arrow(path: str) -> Callable[[], object]:
    return warmed(path, pyarrow_table)


def pyarrow_table(pages: list[bytes]) -> object:
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
    whole = json.read_json(io.BytesIO(b"\n".join(pages)), read_options=read, parse_options=parse)
    lists = pc.struct_field(whole["d"], "order_fills")
    rows = pa.Table.from_struct_array(pc.list_flatten(lists))
    return pa.table({name: pc.cast(rows[name], type_of(name)) for name in COLUMNS})
