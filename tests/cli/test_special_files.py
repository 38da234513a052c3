"""Only regular files are ever replaced: root would remove a device for everybody."""

import os
import socket
import stat

import boardlot as bl
import pytest
from boardlot import _core

KINDS = ["pipe", "socket", "device", "folder"]


@pytest.fixture(params=[(kind, linked) for kind in KINDS for linked in (False, True)], ids=str)
def special(request, tmp_path, monkeypatch):
    """A special file, or a link to it; afterwards it is what it was."""
    kind, linked = request.param
    folder = tmp_path / "special"
    path = folder / kind
    folder.mkdir()
    # The address of a socket is short.
    monkeypatch.chdir(folder)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(kind)
    elif kind == "device":
        try:
            # A device of ours, like /dev/null, which is left alone.
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    else:
        path.mkdir()
    monkeypatch.chdir(tmp_path)
    before, used = path.lstat(), path
    if linked:
        used = tmp_path / "link"
        used.symlink_to(path)
    yield used
    after = path.lstat()
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)
    assert used.is_symlink() == linked
    assert [left.name for left in folder.iterdir()] == [kind], "nothing is left beside it"


def test_a_file_that_the_package_writes_replaces_regular_files_only(special, tmp_path):
    new = tmp_path / "new"
    new.write_text("new")
    for path in {special, special.resolve()}:
        for force in (True, False):
            with pytest.raises(OSError):
                _core._replace_file(new, path, force)
            assert new.read_text() == "new"
        with pytest.raises(OSError):
            _core._FileLock(path)


@pytest.mark.parametrize(
    "change",
    [
        ["add", "live", "--replace", "--base-url", "https://api.example.com"],
        ["use", "--none"],
    ],
)
def test_profiles_are_not_written_in_place_of_a_device(change, special, config, boardlot):
    config.parent.mkdir(parents=True)
    config.symlink_to(special)
    done = boardlot("profile", *change)
    assert done.status == 1 and "not a regular file" in done.said
    assert [path.name for path in config.parent.iterdir()] == ["config.toml"]


def test_outputs_are_not_written_in_place_of_a_device(special, tmp_path, boardlot):
    pytest.importorskip("pyarrow")
    with (
        bl.Archive(tmp_path / "a.db") as archive,
        pytest.raises(bl.ConfigError, match="not a regular file"),
    ):
        archive.export("ipos", special)
    with pytest.raises(bl.StoreError, match="not a regular file"):
        bl.Archive(special)
    with pytest.raises(bl.BoardlotError):
        bl.Recorder(special)
    fills = ["--base-url", "http://127.0.0.1:9", "fills", "1", "HK", "--force"]
    assert boardlot(*fills, "--out", "a.csv", "--resume", special).status == 2
    assert boardlot(*fills, "--out", special, "--resume", "a", "--format", "csv").status == 2
    assert boardlot("keygen", special).status in (1, 2)
    assert boardlot("sandbox", "--key-file", special).status == 2
