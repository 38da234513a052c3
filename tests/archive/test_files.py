"""The files of an archive: private, regular, and an error of the archive if one cannot be used."""

import contextlib
import os
import sqlite3
import stat

import boardlot as bl
import pytest

from ..support.processes import full_disk
from .service import HK

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
        with (
            full_disk(1_000),
            pytest.raises(bl.StoreError, match="parquet cannot be written"),
        ):
            archive.export("fills", tmp_path / "fills.parquet")
    assert (tmp_path / "fills.parquet").read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    "damage",
    [
        *("drop table series", "alter table fill_versions rename column record to other"),
        *("drop table lists", "delete from archive_format"),
        *(f"update archive_format set version = {value}" for value in ("'x'", "x'ff'", "9e18")),
    ],
)
def test_a_damaged_schema_is_an_error_of_the_archive(damage, file, book, client):
    book.put_fills(3)
    lists = {"fills": [HK], "ipos": ["hk"]}
    with bl.Archive(file) as archive:
        archive.update(client, **lists)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(damage)
    with pytest.raises(bl.StoreError) as error, bl.Archive(file) as archive:
        archive.update(client, **lists)
    assert error.value.hint and str(error.value)
