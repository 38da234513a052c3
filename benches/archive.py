"""The archive: filling it, updating it without new data, and reading it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from . import peers, server
from .data import PAGE_ROWS
from .end_to_end import first_page
from .harness import Done, Limit, Row, Settings, Taken, Target, in_processes, kept
from .server import APART
from .signer import Signer

MARKET = "HK"
TABLE = """create table fills (
account text, market text, deal_id text, trd_side text, order_id text,
code text, stock_name text, qty real, price real, create_time integer, updated_time integer,
counter_broker_id integer, counter_broker_name text, status text,
primary key (account, market, deal_id))"""
BY_TIME = "create index by_time on fills (account, market, updated_time)"
POSITION = "create table position (page_flag text)"
BY_THE_THOUSAND = "httpr + orjson + sqlite3, by the thousand"
COLUMNS = [
    "trd_side", "deal_id", "order_id", "code", "stock_name", "qty", "price", "create_time",
    "updated_time", "counter_broker_id", "counter_broker_name", "status",
]  # fmt: skip
SQL_READERS = ("connectorx", "ADBC")
SAFE = "a position with each page, and indices of time and version, which the peer leaves out"
GROWTH = "the indices no longer fit into SQLite's cache; its shell takes the same for each row"
UPSERT = f"""insert into fills (account, market, {", ".join(COLUMNS)})
values (?, ?, {", ".join("?" * len(COLUMNS))}) on conflict (account, market, deal_id) do update set
{", ".join(f"{name} = excluded.{name}" for name in COLUMNS)}
where excluded.updated_time >= fills.updated_time"""


def rows(settings: Settings) -> list[Row]:
    with server.ready_pages() as (folder, line):
        common = {**line, "folder": folder}
        return [
            filling(settings, common),
            nothing_new(settings, common),
            reading(settings, common),
            growing(settings, common),
            at_once(settings, common),
            read_through(settings, common),
        ]


def filling(settings: Settings, common: dict[str, str]) -> Row:
    size = int(settings.pick(100_000, 10_000))
    contenders = {
        "boardlot": ("fill", {**common, "size": size}),
        "requests + orjson + sqlite3": ("fill_by_hand", {**common, "size": size}),
        BY_THE_THOUSAND: ("fill_by_the_thousand", {**common, "size": size}),
    }
    return Row(
        f"{size:,} fills into a SQLite archive, ready pages",
        "by hand: one transaction for each page with its position; all in WAL mode",
        "s",
        in_processes("archive", contenders, settings.rounds),
        [
            kept("boardlot", "requests + orjson + sqlite3", 2.99),
            Target("boardlot", (BY_THE_THOUSAND,), 1.4, reason=SAFE),
        ],
        [
            "By the thousand: one transaction for all, with no position to resume from and no "
            "index but the primary key."
        ],
    )


def nothing_new(settings: Settings, common: dict[str, str]) -> Row:
    contenders = {
        "boardlot": ("update_again", {**common, "size": 10_000}),
        "its requests alone": ("requests_again", {**common, "size": 10_000}),
    }
    taken = in_processes("archive", contenders, settings.rounds)
    pairs = zip(taken["boardlot"].seconds, taken["its requests alone"].seconds, strict=True)
    beyond = Taken(seconds=[max(0.0, one - other) for one, other in pairs])
    return Row(
        "An update of 10,000 fills that finds nothing new",
        "the same pages again; and the difference",
        "ms",
        {**taken, "beyond its requests": beyond},
        [Limit("beyond its requests", 0.05, reason="less than a request over the internet")],
    )


def reading(settings: Settings, common: dict[str, str]) -> Row:
    size = int(settings.pick(1_000_000, 50_000))
    contenders = {
        "boardlot": ("read", {**common, "size": size}),
        "pandas.read_sql": ("read_by_hand", {**common, "size": size}),
        **{name: ("read_by_hand", {**common, "size": size, "by": name}) for name in SQL_READERS},
    }
    return Row(
        f"{size:,} stored fills into pandas",
        "the same columns and types; pandas reads a table with a typed column for each field",
        "s",
        in_processes("archive", contenders, settings.rounds),
        [
            kept("boardlot", "pandas.read_sql", 7.17),
            kept("boardlot", SQL_READERS, 1.55),
        ],
    )


def growing(settings: Settings, common: dict[str, str]) -> Row:
    sizes = [10_000, 100_000] if settings.quick else [10_000, 100_000, 1_000_000]
    rounds = int(settings.pick(3, 1))
    taken = filled(sizes, common, rounds)
    if not settings.quick:
        # This one takes six minutes.
        taken |= filled([10_000_000], common, 1)
    least, *_, most = taken
    return Row(
        "Fills into a SQLite archive, a fill",
        "one update, over loopback with signing; the ratio is to the first",
        "µs",
        taken,
        [Target(most, (least,), 0.5, "cpu", GROWTH)],
        ours=least,
        is_curve=True,
    )


def filled(sizes: list[int], common: dict[str, str], rounds: int) -> dict[str, Taken]:
    contenders = {
        f"{size:,} fills": ("fill_and_remove", {**common, "size": size}) for size in sizes
    }
    return in_processes("archive", contenders, rounds)


def at_once(settings: Settings, common: dict[str, str]) -> Row:
    size = int(settings.pick(10_000, 2_000))
    contenders = {
        "12 archives at once": ("update_at_once", {**common, "size": size}),
        "one after another": ("update_in_turn", {**common, "size": size}),
    }
    return Row(
        f"12 archives of {size:,} fills, updated with an `AsyncClient`",
        "the same updates, each awaited before the next begins",
        "s",
        in_processes("archive", contenders, settings.rounds),
        [kept("12 archives at once", "one after another", 1.16)],
        ours="12 archives at once",
    )


def read_through(settings: Settings, common: dict[str, str]) -> Row:
    taken = in_processes("archive", {"boardlot": ("get_fresh", dict(common))}, settings.rounds)
    return Row(
        "`archive.get` of a list of dividends that is fresh",
        "nothing is sent; the mean of 1,000 calls",
        "ms",
        taken,
        [Limit("boardlot", 0.001, reason="a hundredth of a request over the internet")],
    )


def client_of(base: str, key_id: str, key_file: str):
    import boardlot as bl

    client = bl.Client(base, auth=bl.ApiKey(key_id, Path(key_file)))
    client.server_time()
    return client


def account_of(size: int) -> str:
    return str(APART + size // PAGE_ROWS)


def new_file(folder: str) -> Path:
    return Path(tempfile.mkdtemp(dir=folder)) / "archive.db"


def fill(size: int, folder: str, **line: str) -> Callable[[], Done]:
    return filling_of(new_file(folder), size, line)


def filling_of(target: Any, size: int, line: dict[str, str]) -> Callable[[], Done]:
    """Fills a new archive."""
    import boardlot as bl

    client, archive = client_of(**line), bl.Archive(target)

    def work() -> Done:
        report = archive.update(client, fills=[(account_of(size), MARKET)])
        if report.new != size:
            raise RuntimeError(f"{report}")
        return Done(1)

    return work


def fill_and_remove(size: int, folder: str, **line: str) -> Callable[[], Done]:
    own = Path(tempfile.mkdtemp(dir=folder))
    whole = fill(size, str(own), **line)

    def work() -> Done:
        whole()
        # Ten million fills take gigabytes.
        shutil.rmtree(own)
        return Done(size)

    return work


def update_at_once(**line) -> Callable[[], Done]:
    return update_twelve(line, lambda updates: asyncio.gather(*updates))


def update_in_turn(**line) -> Callable[[], Done]:
    async def in_turn(updates) -> None:
        for update in updates:
            await update

    return update_twelve(line, in_turn)


def update_twelve(line: dict, work: Callable) -> Callable[[], Done]:
    import boardlot as bl

    size, folder = line["size"], line["folder"]
    archives = [bl.Archive(new_file(folder)) for _ in range(12)]

    async def updates() -> None:
        key = bl.ApiKey(line["key_id"], Path(line["key_file"]))
        async with bl.AsyncClient(line["base"], auth=key) as client:
            account = (account_of(size), MARKET)
            await work([archive.update(client, fills=[account]) for archive in archives])

    def run() -> Done:
        asyncio.run(updates())
        if any(len(archive.fills(account_of(size), MARKET)) != size for archive in archives):
            raise RuntimeError("fills are missing")
        return Done(1)

    return run


def get_fresh(folder: str, **line: str) -> Callable[[], Done]:
    import boardlot as bl

    sandbox = bl.Sandbox(seed=7)
    client, archive = sandbox.client(), bl.Archive(new_file(folder))
    hour = timedelta(hours=1)
    archive.get(client, "dividends", "HK.00700", max_age=hour)

    def work() -> Done:
        for _ in range(1_000):
            archive.get(client, "dividends", "HK.00700", max_age=hour)
        return Done(1_000)

    return work


def pages_by_hand(client: peers.Sync, base: str, account: str) -> Iterator[dict]:
    """Yields the content of each response: its fills and the cursor after them."""
    url, flag, completed = first_page(base, account), "", False
    while not completed:
        response = orjson.loads(client.get(url + quote(flag, safe="")))
        if response["s"] != "ok":
            raise RuntimeError(response["errmsg"])
        yield response["d"]
        flag, completed = response["d"]["page_flag"], response["d"]["completed"]


def fill_by_hand(size: int, base: str, key_id: str, key_file: str, folder: str):
    client = peers.Requests(Signer(key_id, Path(key_file).read_text()))
    connection = by_hand(new_file(folder))
    account = account_of(size)

    def work() -> Done:
        for page in pages_by_hand(client, base, account):
            with connection:
                rows = [values(account, one) for one in page["order_fills"]]
                connection.executemany(UPSERT, rows)
                connection.execute("update position set page_flag = ?", (page["page_flag"],))
        return counted(connection, size)

    return work


def fill_by_the_thousand(size: int, base: str, key_id: str, key_file: str, folder: str):
    """A hand-written loop in one transaction, which begins again if it is interrupted."""
    client = peers.Httpr(Signer(key_id, Path(key_file).read_text()))
    connection = by_hand(new_file(folder), TABLE)
    account = account_of(size)

    def work() -> Done:
        fills: list[tuple] = []
        with connection:
            for page in pages_by_hand(client, base, account):
                fills += [values(account, one) for one in page["order_fills"]]
                if len(fills) >= 1_000 or page["completed"]:
                    connection.executemany(UPSERT, fills)
                    fills.clear()
        return counted(connection, size)

    return work


def counted(connection: Any, size: int) -> Done:
    ((count,),) = connection.execute("select count(*) from fills")
    if count != size:
        raise RuntimeError(f"{count} fills")
    return Done(1)


def by_hand(path: Path, *statements: str) -> sqlite3.Connection:
    """Opens the database of a hand-written loop; without statements, set up like an archive's."""
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    for statement in statements or (TABLE, BY_TIME, POSITION, "insert into position values ('')"):
        connection.execute(statement)
    connection.commit()
    return connection


def values(account: str, one: dict) -> tuple:
    return (
        account, MARKET, one["trd_side"], one["deal_id"], one["order_id"], one["code"],
        one["stock_name"], float(one["qty"]), float(one["price"]), one["create_time"],
        one["updated_time"], one["counter_broker_id"], one["counter_broker_name"], one["status"],
    )  # fmt: skip


def update_again(size: int, folder: str, **line: str) -> Callable[[], Done]:
    import boardlot as bl

    client, archive = client_of(**line), bl.Archive(new_file(folder))
    archive.update(client, fills=[(account_of(size), MARKET)])

    def work() -> Done:
        report = archive.update(client, fills=[(account_of(size), MARKET)])
        if (report.new, report.unchanged) != (0, size):
            raise RuntimeError(f"{report}")
        return Done(1)

    return work


def requests_again(size: int, folder: str, **line: str) -> Callable[[], Done]:
    client = client_of(**line)

    def work() -> Done:
        end = client.server_time()
        if sum(map(len, client.fills_history(account_of(size), MARKET, end=end).pages())) != size:
            raise RuntimeError("fills are missing")
        return Done(1)

    work()
    return work


def prepared(size: int, folder: str, name: str, make: Callable[[Path], None]) -> Path:
    """The path of a file that the first round makes for all rounds."""
    path = Path(folder) / f"{name}-{size}.db"
    if not path.exists():
        temporary = Path(folder) / f"{name}-{os.getpid()}.db"
        make(temporary)
        temporary.rename(path)
    return path


def prepared_archive(size: int, folder: str, line: dict[str, str]) -> Path:
    return prepared(size, folder, "archive", lambda path: fill_and_close(path, size, line))


def fill_and_close(target: Any, size: int, line: dict[str, str]) -> None:
    import boardlot as bl

    with client_of(**line) as client, bl.Archive(target) as archive:
        archive.update(client, fills=[(account_of(size), MARKET)])


def prepared_by_hand(size: int, folder: str, line: dict[str, str]) -> Path:
    def make(path: Path) -> None:
        with closing(by_hand(path)) as connection, connection, client_of(**line) as client:
            for page in client.fills_history(account_of(size), MARKET).pages():
                connection.executemany(UPSERT, [values(account_of(size), one) for one in page])

    return prepared(size, folder, "by-hand", make)


def read(size: int, folder: str, **line: str) -> Callable[[], object]:
    import boardlot as bl

    account = account_of(size)
    archive = bl.Archive(prepared_archive(size, folder, line))
    archive.fills(account, MARKET, code="HK.99999").to_pandas()

    def work() -> object:
        frame = archive.fills(account, MARKET).to_pandas()
        if len(frame) != size:
            raise RuntimeError(f"{len(frame)} fills")
        return frame

    return work


def read_by_hand(size: int, folder: str, by: str = "pandas", **line: str) -> Callable[[], object]:
    import pandas as pd

    account, path = account_of(size), prepared_by_hand(size, folder, line)
    read_sql = {"pandas": by_pandas, "connectorx": by_connectorx, "ADBC": by_adbc}[by](path)
    query = (
        f"select {', '.join(COLUMNS)} from fills where account = '{account}' "
        f"and market = '{MARKET}' order by updated_time desc"
    )
    read_sql(f"{query} limit 10")

    def work() -> object:
        frame = read_sql(query)
        for name in ("create_time", "updated_time"):
            frame[name] = pd.to_datetime(frame[name], unit="us", utc=True)
        if len(frame) != size:
            raise RuntimeError(f"{len(frame)} fills")
        return frame

    return work


def by_pandas(path: Path) -> Callable[[str], Any]:
    import pandas as pd

    connection = sqlite3.connect(path)
    return lambda query: pd.read_sql(query, connection)


def by_connectorx(path: Path) -> Callable[[str], Any]:
    import connectorx

    return lambda query: connectorx.read_sql(f"sqlite://{path}", query)


def by_adbc(path: Path) -> Callable[[str], Any]:
    from adbc_driver_sqlite import dbapi

    connection = dbapi.connect(str(path))

    def read_sql(query: str) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table().to_pandas()

    return read_sql
