"""Many users of one archive: cancelled updates, queues of updates, followers, forks, and readers
that are another user."""

import asyncio
import multiprocessing
import os
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

import boardlot as bl
import pytest

from ..support.processes import program, python
from .service import HK, fill, followed

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and users of POSIX")
FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None


@pytest.mark.parametrize("files", [1, 20])
def test_security_54_twenty_updates_and_followers_at_once_are_done(files, tmp_path, book, service):
    accounts = [(str(100 + number), "HK") for number in range(20)]
    for account, _ in accounts:
        book.put_fills(60, account)

    async def first_fills(archive, client, account, name):
        follower = archive.follow(client, fills=account, every=0.05, name=name)
        return [(await anext(follower))["deal_id"] for _ in range(60)]

    async def work():
        async with bl.AsyncClient(service.base_url) as client:
            updates = [
                archives[place % files].update(client, fills=[account, HK])
                for place, account in enumerate(accounts)
            ]
            followers = [
                first_fills(archives[place % files], client, accounts[place % files], str(place))
                for place in range(20)
            ]
            return [await asyncio.gather(*each) for each in (updates, followers)]

    with ExitStack() as stack:
        paths = [tmp_path / f"{number}.db" for number in range(files)]
        archives = [stack.enter_context(bl.Archive(path)) for path in paths]
        reports, taken = asyncio.run(work())
    assert [(one.new, one.errors) for one in reports] == [(60, {})] * 20
    assert taken == [[str(number) for number in range(1, 61)]] * 20


def test_a_task_that_waits_for_a_lock_is_cancelled_at_once(file, service):
    async def work():
        async with bl.AsyncClient(service.base_url) as client:
            # The update is cancelled at once, and not after the hour that it may wait.
            with bl.Archive(file, wait=3600.0) as archive:
                lock = archive._database.lock("update:ipos hk")
                with lock.held(0.0):
                    update = asyncio.ensure_future(archive.update(client, ipos=["hk"]))
                    while len(lock._queues._by_name[lock._name]) < 2:
                        await asyncio.sleep(0)
                    update.cancel()
                    await asyncio.wait([update])
                    assert update.cancelled()
                assert not (await archive.update(client, ipos=["hk"])).errors

    asyncio.run(work())


def test_a_loop_that_is_closed_ends_what_an_archive_does_on_it(file, book, client, service):
    book.put_fills(3)
    with bl.Archive(file) as archive:
        loop, on_loop = asyncio.new_event_loop(), bl.AsyncClient(service.base_url)
        follower = archive.follow(on_loop, fills=HK)
        loop.run_until_complete(anext(follower))
        asked, respond = threading.Event(), threading.Event()
        book.before_page = lambda _: asked.set() or respond.wait()
        update = asyncio.ensure_future(archive.update(on_loop, fills=[HK]), loop=loop)
        loop.run_until_complete(asyncio.to_thread(asked.wait))
        book.before_page = None
        loop.close()
        assert not update.done() and archive.update(client, fills=[HK]).unchanged == 3
        assert followed(archive, client, 2) == ["1", "2"]
        respond.set()


@POSIX
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_security_54_a_child_of_a_process_with_an_archive_reads_and_updates(target, book, service):
    book.put_fills(300)
    with bl.Client(service.base_url) as client, bl.Archive(target) as archive:
        archive.update(client, fills=[HK])

        def child():
            assert len(archive.fills(*HK).all()) == len(archive.sql("select * from fills")) == 300
            with bl.Client(service.base_url) as own:
                assert archive.update(own, fills=[HK]).unchanged == 300

        for _ in range(3):
            process = FORK.Process(target=child)
            process.start()
            process.join()
            assert process.exitcode == 0
        assert archive.update(client, fills=[HK]).unchanged == 300


READ = program(__file__, "reader")


@pytest.fixture
def shared():
    """An archive in a folder that another user can read, and not write."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can become another user")
    # `tmp_path` would not do: every run of pytest closes the folder above it to other users.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "archive.db")
        bl.Archive(path).close()
        path.chmod(0o644)
        yield path


@pytest.fixture
def read(shared):
    """Reads as another user."""

    def line():
        child.stdin.write("\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    with python(READ, shared) as child:
        yield line
        child.stdin.close()


def test_security_54_another_user_reads_all_or_is_refused(shared, read, book, client):
    book.put_fills(100)
    with bl.Archive(shared) as archive:
        archive.update(client, fills=[HK])
        # The last commit is in the log.
        assert read() == "100 100"
        book.fills[HK].append(fill(101, book.now() - 1))
        archive.update(client, fills=[HK])
        assert read() == "101 101"
    assert read() == "101 101"
    assert sorted(one.name for one in shared.parent.iterdir()) == ["archive.db"]


def test_security_54_another_user_reads_what_a_killed_writer_left(shared, read, book, service):
    book.put_fills(150)
    code = """
    import os, sys
    import boardlot as bl
    with bl.Client(sys.argv[2]) as client, bl.Archive(sys.argv[1]) as archive:
        archive.update(client, fills=[("281756", "HK")])
        os.kill(os.getpid(), 9)
    """
    with python(code, shared, service.base_url) as child:
        assert child.wait() == -9
    assert shared.with_name("archive.db-wal").stat().st_size > 0
    assert read() == "150 150"
    shared.with_name("archive.db-wal").chmod(0o600)
    assert read().startswith("error: the archive")


def test_a_file_that_was_removed_or_replaced_while_open_is_an_error(kept, file, client):
    uses = [
        lambda: kept.update(client, fills=[HK]),
        lambda: kept.fills(*HK).all(),
        lambda: kept.sql("select 1"),
    ]
    for change in (file.unlink, file.touch):
        change()
        for use in uses:
            with pytest.raises(bl.StoreError, match="removed or replaced while it was open"):
                use()
