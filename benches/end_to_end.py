"""All fills of an account into a typed pandas frame over loopback, from the first request on.

The peers' side is the loop that a user would write by hand, signed by pyca/cryptography. The usual
way decodes with orjson into one list of rows, and makes one frame with types. The best way has a
native client, pages decoded to structs by msgspec, a list for each column, and the garbage
collector off.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import orjson
import pandas as pd

from . import peers, server
from .data import PAGE_ROWS
from .frames import COLUMNS, msgspec_decoder, msgspec_lists, pandas_of, typed, without_gc
from .harness import Row, Settings, Taken, Target, kept, take_turns
from .signer import Signer

LATENCY = 0.05
FILLS = 2_000
WINDOWS = 16
TITLE = "2,000 fills to pandas, 50 ms away"
REQUESTS = (
    "16 windows send 30 % more requests than one cursor; by itself, boardlot sends a tenth more"
)
DAY_MICROS = 86_400_000_000
# Returns a whole frame; made from base URL, key id, private key and account.
Fetch = Callable[[], pd.DataFrame]
Prepare = Callable[..., Fetch]


def rows(settings: Settings) -> list[Row]:
    return [
        over_loopback(settings, checked=True),
        over_loopback(settings, checked=False),
        with_latency(settings),
    ]


def over_loopback(settings: Settings, *, checked: bool) -> Row:
    count = int(settings.pick(100_000, 10_000))
    contenders = {
        "boardlot": boardlot_pandas,
        "requests + orjson + pandas": requests_pandas,
        "urllib3 + orjson + pandas": urllib3_pandas,
    }
    if peers.HAS_PYREQWEST:
        contenders["pyreqwest + orjson + pandas"] = pyreqwest_pandas
        contenders["pyreqwest + msgspec, by columns"] = pyreqwest_columns
    contenders["httpr + msgspec, by columns"] = httpr_columns
    if checked:
        with server.sandbox(seed=7, fills=count) as line:
            taken = run(contenders, settings, *line[:3], line[3]["trade"][0])
        return Row(
            f"{count:,} fills over loopback into pandas",
            "from the sandbox, which checks each signature and makes each page",
            "s",
            taken,
        )
    with server.sandbox(fills=1) as (_, key_id, pem, _), server.fixed_pages() as base:
        taken = run(contenders, settings, base, key_id, pem, str(count // PAGE_ROWS))
    return Row(
        f"{count:,} fills over loopback into pandas, ready pages",
        "the same from the server of fixed pages, so that less of it is the server",
        "s",
        taken,
        [kept("boardlot", "requests + orjson + pandas", 7.68)],
    )


def with_latency(settings: Settings) -> Row:
    """A list of the size that most users read, over a network."""
    contenders = {
        "boardlot": boardlot_pandas,
        "boardlot, windows=16": partial(boardlot_pandas, windows=WINDOWS),
        "boardlot, one cursor": partial(boardlot_pandas, windows=1),
        "requests + orjson + pandas": requests_pandas,
        "httpx2 + orjson + pandas": httpx2_pandas,
        f"httpx2, {WINDOWS} windows by hand": httpx2_windows,
    }
    with server.sandbox(seed=7, fills=FILLS, latency=LATENCY) as (base, key_id, pem, accounts):
        taken = run(contenders, settings, base, key_id, pem, accounts["trade"][0])
    return Row(
        TITLE,
        "the last 90 days of an account, from the sandbox; each response comes after 50 ms",
        "s",
        taken,
        [
            Target("boardlot", ("requests + orjson + pandas", "httpx2 + orjson + pandas"), 3.0),
            Target("boardlot", ("boardlot, windows=16",), 1 / 1.3, reason=REQUESTS),
        ],
        [
            "boardlot chooses the windows itself, with hardly more requests than one cursor.",
            "By hand: a task for each window, with cursors of its own; a fill on the border of two "
            "windows is dropped once.",
        ],
    )


def run(contenders: dict[str, Prepare], settings: Settings, *line: str) -> dict[str, Taken]:
    """Each contender fetches everything in its turn; the number of rows is checked."""
    works = {name: prepare(*line) for name, prepare in contenders.items()}
    lengths = set()

    def fetched(work: Callable[[], pd.DataFrame]) -> int:
        lengths.add(len(work()))
        return 1

    taken = take_turns(
        {name: partial(fetched, work) for name, work in works.items()}, settings.rounds
    )
    if len(lengths) != 1:
        raise RuntimeError(f"not the same number of rows each time: {lengths}")
    return taken


def boardlot_pandas(base: str, key_id: str, pem: str, account: str, **options: object) -> Fetch:
    import boardlot as bl

    client = bl.Client(base, auth=bl.ApiKey(key_id, pem))
    return lambda: client.fills_history(account, "HK", **options).to_pandas()


def first_page(base: str, account: str, part: int = 0, parts: int = 1) -> str:
    """The address of the first page of the last 90 days, or of a part of them, where 0 is the
    latest part; with a cursor added, the address of another page."""
    now, length = time.time_ns() // 1000, 90 * DAY_MICROS // parts
    end = now - part * length
    query = f"trd_market=HK&start={end - length}&end={end}&page_size={PAGE_ROWS}"
    return f"{base}/api/v1.0/accounts/{account}/fills_history?{query}&page_flag="


def by_hand(peer: type[peers.Sync], base: str, key_id: str, pem: str, account: str) -> Fetch:
    client = peer(Signer(key_id, pem))

    def work() -> pd.DataFrame:
        url = first_page(base, account)
        rows, flag = [], ""
        while True:
            response = orjson.loads(client.get(url + quote(flag, safe="")))
            if response["s"] != "ok":
                raise RuntimeError(response["errmsg"])
            rows.extend(response["d"]["order_fills"])
            if response["d"]["completed"]:
                return typed(pd.DataFrame(rows, columns=COLUMNS))
            flag = response["d"]["page_flag"]

    return work


def by_columns(peer: type[peers.Sync], base: str, key_id: str, pem: str, account: str) -> Fetch:
    client = peer(Signer(key_id, pem))
    decode = msgspec_decoder(("page_flag", str), ("completed", bool))

    def pages() -> Iterator[Any]:
        url, flag, completed = first_page(base, account), "", False
        while not completed:
            page = decode(client.get(url + quote(flag, safe="")))
            yield page
            flag, completed = page.page_flag, page.completed

    return without_gc(lambda: pandas_of(msgspec_lists(pages())))


def httpx2_windows(base: str, key_id: str, pem: str, account: str) -> Fetch:
    loop = asyncio.new_event_loop()
    client = peers.AsyncHttpx2(Signer(key_id, pem))
    loop.run_until_complete(client.__aenter__())

    async def window(part: int) -> list[dict[str, Any]]:
        url = first_page(base, account, part, WINDOWS)
        rows, flag = [], ""
        while True:
            response = orjson.loads(await client.get(url + quote(flag, safe="")))
            if response["s"] != "ok":
                raise RuntimeError(response["errmsg"])
            rows.extend(response["d"]["order_fills"])
            if response["d"]["completed"]:
                return rows
            flag = response["d"]["page_flag"]

    async def windows() -> pd.DataFrame:
        parts = await asyncio.gather(*(window(part) for part in range(WINDOWS)))
        unique = {row["deal_id"]: row for rows in parts for row in rows}
        return typed(pd.DataFrame([*unique.values()], columns=COLUMNS))

    return lambda: loop.run_until_complete(windows())


def httpx2_pandas(*line: str) -> Fetch:
    return by_hand(peers.Httpx2, *line)


def requests_pandas(*line: str) -> Fetch:
    return by_hand(peers.Requests, *line)


def urllib3_pandas(*line: str) -> Fetch:
    return by_hand(peers.Urllib3, *line)


def pyreqwest_pandas(*line: str) -> Fetch:
    return by_hand(peers.Pyreqwest, *line)


def pyreqwest_columns(*line: str) -> Fetch:
    return by_columns(peers.Pyreqwest, *line)


def httpr_columns(*line: str) -> Fetch:
    return by_columns(peers.Httpr, *line)
