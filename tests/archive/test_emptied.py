"""An archive in PostgreSQL that other tests have used is as a new one."""

import boardlot as bl
import psycopg

from .emptied import Emptied, definitions
from .service import HK, PLATE, path_of


def dump(address):
    """Every row of the archive."""
    query = "select relname from pg_class where relnamespace = %s::regnamespace and relkind = 'r'"
    with psycopg.connect(address, autocommit=True) as connection:
        names = sorted(name for (name,) in connection.execute(query, ["boardlot_archive"]))
        every = "select * from boardlot_archive.{}"
        return {name: connection.execute(every.format(name)).fetchall() for name in names}


def test_what_a_test_has_stored_is_gone(postgres, book, client):
    emptied = Emptied(postgres)
    address = emptied.address()
    new = dump(address)
    book.lists[path_of("plates", PLATE)] = [{"code": "HK.00001"}]
    with bl.Archive(address) as archive, archive._database.transaction() as transaction:
        transaction.execute("update archive_format set version = 99")
    for number in (1, 2):
        book.put_fills(1, first=number)
        emptied.spare(address)
        assert emptied.address() == address and dump(address) == new
        with bl.Archive(address) as archive:
            assert archive.update(client, fills=[HK], plates=[PLATE]).new == 1 + number
            assert archive._database.read("select min(id) from series") == [(1,)]
    postgres.spare(address)


CHANGES = [
    "grant select on boardlot_archive.fills to public",
    "do $$ begin execute 'create or replace view boardlot_archive.ipos as '"
    "|| rtrim(pg_get_viewdef('boardlot_archive.ipos'), ';') || ' limit 1'; end $$",
    "comment on view boardlot_archive.fills is 'mine'",
    "alter table boardlot_archive.series add column mine text",
    "alter table boardlot_archive.series alter column market drop not null",
    "drop table boardlot_archive.archive_locks",
    "create index on boardlot_archive.series (market)",
    "create function boardlot_archive.mine() returns int return 1",
    "create schema mine",
    "create table public.mine ()",
    "alter database {} set timezone to 'Asia/Tokyo'",
]


def test_another_change_is_noticed(emptied):
    address = emptied.address()
    with psycopg.connect(address, autocommit=True) as connection:
        before = definitions(connection)
        for statement in CHANGES:
            with connection.transaction(force_rollback=True):
                connection.execute(statement.format(connection.info.dbname))
                assert definitions(connection) != before, statement
            assert definitions(connection) == before, statement
    emptied.spare(address)
