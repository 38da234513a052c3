"""What is not a regular file is never replaced: root would remove a device for everybody."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="special files of POSIX")
from boardlot import _core
from boardlot.cli import main

KINDS = ["pipe", "socket", "device", "folder"]
PASSPHRASE = "correct horse"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[bl.Sandbox]:
    with bl.Sandbox(seed=7, fills=60) as sandbox:
        yield sandbox


@pytest.fixture(params=[(kind, linked) for kind in KINDS for linked in (False, True)], ids=str)
def special(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A special file, or a link to it; afterwards it is what it was."""
    kind, linked = request.param
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "special"
    folder.mkdir()
    path = folder / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        # The address of a socket is short.
        monkeypatch.chdir(folder)
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(kind)
        monkeypatch.chdir(tmp_path)
    elif kind == "device":
        try:
            # A device of ours, like /dev/null, which is left alone.
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    else:
        path.mkdir()
    before = path.lstat()
    used = path
    if linked:
        used = tmp_path / "link"
        used.symlink_to(path)
    yield used
    after = path.lstat()
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)
    assert used.is_symlink() == linked
    assert [left.name for left in folder.iterdir()] == [kind], "nothing is left beside it"


def test_a_file_that_the_package_writes_replaces_regular_files_only(
    special: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    for path in {special, special.resolve()}:
        for force in (True, False):
            new.write_text("new")
            with pytest.raises(OSError):
                _core._replace_file(new, path, force)
            assert new.read_text() == "new"
        with pytest.raises(OSError):
            _core._FileLock(path)


@pytest.mark.parametrize("change", ["add", "use", "replace"])
def test_profiles_are_not_written_in_place_of_a_device(
    change: str, special: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    folder = tmp_path / "config" / "boardlot"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    config = folder / "config.toml"
    config.symlink_to(special)
    entry = {"kind": "none", "base_url": "https://api.example.com"}
    with pytest.raises(OSError, match="not a regular file"):
        bl._core._save_profile("live", entry, replace=change == "replace")
    line = {
        "add": ["profile", "add", "live", "--replace", "--base-url", "https://api.example.com"],
        "use": ["profile", "use", "--none"],
        "replace": ["profile", "add", "x", "--replace", "--base-url", "https://api.example.com"],
    }[change]
    assert main(line) == 1
    assert "not a regular file" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["config.toml"]


def test_a_store_of_tokens_is_not_written_in_place_of_a_device(special: Path) -> None:
    with pytest.raises(bl.StoreError):
        bl.EncryptedFileStore(special, PASSPHRASE).save("key", b"value")
    # Its lock is a file of its own, which is never removed.
    for lock in [*special.parent.glob("*.lock"), *special.resolve().parent.glob("*.lock")]:
        lock.unlink()


def test_outputs_are_not_written_in_place_of_a_device(
    special: Path, sandbox: bl.Sandbox, tmp_path: Path, capsys: Any
) -> None:
    pytest.importorskip("pyarrow")
    with sandbox.client() as client, bl.Archive(tmp_path / "a.db") as archive:
        archive.update(client, ipos=["hk"])
        with pytest.raises(bl.ConfigError, match="not a regular file"):
            archive.export("ipos", special)
    with pytest.raises(bl.StoreError, match="not a regular file"):
        bl.Archive(special)
    with pytest.raises(bl.BoardlotError):
        bl.Recorder(special)
    service = ["--base-url", sandbox.base_url]
    fills = [*service, "fills", "1", "HK", "--force"]
    assert main([*fills, "--out", "a.csv", "--resume", str(special)]) == 2
    assert main([*fills, "--out", str(special), "--resume", "a", "--format", "csv"]) == 2
    assert main(["keygen", str(special)]) in (1, 2)
    assert main(["sandbox", "--key-file", str(special)]) == 2
    assert capsys.readouterr().err
