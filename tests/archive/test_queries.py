"""A query can change nothing, and is interrupted as any other call."""

import contextlib
import signal
import subprocess

import boardlot as bl
import pytest

from ..support.interrupts import ends_at_once
from ..support.processes import python
from .service import HK

IN_SQLITE = [
    "begin", "commit", "rollback", "savepoint a", "release a", "attach '{out}' as other",
    "vacuum into '{out}'", "vacuum", "pragma journal_mode = delete", "pragma query_only = off",
    "pragma user_version = 5", "select load_extension('{out}')", "create temp table t (a)",
    "create view v as select 1", "drop view fills", "delete from fills", "reindex", "analyze",
    "insert into series (account, market) values ('1', 'HK')", "detach main",
    "explain delete from series", "select 1; select 2", "select * from nowhere", "not a query",
]  # fmt: skip
IN_POSTGRES = [
    "begin", "commit", "rollback", "savepoint a", "copy (select 1) to program 'touch {out}'",
    "copy (select 1) to '{out}'", "copy series from program 'touch {out}'",
    "select 1; drop table series", "1; drop table series", "delete from fills", "vacuum",
    "select lo_export(0, '{out}')", "select pg_read_file('/etc/passwd')", "set search_path to x",
    "select nextval('fill_versions_id_seq')", "listen x",
    "create temp table t (a int)", "do $$ begin perform 1; end $$", "lock table series",
    "with x as (delete from series returning 1) select * from x", "select * from series for update",
    "explain select 1", "select pg_terminate_backend(pid) from pg_stat_activity where usesuper",
    "select 1 into other", "create table other as select 1", "prepare x as select 1", "discard all",
]  # fmt: skip
HARMLESS_IN_POSTGRES = [
    "select set_config('search_path', 'nowhere', false)",
    "select set_config('timezone', 'Asia/Tokyo', false)",
    "select set_config('default_transaction_read_only', 'off', false)",
    "select pg_advisory_lock(42)",
]
# From PostgreSQL 16 on, it is rejected.
LARGE_OBJECT = "select lo_from_bytea(0, 'x')"


def content(archive):
    with archive._database.snapshot() as snapshot:
        return [snapshot.execute(f"select * from {one}") for one in ("series", "fill_versions")]


def test_a_query_changes_neither_data_settings_transactions_nor_files(
    archive, book, client, tmp_path
):
    book.put_fills(3)
    archive.update(client, fills=[HK])
    before, out = content(archive), tmp_path / "out"
    is_sqlite = archive._database.identity == "integer primary key"
    for query in IN_SQLITE if is_sqlite else IN_POSTGRES:
        with pytest.raises(bl.ConfigError, match="the query failed"):
            archive.sql(query.format(out=out))
    for query in [] if is_sqlite else HARMLESS_IN_POSTGRES:
        archive.sql(query)
    if not is_sqlite:
        with contextlib.suppress(bl.ConfigError):
            archive.sql(LARGE_OBJECT)
    assert len(archive.sql("select * from fills")) == 3
    assert not out.exists() and content(archive) == before
    if not is_sqlite:
        shown = "select current_setting('timezone'), current_setting('search_path')"
        assert archive.sql(shown).to_dicts()[0]["current_setting"] == "UTC"
        for left in ("pg_locks where locktype = 'advisory'", "pg_largeobject_metadata"):
            assert archive._database.read(f"select 1 from {left}") == []
    assert archive.update(client, fills=[HK]).unchanged == 3


def test_a_query_in_memory_changes_nothing_either(client):
    with bl.Archive(":memory:") as archive:
        with pytest.raises(bl.ConfigError, match="not authorized") as error:
            archive.sql("delete from series")
        assert error.value.hint == "A query can read, but nothing else."
        assert archive.update(client, fills=[HK]).errors == {}


def test_what_reads_is_a_query(archive):
    for query in (
        "with recursive n(i) as (values (1) union select i + 1 from n where i < 5) select * from n",
        "values (1), (2)",
        "select count(*) filter (where qty > 1) over () from fills",
        "select 1 -- a comment",
    ):
        archive.sql(query)


@pytest.mark.parametrize(
    ("query", "parameters", "named"),
    [
        (5, (), "query is of type int"),
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


ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"


COMMAND = """
    import sys
    from boardlot.archive import sqlite
    from boardlot.cli import main
    run_query = sqlite.run_query
    def started(*arguments):
        sqlite.run_query = run_query
        print("started", flush=True)
        return run_query(*arguments)
    sqlite.run_query = started
    sys.exit(main(["archive", "sql", sys.argv[1], sys.argv[2]]))
"""


def test_ctrl_c_ends_a_query(file):
    with bl.Archive(file) as archive:
        ends_at_once(lambda: archive.sql(ENDLESS))
        assert archive.sql("select 1 as one").to_dicts() == [{"one": 1}]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_query_of_the_command(number, file):
    bl.Archive(file).close()
    with python(COMMAND, file, ENDLESS, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == "started\n"
        child.send_signal(number)
        out, errors = child.communicate(timeout=60)
    assert (child.returncode, out) == (128 + number, ""), errors
    assert "Traceback" not in errors
