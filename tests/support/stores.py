"""Stores for tests, in a dict and in a file, and the files on the disk."""

import contextlib
import functools
import stat
import tempfile
from pathlib import Path

import boardlot as bl
import pytest

KEY = "http://127.0.0.1:1 client-1"
PASSPHRASE = "correct-horse-battery-staple"
CANARY = b'{"refresh_token":"canary-refresh-token","access_token":"canary-access-token"}'
OTHER_KEY = KEY.replace("client-1", "client-2")


ways = pytest.mark.parametrize("way", ["load", "save"])


class DictStore:
    """A custom store with the three methods of the interface, which counts saves."""

    def __init__(self):
        self.kept = {}
        self.saves = 0

    def load(self, key):
        return self.kept.get(key)

    def save(self, key, value):
        assert isinstance(value, bytes)
        self.saves += 1
        self.kept[key] = value

    def delete(self, key):
        self.kept.pop(key, None)


def store_at(place, passphrase=PASSPHRASE):
    return bl.EncryptedFileStore(place, passphrase)


def saved(place):
    """The folder of a new store with `CANARY`, a copy of one whose key was derived once."""
    place.parent.mkdir(mode=0o700, parents=True)
    for ending, content in files_of_store().items():
        path = place.with_name(place.name + ending)
        path.touch(0o600)
        path.write_bytes(content)
    assert data_files(place.parent)
    return place.parent


@functools.cache
def files_of_store():
    """The bytes of a store's files, by the ends of their names."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tokens" / "boardlot.tokens"
        store_at(place).save(KEY, CANARY)
        found = files_of(place.parent)
        return {path.name.removeprefix(place.name): data for path, data in found.items()}


@contextlib.contextmanager
def untouched(folder):
    """Checks that the files with content are the same afterwards, and that no new file has
    content."""
    before = data_files(folder)
    yield
    assert data_files(folder) == before


def refused(place, passphrase=PASSPHRASE, way="load"):
    """Returns the `StoreError`, after checks that it names the file and has a hint."""
    with pytest.raises(bl.StoreError) as caught:
        store = store_at(place, passphrase)
        store.load(KEY) if way == "load" else store.save(KEY, b"new")
    assert str(place.parent) in str(caught.value), caught.value
    assert caught.value.hint
    return caught.value


def files_of(folder):
    """Every regular file below a folder, with its bytes."""
    found = [path for path in sorted(Path(folder).rglob("*")) if stat.S_ISREG(path.lstat().st_mode)]
    return {path: path.read_bytes() for path in found}


def data_files(folder):
    """The files with content, without the lock file, which is empty or has "lock" in its name."""
    found = files_of(folder).items()
    return {path: data for path, data in found if data and "lock" not in path.name}


def open_bits(folder):
    """The paths to which other users have any right: a folder, and everything below it."""
    places = [Path(folder), *Path(folder).rglob("*")]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in places}
    return {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077}
