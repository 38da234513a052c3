"""Iterating over a million rows whose three fields are read, selected or typed, and keeping them
all.

Each contender runs in a process of its own, which reads the pages before its memory is watched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from . import data, hooks
from .frames import without_gc
from .harness import Limit, Row, Settings, Target, in_processes, kept

BOARDLOT_ROWS = (
    "boardlot",
    "boardlot, .select",
    "boardlot, NamedTuple",
    "boardlot, dataclass",
    "boardlot, msgspec.Struct",
)
OBJECTS = "CPython's own objects are 500 of its 700 ns a row"
KEPT_DICTS = "rows that are kept are dicts, as the peer's are: they cost what dicts cost"
IN_USE = "one page and one that is prefetched are held, however long the list is"


def rows(settings: Settings) -> list[Row]:
    hooks.require()
    count = int(settings.pick(1_000_000, 50_000))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fills.jsonl"
        data.write_pages(path, data.fills_pages(count))
        read, keeping, typed = (
            in_processes(
                "rows",
                {name: (function, {"path": str(path)}) for name, function in contenders.items()},
                settings.rounds,
            )
            for contenders in (
                {
                    "boardlot": "read_boardlot",
                    "boardlot, .select": "read_selected",
                    "boardlot, NamedTuple": "read_named_tuples",
                    "boardlot, dataclass": "read_dataclasses",
                    "boardlot, msgspec.Struct": "read_own_structs",
                    "orjson": "read_orjson",
                    "orjson, gc off": "read_orjson_without_gc",
                    "msgspec": "read_msgspec",
                    "msgspec, three fields": "read_msgspec_three",
                    "msgspec, three fields, gc off": "read_msgspec_three_without_gc",
                },
                {name: f"keep_{name}" for name in ("boardlot", "orjson", "msgspec")},
                {
                    "boardlot, Decimal": "type_decimals",
                    "boardlot, float": "type_floats",
                    "boardlot, to_dicts(typed=True)": "type_dicts",
                    "boardlot, all fields": "type_all_fields",
                    "orjson, Decimal": "convert_decimals",
                    "orjson, float": "convert_floats",
                    "orjson, dicts": "convert_dicts",
                    "orjson, all fields": "convert_all_fields",
                },
            )
        )
    return [
        Row(
            f"Iterating {count:,} rows",
            "three fields of each read; peak memory is the growth over the pages",
            "s",
            read,
            [
                Target("boardlot", ("orjson",), 1.15, reason=OBJECTS),
                kept("boardlot, .select", "orjson", 2.17),
                kept("boardlot, NamedTuple", "orjson", 2.21),
                kept("boardlot, dataclass", "orjson", 2.31),
                kept("boardlot, msgspec.Struct", "orjson", 2.51),
                kept(
                    "boardlot, msgspec.Struct",
                    ("msgspec, three fields", "msgspec, three fields, gc off"),
                    0.97,
                ),
                *(Limit(name, 20e6, "peak", IN_USE) for name in BOARDLOT_ROWS),
            ],
            [
                "msgspec decodes to structs of all fields, or of the three; orjson gives dicts.",
                "The dataclass is frozen and has slots.",
            ],
        ),
        Row(
            f"Typing {count:,} rows",
            "code, price and aware datetime of each; or all twelve fields",
            "s",
            typed,
            [
                kept("boardlot, Decimal", "orjson, Decimal", 3.27),
                kept("boardlot, float", "orjson, float", 4.25),
                kept("boardlot, to_dicts(typed=True)", "orjson, dicts", 2.96),
                kept("boardlot, all fields", "orjson, all fields", 2.44),
            ],
            [
                "After orjson come Python's own conversions, in a loop over the rows.",
                "Of all fields, two become a Decimal and two a datetime.",
            ],
            ours="boardlot, Decimal",
        ),
        Row(
            f"Keeping {count:,} rows",
            "all rows kept, three fields of each read",
            "s",
            keeping,
            [
                Target("boardlot", ("orjson",), 1.0, reason=KEPT_DICTS),
                Target("boardlot", ("orjson",), 1.0, "peak", KEPT_DICTS),
            ],
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
    fills = msgspec.defstruct("Fills", [("order_fills", list[fill])])
    return msgspec.json.Decoder(msgspec.defstruct("Response", [("d", fills)]))


def read_boardlot(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: read_dicts(hooks.pager_of(pages))


def read_orjson(path: str) -> Callable[[], object]:
    import orjson

    pages = data.read_pages(path)
    return lambda: sum(read_dicts(orjson.loads(page)["d"]["order_fills"]) for page in pages)


def read_orjson_without_gc(path: str) -> Callable[[], object]:
    return without_gc(read_orjson(path))


def read_msgspec_three_without_gc(path: str) -> Callable[[], object]:
    return without_gc(read_msgspec_three(path))


def read_msgspec(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    decode = decoder().decode
    return lambda: sum(read_structs(decode(page).d.order_fills) for page in pages)


class Fill(NamedTuple):
    code: str
    price: str
    updated_time: int


@dataclass(frozen=True, slots=True)
class SlotsFill:
    code: str
    price: str
    updated_time: int


class DecimalFill(NamedTuple):
    code: str
    price: Decimal
    updated_time: datetime


class FloatFill(NamedTuple):
    code: str
    price: float
    updated_time: datetime


def read_selected(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    fields = ("code", "price", "updated_time")
    return lambda: read_dicts(hooks.pager_of(pages).select(*fields))


def read_named_tuples(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: read_structs(hooks.pager_of(pages).as_type(Fill))


def read_dataclasses(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: read_structs(hooks.pager_of(pages).as_type(SlotsFill))


def three_fields() -> Any:
    import msgspec

    fields = [("code", str), ("price", str), ("updated_time", int)]
    return msgspec.defstruct("Fill", fields, gc=False)


def read_own_structs(path: str) -> Callable[[], object]:
    pages, fill = data.read_pages(path), three_fields()
    return lambda: read_structs(hooks.pager_of(pages).as_type(fill))


def read_msgspec_three(path: str) -> Callable[[], object]:
    import msgspec

    pages = data.read_pages(path)
    fills = msgspec.defstruct("Fills", [("order_fills", list[three_fields()])])
    decode = msgspec.json.Decoder(msgspec.defstruct("Response", [("d", fills)])).decode
    return lambda: sum(read_structs(decode(page).d.order_fills) for page in pages)


def count_typed(rows: Iterable[Any]) -> int:
    return sum(row.updated_time.day + (row.price > 0) for row in rows)


def type_decimals(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: count_typed(hooks.pager_of(pages).as_type(DecimalFill))


def type_floats(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: count_typed(hooks.pager_of(pages).as_type(FloatFill))


def type_dicts(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)

    def work() -> object:
        selected = hooks.pager_of(pages).select("code", "price", "updated_time")
        return sum(len(page.to_dicts(typed=True)) for page in selected.pages())

    return work


def type_all_fields(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: sum(len(page.to_dicts(typed=True)) for page in hooks.pager_of(pages).pages())


def converted(pages: list[bytes], number: type[Any]) -> Iterator[Any]:
    import orjson

    row_type = DecimalFill if number is Decimal else FloatFill
    for page in pages:
        for row in orjson.loads(page)["d"]["order_fills"]:
            time = datetime.fromtimestamp(row["updated_time"] / 1e6, timezone.utc)
            yield row_type(row["code"], number(row["price"]), time)


def convert_decimals(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: count_typed(converted(pages, Decimal))


def convert_floats(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)
    return lambda: count_typed(converted(pages, float))


def convert_dicts(path: str) -> Callable[[], object]:
    import orjson

    pages = data.read_pages(path)

    def work() -> object:
        count = 0
        for page in pages:
            rows = [
                {
                    "code": row["code"],
                    "price": Decimal(row["price"]),
                    "updated_time": datetime.fromtimestamp(row["updated_time"] / 1e6, timezone.utc),
                }
                for row in orjson.loads(page)["d"]["order_fills"]
            ]
            count += len(rows)
        return count

    return work


def convert_all_fields(path: str) -> Callable[[], object]:
    import orjson

    pages = data.read_pages(path)

    def work() -> object:
        count = 0
        for page in pages:
            rows = orjson.loads(page)["d"]["order_fills"]
            for row in rows:
                for name in ("qty", "price"):
                    row[name] = Decimal(row[name])
                for name in ("create_time", "updated_time"):
                    row[name] = datetime.fromtimestamp(row[name] / 1e6, timezone.utc)
            count += len(rows)
        return count

    return work


def keep_boardlot(path: str) -> Callable[[], object]:
    pages = data.read_pages(path)

    def work() -> object:
        records = hooks.pager_of(pages, copied=True).all()
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
