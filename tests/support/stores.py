"""Stores for tests: a custom one, one in a file, and what is on the disk."""

import contextlib
import stat
from pathlib import Path

import boardlot as bl
import pytest

KEY = "http://127.0.0.1:1 client-1"
PASSPHRASE = "correct-horse-battery-staple"
CANARY = b'{"refresh_token":"canary-refresh-token","access_token":"canary-access-token"}'
OTHER_KEY = KEY.replace("client-1", "client-2")


ways = pytest.mark.parametrize("way", ["load", "save"])


class DictStore:
    """A custom store: the three methods of the interface, and the calls of them."""

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


def saved(place, value=CANARY):
    store_at(place).save(KEY, value)
    assert data_files(place.parent)
    return place.parent


@contextlib.contextmanager
def untouched(folder):
    """The files that hold something are the same afterwards, and nothing new holds anything."""
    before = data_files(folder)
    yield
    assert data_files(folder) == before


def refused(place, passphrase=PASSPHRASE, way="load"):
    """A `StoreError` that names the file and the way out."""
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
    """The files that hold something: the lock file is empty or named as one."""
    found = files_of(folder).items()
    return {path: data for path, data in found if data and "lock" not in path.name}


def open_bits(folder):
    """The paths that others may do anything with, below a folder and the folder itself."""
    places = [Path(folder), *Path(folder).rglob("*")]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in places}
    return {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077}
