"""Promise 32: Ctrl-C within a fifth of a second while a store waits for a lock."""

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.interrupts import ends_at_once
from ..support.logins import begin, quotes, sign_in
from ..support.stores import KEY, PASSPHRASE

fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@contextlib.contextmanager
def held(path):
    """The lock file as another process holds it."""
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def beside(place, ending):
    return place.with_name(place.name + ending)


def test_security_32_ctrl_c_ends_the_wait_for_a_file_that_another_process_changes(place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    store.save(KEY, b"value")
    with held(beside(place, ".lock")):
        ends_at_once(lambda: store.save(KEY, b"new"))
        ends_at_once(lambda: store.delete(KEY))
        assert store.load(KEY) == b"value"
    store.save(KEY, b"new")
    assert store.load(KEY) == b"new"


def test_security_32_ctrl_c_ends_a_login_a_refresh_and_a_logout_that_wait(server, place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    oauth = sign_in(server, store)
    client = client_of(server, oauth)
    server.expire()
    with held(beside(place, ".refresh.lock")):
        ends_at_once(lambda: quotes(client))
        ends_at_once(oauth.logout)

        def finish():
            flow = begin(server, store)
            flow.finish(server.authorize(flow.url))

        ends_at_once(finish)


def test_a_wait_in_another_thread_is_not_ended_by_ctrl_c(place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    store.save(KEY, b"value")
    with ThreadPoolExecutor(1) as pool:
        with held(beside(place, ".lock")):
            saving = pool.submit(store.save, KEY, b"new")
            ends_at_once(lambda: store.delete(KEY))
            assert not saving.done()
        saving.result()
    assert store.load(KEY) == b"new"
