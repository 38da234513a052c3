"""The files of an archive and its exports: private, regular, whole, and never mixed up."""

import contextlib
import os
import sqlite3
import stat

import boardlot as bl
import pytest

from ..support.processes import full_disk
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


def test_a_file_out_of_wal_mode_is_put_back_or_can_be_tried_again(file, book, client):
    book.put_fills(3)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])

    def other_tool():
        return contextlib.closing(sqlite3.connect(file, isolation_level=None))

    with other_tool() as tool:
        tool.execute("pragma journal_mode = delete")
        tool.execute("begin")
        tool.execute("select * from fills").fetchone()
        # While another connection reads, the mode cannot be changed; reading works.
        with bl.Archive(file, wait=0.1) as archive:
            assert len(archive.fills(*HK).all()) == 3
            tool.execute("commit")
            tool.execute("begin exclusive")
            for read in (
                lambda: archive.fills(*HK).all(),
                lambda: archive.sql("select 1 from fills"),
                lambda: archive.update(client, fills=[HK]),
            ):
                with pytest.raises(bl.StoreError, match="written by another process") as error:
                    read()
                assert error.value.retryable and "WAL mode" in error.value.hint
            tool.execute("commit")
            assert len(archive.sql("select * from fills")) == 3
    with bl.Archive(file), other_tool() as tool:
        assert tool.execute("pragma journal_mode").fetchone() == ("wal",)


def test_addresses_of_sqlite_in_other_libraries_are_no_names_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for target in ("file:x.db?mode=ro", "FILE:x.db", "sqlite:///x.db", "sqlite3:x.db"):
        with pytest.raises(bl.ConfigError, match="an address of SQLite in another lib") as error:
            bl.Archive(target)
        assert "Pass only the path" in error.value.hint
    assert not list(tmp_path.iterdir())
    # A name like an address is a path if it is absolute.
    bl.Archive(tmp_path / "file:x.db").close()
    assert [path.name for path in tmp_path.iterdir()] == ["file:x.db"]


def test_a_path_that_is_too_long_is_an_error_of_the_archive(kept, client, tmp_path):
    names = ["n" * 250, "/".join(["n" * 200] * 40)]
    for name in names:
        with pytest.raises(bl.StoreError), bl.Archive(tmp_path / name) as archive:
            archive.update(client, ipos=["hk"])
        with pytest.raises(bl.StoreError, match="cannot be written"):
            kept.export("fills", tmp_path / name)


@POSIX
def test_a_full_disk_in_an_export_is_an_error_of_the_archive(kept, tmp_path):
    kept.export("fills", tmp_path / "fills.parquet")
    before = (tmp_path / "fills.parquet").read_bytes()
    with full_disk(1_000), pytest.raises(bl.StoreError, match="parquet cannot be written"):
        kept.export("fills", tmp_path / "fills.parquet")
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
        # SQLite does not look at the views then.
        connection.execute("pragma legacy_alter_table = on")
        connection.execute(damage)
    with pytest.raises(bl.StoreError) as error, bl.Archive(file) as archive:
        archive.update(client, **lists)
    assert error.value.hint and str(error.value)


parquet = pytest.importorskip("pyarrow.parquet")
PLATES = ["HK.BK1", "HK.BK2", "HK.BK3"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([None, 1, 2], [None, "1", "2"]),
        ([1, "x", None], ["1", "x", None]),
        ([[1], {"b": 2}, True], ["[1]", '{"b":2}', "true"]),
    ],
)
def test_an_undeclared_field_is_text(values, expected, archive, book, client, tmp_path):
    for plate, value in zip(PLATES, values, strict=True):
        book.lists[path_of("plates", plate)] = [{"code": "HK.00001", "new": value}]
    archive.update(client, plates=PLATES)
    assert archive.export("plates", tmp_path / "plates.parquet") == 3
    rows = parquet.read_table(tmp_path / "plates.parquet").to_pylist()
    assert [row["new"] for row in rows] == expected


def test_an_export_never_replaces_the_archive(kept, file, book, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(file)
    os.link(file, tmp_path / "hard")
    monkeypatch.chdir(tmp_path)
    beside = [f"archive.db-{end}" for end in ("wal", "shm", "journal")]
    for path in [file, "archive.db", "./archive.db", *beside, "link", "hard"]:
        with pytest.raises(bl.ConfigError, match="is the archive itself"):
            kept.export("fills", path)
    assert kept.fills(*HK).all() == book.expected()


def test_a_link_at_the_name_of_a_temporary_file_is_not_followed(file, tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (tmp_path / ".fills.parquet.guessed.part").symlink_to(victim)
    with bl.Archive(file) as archive, pytest.raises(bl.StoreError):
        archive.export("fills", tmp_path / "fills.parquet")
    assert victim.read_text() == "precious"


def test_a_link_that_takes_the_place_of_a_temporary_file_is_not_followed(
    kept, tmp_path, monkeypatch
):
    """Other users who may write into the folder can see the random name, too."""
    victim, write = tmp_path / "victim", parquet.write_table
    victim.write_text("precious")

    def write_after_the_swap(table, where, **options):
        (temporary,) = tmp_path.glob(".fills.parquet.*.part")
        temporary.unlink()
        temporary.symlink_to(victim)
        write(table, where, **options)

    monkeypatch.setattr(parquet, "write_table", write_after_the_swap)
    with pytest.raises(bl.StoreError, match="only regular files are replaced"):
        kept.export("fills", tmp_path / "fills.parquet")
    assert victim.read_text() == "precious"
    assert not list(tmp_path.glob("*parquet*"))


def test_a_file_of_another_format_is_not_written_with_parquet(kept, tmp_path):
    for name in ("fills.csv", "fills.JSON", "fills.xlsx"):
        with pytest.raises(
            bl.ConfigError, match=r"expected a Parquet file, such as .*fills\.parquet"
        ):
            kept.export("fills", tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(bl.ConfigError, match="did you mean 'fills'"):
        kept.export("fill", tmp_path / "fills.parquet")
