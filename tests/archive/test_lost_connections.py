"""PostgreSQL backends that are terminated: each follower has every fill once, updates continue."""

import itertools

import boardlot as bl
import pytest

from ..support.steps import Steps
from .service import HK, PLATE, fill, followed, ids, path_of, take

psycopg = pytest.importorskip("psycopg")


def test_an_archive_whose_connections_ended_while_it_was_idle_connects_again(
    address, terminate, book, client
):
    book.put_fills(5)
    names = map(str, itertools.count())
    with bl.Archive(address) as archive:
        uses = [
            lambda: archive.update(client, fills=[HK]).errors,
            lambda: len(archive.fills(*HK).all()),
            lambda: archive.sql("select count(*) as n from fills").to_dicts(),
            lambda: followed(archive, client, 5, name=next(names)),
        ]
        for use in uses:
            before = use()
            terminate()
            assert use() == before


@pytest.mark.parametrize("lose", ["connection", "file"])
def test_a_follower_whose_lock_was_lost_and_taken_stops_before_it_delivers(
    lose, request, tmp_path, book, client, monkeypatch
):
    monkeypatch.setattr("boardlot.archive.follow.LOST_LOCK_WAIT_S", 0.1)
    # The queue of one process must not keep the second one out.
    monkeypatch.setattr("boardlot.archive.locks._Queues.acquire", lambda *_: True)
    name = {"connection": "address", "file": "file"}[lose]
    target = request.getfixturevalue(name)
    book.put_fills(5)
    with bl.Archive(target) as archive, bl.Archive(target) as other:
        follower = archive.follow(client, fills=HK, every=0.05)
        assert ids(take(follower, 2)) == ["1", "2"]
        if lose == "connection":
            request.getfixturevalue("terminate")()
        for lock in tmp_path.glob("*.lock"):
            lock.unlink()
        taken_over = other.follow(client, fills=HK, every=0.05)
        # The second fill was being handled.
        assert ids(take(taken_over, 3)) == ["2", "3", "4"]
        with pytest.raises(bl.StoreError, match="another follower"):
            next(follower)
        taken_over.close()


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_security_54_connections_terminated_at_any_statement_lose_and_repeat_nothing(
    address, terminate, book, client, monkeypatch, step
):
    steps = Steps(monkeypatch, [(psycopg.Cursor, "execute")], terminate)
    monkeypatch.setattr("boardlot.archive.event_loops.pause", lambda _: None)
    path = path_of("plates", PLATE)
    book.put_fills(60)
    with bl.Archive(address) as archive, bl.Archive(address) as followed_one:
        follower = followed_one.follow(client, fills=HK, every=0.01)
        assert ids(take(follower, 60)) == [str(number) for number in range(1, 61)]
        for number in itertools.count(1, step):
            one = fill(1000 + number, book.now() - 1)
            book.fills[HK].append(one)
            book.lists[path] = [{"code": f"HK.{number:05}"}]
            steps.start(number)
            try:
                assert not archive.update(client, fills=[HK], plates=[PLATE]).errors
            except bl.StoreError as error:
                assert error.retryable, error
            of_update = steps.end()
            steps.start(number)
            assert next(follower) == one
            of_follower = steps.end()
            assert not archive.update(client, fills=[HK], plates=[PLATE]).errors
            assert archive.fills(*HK).all() == book.expected()
            assert archive.seen("plates", PLATE) == book.lists[path]
            if not of_update and not of_follower:
                break
        assert number > 10
        follower.close()


def test_what_a_database_has_set_for_all_sessions_changes_nothing(
    address, connection, book, client
):
    name = connection.info.dbname
    book.fills[HK] = [fill(1, book.now() - 1, price="0.1234567890123456", stock_name="a\\b'c")]
    for setting in (
        *("DateStyle to 'SQL, DMY'", "extra_float_digits to -10", "intervalstyle to iso_8601"),
        *("timezone to 'Asia/Tokyo'", "bytea_output to escape", "standard_conforming_strings to 0"),
    ):
        connection.execute(f"alter database {name} set {setting}")
    try:
        with bl.Archive(address) as archive:
            archive.update(client, fills=[HK])
            assert archive.fills(*HK).all() == book.expected()
            (row,) = archive.sql("select price, stock_name, updated_time from fills").to_dicts()
            assert row["price"] == 0.1234567890123456 and row["stock_name"] == "a\\b'c"
            (typed,) = archive.fills(*HK).all().to_dicts(typed=True)
            assert row["updated_time"] == typed["updated_time"]
    finally:
        connection.execute(f"alter database {name} reset all")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_is_refused(encoding, address, connection):
    name = f"encoded_{encoding.lower()}"
    connection.execute(
        f"create database {name} encoding '{encoding}' lc_collate 'C' lc_ctype 'C' "
        "template template0"
    )
    with pytest.raises(bl.StoreError, match=f"has the encoding {encoding}; expected UTF8") as error:
        bl.Archive(f"{address.rpartition('/')[0]}/{name}")
    assert "template0" in error.value.hint


def test_a_role_without_the_right_to_create_tables_or_temporary_ones(
    address, connection, book, client
):
    book.put_fills(3)
    name = connection.info.dbname
    connection.execute("create role plain login")
    connection.execute(f"revoke temp on database {name} from public")
    plain = address.replace("boardlot@", "plain@")
    with pytest.raises(bl.StoreError, match="permission denied") as error:
        bl.Archive(plain)
    assert "permissions" in error.value.hint
    connection.execute(f"grant create on database {name} to plain")
    with bl.Archive(plain) as archive:
        archive.update(client, fills=[HK])
        assert len(archive.sql("select * from fills")) == 3
        with pytest.raises(bl.ConfigError, match="read-only transaction"):
            archive.sql("select nextval('series_id_seq')")
