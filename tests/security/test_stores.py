"""Promise 10: who can read what lies on the disk, and what is refused."""

import os
import socket

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.processes import run_python
from ..support.stores import (
    CANARY,
    KEY,
    PASSPHRASE,
    data_files,
    files_of,
    open_bits,
    refused,
    saved,
    store_at,
    untouched,
    ways,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of another owner")


def test_security_10_modes_are_closed_from_the_start(place):
    code = """
        import os, sys, threading
        import boardlot as bl
        os.umask(0)
        store = bl.EncryptedFileStore(sys.argv[1], sys.argv[2])
        wrong, over = set(), threading.Event()
        def watch(folder):
            # Every name that is ever seen, as often as it can be looked at.
            while not over.is_set():
                for path, _, names in os.walk(folder):
                    for name in [".", *names]:
                        try:
                            mode = os.lstat(os.path.join(path, name)).st_mode
                        except OSError:
                            continue
                        if mode & 0o077:
                            wrong.add((os.path.join(path, name), oct(mode)))
        watcher = threading.Thread(target=watch, args=(os.path.dirname(sys.argv[1]),))
        watcher.start()
        for n in range(30):
            store.save(sys.argv[3], b"x" * n * 1000)
        over.set()
        watcher.join()
        print(sorted(wrong))
        """
    out, _ = run_python(code, place, PASSPHRASE, KEY)
    assert out == "[]\n"
    assert open_bits(place.parent) == {}


def test_security_10_under_a_closed_umask_it_can_still_be_read(place):
    old = os.umask(0o777)
    try:
        store_at(place).save(KEY, CANARY)
    finally:
        os.umask(old)
    assert open_bits(place.parent) == {}
    assert store_at(place).load(KEY) == CANARY


def test_security_10_a_file_is_renamed_into_place_and_nothing_is_left_beside(place):
    folder = saved(place)
    (path,) = data_files(folder)
    with path.open("rb") as held:
        store_at(place).save(KEY, CANARY * 2)
        # A reader that has the old file open still sees all of it.
        assert os.fstat(held.fileno()).st_ino != path.stat().st_ino
        assert os.fstat(held.fileno()).st_nlink == 0
    assert list(data_files(folder)) == [path]
    assert open_bits(folder) == {}


@as_root
@ways
@pytest.mark.parametrize("part", ["file", "folder"])
def test_security_10_a_foreign_owner_is_rejected(place, way, part):
    folder = saved(place)
    (path,) = data_files(folder)
    os.chown(path if part == "file" else folder, 65534, 65534)
    with untouched(folder):
        refused(place, way=way)


def test_security_10_a_symlink_in_place_of_the_lock_file_is_rejected(place, tmp_path):
    folder = saved(place)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    before = victim.stat().st_mode
    locks = [path for path in files_of(folder) if path not in data_files(folder)]
    assert locks, "there is no permanent lock file"
    for lock in locks:
        lock.unlink()
        lock.symlink_to(victim)
    with untouched(folder):
        refused(place, way="save")
    assert (victim.read_text(), victim.stat().st_mode) == ("precious", before)


@ways
@pytest.mark.parametrize("kind", ["fifo", "folder", "socket"])
def test_security_10_what_is_not_a_file_is_rejected_at_once(place, way, kind):
    (path,) = data_files(saved(place))
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "fifo":
            os.mkfifo(path, 0o600)
        elif kind == "folder":
            path.mkdir(0o700)
            (path / "x").write_text("x")
        else:
            listener.bind(str(path))
            path.chmod(0o600)
        # Not after a writer of the pipe has come.
        refused(place, way=way)


class Mapping(dict):
    """A custom store, which raises `KeyError` for what it does not have."""

    load, save, delete = dict.__getitem__, dict.__setitem__, dict.__delitem__


def test_a_store_may_raise_key_error_for_what_it_does_not_have(server):
    store = Mapping()
    oauth = sign_in(server, store)
    assert list(quotes(client_of(server, oauth))) == []
    for _ in range(2):
        oauth.logout()
        assert store == {}


def test_a_store_that_fails_or_is_none_is_an_error_before_the_login(server):
    class Failing(Mapping):
        def load(self, key):
            raise OSError("no shelf")

    with pytest.raises(bl.StoreError, match="no shelf"):
        begin(server, Failing())
    with pytest.raises(bl.ConfigError):
        begin(server, object())
    assert server.received == []
