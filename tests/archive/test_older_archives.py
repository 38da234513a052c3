"""An archive that an older version wrote: every row is read, and an update finds nothing changed.

`older/` has the archives that the commit named in `service.json` wrote into SQLite and into
PostgreSQL, in two updates with a follower between them, and the service's lists of that time.
"""

import copy
import gzip
import json
import os
import random
import sqlite3
import threading
from collections import Counter
from pathlib import Path

import boardlot as bl
import pytest
from boardlot.archive import migration
from boardlot.archive.typed_columns import built_in

from ..support.threads import wait_until
from .columns import check_columns
from .kills import children
from .service import fill

KILLS = int(os.environ.get("BOARDLOT_TEST_KILLS", "3"))
OLDER = Path(__file__).parent / "older"
WRITTEN = json.loads((OLDER / "service.json").read_text("utf-8"))
LISTS = WRITTEN["lists"]
TREE = bl.Endpoint(
    "tree",
    "GET",
    "/api/v1.0/tree/{symbol}",
    rows="data.list",
    record={"code": "text", "weight": "decimal"},
)


def write(request, target, service):
    """Write the archive to this target."""
    if target.startswith("postgres"):
        request.getfixturevalue("connection").execute(statements("postgres", service))
    else:
        Path(target).touch(0o600)
        with sqlite3.connect(target) as connection:
            connection.executescript(statements("sqlite", service))
        connection.close()


@pytest.fixture
def older(request, target, service, book):
    """The archive, as if the service of these tests had been the one that it was written from."""
    of_then = copy.deepcopy(WRITTEN)  # Tests change the lists.
    book.fills = {(account, market): fills for account, market, fills in of_then["fills"]}
    book.lists = of_then["paths"]
    write(request, target, service)
    with bl.Archive(target) as archive:
        yield archive


def statements(database, service):
    """Returns the statements that write the archive again, with the address of this service."""
    written = gzip.decompress((OLDER / f"{database}.sql.gz").read_bytes()).decode()
    return written.replace(WRITTEN["address"], service.base_url)


def test_every_row_of_an_older_archive_is_read(older):
    for account, market, fills in WRITTEN["fills"]:
        kept = older.fills(account, market).all()
        assert sorted(kept, key=identity) == sorted(fills, key=identity)
        assert kept == sorted(kept, key=lambda one: one["updated_time"], reverse=True)
    for name, key in LISTS.items():
        assert older.seen(name, key) == WRITTEN["paths"][WRITTEN["path_of"][name]]
        assert [one["change"] for one in older.changes(name, key)] == WRITTEN["changes"][name]
    assert len(older.seen(TREE, {"symbol": "HK.00700"})) == 2


def identity(one):
    return one["deal_id"]


def test_the_next_update_of_an_older_archive_finds_nothing_changed(older, client):
    accounts = [(account, market) for account, market, _ in WRITTEN["fills"]]
    lists = {name: [key] for name, key in LISTS.items()}
    report = older.update(client, fills=accounts, lists=[(TREE, {"symbol": "HK.00700"})], **lists)
    assert (report.new, report.changed, report.gone) == (0, 0, 0)
    assert {report.lists[name, key].unchanged for name, key in LISTS.items()} == {3}


def test_an_older_archive_is_read_as_it_is_until_an_update(older, book, client):
    """Its lists are read at each time: before the migration, after it, and after later orders are
    stored."""
    times = {name: [at for (at,) in older._database.read(SNAPSHOTS, (name,))] for name in LISTS}
    formats = "select version from archive_format"

    def seen():
        return {
            (name, at): list(older.seen(name, key, at=at))
            for name, key in LISTS.items()
            for at in times[name]
        }

    before = seen()
    assert older._database.read(formats) == [(1,)]
    lists = {name: [key] for name, key in LISTS.items()}
    older.update(client, ipos=["hk"])
    assert older._database.read(formats) == [(2,)]
    assert seen() == before
    assert check_columns(older)
    for rows in book.lists.values():
        rows.append(rows.pop(0))
    older.update(client, **lists)
    assert seen() == before
    for name, key in LISTS.items():
        assert older.seen(name, key) == book.lists[WRITTEN["path_of"][name]]


def test_fills_of_an_older_archive_have_a_history_without_times(older, client):
    account, market, fills = WRITTEN["fills"][0]

    def history():
        return [
            (one["change"], one["seen_at"]) for one in older.changes("fills", (account, market))
        ]

    before = history()
    assert {change for change, _ in before} <= {"new", "changed"} and len(before) >= len(fills)
    assert {seen_at for _, seen_at in before} == {None}
    older.update(client, ipos=["hk"])
    assert history() == before
    query = "select change, seen_at from fills_history where account = '281756' and market = 'HK'"
    assert (account, market) == ("281756", "HK")
    assert sorted(older.sql(query)) == sorted(before)


SNAPSHOTS = """\
select s.seen_at from snapshots s join lists l on l.id = s.list where l.list = ? order by s.id"""


@pytest.mark.parametrize("table", ["series (account, market)", "lists (list, key)"])
def test_an_older_version_that_is_still_connected_is_stopped_in_words(older, client, table):
    """Each transaction of the older version begins with this statement."""
    insert = f"insert into {table} values ('281756', 'HK') on conflict do nothing"
    with older._database.transaction() as transaction:
        transaction.execute(insert)
    older.update(client, ipos=["hk"])
    with (
        pytest.raises(bl.StoreError, match="migrated by a newer boardlot") as error,
        older._database.transaction() as transaction,
    ):
        transaction.execute(insert)
    assert "backup" not in error.value.hint


def test_a_follower_of_an_older_archive_goes_on_where_it_stood(older, client):
    following = older.follow(client, fills=("281756", "HK"), name="watch", every=0.01)
    delivered = [next(following)["deal_id"] for _ in WRITTEN["not_yet_followed"]]
    following.close()
    assert delivered == WRITTEN["not_yet_followed"]


def add_fills(archive, count, run=1):
    """Adds fills as the older version stores them."""
    into = "fill_versions (series, identity, run, updated, code, record)"
    with archive._database.transaction() as transaction:
        for number in range(count):
            one = fill(f"more{number}", 10**15 + number, price=f"{number}.{number % 97}")
            row = (1, f'["{one["deal_id"]}"]', run, one["updated_time"], "HK.1", json.dumps(one))
            transaction.execute(f"insert into {into} values (?, ?, ?, ?, ?, ?)", row)


def columns_of(archive):
    return [
        archive._database.read(f'select * from "{typed.table}" order by 1, 2')
        for typed in built_in().values()
    ]


def test_a_migration_that_is_killed_ends_up_as_one_that_is_not(
    request, target, service, client, monkeypatch
):
    """The migration's batches stay, and until it ends the archive can be read as it was."""
    write(request, target, service)
    chosen = random.Random(KILLS)
    with children() as processes, bl.Archive(target) as archive:
        add_fills(archive, 10 + 30 * KILLS)
        query = "select deal_id, price, qty, record from fills order by 1"
        before, checked = list(archive.sql(query)), archive.check()
        for _ in range(KILLS):
            arguments = ["migrate", target, service.base_url, str(chosen.randrange(1, 4))]
            assert processes.killed(arguments)
            assert archive._database.read("select version from archive_format") == [(1,)]
            with bl.Archive(target) as opened:
                assert list(opened.sql(query)) == before and opened.check() == checked
        archive.update(client, ipos=["hk"])
        assert list(archive.sql(query)) == before
        assert check_columns(archive) > 2 * len(before)
        found = columns_of(archive)
        with archive._database.transaction() as transaction:
            for typed in built_in().values():
                transaction.execute(f'delete from "{typed.table}"')
            transaction.execute("delete from archive_columns")
        archive.update(client, ipos=["hk"])
        assert columns_of(archive) == found


def test_an_older_version_may_write_until_the_last_transaction_of_a_migration(
    older, client, monkeypatch
):
    """The versions of an unfinished read are among them, which the older version may write
    again."""
    add_fills(older, 50, run=3)
    published = "update series set published = 2, run_start = 1, run_end = 2 where id = 1"
    change = "update fill_versions set record = ? where id = (select max(id) from fill_versions)"
    with older._database.transaction() as transaction:
        transaction.execute(published)
    fill_batches, again = migration._fill, json.dumps(fill("again", 10**15, price="7.5"))

    def filled(database, *others):
        fill_batches(database, *others)
        with database.transaction() as transaction:
            transaction.execute(change, (again,))
            transaction.execute("update series set published = 3, run_start = null where id = 1")
        add_fills(older, 5, run=2)

    monkeypatch.setattr(migration, "_fill", filled)
    older.update(client, ipos=["hk"])
    rows = older.sql("select price from fills where deal_id = 'again'").to_dicts()
    assert rows == [{"price": 7.5}]
    assert check_columns(older)


def test_a_version_that_is_committed_after_later_ones_were_filled_has_its_columns(
    older, client, monkeypatch
):
    """The fill's writer took its number before others, and ends after the batches of the
    migration."""
    add_fills(older, 3)
    columns = "id, series, identity, run, updated, code, record"
    with older._database.transaction() as transaction:
        ((*late,), *_) = transaction.execute(
            f"select {columns} from fill_versions where id = (select max(id) - 1 "
            "from fill_versions)"
        )
        transaction.execute("delete from fill_versions where id = ?", (late[0],))
    fill_batches = migration._fill

    def filled(database, *others):
        fill_batches(database, *others)
        with database.transaction() as transaction:
            transaction.insert(f"fill_versions ({columns})", [late])

    monkeypatch.setattr(migration, "_fill", filled)
    older.update(client, ipos=["hk"])
    assert older.sql("select count(price) as n from fills where deal_id = 'more1'").to_dicts() == [
        {"n": 1}
    ]
    assert check_columns(older)


def test_a_writer_of_other_columns_of_this_format_is_waited_for(address, connection, book, client):
    """The writer has checked its columns, and commits while they are being replaced."""
    import psycopg

    book.put_fills(3)
    table = built_in()["fills"].table
    with bl.Archive(address) as archive, psycopg.connect(address) as writer:
        archive.update(client, fills=[("281756", "HK")])
        connection.execute(
            f'set search_path to boardlot_archive; alter table "{table}" rename to other; '
            f'alter index "{table}_u" rename to other_u; '
            "update archive_columns set columns_table = 'other' where list = 'fills'; "
            "update archive_views set digest = 'other'"
        )
        writer.execute("set search_path to boardlot_archive")
        query = "select columns_table from archive_columns where list = 'fills' for share"
        assert writer.execute(query).fetchall() == [("other",)]
        one = fill("late", 10**15)
        writer.execute(
            "insert into fill_versions (series, identity, run, updated, code, record) "
            "values (1, '[\"late\"]', 1, %s, 'HK.1', %s)",
            (10**15, json.dumps(one)),
        )
        migrating = threading.Thread(target=migration.make_current, args=(archive._database, 30.0))
        migrating.start()
        waiting = "select 1 from pg_locks where not granted and relation::regclass::text = %s"
        wait_until(lambda: connection.execute(waiting, ("archive_columns",)).fetchall())
        writer.commit()
        migrating.join()
        assert len(archive.fills("281756", "HK")) == 4
        assert check_columns(archive) == 8


def test_a_field_with_a_name_of_postgresql_s_own_is_in_the_record_alone(older, client):
    """The older version allowed the name in its views."""
    with older._database.transaction() as transaction:
        transaction.execute(
            "update endpoints set fields = ? where name = 'tree'",
            ('[["code", "text", ""], ["xmin", "decimal", ""]]',),
        )
    older.update(client, ipos=["hk"])
    assert check_columns(older)


def test_other_columns_of_a_view_that_somebody_reads_are_not_those_of_the_archive_yet(
    address, connection, client
):
    """Otherwise the view would show no record that is stored from then on."""
    import psycopg

    table, formats = built_in()["ipos"].table, "select columns_table from archive_columns"
    with bl.Archive(address) as archive, psycopg.connect(address) as reader:
        archive.update(client, ipos=["hk"])
        connection.execute(
            f'set search_path to boardlot_archive; alter table "{table}" rename to other; '
            f'alter index "{table}_u" rename to other_u; '
            "update archive_columns set columns_table = 'other' where list = 'ipos'; "
            "update archive_views set digest = 'other' where name like 'ipos%'"
        )
        reader.execute("select * from boardlot_archive.ipos")
        with pytest.raises(bl.StoreError, match="ipos cannot be replaced, because") as error:
            archive.update(client, ipos=["hk"])
        assert error.value.retryable
        assert ("other",) in archive._database.read(formats)
        reader.rollback()
        archive.update(client, ipos=["hk"])
        assert (table,) in archive._database.read(formats)
        names = "select 1 from pg_class where relname = 'other'"
        assert not archive._database.read(names)


def test_one_process_migrates_at_a_time(older, client, monkeypatch):
    database = older._database
    with database.lock("migrate:all").held(0.0):
        locked = []

        def short(*arguments):
            locked.append(arguments)
            raise AssertionError

        monkeypatch.setattr(migration, "_fill", short)
        with pytest.raises(bl.StoreError, match="is being migrated by another process") as error:
            migration.make_current(database, 0.1)
        assert error.value.retryable and not locked
    monkeypatch.undo()
    migration.make_current(database, 0.1)
    assert check_columns(older)


def test_who_may_only_read_an_older_archive_reads_it_before_and_after(
    address, connection, service, client
):
    connection.execute(statements("postgres", service))
    connection.execute("drop role if exists only_reads")
    connection.execute("create role only_reads login")
    connection.execute("grant usage on schema boardlot_archive to only_reads")
    connection.execute("grant select on all tables in schema boardlot_archive to only_reads")
    reader = address.replace("boardlot@", "only_reads@")
    try:
        with bl.Archive(reader) as archive:
            before = archive.sql("select deal_id, price from fills order by 1").to_dicts()
            with pytest.raises(bl.StoreError, match="permission denied"):
                archive.update(client, ipos=["hk"])
        with bl.Archive(address) as archive:
            archive.update(client, ipos=["hk"])
        with bl.Archive(reader) as archive:
            query = "select deal_id, price from fills order by 1"
            assert archive.sql(query).to_dicts() == before != []
            assert archive.changes("fills", ("281756", "HK"))
            assert check_columns(archive)
    finally:
        connection.execute("drop owned by only_reads")
        connection.execute("drop role only_reads")


BATCH = 10
VERSIONS = """insert into versions (list, id, seen_at, change, identity, digest, record)
with recursive n (id) as (select 1 union all select id + 1 from n where id < ?)
select l.id, n.id, 1, 'new', '', '', '{}' from lists l, n where l.list = ?"""
FILLS = """insert into fill_versions (series, identity, run, updated, record)
with recursive n (id) as (select 1 union all select id + 1 from n where id < ?)
select s.id, 'fill ' || n.id, 1, n.id, '{}' from series s, n"""


def work_of_batches(archive, endpoints, versions):
    """What the columns take of so many custom endpoints, each with one list of so many versions,
    and of as many fills: batches, and in SQLite also the steps of its machine, in hundreds."""
    done, database = Counter(), archive._database
    names = [f"e{endpoints}_{versions}_{number}" for number in range(endpoints)]
    with database.transaction() as transaction:
        for table in ("endpoints", "lists", "versions", "series", "fill_versions"):
            transaction.execute(f"delete from {table}")
        for name in names:
            transaction.execute("insert into endpoints (name, fields) values (?, '[]')", (name,))
            transaction.execute("insert into lists (list, key, format) values (?, '', 2)", (name,))
            transaction.execute(VERSIONS, (versions, name))
        transaction.execute(
            "insert into series (account, market, published, format) values ('1', 'HK', 1, 2)"
        )
        transaction.execute(FILLS, (versions,))
        lists = migration._lists(database, transaction)
        for typed in lists:
            typed.create(database, transaction)
            transaction.execute(f'delete from "{typed.table}"')
        if database.times_are_texts:
            transaction._driver.set_progress_handler(lambda: done.update(["steps"]), 100)
        for typed in lists:
            position = typed.first
            while position is not None:
                done["batches"] += 1
                position = typed.fill(transaction, position, limit=BATCH, published=True)
        if database.times_are_texts:
            transaction._driver.set_progress_handler(None, 0)
        for typed in lists:
            wanted = versions if typed.name in ("fills", *names) else 0
            query = f'select count(*) from "{typed.table}"'
            assert transaction.execute(query) == [(wanted,)]
    return done


def test_the_work_of_a_migration_grows_with_what_there_is(archive):
    """Not with lists times versions, as if each list looked at the versions of all, nor with the
    square of versions, as if each batch did."""
    least = work_of_batches(archive, 10, 60)
    for larger in (work_of_batches(archive, 20, 60), work_of_batches(archive, 10, 120)):
        assert larger.keys() == least.keys()
        assert all(larger[one] < 2.5 * least[one] for one in least), (least, larger)
