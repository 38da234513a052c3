"""Backup and restore, under followers and updates that live on: nothing is lost or silent."""

import gzip
import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import boardlot as bl
import pytest
from boardlot.archive import update as updating
from boardlot.archive.sqlite import backup as backups
from boardlot.cli import main

from ..support.processes import full_disk, program, python
from .service import HK, PLATE, fill, followed, ids, new, path_of, take
from .stores import restore

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="modes and limits of POSIX")


@pytest.fixture
def backup(tmp_path):
    return tmp_path / "backup.db"


@POSIX
@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_a_backup_is_an_archive_that_only_its_owner_can_read(mask, kept, backup, book):
    before = os.umask(mask)
    try:
        kept.backup(backup)
    finally:
        os.umask(before)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with bl.Archive(backup) as copy:
        assert copy.fills(*HK).all() == book.expected() and copy.check() == kept.check()


def test_a_backup_of_memory_is_one_too(backup, book, client):
    book.put_fills(3)
    with bl.Archive(":memory:") as archive:
        archive.update(client, fills=[HK])
        archive.backup(backup)
        assert archive.update(client, fills=[HK]).unchanged == 3
    with bl.Archive(backup) as copy:
        assert copy.fills(*HK).all() == book.expected()


def test_a_backup_is_of_one_moment_while_updates_go_on(kept, file, backup, book, client):
    """The backup is made within an update that has stored some of its pages."""
    book.put_fills(300, first=10)
    made = []

    def back_up(page):
        if page == 3:
            with bl.Archive(file) as other:
                other.backup(backup)
            made.append(page)

    book.before_page = back_up
    kept.update(client, fills=[HK])
    assert made == [3]
    with bl.Archive(backup) as copy:
        assert len(copy.fills(*HK).all()) == 3
        book.before_page = None
        assert copy.update(client, fills=[HK])
        assert copy.fills(*HK).all() == kept.fills(*HK).all() == book.expected()


def test_a_backup_is_never_written_over(kept, backup, tmp_path, capfd):
    backup.write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for path in (backup, tmp_path / "link", kept._database.path):
        with pytest.raises(bl.ConfigError, match="already exists"):
            kept.backup(path)
    with pytest.raises(bl.ConfigError, match=r"a folder; expected .*, such as '.*backup\.db'"):
        kept.backup(tmp_path)
    assert main(["archive", "backup", str(kept._database.path), str(backup)]) == 2
    assert "already exists" in capfd.readouterr().err
    assert backup.read_text() == "precious"


@POSIX
def test_a_full_disk_leaves_no_backup_and_no_half_restored_archive(
    kept, file, backup, book, client
):
    kept.backup(backup)
    book.put_fills(3_000, first=10)
    kept.update(client, fills=[HK])
    with full_disk(100_000), pytest.raises(bl.StoreError, match=r"other\.db cannot be written"):
        kept.backup(file.with_name("other.db"))
    names = {one.name for one in file.parent.iterdir()}
    assert names == {backup.name, file.name, f"{file.name}-wal", f"{file.name}-shm"}
    larger = file.with_name("larger.db")
    kept.backup(larger)
    restore(backup, file)
    with full_disk(100_000):
        restore(larger, file, status=3)
    assert len(kept.fills(*HK).all()) == 3


def test_a_backup_in_postgresql_names_the_program_that_makes_it(address, backup):
    with bl.Archive(address) as archive, pytest.raises(bl.ConfigError, match="PostgreSQL") as error:
        archive.backup(backup)
    assert "umask 077; pg_dump --schema boardlot_archive" in error.value.hint
    assert "backup.db" in error.value.hint and "0600" in error.value.hint


def test_the_commands_say_what_they_did_and_who_resumes(kept, file, backup, client, capfd):
    followed(kept, client, 2, name="alerts")
    assert main(["archive", "backup", str(file), str(backup)]) == 0
    assert f"wrote {backup}" in capfd.readouterr().err
    restore(backup, file)
    said = capfd.readouterr().err
    assert f"restored {file} as it was in {backup}" in said
    assert "the follower 'alerts' of fills 281756 HK resumes at its position in the backup" in said
    assert main(["archive", "restore", str(backup), "postgresql://h/d"]) == 2
    assert "pg_restore --clean" in capfd.readouterr().err


CRASH = program(__file__, "crash")


@POSIX
def test_a_restore_after_a_crash_is_the_backup_whatever_was_left(
    file, backup, book, client, service, tmp_path
):
    book.put_fills(100)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
        archive.backup(backup)
    expected = book.expected()
    book.put_fills(500, first=1_000)
    with python(CRASH, file, service.base_url) as child:
        assert child.wait() == -9
    assert file.with_name(f"{file.name}-wal").stat().st_size > 100_000
    crashed = [*tmp_path.iterdir()]
    for left in ("its own log", "a log of another file", "damage", "only a log"):
        folder = tmp_path / left
        folder.mkdir()
        for one in crashed:
            shutil.copy(one, folder)
        check_restore(left, folder / file.name, folder / backup.name, expected, client)


def check_restore(left, file, backup, expected, client):
    content = backup.read_bytes()
    if left == "a log of another file":
        # The same as `cp backup.db archive.db`.
        shutil.copyfile(backup, file)
    elif left == "damage":
        file.write_bytes(content[:4096] + bytes(255 - byte for byte in content[4096:]))
    elif left == "only a log":
        file.unlink()
    restore(backup, file)
    assert backup.read_bytes() == content
    with bl.Archive(file) as archive:
        assert archive.fills(*HK).all() == expected
        assert archive._database._own.value.connection.execute("pragma integrity_check") == [
            ("ok",)
        ]
        assert archive.update(client, fills=[HK]).new == 500
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(one.name for one in file.parent.iterdir()) == [file.name, backup.name]


@pytest.mark.parametrize("wrong", ["cut", "text", "other", "missing", "same"])
def test_what_is_no_backup_changes_nothing(wrong, kept, file, backup, book, capfd):
    kept.backup(backup)
    if wrong == "cut":
        backup.write_bytes(backup.read_bytes()[:9_000])
    elif wrong == "text":
        backup.write_text("not a backup")
    elif wrong == "missing":
        backup.unlink()
    elif wrong == "other":
        backup.unlink()
        with closing(sqlite3.connect(backup)) as connection:
            connection.execute("create table mine (a)")
    restore(file if wrong == "same" else backup, file, status=2 if wrong == "same" else 3)
    assert "boardlot: " in capfd.readouterr().err
    assert kept.fills(*HK).all() == book.expected()


def test_a_file_of_something_else_is_not_restored_over(kept, backup, tmp_path, capfd):
    kept.backup(backup)
    notes, other = tmp_path / "notes.txt", tmp_path / "other.db"
    notes.write_text("precious")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("create table mine (a)")
    for file, said in ((notes, "is not a SQLite file"), (other, "but not an archive")):
        before = file.read_bytes()
        restore(backup, file, status=3)
        assert said in capfd.readouterr().err and file.read_bytes() == before


def test_a_compressed_backup_is_named(kept, file, backup, capfd):
    kept.backup(backup)
    backup.write_bytes(gzip.compress(backup.read_bytes()))
    before = file.read_bytes()
    restore(backup, file, status=3)
    assert f"gzip -d {backup.name}" in capfd.readouterr().err and file.read_bytes() == before


def refusal(first, second, capfd):
    """Returns the message of a restore that changes nothing."""
    before = second.read_bytes()
    restore(first, second, status=2)
    assert second.read_bytes() == before
    return capfd.readouterr().err


def test_swapped_arguments_leave_the_backup_as_it_is(kept, file, backup, book, client, capfd):
    kept.backup(backup)
    book.put_fills(2, first=10)
    kept.update(client, fills=[HK])
    said = refusal(file, backup, capfd)
    assert f"{backup} is a backup; expected the archive that is restored" in said
    assert f"run `boardlot archive restore {backup} {file}`" in said
    # The refusal is the same if the archive is closed.
    kept.close()
    assert "is a backup" in refusal(file, backup, capfd)
    restore(file, backup.rename(backup.with_name("moved.db")).with_name("new.db"))
    assert sorted(one.name for one in file.parent.iterdir()) == ["archive.db", "moved.db", "new.db"]


def test_an_older_copy_of_another_tool_is_not_restored_over(
    kept, file, backup, book, client, capfd
):
    """Such a copy, made as by `sqlite3 archive.db ".backup backup.db"`, has no mark."""
    with closing(sqlite3.connect(file)) as one, closing(sqlite3.connect(backup)) as other:
        one.backup(other)
    book.put_fills(2, first=10)
    kept.update(client, fills=[HK])
    kept.close()
    said = refusal(file, backup, capfd)
    assert f"before {file}" in said and "it is the older one" in said
    restore(backup, file)
    with bl.Archive(file) as archive:
        assert len(archive.fills(*HK).all()) == 3


def test_another_archive_is_not_restored_over(kept, backup, book, client, tmp_path, capfd):
    kept.backup(backup)
    path = path_of("plates", PLATE)
    book.lists[path] = [{"code": "HK.00001"}]
    with bl.Archive(tmp_path / "other.db") as other:
        other.update(client, plates=[PLATE])
    assert "has no list of the backup" in refusal(backup, tmp_path / "other.db", capfd)


def test_a_backup_that_an_update_has_written_to_is_an_archive(kept, file, backup, book, client):
    kept.backup(backup)
    kept.close()
    backup.replace(file)
    with bl.Archive(file) as archive:
        archive.backup(backup)
        book.put_fills(2, first=10)
        archive.update(client, fills=[HK])
    restore(backup, file)
    with bl.Archive(file) as archive:
        assert len(archive.fills(*HK).all()) == 3
    restore(backup, file)


def test_a_backup_is_restored_over_an_older_one_that_was_restored(
    kept, file, tmp_path, book, client
):
    kept.backup(tmp_path / "monday.db")
    book.put_fills(2, first=10)
    kept.update(client, fills=[HK])
    kept.backup(tmp_path / "tuesday.db")
    for name, count in (("monday.db", 3), ("tuesday.db", 5), ("monday.db", 3)):
        restore(tmp_path / name, file)
        assert len(kept.fills(*HK).all()) == count


@pytest.mark.parametrize("line", [["postgresql://h/d", "a.db"], ["a.db", "postgresql://h/d"]])
def test_an_address_is_neither_restored_nor_restored_over(line, capfd):
    assert main(["archive", "restore", *line]) == 2
    assert "`pg_restore --clean --if-exists` restores it" in capfd.readouterr().err


def test_a_follower_delivers_again_what_came_since_the_backup(store, book, client, caplog):
    caplog.set_level(logging.WARNING)
    book.put_fills(5)
    with (
        bl.Archive(store.target) as archive,
        closing(archive.follow(client, fills=HK, every=0.01)) as follower,
    ):
        assert ids(take(follower, 5)) == ["1", "2", "3", "4", "5"]
        store.save()
        for number in (6, 7, 8):
            new(book, number)
            assert ids(take(follower, 1)) == [str(number)]
        assert caplog.messages == []
        store.go_back()
        new(book, 9)
        # The fifth fill was being handled when the backup was made.
        assert ids(take(follower, 5)) == ["5", "6", "7", "8", "9"]
        (said,) = caplog.messages
        assert "went back to an earlier state" in said and "'default' of fills 281756 HK" in said
        assert archive.fills(*HK).all() == book.expected()


def test_a_restore_while_a_fill_of_many_is_handled_loses_none_of_them(store, book, client):
    """The fills were read together, the backup has none of them, and some are late."""
    book.put_fills(3)
    with bl.Archive(store.target) as archive, bl.Archive(store.target) as other:
        follower = archive.follow(client, fills=HK, every=0.01)
        assert ids(take(follower, 3)) == ["1", "2", "3"]
        # Everything is delivered; the row of the follower stays as it is in the backup.
        new(book, 4)
        assert ids(take(follower, 1)) == ["4"]
        store.save()
        made = [new(book, number) for number in (5, 6, 7)]
        assert ids(take(follower, 1)) == ["5"]
        store.go_back()
        # Another update reads the fills again first, with a fill that comes before them.
        late = fill(8, made[0]["updated_time"] - 10)
        book.fills[HK].append(late)
        other.update(client, fills=[HK])
        received = ids(take(follower, 5))
        assert received[-4:] == ["8", "5", "6", "7"]
        follower.close()
        assert followed(archive, client, 1) == ["7"]


def test_a_backup_from_before_a_follower_makes_it_a_new_one(store, book, client):
    book.put_fills(3)
    with bl.Archive(store.target) as archive:
        archive.update(client, dividends=["HK.00700"])
        store.save()
        follower = archive.follow(client, fills=HK, every=0.01)
        assert ids(take(follower, 3)) == ["1", "2", "3"]
        store.go_back()
        new(book, 4)
        assert ids(take(follower, 4)) == ["1", "2", "3", "4"]
        follower.close()


def test_a_backup_of_days_ago_is_caught_up_with(store, book, client):
    book.put_fills(60, step=20 * 3600 * 10**6)
    served = book.fills[HK]
    book.fills[HK] = served[:10]
    with bl.Archive(store.target) as archive:
        archive.update(client, fills=[HK])
        store.save()
        book.fills[HK] = served
        archive.update(client, fills=[HK])
        assert archive.fills(*HK).all() == book.expected()
        store.go_back()
        archive.update(client, fills=[HK])
        assert archive.fills(*HK).all() == book.expected() and archive.gaps(*HK) == []


def test_an_update_that_is_met_by_a_restore_says_so_and_the_next_one_reads_all(
    store, book, client, monkeypatch
):
    """Otherwise the update would count pages as read that the backup does not have."""
    monkeypatch.setattr(updating, "FILLS", 20)
    book.page = 10
    book.put_fills(20)
    plate = path_of("plates", PLATE)
    book.lists[plate] = [{"code": "HK.00001"}]
    with bl.Archive(store.target) as archive:
        archive.update(client, fills=[HK], plates=[PLATE])
        store.save()
        book.put_fills(100, first=100)
        book.before_page = lambda page: page == 7 and store.go_back()
        with pytest.raises(bl.StoreError, match=r"went back to an earlier|was lost") as error:
            archive.update(client, fills=[HK])
        assert error.value.retryable and "Run the same update again" in error.value.hint
        book.before_page = None
        assert archive.update(client, fills=[HK], plates=[PLATE])
        assert archive.fills(*HK).all() == book.expected() and archive.gaps(*HK) == []


def test_a_backup_from_before_a_series_got_its_id_mixes_nothing_up(store, book, client):
    """The database assigns the same ids again, to other fills."""
    book.put_fills(3)
    book.put_fills(3, "99", "US")
    with bl.Archive(store.target) as archive, bl.Archive(store.target) as other:
        archive.update(client, dividends=["HK.00700"])
        store.save()
        follower = archive.follow(client, fills=HK, every=0.01)
        assert ids(take(follower, 3)) == ["1", "2", "3"]
        store.go_back()
        other.update(client, fills=[("99", "US")])
        assert ids(take(follower, 3)) == ["1", "2", "3"]
        follower.close()
        assert archive.fills(*HK).all() == book.expected()
        assert archive.fills("99", "US").all() == book.expected("99", "US")


KILLED = """\
import os, sys
import boardlot as bl
from boardlot.archive.sqlite import backup
copy = backup._copy
backup._copy = lambda *arguments: copy(*arguments) or os._exit(9)
bl.Archive(sys.argv[1]).backup(sys.argv[2])
"""


def test_the_copy_of_a_backup_that_was_killed_is_removed_by_the_next_one(kept, file, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    command = [sys.executable, "-c", KILLED, str(file), str(folder / "monday.db")]
    assert subprocess.run(command).returncode == 9
    left = {one.name for one in folder.iterdir()}
    assert left and all(name.startswith(backups.COPY) for name in left)
    kept.backup(folder / "tuesday.db")
    assert [one.name for one in folder.iterdir()] == ["tuesday.db"]


def test_a_copy_that_is_being_made_is_left_alone(kept, tmp_path, monkeypatch):
    copy = backups._copy

    def copy_beside_another(*arguments):
        monkeypatch.setattr(backups, "_copy", copy)
        kept.backup(tmp_path / "other.db")
        copy(*arguments)

    monkeypatch.setattr(backups, "_copy", copy_beside_another)
    kept.backup(tmp_path / "first.db")
    assert not list(tmp_path.glob(f"{backups.COPY}*"))
    for name in ("first.db", "other.db"):
        with bl.Archive(tmp_path / name) as archive:
            assert len(archive.fills(*HK)) == 3
