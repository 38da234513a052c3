"""Many at once: cancelled updates, queues of them, followers, forks and readers of another user."""

import asyncio
import multiprocessing
import os
import random
import sqlite3
import threading
import time
from datetime import timedelta
from functools import partial

import boardlot as bl
import pytest
from boardlot.archive.sqlite.connection import GATE

from ..support.processes import python
from .service import fill, path_of

HK = ("281756", "HK")
PLATE = "HK.BK1001"
POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and users of POSIX")


async def cancelled_after(work, seconds):
    """Runs work for so long; whether it was cancelled."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(seconds)
    task.cancel()
    done = await asyncio.gather(task, return_exceptions=True)
    return isinstance(done[0], asyncio.CancelledError)


def test_security_54_a_cancelled_update_leaves_nothing_locked(target, book, service):
    book.put_fills(60)
    book.lists[path_of("plates", PLATE)] = [{"code": f"HK.{n:05}"} for n in range(60)]
    chosen = random.Random(1)

    async def work():
        cancelled = 0
        async with bl.AsyncClient(service.base_url) as client:
            with bl.Archive(target, wait=20.0) as archive:
                for _ in range(60):
                    update = archive.update(client, fills=[HK], plates=[PLATE])
                    cancelled += await cancelled_after(update, chosen.uniform(0, 0.03))
                before = time.monotonic()
                report = await archive.update(client, fills=[HK], plates=[PLATE])
                # Nobody has to be waited for.
                assert time.monotonic() - before < 15
        assert not report.errors and cancelled > 10, cancelled

    asyncio.run(work())
    with bl.Client(service.base_url) as client, bl.Archive(target, wait=0.0) as archive:
        archive.update(client, fills=[HK], plates=[PLATE])
        assert archive.fills(*HK) == book.expected()
        assert len(archive.changes("plates", PLATE)) == 60


def test_security_54_followers_of_which_some_are_cancelled_deliver_to_the_others(
    target, book, service
):
    book.put_fills(30)

    async def take(archive, client, name, count, taken):
        async for one in archive.follow(client, fills=HK, every=0.01, name=name):
            taken.append(one["deal_id"])
            if len(taken) == count:
                break

    async def work():
        async with bl.AsyncClient(service.base_url) as client:
            with bl.Archive(target) as archive:
                for _ in range(5):
                    taken = []
                    await cancelled_after(take(archive, client, "x", 10**6, taken), 0.02)
                kept = {f"n{number}": [] for number in range(4)}
                everyone = [take(archive, client, name, 31, taken) for name, taken in kept.items()]
                lost = [
                    cancelled_after(take(archive, client, f"c{n}", 10**6, []), 0.05)
                    for n in range(3)
                ]
                running = asyncio.gather(*everyone, *lost)
                await asyncio.sleep(0.1)
                book.fills[HK].append(fill(31, book.now() - 1))
                await asyncio.wait_for(running, 120)
        assert set(map(tuple, kept.values())) == {tuple(map(str, range(1, 32)))}

    asyncio.run(work())


@pytest.mark.parametrize("files", [1, 12])
def test_security_54_twelve_updates_at_once_are_done(files, tmp_path, book, service):
    accounts = [str(100 + number) for number in range(12)]
    for account in accounts:
        book.put_fills(60, account)

    async def work():
        archives = [bl.Archive(tmp_path / f"{number}.db") for number in range(files)]
        async with bl.AsyncClient(service.base_url) as client:
            reports = await asyncio.gather(
                *(
                    archives[place % files].update(client, fills=[(account, "HK"), HK])
                    for place, account in enumerate(accounts)
                )
            )
        for place, account in enumerate(accounts):
            assert archives[place % files].fills(account, "HK") == book.expected(account)
        for archive in archives:
            archive.close()
        return reports

    assert [(one.new, one.errors) for one in asyncio.run(work())] == [(60, {})] * 12


def test_security_54_twenty_followers_of_one_archive_have_every_fill_once(file, book, service):
    book.put_fills(20)

    async def take(archive, client, name):
        taken = []
        async for one in archive.follow(client, fills=HK, every=0.05, name=name):
            taken.append(one["deal_id"])
            if len(taken) == 20:
                break
        return taken

    async def work():
        async with bl.AsyncClient(service.base_url) as client:
            with bl.Archive(file) as archive:
                names = [str(number) for number in range(20)]
                return await asyncio.gather(*(take(archive, client, name) for name in names))

    everyone = asyncio.run(work())
    assert everyone == [[str(number) for number in range(1, 21)]] * 20


def test_who_waits_longest_is_next(archive):
    lock = archive._database.lock("update:x")
    order, threads = [], []
    assert lock.try_for(0.0)
    for number in range(8):
        other = archive._database.lock("update:x")

        def work(number=number, other=other):
            with other.held(60):
                order.append(number)

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        while len(lock._queue._waiting) <= number:
            time.sleep(0.001)
    lock.release()
    for thread in threads:
        thread.join(60)
    assert order == list(range(8))


def test_a_task_that_waits_for_a_lock_is_cancelled_at_once(file, service):
    async def work():
        async with bl.AsyncClient(service.base_url) as client:
            with bl.Archive(file) as archive:
                lock = archive._database.lock("update:ipos hk")
                with lock.held(0.0):
                    update = archive.update(client, ipos=["hk"])
                    before = time.monotonic()
                    assert await cancelled_after(update, 0.2)
                    # Not after the 30 seconds that an update waits.
                    assert time.monotonic() - before < 15
                assert not (await archive.update(client, ipos=["hk"])).errors

    asyncio.run(work())


def test_an_event_loop_that_ends_in_the_middle_leaves_nothing_locked(file, book, service):
    book.put_fills(100)
    with bl.Archive(file, wait=20.0) as archive:
        loop = asyncio.new_event_loop()

        async def start():
            client = bl.AsyncClient(service.base_url)
            update = asyncio.ensure_future(archive.update(client, fills=[HK]))
            await asyncio.sleep(0.01)
            return update

        _update = loop.run_until_complete(start())
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        # On a fast machine the update has ended by now.
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks))
        loop.close()
        with bl.Client(service.base_url) as client:
            assert not archive.update(client, fills=[HK]).errors
        assert archive.fills(*HK) == book.expected()


@POSIX
def test_security_54_a_child_forked_beside_readers_reads_and_updates(target, book, service):
    book.put_fills(300)
    done = threading.Event()
    with bl.Client(service.base_url) as client, bl.Archive(target) as archive:
        archive.update(client, fills=[HK])

        def read():
            while not done.is_set():
                archive.fills(*HK)
                archive.sql("select count(*), sum(qty) from fills")

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()

        def child():
            assert len(archive.fills(*HK)) == 300
            assert len(archive.sql("select * from fills")) == 300
            with bl.Client(service.base_url) as own:
                assert archive.update(own, fills=[HK]).unchanged == 300

        fork = multiprocessing.get_context("fork")
        try:
            for _ in range(8):
                process = fork.Process(target=child)
                process.start()
                process.join(60)
                assert process.exitcode == 0
        finally:
            done.set()
            for reader in readers:
                reader.join(60)
        assert not GATE._inside


def test_security_54_no_thread_is_within_sqlite_while_another_one_forks(
    file, book, client, monkeypatch
):
    used, connect = [], sqlite3.connect

    def note(name):
        used.append((name, threading.get_ident() in GATE._inside))

    class Cursor(sqlite3.Cursor):
        def fetchall(self):
            note("fetchall")
            return super().fetchall()

        def __del__(self):
            note("free")

    class Connection(sqlite3.Connection):
        def __getattribute__(self, name):
            note(name)
            return super().__getattribute__(name)

        def cursor(self):
            return super().cursor(Cursor)

    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Connection))
    book.put_fills(120)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK], ipos=["hk"], dividends=["HK.00700"])
        assert len(archive.fills(*HK)) == len(archive.sql("select * from fills")) == 120
        for query in ("no query", "delete from fills", "select 1; select 2", "pragma user_version"):
            with pytest.raises(bl.ConfigError):
                archive.sql(query)
        archive.get(client, "ipos", "hk", max_age=timedelta(0))
        archive.export("ipos", file.with_name("ipos.parquet"))
        archive.check()
    left_open = bl.Archive(file)
    del left_open
    assert {name for name, is_inside in used if not is_inside} == set()
    assert len(used) > 200 and used[-1] == ("close", True)


@POSIX
def test_a_lock_that_is_held_at_a_fork_is_not_the_child_s(file, book, service):
    book.put_fills(3)
    with bl.Archive(file) as archive, archive._database.lock(f"update:fills {HK[0]} HK").held(0.0):
        ready, go = multiprocessing.Pipe()

        def child():
            with bl.Client(service.base_url) as client, bl.Archive(file, wait=60.0) as own:
                go.send("started")
                assert own.update(client, fills=[HK]).new == 3

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        assert ready.recv() == "started"
        archive._database.lock("update:other").held(0.0)
        assert process.is_alive()
    process.join(60)
    assert process.exitcode == 0


READ = """
import os, sys
import boardlot as bl
# Loads what another user may not be able to read.
with bl.Archive(":memory:") as archive:
    archive.fills("1", "HK"), archive.sql("select 1")
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for line in sys.stdin:
    try:
        with bl.Archive(sys.argv[1]) as archive:
            found = len(archive.fills("281756", "HK")), len(archive.sql("select * from fills"))
        print(*found)
    except bl.StoreError as error:
        print("error:", error)
    sys.stdout.flush()
"""


@pytest.fixture
def shared(tmp_path):
    """A folder that another user can read, and not write."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    for parent in folder.parents:
        if parent.stat().st_uid == os.getuid() and parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o055)
        if parent.name.startswith("pytest-of"):
            break
    path = folder / "archive.db"
    bl.Archive(path).close()
    path.chmod(0o644)
    return path


class Reader:
    """Another user, who reads when asked."""

    def __init__(self, child):
        self._child = child

    def read(self):
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        return self._child.stdout.readline().strip()


@pytest.fixture
def reader(shared):
    with python(READ, shared) as child:
        yield Reader(child)
        child.stdin.close()


def test_security_54_another_user_reads_all_or_is_refused(shared, reader, book, client):
    book.put_fills(100)
    with bl.Archive(shared) as archive:
        archive.update(client, fills=[HK])
        # What was committed last is in the log.
        assert reader.read() == "100 100"
        book.fills[HK].append(fill(101, book.now() - 1))
        archive.update(client, fills=[HK])
        assert reader.read() == "101 101"
    assert reader.read() == "101 101"
    assert sorted(one.name for one in shared.parent.iterdir()) == ["archive.db"]


def test_security_54_another_user_reads_what_a_killed_writer_left(shared, reader, book, service):
    book.put_fills(150)
    code = """
    import os, sys
    import boardlot as bl
    with bl.Client(sys.argv[2]) as client, bl.Archive(sys.argv[1]) as archive:
        archive.update(client, fills=[("281756", "HK")])
        os.kill(os.getpid(), 9)
    """
    with python(code, shared, service.base_url) as child:
        assert child.wait(60) == -9
    assert shared.with_name("archive.db-wal").stat().st_size > 0
    assert reader.read() == "150 150"
    shared.with_name("archive.db-wal").chmod(0o600)
    assert reader.read().startswith("error: the archive")


def test_security_54_another_user_reads_while_the_owner_writes(shared, reader, book, client):
    with bl.Archive(shared) as archive:
        archive.update(client, fills=[HK])
    done, counts = threading.Event(), []

    def write():
        number = 0
        while not done.is_set():
            number += 1
            book.fills.setdefault(HK, []).append(fill(number, book.now() - 1))
            with bl.Archive(shared) as archive:
                archive.update(client, fills=[HK])
                counts.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        results, seen = [], 0
        for _ in range(40):
            before = counts[-1] if counts else 0
            result = reader.read()
            results.append(result)
            if result.startswith("error"):
                # Somebody wrote meanwhile, which is said.
                assert "was written while it was being read" in result or "log" in result, result
            else:
                first, second = map(int, result.split())
                assert before <= first <= second and seen <= first
                seen = second
        assert any(not result.startswith("error") for result in results), results
    finally:
        done.set()
        writer.join(60)


def test_a_file_that_was_removed_or_replaced_while_open_is_an_error(file, book, client):
    book.put_fills(3)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
        file.unlink()
        for use in (
            lambda: archive.update(client, fills=[HK]),
            lambda: archive.fills(*HK),
            lambda: archive.sql("select 1"),
        ):
            with pytest.raises(bl.StoreError, match="removed or replaced while it was open"):
                use()
        sqlite3.connect(file).close()
        with pytest.raises(bl.StoreError, match="removed or replaced"):
            archive.update(client, fills=[HK])


def test_a_closed_archive_leaves_no_file_beside_it(file, book, client):
    book.put_fills(3)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
        archive.sql("select 1")
    assert [one.name for one in file.parent.iterdir()] == [file.name]
