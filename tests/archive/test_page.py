"""The instructions of docs/archive.md, docs/archive-care.md and docs/scale-out.md for an archive,
tried as written.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import boardlot as bl
import pytest

from ..support.processes import ROOT
from ..support.system import need_program
from .columns import check_columns
from .service import HK, followed, path_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells of POSIX")

PAGES = "".join((ROOT / "docs" / name).read_text() for name in ("archive.md", "archive-care.md"))


def block(title):
    """The code under this title."""
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGES, re.DOTALL)
    assert found is not None, title
    return found[1]


@pytest.fixture
def home(tmp_path, book, service):
    """A home with a profile, the program, and a folder for the archive."""
    (tmp_path / "archive").mkdir()
    programs = tmp_path / ".local" / "bin"
    programs.mkdir(parents=True)
    (programs / "boardlot").symlink_to(Path(sys.executable).parent / "boardlot")
    config = tmp_path / ".config" / "boardlot"
    config.mkdir(parents=True, mode=0o700)
    (config / "config.toml").write_text(
        f'[profiles.live]\nbase_url = "{service.base_url}"\nauth = {{ kind = "none" }}\n'
    )
    (config / "config.toml").chmod(0o600)
    book.put_fills(60)
    book.lists[path_of("ipos", "hk")] = [{"code": "HK.02799"}]
    return tmp_path


def run(home, script, folder="archive", **more):
    environment = {name: value for name, value in os.environ.items() if "XDG" not in name}
    environment |= {"HOME": str(home), **more}
    environment["PATH"] = f"{home}/.local/bin:{environment['PATH']}"
    line = ["sh", "-c", script]
    done = subprocess.run(
        line, env=environment, cwd=home / folder, capture_output=True, text=True, timeout=120
    )
    log = home / "archive" / "update.log"
    assert done.returncode == 0, done.stderr + (log.read_text() if log.exists() else "")
    return done.stdout


@pytest.fixture
def filled(home, client):
    """The path of an archive with all kinds of lists, and a follower of it."""
    need_program("sqlite3")
    path = home / "archive" / "trades.db"
    with bl.Archive(path) as archive:
        archive.update(client, fills=[HK], ipos=["hk"], plates=["HK.BK1"])
        followed(archive, client, 3)
    return path


def test_a_backup_of_sqlite(home, filled, book, client):
    with bl.Archive(filled) as archive:
        # The archive is open, and has a log.
        archive.update(client, dividends=["HK.00700"])
        run(home, block("back up"))
    with bl.Archive(filled.with_name("backup.db")) as backup:
        assert backup.fills(*HK).all() == book.expected()
        assert "dividends" in {row["list"] for row in backup.status()}
        assert backup.update(client, fills=[HK]).unchanged == 60


def test_a_backup_of_postgresql(home, address, book, client):
    need_program("pg_dump")
    with bl.Archive(address) as archive:
        archive.update(client, fills=[HK])
        umask, dump, restore = block("back up PostgreSQL").splitlines()
        run(home, f"{umask}\n{dump}", ARCHIVE=address)
        assert (home / "archive" / "backup.dump").stat().st_mode & 0o777 == 0o600
        book.put_fills(1, first=900)
        archive.update(client, fills=[HK])
    run(home, restore, ARCHIVE=address)
    with bl.Archive(address) as archive:
        assert len(archive.fills(*HK).all()) == 60
        assert archive.update(client, fills=[HK]).new == 1


def test_a_move_to_postgresql(home, filled, address, book, client):
    need_program("psql")
    with bl.Archive(filled) as archive:
        archive.update(client, lists=[(bl.Endpoint("flow", "GET", "/api/v1.0/flow"), {})])
        before = archive.status()
    assert "281756 HK" in run(home, block("move"), ARCHIVE=address)
    with bl.Archive(address) as archive:
        assert archive.status() == before
        assert archive.fills(*HK).all() == book.expected()
        assert archive.seen("ipos", "hk") == [{"code": "HK.02799"}]
        book.put_fills(1, first=900)
        report = archive.update(client, fills=[HK, ("99", "US")], ipos=["us", "hk"])
        assert not report.errors and report.new == 1
        assert len(archive.sql("select * from flow")) == 0
        check_columns(archive)
        # The third fill was being handled.
        assert followed(archive, client, 1) == ["3"]


def test_other_tools(home, filled, address, client):
    assert run(home, block("look at SQLite")) == "status|code|traded\nOK|HK.00700|6000.0\n"
    need_program("psql")
    with bl.Archive(address) as archive:
        archive.update(client, fills=[HK])
    assert "OK     | HK.00700 |   6000" in run(home, block("look at PostgreSQL"), ARCHIVE=address)


def test_a_service_that_has_moved(home, filled, client, service):
    script = block("moved.sql").replace("https://api.example.com", client.base_url)
    (home / "archive" / "moved.sql").write_text(script)
    run(home, "sqlite3 trades.db < moved.sql")
    moved = r"is of the service https://api\.example\.net"
    with bl.Archive(filled) as archive, pytest.raises(bl.ConfigError, match=moved):
        archive.update(client, fills=[HK])


SCALE_OUT = ROOT / "docs" / "scale-out.md"
EXAMPLE = r"^```py\n(import boardlot as bl\n.*?bl\.Archive.*?)^```$"
ACCOUNTS = ["281756", "281757", "281758", "281759"]


@pytest.fixture
def folder_of_workers(tmp_path):
    pytest.importorskip("distributed")
    import dask

    with dask.config.set(temporary_directory=str(tmp_path)):
        yield


@pytest.mark.usefixtures("folder_of_workers")
def test_the_workers_of_a_cluster_share_an_archive(address, service, book, tmp_path, capsys):
    for account in ACCOUNTS:
        book.put_fills(70, account)
    key_file = tmp_path / "key.pem"
    key_file.touch(mode=0o600)
    key_file.write_text(bl.generate_key().private_pem)
    [example] = re.findall(EXAMPLE, SCALE_OUT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for shown, here in {
        "postgresql://trades@db.example.com/trades": address,
        "/shared/key.pem": str(key_file),
        "https://api.example.com": service.base_url,
        "WORKERS = 4": "WORKERS = 2",
        # A fixed port of the dashboard would be in use if another cluster runs.
        "threads_per_worker=1": 'threads_per_worker=1, dashboard_address="127.0.0.1:0"',
    }.items():
        assert shown in example
        example = example.replace(shown, here)
    exec(example, {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == [f"{account} 70 []" for account in ACCOUNTS]
    with bl.Archive(address) as archive:
        for account in ACCOUNTS:
            assert archive.fills(account, "HK").all() == book.expected(account)
