"""PostgreSQL backends that are terminated: each follower has every fill once, updates continue."""

import itertools
import random
import threading
import time

import boardlot as bl
import pytest

from .service import fill, path_of

HK = ("281756", "HK")
PLATE = "HK.BK1001"


@pytest.fixture
def address(postgres):
    address = postgres.address()
    yield address
    postgres.spare(address)


@pytest.fixture
def terminate(address):
    """Terminates all connections to the database but its own."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(address, autocommit=True) as connection:

        def terminate():
            connection.execute(
                "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )

        yield terminate


def ids(fills):
    return [one["deal_id"] for one in fills]


def test_a_follower_goes_on_after_its_connection_was_terminated(address, terminate, book, client):
    book.put_fills(5)
    with bl.Archive(address) as archive:
        followed = archive.follow(client, fills=HK, every=0.05)
        taken = ids(itertools.islice(followed, 3))
        # The caller is handling the third one, which it has received.
        terminate()
        taken += ids(itertools.islice(followed, 2))
        terminate()
        book.fills[HK].append(fill(6, book.now() - 1))
        taken += ids(itertools.islice(followed, 1))
        assert taken == ["1", "2", "3", "4", "5", "6"]
        # It has its lock again.
        with bl.Archive(address) as other, pytest.raises(bl.StoreError, match="another follower"):
            next(other.follow(client, fills=HK, every=0.05))


def test_an_archive_whose_connections_ended_while_it_was_idle_connects_again(
    address, terminate, book, client
):
    book.put_fills(5)
    with bl.Archive(address) as archive:

        def followed():
            return ids(itertools.islice(archive.follow(client, fills=HK, name=next(names)), 5))

        names = map(str, itertools.count())
        uses = [
            lambda: archive.update(client, fills=[HK]).errors,
            lambda: len(archive.fills(*HK)),
            lambda: archive.sql("select count(*) as n from fills").to_dicts(),
            followed,
        ]
        for use in uses:
            before = use()
            terminate()
            assert use() == before


def test_a_follower_whose_place_was_taken_stops_before_it_delivers(
    address, terminate, book, client, monkeypatch
):
    monkeypatch.setattr("boardlot.archive.follow.LOST_LOCK_WAIT_S", 0.1)
    book.put_fills(5)
    with bl.Archive(address) as archive:
        # What one process calls a queue must not keep the second one out.
        monkeypatch.setattr("boardlot.archive.locks._Queue.acquire", lambda *_: True)
        followed = archive.follow(client, fills=HK, every=0.05)
        assert ids(itertools.islice(followed, 2)) == ["1", "2"]
        terminate()
        other = bl.Archive(address)
        taken_over = other.follow(client, fills=HK, every=0.05)
        # The second one was being handled.
        assert ids(itertools.islice(taken_over, 3)) == ["2", "3", "4"]
        with pytest.raises(bl.StoreError, match="another follower"):
            next(followed)
        taken_over.close()
        other.close()


def test_a_follower_of_sqlite_whose_place_was_taken_stops(file, book, client, monkeypatch):
    book.put_fills(5)
    with bl.Archive(file) as archive, bl.Archive(file) as other:
        monkeypatch.setattr("boardlot.archive.follow.LOST_LOCK_WAIT_S", 0.1)
        monkeypatch.setattr("boardlot.archive.locks._Queue.acquire", lambda *_: True)
        followed = archive.follow(client, fills=HK, every=0.05)
        next(followed)
        for lock in file.parent.glob("*.lock"):
            lock.unlink()
        taken_over = other.follow(client, fills=HK, every=0.05)
        assert ids(itertools.islice(taken_over, 2)) == ["1", "2"]
        with pytest.raises(bl.StoreError, match="another follower"):
            next(followed)


def check_terminations(address, terminate, book, client, rounds, seed):
    """Connections are terminated at any statement of two followers and an updater."""
    chosen, done, taken = random.Random(seed), threading.Event(), {"a": [], "b": []}
    failed = []

    def follow(name, archive):
        try:
            for one in archive.follow(client, fills=HK, every=0.01, name=name):
                taken[name].append(one["deal_id"])
                if done.is_set() and one["deal_id"] == "last":
                    return
        except BaseException as error:
            failed.append(error)
            raise

    def update(archive):
        while not done.is_set():
            try:
                report = archive.update(client, fills=[HK], plates=[PLATE])
                assert not report.errors
            except bl.StoreError as error:
                assert error.retryable, error

    with bl.Archive(address) as one, bl.Archive(address) as two:
        threads = [
            threading.Thread(target=follow, args=("a", one)),
            threading.Thread(target=follow, args=("b", two)),
            threading.Thread(target=update, args=(two,)),
        ]
        for thread in threads:
            thread.start()
        for number in range(rounds):
            time.sleep(chosen.uniform(0, 0.05))
            terminate()
            book.fills[HK].append(fill(1000 + number, book.now() - 1))
            book.lists[path_of("plates", PLATE)] = [{"code": f"HK.{n:05}"} for n in range(number)]
        done.set()
        last = fill(0, book.now() - 1)
        last["deal_id"] = "last"
        # In place of the number that the stand-in sorts by.
        book.expected = sorted_by_time(book)
        book.fills[HK].append(last)
        for thread in threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in threads) and not failed, failed
        expected = sorted(one["deal_id"] for one in book.fills[HK])
        assert {name: sorted(found) for name, found in taken.items()} == {
            "a": expected, "b": expected
        }  # fmt: skip
        two.update(client, fills=[HK], plates=[PLATE])
        assert sorted(ids(two.fills(*HK))) == expected
        assert two.seen("plates", PLATE) == book.lists[path_of("plates", PLATE)]


def sorted_by_time(book):
    return lambda account="281756", market="HK": sorted(
        book.fills.get((account, market), []), key=lambda one: -one["updated_time"]
    )


def test_security_54_connections_terminated_at_any_statement_lose_and_repeat_nothing(
    address, terminate, book, client
):
    book.put_fills(60)
    check_terminations(address, terminate, book, client, rounds=12, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_security_54_many_connections_terminated(address, terminate, book, client, seed):
    book.put_fills(60)
    check_terminations(address, terminate, book, client, rounds=100, seed=seed)


SESSIONS = [
    "DateStyle to 'SQL, DMY'", "extra_float_digits to -10", "standard_conforming_strings to off",
    "timezone to 'Asia/Tokyo'", "bytea_output to escape", "intervalstyle to iso_8601",
]  # fmt: skip


def test_what_a_database_has_set_for_all_sessions_changes_nothing(address, book, client):
    psycopg = pytest.importorskip("psycopg")
    book.fills[HK] = [fill(1, book.now() - 1, price="0.1234567890123456", stock_name="a\\b'c")]
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        for setting in SESSIONS:
            connection.execute(f"alter database {name} set {setting}")
    try:
        with bl.Archive(address) as archive:
            archive.update(client, fills=[HK])
            assert archive.fills(*HK) == book.expected()
            (row,) = archive.sql("select price, stock_name, updated_time from fills").to_dicts()
            assert row["price"] == 0.1234567890123456 and row["stock_name"] == "a\\b'c"
            frame = archive.fills(*HK).to_dicts(typed=True)
            assert row["updated_time"] == frame[0]["updated_time"]
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"alter database {name} reset all")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_is_refused(encoding, address):
    psycopg = pytest.importorskip("psycopg")
    name = f"encoded_{encoding.lower()}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            f"create database {name} encoding '{encoding}' lc_collate 'C' lc_ctype 'C' "
            "template template0"
        )
    with pytest.raises(bl.StoreError, match=f"has the encoding {encoding}; expected UTF8") as error:
        bl.Archive(f"{address.rpartition('/')[0]}/{name}")
    assert "template0" in error.value.hint


def test_a_role_without_the_right_to_create_tables_or_temporary_ones(address, book, client):
    psycopg = pytest.importorskip("psycopg")
    book.put_fills(3)
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute("drop role if exists plain")
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
