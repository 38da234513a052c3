"""Promises 10 and 12: who can read what lies on the disk, what is refused, and that the encrypted
file fails closed and stays as it was."""

import contextlib
import os
import socket
import subprocess
import time

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import begin, expired_client, quotes, sign_in
from ..support.processes import program, run_python
from ..support.stores import (
    CANARY,
    KEY,
    OTHER_KEY,
    PASSPHRASE,
    DictStore,
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
    out, _ = run_python(program(__file__, "seen_modes"), place, PASSPHRASE, KEY)
    assert out == "[]\n"
    assert open_bits(place.parent) == {}


def test_security_10_under_a_closed_umask_it_can_still_be_read(place):
    store = store_at(place)
    old = os.umask(0o777)
    try:
        store.save(KEY, CANARY)
    finally:
        os.umask(old)
    assert open_bits(place.parent) == {}
    assert store_at(place).load(KEY) == CANARY


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
    with pytest.raises(bl.ConfigError, match="store is the class DictStore; expected an instance"):
        begin(server, DictStore)
    assert server.received == []


def test_a_store_whose_load_forgets_to_return_is_named_as_the_cause(server):
    class Forgetful(DictStore):
        def load(self, key):
            super().load(key)

    client = expired_client(server, Forgetful())
    with pytest.raises(bl.LoginRequired, match=r"load\(key\) returned None for a token"):
        quotes(client)


def test_security_12_a_passphrase_is_worth_its_time(place):
    saved(place)
    start = time.process_time()
    assert store_at(place).load(KEY) == CANARY
    # Argon2id at the least that is recommended (19 MiB, twice) takes longer than that.
    assert time.process_time() - start > 0.005  # time: that of the processor, which no load changes


@ways
@pytest.mark.parametrize("wrong", ["", PASSPHRASE + " "])
def test_security_12_a_wrong_passphrase_is_rejected(place, way, wrong):
    folder = saved(place)
    with untouched(folder), pytest.raises((bl.StoreError, bl.ConfigError)) as caught:
        store = store_at(place, wrong)
        store.load(KEY) if way == "load" else store.save(KEY, b"new")
    if wrong:
        assert isinstance(caught.value, bl.StoreError)
        assert str(folder) in str(caught.value) and caught.value.hint
    assert store_at(place).load(KEY) == CANARY


def test_security_12_a_passphrase_can_come_from_a_callable(place):
    asked = []

    def ask():
        asked.append(1)
        return PASSPHRASE

    store = store_at(place, ask)
    store.save(KEY, CANARY)
    assert store.load(KEY) == CANARY and asked
    assert store_at(place).load(KEY) == CANARY
    folder = place.parent

    def fail():
        raise KeyboardInterrupt

    with untouched(folder), pytest.raises(KeyboardInterrupt):
        store_at(place, fail).load(KEY)
    for odd in (None, 5, b"\xff"):
        expected = f"returned {type(odd).__name__}; expected"
        with untouched(folder), pytest.raises(bl.ConfigError, match=expected):
            store_at(place, lambda odd=odd: odd).load(KEY)


def test_security_12_the_value_of_another_key_is_never_returned(place):
    (path,) = data_files(saved(place))
    foreign, store = path.read_bytes(), store_at(place)
    for other in (OTHER_KEY, KEY.replace(":1 ", ":2 ")):
        loaded = None
        with contextlib.suppress(bl.StoreError):
            loaded = store.load(other)
        assert loaded is None
        assert path.read_bytes() == foreign


@contextlib.contextmanager
def mounted(folder, options="size=64k,mode=0700"):
    """A small file system of its own."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_security_12_a_full_disk_or_a_read_only_folder_keeps_the_file(tmp_path):
    with mounted(tmp_path / "disk") as disk:
        place = disk / "tokens" / "boardlot.tokens"
        folder = saved(place)
        filler = (disk / "filler").open("wb", buffering=0)
        with filler, pytest.raises(OSError):
            while True:
                filler.write(b"x" * 512)
        store = store_at(place)
        for _ in range(3):
            with untouched(folder), pytest.raises(bl.StoreError) as caught:
                store.save(KEY, CANARY * 100)
            assert str(folder) in str(caught.value) and caught.value.hint
        assert store_at(place).load(KEY) == CANARY
        (disk / "filler").unlink()
        store.save(KEY, CANARY * 10)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with untouched(folder):
            refused(place, way="save")
        assert store_at(place).load(KEY) == CANARY * 10


def test_security_12_a_login_leaves_no_secret_in_plain_text(server, place, tmp_path):
    oauth = sign_in(server, store_at(place))
    server.expire()
    assert list(quotes(client_of(server, oauth))) == []
    assert data_files(place.parent)
    for path, data in files_of(tmp_path).items():
        assert not any(secret.encode() in data for secret in server.secrets), path
    assert open_bits(place.parent) == {}
