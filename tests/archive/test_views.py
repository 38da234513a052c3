"""The views of an archive, and the views that users build on them, keep their columns."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import boardlot as bl
import pytest
from boardlot.archive import views
from boardlot.archive.lists import custom_spec
from boardlot.archive.typed_columns import typed_list

from ..support.threads import wait_until
from .columns import check_columns
from .service import HK, path_of
from .test_older_archives import statements

OLDER = "update archive_views set digest = 'older'"
LATER = "update boardlot_archive.archive_views set digest = 'older' where name <> 'kline'"
SUMS = "create schema mart; create view mart.sums as select code, sum(qty) as n from {} group by 1"


def kline(**record):
    path = "/api/v1.0/quote/{symbol}/history-kline"
    return bl.Endpoint("kline", "GET", path, rows="data.list", record=record)


KEY = {"symbol": "HK.00700"}


@pytest.fixture
def filled(archive, book, client):
    book.put_fills(3)
    book.lists["/api/v1.0/quote/HK.00700/history-kline"] = [{"day": "2026-01-02", "close": "1.5"}]
    archive.update(client, fills=[HK], lists=[(kline(day="date", close="decimal"), KEY)])
    return archive


def columns(archive, view):
    return archive.sql(f"select * from {view}").columns


def test_columns_keep_their_place_and_new_ones_come_last(filled, client):
    """Columns that an endpoint no longer declares stay, too."""
    assert columns(filled, "kline") == ["key", "day", "close", "seen_at", "record"]
    later = kline(volume="integer", day="date")
    assert filled.update(client, lists=[(later, KEY)])
    assert columns(filled, "kline") == ["key", "day", "close", "seen_at", "record", "volume"]
    ((_, day, close, *_, volume),) = filled.sql("select * from kline")
    assert str(day) == "2026-01-02" and close is volume is None
    # A column of another type is replaced at once, because nothing depends on the view.
    assert filled.update(client, lists=[(kline(day="text"), KEY)])
    assert columns(filled, "kline") == ["key", "day", "close", "seen_at", "record", "volume"]
    assert filled.sql("select day from kline").to_dicts() == [{"day": "2026-01-02"}]


def test_only_views_that_differ_are_replaced(filled, client, target):
    if not target.startswith("postgres"):
        pytest.skip("views of SQLite have no number")
    query = "select oid::bigint, xmin::text::bigint from pg_class where relname = 'fills'"
    before = filled._database.read(query)
    assert filled.update(client, lists=[(kline(volume="integer"), KEY)])
    assert filled._database.read(query) == before


def test_a_view_on_ours_survives_a_new_endpoint_and_an_upgrade(address, connection, book, client):
    book.put_fills(3)
    with bl.Archive(address) as archive:
        archive.update(client, fills=[HK])
        connection.execute(SUMS.format("boardlot_archive.fills"))
        archive.update(client, lists=[(kline(day="date"), KEY)])
        connection.execute(f"set search_path to boardlot_archive; {OLDER}")
    with bl.Archive(address) as archive:
        assert archive.update(client, fills=[HK])
        assert archive._database.read("select 1 from archive_views where digest = 'older'") == []
    assert connection.execute("select n from mart.sums").fetchall() == [(300.0,)]


def test_a_view_on_ours_survives_the_migration_of_an_older_archive(
    address, connection, service, book, client
):
    connection.execute(statements("postgres", service))
    connection.execute(SUMS.format("boardlot_archive.fills"))
    before = connection.execute("select * from mart.sums order by 1").fetchall()
    with bl.Archive(address) as archive:
        assert archive.update(client, ipos=["hk"])
        assert len(archive.sql("select * from fills_history"))
    assert connection.execute("select * from mart.sums order by 1").fetchall() == before


def test_a_view_that_makes_it_impossible_is_named_after_all_lists_were_updated(
    address, connection, filled_in_postgres, book, client
):
    archive = filled_in_postgres
    connection.execute("create schema mart")
    connection.execute("create view mart.last as select max(day) from boardlot_archive.kline")
    other = kline(day="text")
    lists = {"lists": [(other, KEY)], "ipos": ["hk"]}
    book.lists[path_of("ipos", "hk")] = [{"code": "HK.02799"}]
    with pytest.raises(bl.ArchiveUpdateError, match=r"view mart\.last depends on it") as error:
        archive.update(client, **lists)
    assert "the view kline, some of whose" in str(error.value) and not error.value.retryable
    assert "Drop what depends on it" in error.value.hint
    assert error.value.report.lists["ipos", "hk"].new == 1
    report = archive.update(client, **lists, on_error="collect")
    assert not report and [name for name, _ in report.errors] == ["views"]
    assert report.unchanged == 2
    # Meanwhile the view is unchanged, also for new records; the archive can still be opened.
    bl.Archive(address).close()
    assert str(archive.sql("select day from kline").to_dicts()[0]["day"]) == "2026-01-02"
    book.lists["/api/v1.0/quote/HK.00700/history-kline"].append({"day": "2026-01-05"})
    assert archive.update(client, **lists, on_error="collect").new == 1
    assert str(connection.execute("select * from mart.last").fetchone()[0]) == "2026-01-05"
    assert [one for one in archive.check() if one.kind == "columns"] == []
    connection.execute("drop view mart.last")
    assert archive.update(client, **lists)
    rows = archive.sql("select day from kline order by day").to_dicts()
    assert rows == [{"day": "2026-01-02"}, {"day": "2026-01-05"}]


def test_a_view_that_somebody_reads_shows_new_records_in_the_columns_that_it_has(
    address, connection, filled_in_postgres, book, client
):
    """Views get a field of another kind, too, once nobody reads them."""
    import psycopg

    archive, path = filled_in_postgres, "/api/v1.0/quote/HK.00700/history-kline"
    later = [(kline(day="text", close="decimal"), KEY)]
    with psycopg.connect(address) as reader:
        reader.execute("select * from boardlot_archive.kline_history")
        book.lists[path].append({"day": "2026-01-05", "close": "2.5"})
        assert archive.update(client, lists=later).new == 1
        assert columns(archive, "kline") == ["key", "day", "seen_at", "record"]
        days = archive.sql("select day from kline order by day").to_dicts()
        assert [str(row["day"]) for row in days] == ["2026-01-02", "2026-01-05"]
        assert check_columns(archive) == 4
    assert archive.update(client, lists=later).unchanged == 2
    query = "select day, close from kline order by day"
    assert [*archive.sql(query)] == [("2026-01-02", None), ("2026-01-05", 2.5)]
    assert check_columns(archive) == 4


@pytest.fixture
def filled_in_postgres(address, book, client):
    book.lists["/api/v1.0/quote/HK.00700/history-kline"] = [{"day": "2026-01-02"}]
    with bl.Archive(address, wait=1.0) as archive:
        archive.update(client, lists=[(kline(day="date"), KEY)])
        yield archive


def test_a_view_with_columns_of_other_types_keeps_its_grants_and_its_comment(
    connection, filled_in_postgres, client
):
    connection.execute(
        "drop role if exists reads_one; create role reads_one; "
        "grant select on boardlot_archive.kline to reads_one with grant option; "
        "grant select on boardlot_archive.kline to public; "
        "comment on view boardlot_archive.kline is 'it''s 100 % ours?'"
    )
    query = (
        "select oid, (select array_agg(one::text order by one::text) from unnest(relacl) one), "
        "obj_description(oid) from pg_class where relname = 'kline'"
    )
    try:
        number, *before = connection.execute(query).fetchone()
        assert filled_in_postgres.update(client, lists=[(kline(day="text"), KEY)])
        later, *after = connection.execute(query).fetchone()
        assert later != number and after == before
    finally:
        connection.execute("drop owned by reads_one; drop role reads_one")


def test_a_long_reader_delays_a_view_and_blocks_nobody(
    address, connection, filled_in_postgres, client
):
    import psycopg

    archive = filled_in_postgres
    connection.execute(f"set search_path to boardlot_archive; {OLDER}")
    outdated = "select name from archive_views where digest = 'older' order by 1"
    with psycopg.connect(address) as reader:
        reader.execute("select * from boardlot_archive.ipos")
        # The update does not wait for the reader, which is still there.
        assert archive.update(client, ipos=["hk"])
        assert archive._database.read(outdated) == [("ipos",)]
        assert connection.execute("select count(*) from boardlot_archive.ipos").fetchone() == (0,)
    assert archive.update(client, ipos=["hk"])
    assert archive._database.read(outdated) == []


def test_a_migration_does_not_wait_for_a_long_reader_for_ever(address, connection, service, client):
    import psycopg

    connection.execute(statements("postgres", service))
    with bl.Archive(address, wait=1.0) as archive:
        with psycopg.connect(address) as reader:
            reader.execute("select * from boardlot_archive.fills")
            with pytest.raises(bl.StoreError, match="another program is in a transaction") as error:
                archive.update(client, ipos=["hk"])
            assert error.value.retryable
            assert reader.execute("select count(*) from boardlot_archive.fills").fetchone()
        assert archive.update(client, ipos=["hk"])


def test_the_page_of_an_archive_names_every_view(archive):
    page = (Path(__file__).parents[2] / "docs" / "archive.md").read_text("utf-8")
    views = archive._database.read("select name from archive_views")
    named = [name for (name,) in views if f"`{name}`" in page or name.endswith("_history")]
    assert len(named) == len(views)


def test_definitions_and_replacements_of_views_take_turns(
    address, connection, filled_in_postgres, monkeypatch
):
    """Two that change the same rows and views would wait for each other, until one is ended."""
    from boardlot.archive.postgres import Postgres

    inside, most, ended = [], [0], []
    waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
    defining = Postgres.defining

    @contextmanager
    def meeting(database):
        """Goes on once all others wait, or one of them does not."""
        with defining(database) as transaction:
            inside.append(database)
            wait_until(
                lambda: (
                    len(inside) > 1
                    or connection.execute(waiting).fetchone()[0] + len(ended) == len(works) - 1
                )
            )
            most[0] = max(most[0], len(inside))
            try:
                yield transaction
            finally:
                inside.pop()

    def define(archive, **record):
        fields = custom_spec(kline(**record)).fields
        typed = typed_list("kline", fields)
        assert views.define_custom(archive._database, typed, fields, 30.0) == []

    def replace(archive):
        assert views.replace_views(archive._database) == []

    works = [
        partial(define, day="date", close="decimal"),
        partial(define, day="date", close="decimal"),
        partial(define, day="text"),
        replace,
    ]

    def work(one):
        try:
            with bl.Archive(address) as archive:
                # All have looked before one of them changes anything.
                opened.wait()
                one(archive)
        finally:
            ended.append(one)

    opened = threading.Barrier(len(works), lambda: connection.execute(LATER))
    monkeypatch.setattr(Postgres, "defining", meeting)
    with ThreadPoolExecutor(len(works)) as pool:
        for result in [pool.submit(work, one) for one in works]:
            result.result()
    assert most == [1]
    check_columns(filled_in_postgres)
