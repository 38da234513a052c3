"""What the tests of the encrypted file share: a store with a known value, and what is refused."""

import contextlib

import boardlot as bl
import pytest

from .support import KEY, PASSPHRASE, data_files

CANARY = b'{"refresh_token":"canary-refresh-token","access_token":"canary-access-token"}'
OTHER_KEY = KEY.replace("client-1", "client-2")


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


ways = pytest.mark.parametrize("way", ["load", "save"])
