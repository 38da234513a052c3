"""Only regular files are ever replaced: root would remove a device for everybody."""

import itertools
import os
import stat
from functools import partial

import boardlot as bl
import pytest

DEVICE, NULL = stat.S_IFCHR | 0o666, os.makedev(1, 3)


@pytest.fixture(params=itertools.product(["pipe", "device", "folder"], [False, True]), ids=str)
def special(request, tmp_path):
    """A special file, or a link to it; afterwards it is what it was."""
    kind, linked = request.param
    path = used = tmp_path / "special" / kind
    path.parent.mkdir()
    if kind == "device" and os.geteuid() != 0:
        pytest.skip("only root makes devices")
    # The device is one of ours, like /dev/null, which is left alone.
    make = {"pipe": os.mkfifo, "device": partial(os.mknod, mode=DEVICE, device=NULL)}
    make.get(kind, os.mkdir)(path)
    before = path.lstat()
    if linked:
        used = tmp_path / "link"
        used.symlink_to(path)
    yield used
    after = path.lstat()
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)
    assert used.is_symlink() == linked
    assert [left.name for left in path.parent.iterdir()] == [kind], "nothing is left beside it"


def test_outputs_are_not_written_in_place_of_a_device(special, tmp_path, boardlot):
    pytest.importorskip("pyarrow")
    with bl.Archive(tmp_path / "a.db") as archive:
        for write in (partial(archive.export, "ipos"), bl.Archive, bl.Recorder):
            with pytest.raises(bl.BoardlotError):
                write(special)
    fills = ["--base-url", "http://127.0.0.1:9", "fills", "1", "HK", "--force", "--format", "csv"]
    for line in (
        [*fills, "--out", "a.csv", "--resume", special],
        [*fills, "--out", special, "--resume", "a"],
        ["keygen", special],
        ["sandbox", "--key-file", special],
    ):
        assert boardlot(*line).status in (2, 3)


def test_profiles_are_not_written_in_place_of_a_device(special, config, boardlot):
    config.parent.mkdir(parents=True)
    config.symlink_to(special)
    added = boardlot("profile", "add", "live", "--replace", "--base-url", "https://api.example.com")
    assert "not a regular file" in added.failure
    assert [path.name for path in config.parent.iterdir()] == ["config.toml"]
