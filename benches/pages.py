"""One response in memory to a list of dicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from . import data, hooks
from .harness import ROOT, Row, Settings, interleave, kept

VECTOR = ROOT / "tests" / "vectors" / "endpoints" / "ipo_list.json"


def rows(settings: Settings) -> list[Row]:
    hooks.require()
    plain = data.fills_page(data.fills_rows(1)[0], None)
    escaped = data.fills_page(data.fills_rows(1, ascii_only=True)[0], None)
    plate = [("plate_code", "HK.BK1001")]
    fills = ("d", "order_fills")
    listed = ("data", "list")
    return [
        page(settings, "Page of 50 fills", ("fills_history", hooks.FILLS, fills), plain, 1.49),
        page(
            settings,
            "Page of 50 orders",
            ("sim_orders", [("acc_id", "1")], ("data", "orders")),
            data.sim_orders(),
            1.52,
        ),
        page(
            settings,
            "Page of 20 IPOs",
            ("ipo_list", [("market", "hk")], listed),
            data.ipo_list(VECTOR),
            1.58,
        ),
        page(
            settings,
            "Page of 1,000 plate stocks",
            ("plate_stocks", plate, ("data", "stock_list")),
            data.plate_stocks(1_000),
            1.47,
        ),
        page(
            settings,
            "Page of 50 fills, \\uXXXX escapes",
            ("fills_history", hooks.FILLS, fills),
            escaped,
            1.44,
        ),
    ]


def page(
    settings: Settings,
    title: str,
    method: tuple[str, list[tuple[str, Any]], tuple[str, str]],
    body: bytes,
    dicts: float | None = None,
) -> Row:
    """The targets are relative to orjson; pages without a target are shown beside the others."""
    import msgspec
    import orjson

    name, arguments, place = method
    read = hooks.reader_of(name, arguments)
    decoder = msgspec.json.Decoder()

    def of(decode: Callable[[bytes], Any]) -> Callable[[], list]:
        outer, inner = place
        return lambda: decode(body)[outer][inner]

    contenders: dict[str, Callable[[], Any]] = {
        "boardlot": lambda: read(body),
        "orjson": of(orjson.loads),
        "msgspec": of(decoder.decode),
        "json": of(json.loads),
    }
    expected = contenders["json"]()
    for contender, work in contenders.items():
        if list(work()) != expected:
            raise RuntimeError(f"{contender} gives other rows")
    targets = [kept("boardlot", "orjson", dicts)] if dicts else []
    return Row(
        title,
        f"{len(body) / 1000:.1f} kB of JSON to dicts",
        "µs",
        interleave(contenders, settings.rounds, settings.pick(0.4, 0.08)),
        targets,
    )
