"""Iterating a million rows with three fields read, and keeping them all.

Each contender in a process of its own, which reads the pages before its memory is watched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from . import data, hooks
from .harness import Limit, Row, Settings, Target, in_processes


def rows(settings: Settings) -> list[Row]:
    hooks.require()
    count = int(settings.pick(1_000_000, 50_000))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fills.jsonl"
        data.write_pages(path, count)
        read, kept = (
            in_processes(
                "rows",
                {
                    name: (f"{work}_{name}", {"path": str(path)})
                    for name in ("boardlot", "orjson", "msgspec")
                },
                settings.rounds,
            )
            for work in ("read", "keep")
        )
    return [
        Row(
            f"Iterating {count:,} rows",
            "three fields of each read; peak memory is the growth over the pages",
            "s",
            read,
            [Target("boardlot", ("orjson",), 1.8), Limit("boardlot", 20e6, "peak")],
            ["msgspec decodes to its own structs, the others give dicts."],
        ),
        Row(
            f"Keeping {count:,} rows",
            "all rows kept, three fields of each read",
            "s",
            kept,
            [Target("boardlot", ("orjson",), 3.0, "peak")],
        ),
    ]


def read_dicts(rows: Iterable[Any]) -> int:
    total = 0
    for row in rows:
        total += len(row["code"]) + len(row["price"]) + (row["updated_time"] & 1)
    return total


def read_structs(rows: Iterable[Any]) -> int:
    total = 0
    for row in rows:
        total += len(row.code) + len(row.price) + (row.updated_time & 1)
    return total


def decoder() -> Any:
    import msgspec

    texts = ["trd_side", "deal_id", "order_id", "code", "stock_name", "qty", "price"]
    fields = [
        *((name, str) for name in texts),
        ("create_time", int),
        ("updated_time", int),
        ("counter_broker_id", int),
        ("counter_broker_name", str),
        ("status", str),
    ]
    fill = msgspec.defstruct("Fill", fields, gc=False)
    deals = msgspec.defstruct("Deals", [("order_fills", list[fill])])
    return msgspec.json.Decoder(msgspec.defstruct("Answer", [("d", deals)]))


def read_boardlot(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: read_dicts(hooks.pager_of(pages))


def read_orjson(path: str) -> Callable[[], object]:
    import orjson

    pages = data.read_pages(path)
    return lambda: sum(read_dicts(orjson.loads(page)["d"]["order_fills"]) for page in pages)


def read_msgspec(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    decode = decoder().decode
    return lambda: sum(read_structs(decode(page).d.order_fills) for page in pages)


def keep_boardlot(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)

    def work() -> object:
        records = hooks.pager_of(pages).all()
        read_dicts(records)
        return records

    return work


def keep_orjson(path: str) -> Callable[[], object]:
    import orjson

    pages = data.read_pages(path)

    def work() -> object:
        rows = []
        for page in pages:
            rows.extend(orjson.loads(page)["d"]["order_fills"])
        read_dicts(rows)
        return rows

    return work


def keep_msgspec(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    decode = decoder().decode

    def work() -> object:
        rows = []
        for page in pages:
            rows.extend(decode(page).d.order_fills)
        read_structs(rows)
        return rows

    return work
