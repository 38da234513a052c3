"""A disk that is full in the middle of an update, a verification or a migration: an error that says
so, nothing that was stored is lost, and the same work is completed once there is space."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import boardlot as bl
import pytest

from ..support.processes import full_disk
from ..support.system import need_postgres
from .columns import check_columns
from .service import HK
from .test_older_archives import add_fills, statements

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of POSIX")
# What is left, and so many fills need more.
LEFT, FILLS = 400_000, 700


class Ulimit:
    """SQLite's files grow no further than this."""

    def __init__(self, target):
        self.target = target

    def write(self, service):
        with closing(sqlite3.connect(self.target)) as connection:
            connection.executescript(statements("sqlite", service))

    def full(self):
        return full_disk(LEFT)


class SmallDisk:
    """A database on a file system of its own, which is full."""

    def __init__(self, folder, target):
        self._folder, self.target = folder, target

    def write(self, service):
        import psycopg

        with psycopg.connect(self.target, autocommit=True) as connection:
            connection.execute(statements("postgres", service))

    @contextmanager
    def full(self):
        ballast = self._folder / "ballast"
        with suppress(OSError):  # The server writes too.
            ballast.write_bytes(bytes(max(0, shutil.disk_usage(self._folder).free - LEFT)))
        try:
            yield
        finally:
            ballast.unlink()


@pytest.fixture
def small_disk(postgres):
    import psycopg

    root = postgres._address("postgres")
    with TemporaryDirectory(prefix="postgres-") as name, ExitStack() as stack:
        mounted = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=0755", "none", name]
        if os.getuid() or subprocess.run(mounted, capture_output=True, check=False).returncode:
            pytest.skip("a file system of its own needs root")
        stack.callback(subprocess.run, ["umount", name], check=True)
        space = Path(name) / "space"
        space.mkdir()
        shutil.chown(space, "postgres")
        connection = stack.enter_context(psycopg.connect(root, autocommit=True))
        connection.execute(f"create tablespace small location '{space}'".encode())
        stack.callback(connection.execute, "drop tablespace small")
        connection.execute("create database small tablespace small")
        stack.callback(connection.execute, "drop database small with (force)")
        yield SmallDisk(Path(name), postgres._address("small"))


@pytest.fixture(params=["sqlite", "postgres"])
def disk(request):
    if request.param == "sqlite":
        return Ulimit(str(request.getfixturevalue("file")))
    need_postgres()
    return request.getfixturevalue("small_disk")


pytestmark = POSIX
SAID = r"cannot be used: .*(is full|I/O error|No space left|could not extend file)"


@contextmanager
def refused():
    with pytest.raises(bl.StoreError, match=SAID) as error:
        yield
    assert "ree some space" in error.value.hint or "disk is neither full" in error.value.hint


def test_security_45_a_full_disk_in_an_update(disk, book, client):
    before = book.put_fills(3)
    with bl.Archive(disk.target) as archive:
        archive.update(client, fills=[HK])
        book.put_fills(FILLS - 3, first=10)
        with disk.full(), refused():
            archive.update(client, fills=[HK])
        assert archive.fills(*HK).all() == before
    with bl.Archive(disk.target) as archive:
        archive.update(client, fills=[HK])
        assert archive.fills(*HK).all() == book.expected()
        assert archive.check() == [] and check_columns(archive) == 2 * FILLS


def test_security_45_a_full_disk_in_a_verification(disk, book, client):
    """Each fill is as it was, or as it is; none is hidden."""
    before = {one["deal_id"]: one for one in book.put_fills(FILLS)}
    with bl.Archive(disk.target) as archive:
        archive.update(client, fills=[HK])
        served = book.fills[HK]
        for place, one in enumerate(served):
            served[place] = {**one, "qty": "7", "updated_time": one["updated_time"] + 1}
        after = {one["deal_id"]: one for one in served}
        with disk.full(), refused():
            archive.verify(client, fills=[HK])
        found = {one["deal_id"]: one for one in archive.fills(*HK).all()}
        assert found.keys() == before.keys()
        assert all(one in (before[name], after[name]) for name, one in found.items())
    with bl.Archive(disk.target) as archive:
        archive.verify(client, fills=[HK])
        assert archive.fills(*HK).all() == book.expected()
        assert archive.check() == [] and check_columns(archive) == 3 * FILLS


def test_security_45_a_full_disk_in_a_migration(disk, service, client):
    """The archive stays in the older format, and is read as it was."""
    disk.write(service)
    query, versions = "select deal_id, price from fills order by 1", 4 * FILLS
    with bl.Archive(disk.target) as archive:
        add_fills(archive, versions)
        before = list(archive.sql(query))
        with disk.full(), refused():
            archive.update(client, ipos=["hk"])
        assert archive._database.read("select version from archive_format") == [(1,)]
        assert list(archive.sql(query)) == before
    with bl.Archive(disk.target) as archive:
        archive.update(client, ipos=["hk"])
        assert archive._database.read("select version from archive_format") == [(2,)]
        assert list(archive.sql(query)) == before and len(before) > versions
        assert check_columns(archive)
        assert [one for one in archive.check() if one.kind == "columns"] == []
