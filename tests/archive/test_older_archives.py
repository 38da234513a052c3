"""An archive that an older version wrote: every row is read, and an update finds nothing changed.

`older/` has what the commit that `service.json` names wrote into SQLite and into PostgreSQL, in two
updates with a follower between them, and the service's lists as they were then.
"""

import gzip
import json
import sqlite3
from pathlib import Path

import boardlot as bl
import pytest

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


@pytest.fixture
def older(request, target, service, book):
    """The archive, as if the service of these tests had been the one that it was written from."""
    book.fills = {(account, market): fills for account, market, fills in WRITTEN["fills"]}
    book.lists = WRITTEN["paths"]
    if target.startswith("postgres"):
        request.getfixturevalue("connection").execute(statements("postgres", service))
    else:
        Path(target).touch(0o600)
        with sqlite3.connect(target) as connection:
            connection.executescript(statements("sqlite", service))
        connection.close()
    with bl.Archive(target) as archive:
        yield archive


def statements(database, service):
    """What writes the archive again, with the address of this service."""
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
    """Its lists at each time: before it is migrated, after, and when later orders are stored."""
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
    for rows in book.lists.values():
        rows.append(rows.pop(0))
    older.update(client, **lists)
    assert seen() == before
    for name, key in LISTS.items():
        assert older.seen(name, key) == WRITTEN["paths"][WRITTEN["path_of"][name]]


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
    """Each of its transactions begins with this."""
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
