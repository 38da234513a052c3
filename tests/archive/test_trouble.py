"""Two writers, a full disk, files that cannot be used and a server that disappears cause a clear
error, and nothing is lost."""

import asyncio
import json
import os
import pickle
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date, datetime, timezone
from pathlib import Path
from urllib.parse import parse_qsl

import boardlot as bl
import pytest
from boardlot.archive.fills import FillStore
from boardlot.cli import main
from inline_snapshot import snapshot

from ..support.processes import full_disk
from ..support.service import response
from ..support.system import need_postgres
from ..support.words import raises
from .service import HK, HOUR, PLATE, fills_path, followed, path_of, unavailable

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and limits of POSIX")


def content(path):
    """Everything in a SQLite file."""
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_security_45_a_second_writer_waits(target, book, client, service):
    book.put_fills(120)
    started, go = threading.Event(), threading.Event()
    # The service ends, whatever fails here.
    service.stack.callback(go.set)

    def hold(page):
        if page == 1:
            started.set()
            go.wait()

    book.before_page = hold

    def update():
        with bl.Archive(target) as archive:
            return archive.update(client, fills=[HK]).new

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(update)
        assert started.wait(60)
        second = pool.submit(update)
        with bl.Archive(target, wait=0.1) as archive:
            with pytest.raises(bl.StoreError, match="being updated by another process") as error:
                archive.update(client, fills=[HK])
            assert error.value.retryable
            assert archive.fills(*HK).all() == []
            book.before_page = None
            go.set()
            assert (first.result(), second.result()) == (120, 0)
            assert archive.fills(*HK).all() == book.expected()


def first_cursor(received):
    """The number of fills before the page of the first request for fills."""
    first = next(one for one in received if one.path.endswith("fills_history"))
    return int(dict(parse_qsl(first.query))["page_flag"])


@POSIX
def test_security_45_a_full_disk_is_a_clear_error_and_the_next_update_continues(
    file, book, client, service
):
    book.put_fills(3_000, step=HOUR // 2)
    full = pytest.raises(bl.StoreError, match=r"the archive.*(full|I/O)")
    with bl.Archive(file) as archive, full_disk(1_000_000), full:
        archive.update(client, fills=[HK])
    with bl.Archive(file) as archive:
        assert archive.fills(*HK).all() == []
        before = len(service.received)
        archive.update(client, fills=[HK])
        assert archive.fills(*HK).all() == book.expected()
    # The update continued after the last page that was stored.
    assert first_cursor(service.received[before:]) >= 500


def test_security_45_a_file_that_cannot_be_written_can_be_read(file, book, client, monkeypatch):
    book.put_fills(3)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
    before = content(file)
    # As root may write everything, the system's check is replaced; the file is opened read-only.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with bl.Archive(file) as archive:
        assert archive.fills(*HK).all() == book.expected()
        assert len(archive.sql("select * from fills")) == 3
        with pytest.raises(bl.StoreError, match="readonly") as error:
            archive.update(client, fills=[HK])
        assert "make it writable" in error.value.hint
    monkeypatch.undo()
    assert content(file) == before


@pytest.mark.parametrize("damage", ["text", "cut", "page"])
def test_security_45_a_damaged_file_is_an_error_and_is_left_as_it_is(damage, file, book, client):
    book.put_fills(300)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
    whole = file.read_bytes()
    damaged = {
        "text": b"this is not a database, but a text" * 100,
        "cut": whole[:6000],
        "page": whole[:4096] + bytes(255 - byte for byte in whole[4096:]),
    }[damage]
    file.write_bytes(damaged)
    with pytest.raises(bl.StoreError, match="cannot be used"), bl.Archive(file) as archive:
        archive.fills(*HK).all()
        archive.update(client, fills=[HK])
    if damage == "text":
        assert file.read_bytes() == damaged


def test_security_45_damage_that_sqlite_repeats_in_its_message_is_an_error(file):
    bl.Archive(file).close()
    content = file.read_bytes()
    # The definition of a view, in which this byte is not valid UTF-8.
    file.write_bytes(content.replace(b" where ", b" w\xffere "))
    assert file.read_bytes() != content
    with pytest.raises(bl.StoreError, match="malformed") as error:
        bl.Archive(file)
    assert error.value.hint == "It was damaged: restore it from a backup."


def test_a_database_of_something_else_is_left_as_it_is(file):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create table mine (a)")
    before = file.read_bytes()
    with pytest.raises(bl.StoreError, match="is a database, but not an archive"):
        bl.Archive(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("version", [0, 3, 99])
def test_another_format_is_rejected_and_left_as_it_is(target, version):
    with bl.Archive(target) as archive, archive._database.transaction() as transaction:
        transaction.execute(f"update archive_format set version = {version}")
    for _ in range(2):
        with pytest.raises(bl.StoreError, match=f"has format {version}; this version") as error:
            bl.Archive(target)
        assert "the archive is unchanged" in error.value.hint


def test_a_missing_folder_and_invalid_targets_are_clear_errors(tmp_path):
    with pytest.raises(bl.StoreError, match="cannot be used: unable to open") as error:
        bl.Archive(tmp_path / "no" / "such" / "archive.db")
    assert "does not exist: create it" in error.value.hint
    for target in ("", b"x", None, 5, "a\0b", "\ud800"):
        with pytest.raises(bl.ConfigError, match="target is"):
            bl.Archive(target)
    for wait in (-1, float("nan"), 1e10, 10**400, True, "5"):
        with pytest.raises(bl.ConfigError, match=r"wait is .*expected a number of seconds"):
            bl.Archive(tmp_path / "a.db", wait=wait)


def test_a_closed_archive_says_so_and_none_can_be_pickled(file, client):
    archive = bl.Archive(file)
    with pytest.raises(bl.ConfigError, match="pass its path"):
        pickle.dumps(archive)
    archive.close()
    archive.close()
    with pytest.raises(bl.ConfigError, match="is closed"):
        archive.fills("1", "HK").all()
    with pytest.raises(bl.ConfigError, match="is closed"):
        archive.update(client, fills=[HK])


def test_keys_and_paths_that_are_not_valid_are_named(file):
    with bl.Archive(file) as archive:
        for path in (None, 5, b"x", "", "a\0b"):
            with pytest.raises(bl.ConfigError, match="path is"):
                archive.export("fills", path)
        with pytest.raises(bl.ConfigError, match="did you mean 'hk'"):
            archive.seen("ipos", "hkk")


def test_a_file_may_be_named_as_a_connection_string_is(tmp_path):
    with bl.Archive(tmp_path / "user=me.db"):
        assert (tmp_path / "user=me.db").is_file()


def test_exports_have_all_keys_as_they_are_now_and_all_versions_if_asked(
    archive, book, client, tmp_path
):
    parquet = pytest.importorskip("pyarrow.parquet")
    book.put_fills(3)
    book.put_fills(2, "99", "US")
    plate = path_of("plates", PLATE)
    book.lists[plate] = [{"code": "HK.00001"}]
    archive.update(client, fills=[HK, ("99", "US")], plates=[PLATE])
    book.lists[plate] = []
    archive.update(client, plates=[PLATE])
    assert archive.export("fills", tmp_path / "fills.parquet") == 5
    fills = parquet.read_table(tmp_path / "fills.parquet").to_pylist()
    assert {(one["account"], one["market"]) for one in fills} == {HK, ("99", "US")}
    assert archive.export("plates", tmp_path / "plates.parquet") == 0
    assert archive.export("plates", tmp_path / "plates.parquet", history=True) == 2
    plates = parquet.read_table(tmp_path / "plates.parquet").to_pylist()
    found = [(one["plate"], one["code"], one["change"]) for one in plates]
    assert found == [(PLATE, "HK.00001", "new"), (PLATE, "HK.00001", "gone")]
    seen_at = plates[0]["seen_at"]
    assert archive.export("plates", tmp_path / "then.parquet", PLATE, seen_at) == 1
    (then,) = parquet.read_table(tmp_path / "then.parquet").to_pylist()
    assert then == {"plate": PLATE, "code": "HK.00001"}
    assert archive.export("fills", tmp_path / "fills.parquet", ("99", "US")) == 2
    assert archive.export("plates", tmp_path / "then.parquet", "HK.BK9") == 0
    assert len(list(tmp_path.glob("*parquet*"))) == 3


def test_a_restated_dividend_counts_once_in_an_export(archive, book, client, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path, file = path_of("dividends", "HK.00700"), tmp_path / "dividends.parquet"
    of = {"ex_date": "2026-05-15", "pub_date": "2026-03-18"}
    for amount in ("4.5", "5.3"):
        book.lists[path] = [{**of, "dividend_per_share": amount}]
        archive.update(client, dividends=["HK.00700"])
    archive.export("dividends", file)
    (now,) = parquet.read_table(file).to_pylist()
    assert (now["symbol"], now["dividend_per_share"]) == ("HK.00700", 5.3)
    archive.export("dividends", file, history=True)
    versions = parquet.read_table(file).to_pylist()
    found = [(one["dividend_per_share"], one["change"]) for one in versions]
    assert found == [(4.5, "new"), (5.3, "changed")]


def test_what_an_export_cannot_know_is_refused(kept, tmp_path):
    with pytest.raises(bl.ConfigError, match="does not apply to fills"):
        kept.export("fills", tmp_path / "fills.parquet", at="2026-01-31")
    with pytest.raises(bl.ConfigError, match="pass one of them"):
        kept.export("ipos", tmp_path / "x.parquet", at="2026-01-31", history=True)
    with pytest.raises(bl.ConfigError, match="at is 'yesterday'"):
        kept.export("ipos", tmp_path / "x.parquet", at="yesterday")
    assert not list(tmp_path.glob("*parquet*"))


@pytest.mark.parametrize("name", ["x.parquet", "x.PQ", "x.csv", "x.jsonl", "x.xlsx", "x.feather"])
def test_a_new_archive_has_not_the_name_of_another_kind_of_file(name, kept, tmp_path, capfd):
    folder = tmp_path / "folder"
    folder.mkdir()
    path, backup = folder / name, folder / "backup.db"
    expected = f"an archive is an SQLite database: expected a name such as {str(folder / 'x.db')!r}"
    for argument, call in (("target", bl.Archive), ("path", kept.backup)):
        with pytest.raises(bl.ConfigError) as caught:
            call(path)
        assert str(caught.value) == f"{argument} is {str(path)!r}; {expected}"
    kept.backup(backup)
    for words in (["update", path, "--ipos", "hk"], ["restore", backup, path]):
        command = ["--base-url", "http://127.0.0.1:9", "archive", *map(str, words)]
        assert main(command) == 2 and expected in capfd.readouterr().err
    assert list(folder.iterdir()) == [backup]
    # An existing file with such a name is accepted.
    backup.rename(path)
    with bl.Archive(path) as archive:
        assert len(archive.fills(*HK)) == 3


@pytest.mark.parametrize("name", ["x.xlsx", "x.csv", "x.arrow", "x.db", "x.sqlite3", "x.duckdb"])
def test_an_export_says_what_it_writes_and_suggests_no_other_list(name, kept, tmp_path):
    path = str(tmp_path / name)
    with pytest.raises(bl.ConfigError) as caught:
        kept.export("ipos", path, "hk")
    shown = str(tmp_path / "x.parquet")
    assert str(caught.value) == f"path is {path!r}; expected a Parquet file, such as {shown!r}"
    assert "fills" not in caught.value.hint and name not in caught.value.hint
    assert caught.value.hint == snapshot(
        "Only Parquet is written. `boardlot archive sql`, with `--out`, writes the result"
        " of a query in other formats."
    )


def test_security_45_a_server_that_disappears_is_a_clear_error_and_the_next_update_continues(
    book, client, service, monkeypatch
):
    need_postgres()
    from ..support import postgres

    book.put_fills(1_500)
    with postgres.Postgres() as server, bl.Archive(server.address()) as archive:
        store = FillStore.store

        def stored_once(*arguments):
            counts = store(*arguments)
            server.stop()
            return counts

        with monkeypatch.context() as patched:
            patched.setattr(FillStore, "store", stored_once)
            with pytest.raises(bl.StoreError, match="cannot be used") as error:
                archive.update(client, fills=[HK])
        assert error.value.retryable and error.value.hint == snapshot(
            "Check that the server runs and can be reached, then run the same update again: "
            "nothing that was stored is lost."
        )
        with pytest.raises(bl.StoreError):
            archive.fills(*HK).all()
        server.start()
        assert archive.fills(*HK).all() == []
        before = len(service.received)
        archive.update(client, fills=[HK])
        assert archive.fills(*HK).all() == book.expected()
        assert first_cursor(service.received[before:]) >= 500


ADDRESSES = json.loads(Path(__file__).with_name("addresses.json").read_text())


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_spelling_of_an_address_shows_its_password(address):
    pytest.importorskip("psycopg")
    with pytest.raises((bl.ConfigError, bl.StoreError)) as error:
        bl.Archive(address)
    shown = f"{error.value!r} {error.value.__cause__!r} {error.value.hint}"
    assert not any(part in shown for part in ("s3cret", "word@", "12345"))


@pytest.mark.parametrize("user", ["nobody", "barred", "boardlot"])
def test_a_login_that_the_server_refuses_is_not_a_server_that_is_down(address, connection, user):
    connection.execute("drop role if exists barred")
    connection.execute("create role barred nologin")
    changed = address.replace("//boardlot@", f"//{user}@") + "_" * (user == "boardlot")
    with pytest.raises(bl.StoreError, match="FATAL") as error:
        bl.Archive(changed)
    assert "Correct the user" in error.value.hint and not error.value.retryable


def test_a_server_with_too_many_connections_is_tried_again(address, connection):
    connection.execute("drop role if exists crowded")
    connection.execute("create role crowded login connection limit 0")
    with pytest.raises(bl.StoreError, match="too many") as error:
        bl.Archive(address.replace("//boardlot@", "//crowded@"))
    assert error.value.retryable and "Close other connections" in error.value.hint


def test_an_address_is_shown_as_host_port_and_database():
    pytest.importorskip("psycopg")
    with pytest.raises(bl.StoreError, match=r"archive postgresql://127\.0\.0\.1:1/db cannot"):
        bl.Archive("PostgreSQL://user:s3cret@127.0.0.1:1/db")


QUERIES = [
    "select * from fills where code {no}",
    "select account, create_time, updated_time as t, qty, f.status as s from fills f "
    "where code {no}",
    "select code, count(*) as n, sum(qty) as q, max(updated_time) as last, min(price), 'x' as c, "
    "1 as one from fills where code {no} group by 1",
    # These columns have the same names as columns of other types in other lists.
    "select market, seen_at, list_time, i.code from ipos i where code {no}",
    "select ex_date as day, sum(dividend_per_share) as paid, symbol from dividends "
    "where symbol {no} group by 1, 3",
    "select * from plates_history where plate {no}",
]


def test_a_result_without_rows_has_the_types_of_one_with_rows(archive, book, client):
    pytest.importorskip("pyarrow")
    book.put_fills(3)
    book.lists[path_of("ipos", "hk")] = [{"code": "HK.02799", "list_time": "1790000000"}]
    book.lists[path_of("plates", PLATE)] = [{"code": "HK.00001"}]
    book.lists[path_of("dividends", "HK.00700")] = [
        {"ex_date": "2026-05-15", "pub_date": "2026-03-18", "dividend_per_share": "4.5"}
    ]
    archive.update(client, fills=[HK], ipos=["hk"], plates=[PLATE], dividends=["HK.00700"])
    for query in QUERIES:
        full = archive.sql(query.format(no="<> ''"))
        empty = archive.sql(query.format(no="= ''"))
        assert len(full) == 1 + 2 * ("group" not in query and "fills" in query), query
        # A column that SQLite computes has the type of its values.
        is_sqlite = archive._database.times_are_texts
        computed = {"n", "q", "last", "min(price)", "c", "one", "paid"} if is_sqlite else set()
        check_types(full, empty, computed)


def check_types(full, empty, computed):
    def types(named):
        return {name: str(one) for name, one in named if name not in computed}

    assert len(empty) == 0
    kinds = types((field.name, field.type) for field in full.to_arrow().schema)
    found = types((field.name, field.type) for field in empty.to_arrow().schema)
    assert kinds and {name: found[name] for name in kinds} == kinds
    kinds, found = types(full.to_polars().schema.items()), types(empty.to_polars().schema.items())
    assert {name: found[name] for name in kinds} == kinds
    frame, nothing = full.to_pandas(), empty.to_pandas()
    known = [name for name in frame if name not in computed and frame[name].notna().any()]
    assert list(nothing.columns) == empty.columns and len(nothing) == 0
    assert list(nothing[known].dtypes) == list(frame[known].dtypes)


@pytest.mark.filterwarnings("ignore:the archive .* has no update")
def test_a_column_whose_type_nobody_knows_is_one_of_nulls(file):
    pytest.importorskip("pyarrow")
    with bl.Archive(file) as archive:
        found = archive.sql("select record ->> '$.x' as x, a.qty * 2 as y from fills a")
    assert [str(field.type) for field in found.to_arrow().schema] == ["null", "null"]
    assert list(found.to_pandas().columns) == ["x", "y"] == found.to_polars().columns


LISTS = {"fills": [HK, ("99", "HK")], "ipos": ["hk", "us"], "plates": [PLATE]}


def fail(book):
    """Two of five lists fail; others come after them."""
    book.put_fills(3, "99", "HK")
    book.lists[path_of("plates", PLATE)] = [{"code": "HK.1"}]
    book.failures[fills_path()] = [unavailable()]
    refused = response({"ret_code": -3, "ret_msg": "no \x1b such market", "data": {}}, 400)
    book.failures[path_of("ipos", "hk")] = [refused]


def expect(archive, report):
    assert not report and list(report.errors) == [("fills", HK), ("ipos", "hk")]
    assert len(report.lists) == 5 and report.new == 4
    assert len(archive.fills("99", "HK").all()) == 3 and archive.seen("plates", PLATE) == [
        {"code": "HK.1"}
    ]


@pytest.mark.parametrize("is_async", [False, True])
def test_all_lists_are_tried_and_kept_before_an_error_is_raised(
    archive, book, client, service, is_async
):
    fail(book)

    async def update():
        async with bl.AsyncClient(service.base_url, max_retries=0) as async_client:
            return await archive.update(async_client, **LISTS)

    with raises(
        bl.ArchiveUpdateError,
        snapshot(
            "2 of 5 lists failed: fills 281756 HK: fills_history: later (code -5, HTTP 503); "
            "ipos hk: ipo_list: no \\x1b such market (code -3, HTTP 400)"
        ),
    ) as raised:
        asyncio.run(update()) if is_async else archive.update(client, **LISTS)
    error = raised.value
    expect(archive, error.report)
    assert isinstance(error, bl.BoardlotError) and isinstance(error.__cause__, bl.ServiceError)
    assert not error.retryable and error.hint
    assert pickle.loads(pickle.dumps(error)).report.new == 4
    # The next update reads the lists that failed.
    assert archive.update(client, **LISTS)


def test_collected_errors_make_the_report_false(archive, book, client):
    fail(book)
    expect(archive, archive.update(client, **LISTS, on_error="collect"))
    assert archive.update(client, **LISTS, on_error="collect")
    with raises(bl.ConfigError, snapshot("on_error is 'ignore'; expected 'raise' or 'collect'")):
        archive.update(client, **LISTS, on_error="ignore")


WRONG = {
    "fills": [HK, "HK", ("x y", "HK")],
    "dividends": ["HK.00005", "not a symbol"],
    "plates": [PLATE, 5],
    "lists": [("kline", {})],
}


def test_keys_that_are_not_valid_are_collected_as_those_of_fetch_many_are(archive, book, client):
    book.put_fills(3)
    book.lists[path_of("plates", PLATE)] = [{"code": "HK.1"}]
    report = archive.update(client, **WRONG, on_error="collect")
    assert not report and report.new == 4 and len(archive.fills(*HK).all()) == 3
    assert {name: type(error) for name, error in report.errors.items()} == dict.fromkeys(
        [
            ("fills", "HK"),
            ("fills", ("x y", "HK")),
            ("dividends", "not a symbol"),
            ("plates", "5"),
            ("lists", "('kline', {})"),
        ],
        bl.ConfigError,
    )
    assert "not a symbol" in str(report) and len(list(report.rows())) == 8


def test_keys_that_are_not_valid_are_an_error_before_anything_is_sent(kept, client, service):
    sent = len(service.received)
    for name, keys in WRONG.items():
        with pytest.raises(bl.ConfigError):
            kept.update(client, **{name: keys})
    with raises(
        bl.ConfigError, snapshot("plates is 'HK.BK1'; expected a list, such as ['HK.BK1']")
    ):
        kept.update(client, plates="HK.BK1", on_error="collect")
    assert len(service.received) == sent


TIMES = [
    "2026-01-31",
    "2026-01-31T00:00:00Z",
    date(2026, 1, 31),
    datetime(2026, 1, 31, tzinfo=timezone.utc),
    1_769_817_600_000_000,
]


@pytest.mark.parametrize("time", TIMES)
def test_a_time_is_text_a_date_a_datetime_or_microseconds(time, kept, client, service, tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.warns(UserWarning, match="no update"):
        assert kept.seen("ipos", "hk", at=time) == []
        assert kept.export("ipos", tmp_path / "ipos.parquet", at=time) == 0
    kept.update(client, fills=[HK], start=time)
    assert kept.fills(*HK, start=time).all()
    with pytest.warns(UserWarning, match="and none of these there"):
        assert not kept.fills(*HK, end=time).all()
    asked = {"start=1769817600000000" in one.query for one in service.received}
    assert True in asked
    assert followed(kept, client, 3, start=time) == ["1", "2", "3"]


def test_an_update_whose_lists_all_failed_is_an_error_that_may_pass(archive, book, client):
    book.failures[fills_path()] = [unavailable()]
    with pytest.raises(bl.ArchiveUpdateError, match=r"^1 of 1 lists failed") as raised:
        archive.update(client, fills=[HK])
    assert raised.value.retryable


def test_the_command_says_each_reason_on_stderr(book, service, file, capfd):
    fail(book)
    book.failures[fills_path()] *= 9
    lists = ["--fills", "281756:HK", "--fills", "99:HK", "--ipos", "hk", "--ipos", "us"]
    line = ["--base-url", service.base_url, "archive", "update", str(file), *lists]
    assert main([*line, "--format", "jsonl"]) == 3
    printed = capfd.readouterr()
    assert len(printed.out.splitlines()) == 4
    reasons = [one for one in printed.err.splitlines() if one.startswith("boardlot: ")]
    assert [reason.split(": ")[1] for reason in reasons] == ["fills 281756 HK", "ipos hk"]
    assert "later (code -5, HTTP 503)" in reasons[0] and "\x1b" not in printed.err
    book.failures.clear()
    assert main(line) == 0
