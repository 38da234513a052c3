"""Run on Linux, macOS and Windows, by their runners in CI: nothing here is of POSIX alone."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import boardlot as bl
import pytest
from boardlot import _core


@pytest.fixture
def run(tmp_path, sandbox):
    """Runs the command, before the sandbox, with the folder of this test for its profiles."""

    def run(*arguments, **variables):
        folders = dict.fromkeys(("APPDATA", "XDG_CONFIG_HOME"), str(tmp_path))
        command = [sys.executable, "-m", "boardlot", "--base-url", sandbox.base_url, *arguments]
        # Names of files are not those of the code page, also where the suite runs with `LC_ALL=C`.
        own = {"PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}
        environment = {**os.environ, **folders, **own, **variables}
        return subprocess.run(command, capture_output=True, env=environment)

    return run


@pytest.fixture
def key(tmp_path, sandbox):
    """The options for a key whose file has line breaks of Windows."""
    pair = bl.generate_key()
    file = tmp_path / "key.pem"
    file.touch(mode=0o600)
    file.write_bytes(pair.private_pem.replace("\n", "\r\n").encode())
    return "--key-id", sandbox.upload_key(pair.public_pem), "--key-file", file


def test_a_table_is_utf_8_in_a_pipe_and_messages_are_escaped_for_the_code_page(run, key):
    done = run(*key, "dividends", "HK.00700", PYTHONIOENCODING="cp1252")
    assert done.returncode == 0, done.stderr
    assert "─" in done.stdout.decode("utf-8")
    done = run(*key, "dividends", "中文", PYTHONIOENCODING="cp1252")
    assert done.returncode == 2
    assert b"\\u4e2d\\u6587" in done.stderr


def test_profiles_are_in_the_users_folder_and_may_have_line_breaks_of_windows(run, key, tmp_path):
    done = run(*key, "profile", "add", "live")
    assert done.returncode == 0, done.stderr
    config = tmp_path / "boardlot" / "config.toml"
    config.write_bytes(config.read_bytes().replace(b"\n", b"\r\n"))
    done = run("--profile", "live", "dividends", "HK.00700", "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"{") and b"\r" not in done.stdout


def test_an_output_file_has_the_same_bytes_on_every_system(run, key, tmp_path):
    folder = tmp_path / "Ünï 中文"
    folder.mkdir()
    # With its drive letter, on Windows.
    out = (folder / "dividends.csv").absolute()
    command = (*key, "dividends", "HK.00700", "--out", out)
    for options, status in [((), 0), ((), 2), (("--force",), 0)]:
        done = run(*command, *options)
        assert done.returncode == status, done.stderr
        assert out.read_bytes().count(b"\n") == 22 and b"\r" not in out.read_bytes()
    assert [path.name for path in folder.iterdir()] == [out.name]


def test_a_drive_or_folder_that_does_not_exist_is_refused(run):
    missing = Path("Q:/none/rows.csv" if sys.platform == "win32" else "/none/rows.csv")
    done = run("time", "--out", missing)
    assert done.returncode == 2
    assert b"does not exist" in done.stderr


def test_a_file_is_replaced_once_its_reader_has_closed_it(tmp_path):
    # Windows refuses until then; elsewhere nobody waits.
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"old")
    new.write_bytes(b"new")
    with old.open("rb") as reader:
        replacing = threading.Thread(target=_core._replace_file, args=(new, old))
        replacing.start()
        assert reader.read() == b"old"
    replacing.join()
    assert old.read_bytes() == b"new"


LOCK = "import sys; from boardlot._core import _FileLock; _FileLock(sys.argv[1])"


def test_a_file_is_locked_for_one_part_of_one_process_until_it_is_released(tmp_path):
    path = tmp_path / "lock"
    lock = _core._FileLock(path)
    with pytest.raises(BlockingIOError):
        _core._FileLock(path)
    other = subprocess.run([sys.executable, "-c", LOCK, path], capture_output=True, text=True)
    assert "BlockingIOError" in other.stderr
    assert lock.is_held()
    for _ in range(2):
        lock.release()
    assert not lock.is_held()
    _core._FileLock(path).release()


def test_paths_may_be_longer_than_260_characters(tmp_path, sandbox):
    folder = tmp_path.joinpath(*["a" * 100] * 3)
    folder.mkdir(parents=True)
    path = folder / "cassette.jsonl"
    with bl.Recorder(path) as recorder, sandbox.client(cassette=recorder) as client:
        rows = client.dividends("HK.00700")
    with sandbox.client(cassette=bl.Replay(path)) as client:
        assert client.dividends("HK.00700") == rows


def test_a_file_is_removed_once_nobody_has_it_open(tmp_path):
    # As a virus scanner or an indexer has, for a moment.
    file = tmp_path / "file"
    file.write_bytes(b"content")
    closes = threading.Timer(0.3, file.open("rb").close)
    closes.start()
    _core._remove_file(file)
    assert not file.exists()
    _core._remove_file(file)
    closes.join()
