"""PostgreSQL behind PgBouncer, which gives each transaction another session: everything works, and
nothing outlives a transaction."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import boardlot as bl
import psycopg
import pytest
from boardlot.archive import postgres as of_postgres

from ..support.processes import ROOT
from ..support.system import need_pooler
from .service import HK, PLATE, fill, followed, ids, path_of, take

LISTS = {"fills": [HK], "plates": [PLATE], "ipos": ["hk"]}


@pytest.fixture
def pooler(postgres):
    need_pooler()
    from ..support.postgres import Pooler

    with tempfile.TemporaryDirectory() as folder, Pooler(postgres, folder) as running:
        yield running


@pytest.fixture
def pooled(pooler, address):
    """The address of an empty database through the pooler."""
    return pooler.address(address)


@pytest.fixture
def short_leases(monkeypatch):
    """Makes leases so short that those of a dead holder end within a test."""
    monkeypatch.setattr(of_postgres, "LEASE", 1.0)
    monkeypatch.setattr(of_postgres, "KEEP_EVERY", 0.2)
    monkeypatch.setattr(of_postgres, "LEASED", "null, null, clock_timestamp() + interval '1 s'")


@pytest.fixture
def nothing_left(connection):
    """Checks that sessions of the pooler have nothing left that its next client would meet."""

    def check():
        locks = "select count(*) from pg_locks where locktype = 'advisory'"
        assert connection.execute(locks).fetchone() == (0,)
        assert connection.execute("select count(*) from archive_locks").fetchone() == (0,)

    connection.execute("set search_path to boardlot_archive, public")
    return check


def settings(address):
    """The settings that a client of the pooler finds in each of its sessions."""
    with ThreadPoolExecutor(3) as pool:
        gate = threading.Barrier(3)

        def one(_):
            with psycopg.connect(address, prepare_threshold=None) as connection:
                names = ("search_path", "role", "bytea_output", "statement_timeout")
                gate.wait()
                found = [connection.execute(f"show {name}").fetchone()[0] for name in names]
                statements = "select count(*) from pg_prepared_statements"
                return (*found, connection.execute(statements).fetchone()[0])

        return set(pool.map(one, range(3)))


def test_updates_of_many_at_once_are_done_and_leave_nothing(pooled, book, client, nothing_left):
    book.put_fills(120)
    book.lists[path_of("plates", PLATE)] = [{"code": f"HK.{n:05}"} for n in range(60)]
    before = settings(pooled)

    def update(_):
        with bl.Archive(pooled) as archive:
            return archive.update(client, **LISTS).new

    with ThreadPoolExecutor(6) as pool:
        # Each list is new to the update that was the first.
        assert sum(pool.map(update, range(6))) == 180
    with bl.Archive(pooled) as archive:
        assert archive.fills(*HK).all() == book.expected()
    nothing_left()
    assert settings(pooled) == before


def test_queries_change_nothing_of_a_session(pooled, book, client, tmp_path, nothing_left):
    pytest.importorskip("pyarrow")
    book.put_fills(3)
    before = settings(pooled)
    with bl.Archive(pooled) as archive:
        archive.update(client, fills=[HK])
        for number in range(12):
            assert archive.sql("select %s::int as n", [number]).to_dicts() == [{"n": number}]
        for query in (
            "select pg_advisory_lock(1)", "select pg_advisory_lock(2), 1 / (qty - 100)::int "
            "from fills", "select set_config('search_path', 'x', false)",
            "select set_config('role', 'boardlot', false)",
        ):  # fmt: skip
            try:
                archive.sql(query)
            except bl.ConfigError as error:
                assert "division by zero" in str(error)
        with pytest.raises(bl.ConfigError, match="cannot insert multiple commands"):
            archive.sql("select 1; select 2")
        assert archive.export("fills", tmp_path / "fills.parquet") == 3
    nothing_left()
    assert settings(pooled) == before


def test_a_lock_through_a_pooler_keeps_out_one_without(pooled, address, book, client):
    book.put_fills(3)
    with bl.Archive(pooled) as archive, bl.Archive(address, wait=0.1) as direct:
        for holder, other in ((archive, direct), (direct, archive)):
            other._wait = 0.1
            held = holder._database.lock("update:ipos hk").held(0.0)
            with held, pytest.raises(bl.StoreError, match="being updated"):
                other.update(client, ipos=["hk"])
            assert not other.update(client, ipos=["hk"]).errors


def test_a_lock_is_kept_while_the_service_takes_its_time(
    pooled, book, client, short_leases, monkeypatch
):
    """The work takes longer than the lease."""
    monkeypatch.setattr("boardlot.archive.locks._Queues.acquire", lambda *_: True)
    book.put_fills(60)
    asked, go = threading.Event(), threading.Event()
    book.before_page = lambda page: page == 1 and (asked.set(), go.wait())
    with bl.Archive(pooled) as archive, ThreadPoolExecutor(1) as pool:
        update = pool.submit(archive.update, client, fills=[HK])
        assert asked.wait(60)
        book.before_page = None
        # time: three leases
        refused = pytest.raises(bl.StoreError, match="being updated")
        with bl.Archive(pooled, wait=3.0) as other, refused:
            other.update(client, fills=[HK])
        go.set()
        assert update.result().new == 60


def test_followers_have_each_fill_once(pooled, book, client, nothing_left):
    book.put_fills(5)
    with bl.Archive(pooled) as archive:
        assert followed(archive, client, 3) == ["1", "2", "3"]
        assert followed(archive, client, 3) == ["3", "4", "5"]
        with closing(archive.follow(client, fills=HK, every=0.01, name="one")) as follower:
            assert ids(take(follower, 5)) == ["1", "2", "3", "4", "5"]
            for number in (6, 7):
                book.fills[HK].append(fill(number, book.now() - 1))
                assert ids(take(follower, 1)) == [str(number)]
    nothing_left()


def test_a_pooler_that_is_killed_and_started_again_loses_nothing(pooler, pooled, book, client):
    book.put_fills(5)
    with bl.Archive(pooled) as archive:
        with closing(archive.follow(client, fills=HK, every=0.01)) as follower:
            assert ids(take(follower, 3)) == ["1", "2", "3"]
            pooler.kill()
            with pytest.raises(bl.StoreError) as error:
                archive.update(client, fills=[HK])
            assert error.value.retryable and "Check that the server runs" in error.value.hint
            pooler.start()
            assert ids(take(follower, 2)) == ["4", "5"]
        assert archive.update(client, fills=[HK]).unchanged == 5


def test_sessions_that_the_server_ends_lose_nothing(pooled, terminate, book, client):
    book.put_fills(5)
    with bl.Archive(pooled) as archive:
        with closing(archive.follow(client, fills=HK, every=0.01)) as follower:
            for number in range(1, 6):
                assert ids(take(follower, 1)) == [str(number)]
                terminate()
        try:
            archive.update(client, fills=[HK])
        except bl.StoreError as error:
            assert error.retryable
        assert archive.update(client, fills=[HK]).unchanged == 5
        assert archive.fills(*HK).all() == book.expected()


def test_a_client_that_is_killed_lets_others_go_on_after_its_lease(
    pooled, book, client, service, short_leases
):
    book.put_fills(100)
    book.page = 10
    asked, go = threading.Event(), threading.Event()
    book.before_page = lambda page: page == 5 and (asked.set(), go.wait())
    command = [sys.executable, "-m", "tests.archive.killed", "leased", pooled, service.base_url]
    with subprocess.Popen([*command, HK[0]], cwd=ROOT) as child:
        assert asked.wait(60)
        child.send_signal(signal.SIGKILL)
    book.before_page = None
    go.set()
    with bl.Archive(pooled, wait=60.0) as archive:
        assert archive.update(client, fills=[HK])
        assert archive.fills(*HK).all() == book.expected()


def test_a_user_that_the_pooler_does_not_know_is_not_a_server_that_is_down(pooled):
    with pytest.raises(bl.StoreError) as error:
        bl.Archive(f"{pooled}_none")
    assert "Correct the user" in error.value.hint and not error.value.retryable


def test_a_limit_in_a_database_works_and_leaves_nothing(pooled, service):
    before = settings(pooled)
    limit = bl.RateLimit(1000, name=f"pooled {os.getpid()}", database=pooled)
    with bl.Client(service.base_url, rate_limit=limit) as client:
        for _ in range(12):
            client.dividends("HK.00700")
    assert limit.used is not None
    assert settings(pooled) == before


def test_security_61_temporary_tables_of_other_clients_hide_nothing(pooled, book, client):
    """The pooler leaves such tables in its sessions, where they would be found first."""
    book.put_fills(3)
    with bl.Archive(pooled) as archive:
        archive.update(client, fills=[HK])
        gate = threading.Barrier(3)

        def leave(_):
            with psycopg.connect(pooled, prepare_threshold=None) as connection:
                for name in ("series", "fill_versions", "lists", "fills", "pg_stat_activity"):
                    connection.execute(f"create temp table {name} (mine text)")
                gate.wait()

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(leave, range(3)))
        book.put_fills(2, first=4)
        assert archive.update(client, fills=[HK]).new == 2
        assert len(archive.fills(*HK).all()) == len(archive.sql("select * from fills")) == 5
