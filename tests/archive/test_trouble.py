"""Two writers, a full disk, files that cannot be used, a server that disappears: a clear error, and
nothing is lost."""

import os
import pickle
import re
import sqlite3
import threading

import boardlot as bl
import pytest

from ..support.processes import run_python
from ..support.system import need_postgres
from .service import HOUR, path_of

HK = [("281756", "HK")]
POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and limits of POSIX")
PLATE = "HK.BK1001"


def content(path):
    """Everything in a SQLite file."""
    with sqlite3.connect(path) as connection:
        return list(connection.iterdump())


def test_security_45_a_second_writer_waits(target, book, client):
    book.put_fills(120)
    started, go = threading.Event(), threading.Event()

    def hold(page):
        if page == 1:
            started.set()
            go.wait(30)

    book.before_page = hold
    reports = []

    def update():
        with bl.Archive(target) as archive:
            reports.append(archive.update(client, fills=HK))

    threads = [threading.Thread(target=update) for _ in range(2)]
    threads[0].start()
    assert started.wait(30)
    threads[1].start()
    with bl.Archive(target, wait=0.1) as archive:
        with pytest.raises(bl.StoreError, match="being updated by another process") as error:
            archive.update(client, fills=HK)
        assert error.value.retryable
        assert archive.fills("281756", "HK") == []
    book.before_page = None
    go.set()
    for thread in threads:
        thread.join(60)
    assert sorted(report.new for report in reports) == [0, 120]
    with bl.Archive(target) as archive:
        assert archive.fills("281756", "HK") == book.expected()


@POSIX
def test_security_45_a_full_disk_is_a_clear_error_and_the_next_update_continues(
    file, book, client, service
):
    book.put_fills(3_000, step=HOUR // 2)
    # RLIMIT_FSIZE is what a full disk is like, for files only.
    code = """
    import resource, signal, sys
    import boardlot as bl
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with bl.Client(sys.argv[2]) as client, bl.Archive(sys.argv[1]) as archive:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        try:
            archive.update(client, fills=[("281756", "HK")])
        except bl.StoreError as error:
            print(error)
        else:
            print("no error")
    """
    out, _ = run_python(code, file, service.base_url)
    assert "the archive" in out and ("full" in out or "I/O" in out), out
    with bl.Archive(file) as archive:
        assert archive.fills("281756", "HK") == []
        before = len(service.received)
        archive.update(client, fills=HK)
        assert archive.fills("281756", "HK") == book.expected()
    # It continued after the last page that was stored.
    first = next(one for one in service.received[before:] if one.path.endswith("fills_history"))
    assert int(first.query.partition("page_flag=")[2].partition("&")[0]) >= 50


def test_security_45_a_file_that_cannot_be_written_can_be_read(file, book, client, monkeypatch):
    book.put_fills(3)
    with bl.Archive(file) as archive:
        archive.update(client, fills=HK)
    before = content(file)
    # As root may write everything, the system's check is replaced; the file is opened read-only.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with bl.Archive(file) as archive:
        assert archive.fills("281756", "HK") == book.expected()
        assert len(archive.sql("select * from fills")) == 3
        with pytest.raises(bl.StoreError, match="readonly") as error:
            archive.update(client, fills=HK)
        assert "make it writable" in error.value.hint
    monkeypatch.undo()
    assert content(file) == before


@pytest.mark.parametrize("damage", ["text", "cut", "page"])
def test_security_45_a_damaged_file_is_an_error_and_is_left_as_it_is(damage, file, book, client):
    book.put_fills(300)
    with bl.Archive(file) as archive:
        archive.update(client, fills=HK)
    whole = file.read_bytes()
    damaged = {
        "text": b"this is not a database, but a text" * 100,
        "cut": whole[:6000],
        "page": whole[:4096] + os.urandom(len(whole) - 4096),
    }[damage]
    file.write_bytes(damaged)
    with pytest.raises(bl.StoreError, match="cannot be used"), bl.Archive(file) as archive:
        archive.fills("281756", "HK")
        archive.update(client, fills=HK)
    if damage == "text":
        assert file.read_bytes() == damaged


def test_security_45_damage_that_sqlite_repeats_in_its_message_is_an_error(file):
    bl.Archive(file).close()
    content = file.read_bytes()
    # The definition of a view, in which this byte is not valid UTF-8.
    file.write_bytes(content.replace(b" where ", b" w\xffere "))
    assert file.read_bytes() != content
    with pytest.raises(bl.StoreError, match="malformed database schema") as error:
        bl.Archive(file)
    assert error.value.hint == "It was damaged: restore it from a backup."


def test_a_database_of_something_else_is_left_as_it_is(file):
    with sqlite3.connect(file) as connection:
        connection.execute("create table mine (a)")
    before = file.read_bytes()
    with pytest.raises(bl.StoreError, match="is a database, but not an archive"):
        bl.Archive(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("version", [0, 2, 99])
def test_another_format_is_rejected_and_left_as_it_is(target, version):
    with bl.Archive(target) as archive, archive._database.transaction() as transaction:
        transaction.execute(f"update archive_format set version = {version}")
    for _ in range(2):
        with pytest.raises(bl.StoreError, match=f"has format {version}; this version") as error:
            bl.Archive(target)
        assert "the version of boardlot that wrote it" in error.value.hint


def test_a_missing_folder_and_invalid_targets_are_clear_errors(tmp_path):
    with pytest.raises(bl.StoreError, match="cannot be used: unable to open") as error:
        bl.Archive(tmp_path / "no" / "such" / "archive.db")
    assert "folder exists" in error.value.hint
    for target in ("", b"x", None, 5, "a\0b", "\ud800"):
        with pytest.raises(bl.ConfigError, match="target is"):
            bl.Archive(target)
    with pytest.raises(bl.ConfigError):
        bl.Archive(tmp_path / "a.db", wait=-1)


def test_a_closed_archive_says_so_and_none_can_be_pickled(file, client):
    archive = bl.Archive(file)
    with pytest.raises(bl.ConfigError, match="pass its path"):
        pickle.dumps(archive)
    archive.close()
    archive.close()
    with pytest.raises(bl.ConfigError, match="is closed"):
        archive.fills("1", "HK")
    with pytest.raises(bl.ConfigError, match="is closed"):
        archive.update(client, fills=HK)


def test_a_query_changes_nothing_and_a_wrong_one_says_so(archive, book, client):
    book.put_fills(3)
    archive.update(client, fills=HK)
    for query in (
        "delete from fill_versions",
        "delete from fills",
        "update ipos set record = ''",
        "insert into series (account, market) values ('1', 'HK')",
        "drop table series",
        "select * from nowhere",
        "not a query",
        "select 1; drop table series",
        "commit",
    ):
        with pytest.raises(bl.ConfigError, match="the query failed"):
            archive.sql(query)
    assert len(archive.sql("select * from fills")) == 3
    archive.update(client, fills=HK)
    assert archive.fills("281756", "HK") == book.expected()


@pytest.mark.parametrize(
    ("query", "parameters", "named"),
    [
        (5, (), "query is of type int"),
        (None, (), "query is of type NoneType"),
        ("select 1", "x", "parameters is of type str"),
        ("select 1", None, "parameters is of type NoneType"),
        ("select '\ud800'", (), "the query failed"),
        ("select {mark}", ["\ud800"], "the query failed"),
        ("select {mark}", [object()], "the query failed"),
        ("select {mark}", [], "the query failed"),
    ],
)
def test_arguments_of_a_query_that_are_not_valid_are_named(query, parameters, named, archive):
    mark = "?" if archive._database.identity == "integer primary key" else "%s"
    if isinstance(query, str):
        query = query.replace("{mark}", mark)
    with pytest.raises(bl.ConfigError, match=named):
        archive.sql(query, parameters)


def test_lists_and_paths_that_are_not_valid_are_named(file):
    with bl.Archive(file) as archive:
        for name in ([], None, 5, "fill"):
            with pytest.raises(bl.ConfigError, match="list is"):
                archive.seen(name, "hk")
        for path in (None, 5, b"x", "", "a\0b"):
            with pytest.raises(bl.ConfigError, match="path is"):
                archive.export("fills", path)
        with pytest.raises(bl.ConfigError, match="did you mean 'hk'"):
            archive.seen("ipos", "hkk")


def test_a_file_may_be_named_as_a_connection_string_is(tmp_path):
    with bl.Archive(tmp_path / "user=me.db"):
        assert (tmp_path / "user=me.db").is_file()


def test_views_have_the_types_of_the_frames(archive, book, client):
    pytest.importorskip("pandas")
    book.put_fills(3)
    path = path_of("dividends", "HK.00700")
    book.lists[path] = [
        {"ex_date": "2026/02/28", "pub_date": "--", "record_date": "", "dividend_per_share": 0.4},
        {"ex_date": "2026/02/30", "pub_date": "2026/02/01", "dividend_per_share": "0.4"},
    ]
    archive.update(client, fills=HK, dividends=["HK.00700"])
    fills = archive.sql("select * from fills order by updated_time desc").to_pandas()
    direct = archive.fills("281756", "HK").to_pandas()
    for name in direct.columns:
        assert fills[name].dtype == direct[name].dtype, name
        assert fills[name].tolist() == direct[name].tolist(), name
    dividends = archive.sql("select * from dividends").to_dicts()
    assert [str(row["ex_date"]) for row in dividends] == ["2026-02-28", "None"]
    assert [str(row["pub_date"]) for row in dividends] == ["None", "2026-02-01"]
    assert [row["dividend_per_share"] for row in dividends] == [0.4, 0.4]
    assert archive.sql("select * from fills where code = 'no'").to_pandas().empty
    seen = archive.sql("select change, seen_at from dividends_history").to_polars()
    assert seen["change"].to_list() == ["new", "new"]
    assert str(seen["seen_at"].dtype).startswith("Datetime")


def test_exports_have_all_keys_and_all_changes(archive, book, client, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    book.put_fills(3)
    book.put_fills(2, "99", "US")
    plate = path_of("plates", PLATE)
    book.lists[plate] = [{"code": "HK.00001"}]
    archive.update(client, fills=[*HK, ("99", "US")], plates=[PLATE])
    book.lists[plate] = []
    archive.update(client, plates=[PLATE])
    assert archive.export("fills", tmp_path / "fills.parquet") == 5
    fills = parquet.read_table(tmp_path / "fills.parquet").to_pylist()
    assert {(one["account"], one["market"]) for one in fills} == {("281756", "HK"), ("99", "US")}
    archive.export("plates", tmp_path / "plates.parquet")
    plates = parquet.read_table(tmp_path / "plates.parquet").to_pylist()
    assert [(one["plate"], one["code"], one["change"]) for one in plates] == [
        (PLATE, "HK.00001", "new"),
        (PLATE, "HK.00001", "gone"),
    ]
    with pytest.raises(bl.ConfigError):
        archive.export("stocks", tmp_path / "x.parquet")
    assert sorted(path.name for path in tmp_path.glob("*parquet*")) == [
        "fills.parquet",
        "plates.parquet",
    ]


@POSIX
def test_a_forked_child_opens_the_archive_for_itself(target, book, client):
    book.put_fills(3)
    with bl.Archive(target) as archive:
        archive.update(client, fills=HK)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if len(archive.fills("281756", "HK")) == 3 else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert archive.update(client, fills=HK).unchanged == 3


class TestServer:
    def test_security_45_a_server_that_disappears_is_a_clear_error_and_the_next_update_continues(
        self, book, client, service
    ):
        need_postgres()
        from ..support import postgres

        book.put_fills(1_500)
        with postgres.Postgres() as server:
            address = server.address()
            with bl.Archive(address) as archive:
                stopped = threading.Event()

                def disappear(page):
                    if page == 25:
                        server.stop()
                        stopped.set()

                book.before_page = disappear
                with pytest.raises(bl.StoreError, match="cannot be used") as error:
                    archive.update(client, fills=HK)
                assert error.value.retryable and "run the same update again" in error.value.hint
                with pytest.raises(bl.StoreError):
                    archive.fills("281756", "HK")
                assert stopped.wait(60)
                book.before_page = None
                server.start()
                assert archive.fills("281756", "HK") == []
                before = len(service.received)
                archive.update(client, fills=HK)
                assert archive.fills("281756", "HK") == book.expected()
                assert any(
                    re.search(r"page_flag=\d", one.query) for one in service.received[before:][:2]
                )

    def test_no_error_and_no_repr_contains_a_password(self):
        pytest.importorskip("psycopg")
        with pytest.raises(bl.StoreError) as error:
            bl.Archive("postgresql://user:s3cret-word@127.0.0.1:1/db")
        assert "s3cret-word" not in f"{error.value!r} {error.value.__cause__!r} {error.value.hint}"
        with pytest.raises(bl.ConfigError) as refused:
            bl.Archive("postgresql://user:s3cret-word@[/db")
        assert "s3cret-word" not in repr(refused.value)

    @pytest.mark.parametrize(
        "address",
        [
            "postgresql://user:s3cret/word@127.0.0.1:1/db",
            "postgresql://user:12345/word@127.0.0.1:1/db",
            "postgresql://user:s3cret@word@127.0.0.1:1/db",
            "POSTGRESQL://user:s3cret/word@127.0.0.1:1/db",
            "POSTGRESQL://user:s3cret@127.0.0.1:1/db",
            " postgres://user:s3cret@127.0.0.1:1/db",
            "postgresql:/user:s3cret@127.0.0.1:1/db",
            "mysql://user:s3cret@127.0.0.1/db",
            "password=s3cret host=127.0.0.1",
            "host=127.0.0.1 user=me password='s3cret'",
            " sslmode=require\nPASSWORD = s3cret",
            "dbname=db application_name='word@' password=s3cret",
        ],
    )
    def test_no_spelling_of_an_address_shows_its_password(self, address):
        pytest.importorskip("psycopg")
        with pytest.raises((bl.ConfigError, bl.StoreError)) as error:
            bl.Archive(address)
        shown = f"{error.value!r} {error.value.__cause__!r} {error.value.hint}"
        assert not any(part in shown for part in ("s3cret", "word@", "12345"))

    def test_an_address_is_shown_as_host_port_and_database(self):
        pytest.importorskip("psycopg")
        with pytest.raises(bl.StoreError, match=r"archive postgresql://127\.0\.0\.1:1/db cannot"):
            bl.Archive("PostgreSQL://user:s3cret@127.0.0.1:1/db")


@POSIX
def test_an_export_does_not_replace_a_device_or_a_folder(file, tmp_path):
    with bl.Archive(file) as archive:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        for path in (pipe, tmp_path, "/dev/null"):
            with pytest.raises(bl.ConfigError, match="not a regular file"):
                archive.export("fills", path)
        assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["fills", "dividends", "ipos", "plates"])
def test_an_export_of_an_empty_list_has_the_declared_columns(name, file, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    with bl.Archive(file) as archive:
        assert archive.export(name, tmp_path / "empty.parquet") == 0
    schema = parquet.read_schema(tmp_path / "empty.parquet")
    if name == "fills":
        assert schema.names[:2] == ["account", "market"]
        assert str(schema.field("price").type) == "double"
    else:
        assert str(schema.field("seen_at").type) == "timestamp[us, tz=UTC]"


def test_the_columns_of_an_empty_view_have_their_declared_types(archive):
    found = archive.sql("select deal_id, code, price, updated_time, 1 as n from fills")
    pytest.importorskip("pyarrow")
    assert [str(field.type) for field in found.to_arrow().schema] == [
        "string", "string", "double", "timestamp[us, tz=UTC]", "null",
    ]  # fmt: skip
    assert str(found.to_polars().schema["price"]) == "Float64"
    assert str(found.to_pandas()["price"].dtype) == "float64"
    assert list(found.to_pandas().columns) == found.columns
