"""The files of an archive: private, regular, and an error of the archive if one cannot be used."""

import contextlib
import os
import shutil
import sqlite3
import stat
from functools import partial

import boardlot as bl
import pytest

from ..support.processes import run_python
from .service import HK, path_of

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="modes and limits of POSIX")


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@POSIX
@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_only_its_owner_can_read_an_archive(mask, file, book, client):
    book.put_fills(3)
    before = os.umask(mask)
    try:
        with bl.Archive(file) as archive:
            archive.update(client, fills=[HK])
            found = {path.name: mode_of(path) for path in file.parent.iterdir()}
    finally:
        os.umask(before)
    assert found == dict.fromkeys([file.name, f"{file.name}-shm", f"{file.name}-wal"], 0o600)


@POSIX
def test_an_archive_that_its_owner_shares_stays_shared(file, book, client):
    book.put_fills(3)
    bl.Archive(file).close()
    file.chmod(0o640)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
        assert {mode_of(path) for path in file.parent.iterdir()} == {0o640}


def test_an_archive_that_was_not_opened_is_one_error_alone():
    made = bl.Archive.__new__(bl.Archive)
    for arguments, error in (({"target": 5}, bl.ConfigError), ({}, TypeError)):
        with pytest.raises(error):
            made.__init__(**arguments)
        assert repr(made) == "<Archive>"


def test_a_path_that_is_too_long_is_an_error_of_the_archive(file, book, client, tmp_path):
    pytest.importorskip("pyarrow")
    names = ["n" * 250, "/".join(["n" * 200] * 40)]
    for name in names:
        with pytest.raises(bl.StoreError), bl.Archive(tmp_path / name) as archive:
            archive.update(client, ipos=["hk"])
    with bl.Archive(file) as archive:
        for name in names:
            with pytest.raises(bl.StoreError, match="cannot be written"):
                archive.export("fills", tmp_path / name)


@POSIX
def test_a_full_disk_in_an_export_is_an_error_of_the_archive(file, book, client, tmp_path):
    pytest.importorskip("pyarrow")
    book.put_fills(300)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
        archive.export("fills", tmp_path / "fills.parquet")
    before = (tmp_path / "fills.parquet").read_bytes()
    # RLIMIT_FSIZE acts like a full disk, for files only.
    code = """
    import resource, signal, sys
    import boardlot as bl
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with bl.Archive(sys.argv[1]) as archive:
        archive.fills("281756", "HK").to_arrow()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        try:
            archive.export("fills", sys.argv[2])
        except bl.StoreError as error:
            print(error)
    """
    out, _ = run_python(code, file, tmp_path / "fills.parquet")
    assert "fills.parquet cannot be written" in out
    assert (tmp_path / "fills.parquet").read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


def damages(file):
    """Statements that each damage the schema, and those that damage its format."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        tables = connection.execute("select name from sqlite_master where type = 'table'")
        for (table,) in tables.fetchall():
            yield f"drop table {table}"
            for _, column, *_ in connection.execute(f"pragma table_info({table})").fetchall():
                yield f"alter table {table} rename column {column} to other"
    yield "delete from archive_format"
    yield "insert into archive_format (version) values (1)"
    for value in ("'x'", "x'ff'", "-1", "1.5", "9e18"):
        yield f"update archive_format set version = {value}"


def is_refused(use):
    """False if it works; any other error than one of the archive is raised."""
    try:
        use()
    except bl.StoreError as error:
        assert error.hint and str(error)
        return True
    except bl.ConfigError as error:
        return "the query failed" in str(error)
    return False


# Of the statements that damage a schema, every so many.
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_damaged_schema_is_an_error_of_the_archive(file, book, client, tmp_path, step):
    def first_fill(archive, **name):
        with contextlib.closing(archive.follow(client, fills=HK, **name)) as followed:
            next(followed)

    book.put_fills(3)
    book.lists[path_of("ipos", "hk")] = [{"code": "HK.02799"}]
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK], ipos=["hk"])
        first_fill(archive)
    uses = [
        lambda archive: archive.fills(*HK),
        lambda archive: archive.seen("ipos", "hk"),
        lambda archive: archive.changes("ipos", "hk"),
        lambda archive: archive.gaps(*HK),
        lambda archive: archive.status(),
        lambda archive: archive.sql("select * from fills, ipos_history"),
        lambda archive: archive.update(client, fills=[HK], ipos=["hk"]),
        lambda archive: first_fill(archive, name="new"),
    ]
    damaged, noticed = tmp_path / "damaged.db", 0
    for statement in list(damages(file))[::step]:
        shutil.copy(file, damaged)
        with contextlib.closing(sqlite3.connect(damaged, isolation_level=None)) as connection:
            connection.execute(statement)
        try:
            with bl.Archive(damaged) as archive:
                noticed += sum(is_refused(partial(use, archive)) for use in uses)
        except bl.StoreError as error:
            assert error.hint and str(error), statement
            noticed += 1
        for left in tmp_path.glob("damaged.db*"):
            left.unlink()
    assert noticed > 100 // step
