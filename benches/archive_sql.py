"""SQL over stored fills, the size of an archive, and the same in PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from . import peers, postgres_server, server
from .archive import (
    BY_TIME,
    COLUMNS,
    MARKET,
    POSITION,
    TABLE,
    UPSERT,
    account_of,
    client_of,
    counted,
    fill_and_close,
    filling_of,
    pages_by_hand,
    prepared_archive,
    prepared_by_hand,
    values,
)
from .harness import Done, Row, Settings, Target, in_processes
from .signer import Signer

SUM = "select code, sum(qty) as traded from fills group by code"
ALL = "select * from fills"
TIMES = ("create_time", "updated_time")
OF_POSTGRES = TABLE.replace(" real", " double precision").replace(" integer", " bigint")
USUAL, BEST = "requests + orjson + psycopg", "httpr + orjson + COPY, by the thousand"


def rows(settings: Settings) -> list[Row]:
    size = int(settings.pick(200_000, 10_000))
    with server.ready_pages() as (folder, line):
        common = {**line, "folder": folder, "size": size}
        own = [
            query(settings, common, "SQLite", SUM),
            query(settings, common, "SQLite", ALL),
            file_size(common),
        ]
        if postgres_server.programs() is None:
            own[0].notes.append(postgres_server.NOT_INSTALLED)
            return own
        with postgres_server.server() as address:
            half = {**common, "size": size // 2, "address": address}
            return [*own, *of_postgres(settings, half)]


def query(settings: Settings, common: dict[str, Any], where: str, sql: str) -> Row:
    contenders = {
        "boardlot": ("queried", {**common, "sql": sql}),
        "by hand": ("queried_by_hand", {**common, "sql": sql}),
    }
    reader = "pandas.read_sql" if where == "SQLite" else "psycopg and pandas"
    return Row(
        f"`{sql}` of {common['size']:,} fills in {where}",
        f"into pandas; by hand: {reader}, of a table with a typed column for each field",
        "s",
        in_processes("archive_sql", contenders, settings.rounds),
        SEEN[where, sql],
    )


def file_size(common: dict[str, Any]) -> Row:
    contenders = {
        "boardlot": ("size_of_archive", common),
        "the texts alone": ("size_of_texts", common),
        "typed columns alone": ("size_by_hand", common),
    }
    return Row(
        f"The size of a SQLite archive of {common['size']:,} fills",
        "beside a table of the texts, and one of typed columns with an index of time",
        "MB",
        in_processes("archive_sql", contenders, 1),
        [Target("boardlot", ("the texts alone",), 0.4, "size", "two indices and the columns")],
        measure="size",
    )


def of_postgres(settings: Settings, common: dict[str, Any]) -> list[Row]:
    contenders = {
        "boardlot": ("fill_postgres", common),
        USUAL: ("fill_postgres_by_hand", common),
        BEST: ("copy_into_postgres", common),
    }
    filling = Row(
        f"{common['size']:,} fills into a PostgreSQL archive, ready pages",
        "by hand: typed columns alone, one transaction for each page with its position",
        "s",
        in_processes("archive_sql", contenders, settings.rounds),
        SEEN["PostgreSQL", ""],
        ["By the thousand: with no position to resume from and no index but the primary key."],
    )
    return [
        filling,
        query(settings, common, "PostgreSQL", SUM),
        query(settings, common, "PostgreSQL", ALL),
    ]


JOINED = "the view joins two tables"
WITH_TEXT = "the rows have the service's text too"
SEEN: dict[tuple[str, str], list[Target]] = {
    ("SQLite", SUM): [Target("boardlot", ("by hand",), 0.55, "cpu", JOINED)],
    ("SQLite", ALL): [Target("boardlot", ("by hand",), 0.55, "cpu", WITH_TEXT)],
    ("PostgreSQL", ""): [
        Target("boardlot", (USUAL,), 3.0, reason="fills are copied"),
        Target("boardlot", (BEST,), 0.4, "cpu", "two tables, and the indices of time and version"),
    ],
    ("PostgreSQL", SUM): [Target("boardlot", ("by hand",), 0.35, reason=JOINED)],
    ("PostgreSQL", ALL): [Target("boardlot", ("by hand",), 0.5, "cpu", WITH_TEXT)],
}


def opened(size: int, folder: str, address: str, line: dict[str, str]) -> Any:
    """An archive with so many fills, which the first one who asks fills."""
    import boardlot as bl

    if not address:
        return bl.Archive(prepared_archive(size, folder, line))
    archive = bl.Archive(address)
    if not archive.status():
        fill_and_close(address, size, line)
    return archive


def queried(sql: str, size: int, folder: str, address: str = "", **line: str):
    import pandas  # noqa: F401  (not measured)

    archive = opened(size, folder, address, line)
    archive.sql("select 1 as one").to_pandas()
    return lambda: checked(archive.sql(sql).to_pandas(), sql, size)


def checked(frame: Any, sql: str, size: int) -> object:
    found = len(frame) if sql == ALL else len(frame) and size
    if found != size:
        raise RuntimeError(f"{len(frame)} rows")
    return frame


def queried_by_hand(sql: str, size: int, folder: str, address: str = "", **line: str):
    import pandas as pd

    if address:
        connection = filled_by_hand(size, address, line)

        def read() -> Any:
            cursor = connection.execute(sql.replace("fills", "by_hand.fills"))
            names = [column.name for column in cursor.description]
            return pd.DataFrame(cursor.fetchall(), columns=names)

    else:
        of_file = sqlite3.connect(prepared_by_hand(size, folder, line))

        def read() -> Any:
            return pd.read_sql(sql, of_file)

    def work() -> object:
        frame = read()
        for name in TIMES:
            if name in frame:
                frame[name] = pd.to_datetime(frame[name], unit="us", utc=True)
        return checked(frame, sql, size)

    return work


def size_of_archive(size: int, folder: str, **line: str) -> Callable[[], Done]:
    path = prepared_archive(size, folder, line)
    return lambda: Done(1, path.stat().st_size)


def size_of_texts(size: int, folder: str, **line: str) -> Callable[[], Done]:
    path = Path(folder) / f"texts-{size}.db"
    with closing(sqlite3.connect(path)) as texts, texts:
        texts.execute("create table fills (record text)")
        found = opened(size, folder, "", line).sql("select record from fills")
        texts.executemany("insert into fills values (?)", found)
    return lambda: Done(1, path.stat().st_size)


def size_by_hand(size: int, folder: str, **line: str) -> Callable[[], Done]:
    path = prepared_by_hand(size, folder, line)
    return lambda: Done(1, path.stat().st_size)


def connected(address: str):
    import psycopg

    return psycopg.connect(address, autocommit=True)


def emptied(address: str, *statements: str):
    """A connection to a schema of its own, with these tables."""
    connection = connected(address)
    connection.execute("drop schema if exists filled cascade; create schema filled")
    connection.execute("set search_path to filled")
    for statement in statements:
        connection.execute(statement)
    return connection


def filled_by_hand(size: int, address: str, line: dict[str, str]):
    connection = connected(address)
    if connection.execute("select to_regclass('by_hand.fills')").fetchone() == (None,):
        with connection.transaction(), client_of(**line) as client:
            connection.execute("create schema by_hand; set local search_path to by_hand")
            connection.execute(OF_POSTGRES)
            connection.execute(BY_TIME)
            with connection.cursor().copy(INTO) as copy:
                for one in client.fills_history(account_of(size), MARKET):
                    copy.write_row(values(account_of(size), one))
    return connection


INTO = f"copy fills (account, market, {', '.join(COLUMNS)}) from stdin"
MARKED = UPSERT.replace("?", "%s")


def fill_postgres(size: int, address: str, folder: str, **line: str) -> Callable[[], Done]:
    with connected(address) as connection:
        connection.execute("drop schema if exists boardlot_archive cascade")
    return filling_of(address, size, line)


def fill_postgres_by_hand(
    size: int, address: str, folder: str, base: str, key_id: str, key_file: str
):
    client = peers.Requests(Signer(key_id, Path(key_file).read_text()))
    position = (POSITION, "insert into position values ('')")
    connection = emptied(address, OF_POSTGRES, BY_TIME, *position)
    account = account_of(size)

    def work() -> Done:
        for page in pages_by_hand(client, base, account):
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(MARKED, [values(account, one) for one in page["order_fills"]])
                cursor.execute("update position set page_flag = %s", (page["page_flag"],))
        return counted(connection, size)

    return work


def copy_into_postgres(size: int, address: str, folder: str, base: str, key_id: str, key_file: str):
    """In one transaction: a loop that is interrupted begins again."""
    client = peers.Httpr(Signer(key_id, Path(key_file).read_text()))
    connection = emptied(address, OF_POSTGRES)
    account = account_of(size)

    def work() -> Done:
        with connection.transaction(), connection.cursor().copy(INTO) as copy:
            for page in pages_by_hand(client, base, account):
                for one in page["order_fills"]:
                    copy.write_row(values(account, one))
        return counted(connection, size)

    return work
