"""Pages like those of the service, invented and always the same."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

Row = dict[str, object]

BROKERS = [
    (1053, "Harbour Securities"),
    (1127, "Lion Rock Brokerage"),
    (2207, "Pearl River Capital"),
    (2841, "Peak Securities"),
    (4090, "Hudson Execution Services"),
    (6998, "Straits Brokers"),
]
NAMES = [
    "TENCENT",
    "HSBC HOLDINGS",
    "AIA",
    "MEITUAN-W",
    "CKH HOLDINGS",
    "XIAOMI-W",
    "港交所",
    "中国移动",
]
FIRST_MICROS = 1_787_000_000_000_000
PAGE_ROWS = 50
# Number of different pages; longer lists repeat them, each page with a cursor of its own.
PAGES_APART = 400
FILLS_HEAD = b'{"s":"ok","d":{"order_fills":'
UPDATED = re.compile(rb'"updated_time":\d+')


def dumps(value: object, *, ascii_only: bool = False) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":")).encode()


def fills(count: int, seed: int = 7) -> list[Row]:
    """Historical fills, the latest first."""
    draw = random.Random(seed)
    rows: list[Row] = []
    time = FIRST_MICROS
    for place in range(count):
        time -= draw.randrange(1, 900_000_000)
        stock = draw.randrange(36)
        broker_id, broker = draw.choice(BROKERS)
        rows.append(
            {
                "trd_side": draw.choice(["BUY", "SELL"]),
                "deal_id": str(7_400_001_000_000_000_000 - place * 7),
                "order_id": str(6_200_001_000_000_000_000 - place // 3),
                "code": f"HK.{stock * 61 + 1:05}",
                "stock_name": NAMES[stock % len(NAMES)],
                "qty": str(100 * draw.randrange(1, 40)),
                "price": f"{draw.randrange(100, 60_000) / 100:.2f}",
                "create_time": time - draw.randrange(1_500_000),
                "updated_time": time,
                "counter_broker_id": broker_id,
                "counter_broker_name": broker,
                "status": "OK" if draw.randrange(400) else "CANCELLED",
            }
        )
    return rows


def fills_rows(pages: int = PAGES_APART, *, ascii_only: bool = False) -> list[bytes]:
    """The list of each page, as JSON."""
    rows = fills(pages * PAGE_ROWS)
    if ascii_only:
        # Written as by servers that escape everything; this concerns three texts of a record.
        for row in rows:
            row["stock_name"] = "腾讯控股有限公司"
            row["counter_broker_name"] = "港联证券 Securities"
    starts = range(0, len(rows), PAGE_ROWS)
    return [dumps(rows[at : at + PAGE_ROWS], ascii_only=ascii_only) for at in starts]


def fills_page(rows: bytes, following: int | None) -> bytes:
    """A whole response: the rows and the cursor after them, or the end."""
    if following is None:
        return FILLS_HEAD + rows + b',"page_flag":"","completed":true}}'
    return FILLS_HEAD + rows + b',"page_flag":"%d","completed":false}}' % following


def fills_pages(count: int) -> Iterator[bytes]:
    """Yields the pages that contain this many fills."""
    apart = fills_rows()
    pages = -(-count // PAGE_ROWS)
    for page in range(pages):
        yield fills_page(apart[page % len(apart)], page + 1 if page + 1 < pages else None)


def fills_of_windows(count: int, windows: int, start: int, end: int) -> Iterator[bytes]:
    """Yields the pages of this many windows of a time range, the latest first, with the same number
    of pages in each."""
    for window in range(windows):
        middle = end - (end - start) * (2 * window + 1) // (2 * windows)
        for page in fills_pages(count // windows):
            yield UPDATED.sub(b'"updated_time":%d' % middle, page)


def write_pages(path: Path, pages: Iterable[bytes]) -> None:
    """Writes one page per line."""
    with path.open("wb") as file:
        file.writelines(page + b"\n" for page in pages)


def read_pages(path: str) -> list[bytes]:
    with Path(path).open("rb") as file:
        return [line[:-1] for line in file]


def sim_orders(count: int = PAGE_ROWS) -> bytes:
    rows = [
        {
            "order_id": row["order_id"],
            "side": 1 if row["trd_side"] == "BUY" else 2,
            "symbol": str(row["code"])[3:],
            "stock_name": row["stock_name"],
            "order_type": 1,
            "status": 4 if row["status"] == "OK" else 5,
            "qty": row["qty"],
            "cum_qty": row["qty"],
            "price": row["price"],
            "avg_fill_price": row["price"],
            "aux_price": None,
            "create_time": str(row["create_time"]),
            "update_time": str(row["updated_time"]),
            "text": "",
        }
        for row in fills(count)
    ]
    return dumps({"ret_code": 0, "data": {"orders": rows}})


def plate_stocks(count: int) -> bytes:
    draw = random.Random(7)
    rows = [
        {
            "code": f"HK.{place + 1:05}",
            "stock_id": str(54_047_868_453_000 + place),
            "stock_name": NAMES[place % len(NAMES)],
            "sc_name": "腾讯控股",
            "tc_name": "騰訊控股",
            "stock_type": "STOCK",
            "lot_size": draw.choice([100, 500, 1000]),
            "list_time": 1_087_344_000_000 + place * 86_400_000,
        }
        for place in range(count)
    ]
    end = {"has_more": False, "next_key": "-1", "total": count}
    return dumps({"code": 0, "data": {"stock_list": rows}, "pagination": end})


def ipo_list(vector: Path, count: int = 20) -> bytes:
    """Hong Kong IPOs as in the test vector; one of six is a fund, which has more fields."""
    cases = json.loads(vector.read_text())["cases"]
    body = json.loads(cases[0]["exchanges"][0]["response"]["body"])
    stock, fund = body["data"]["list"]
    body["data"]["list"] = [
        {**(fund if place % 6 == 2 else stock), "code": f"HK.{2590 + place:05}"}
        for place in range(count)
    ]
    return dumps(body)
