"""Promises 10 and 11: many processes, and processes that die, over one store."""

import contextlib
import random

import boardlot as bl
import pytest

from ..support.processes import program, python
from ..support.stores import KEY, PASSPHRASE, data_files, files_of, open_bits

fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")

SAVING = """
    import sys
    import boardlot as bl
    store = bl.EncryptedFileStore(sys.argv[1], sys.argv[2])
    n = int(sys.argv[4])
    while True:
        n += 1
        store.save(sys.argv[3], b"%d " % n * (n % 400 + 1))
        print("saved", flush=True)
    """
UPDATING = program(__file__, "updating")


@pytest.mark.parametrize("rounds", [6, pytest.param(1000, marks=pytest.mark.slow)])
def test_security_10_kill_9_while_saving_leaves_a_readable_file(place, rounds):
    dice = random.Random(11)
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    values = set()
    for n in range(rounds):
        with python(SAVING, place, PASSPHRASE, KEY, n * 1000) as child:
            for _ in range(dice.randint(1, 4)):
                assert child.stdout.readline() == "saved\n"
            child.kill()
        words = store.load(KEY).split()
        assert len(set(words)) == 1 and len(words) == int(words[0]) % 400 + 1
        values.add(words[0])
        assert open_bits(place.parent) == {}
    assert len(values) == rounds
    # The lock of the dead is free, and their files do not pile up.
    store.save(KEY, b"last")
    assert bl.EncryptedFileStore(place, PASSPHRASE).load(KEY) == b"last"
    assert len(files_of(place.parent)) < 20


@pytest.mark.parametrize("updates", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_security_11_8_processes_with_many_updates_each_lose_none(place, updates):
    with contextlib.ExitStack() as stack:
        children = []
        for n in range(8):
            children.append(stack.enter_context(python(UPDATING, place, PASSPHRASE, n, updates)))
            stack.callback(children[-1].kill)
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        assert {child.stdout.readline() for child in children} == {"done\n"}
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    for me in range(8):
        for n in range(updates):
            found = store.load(f"http://127.0.0.1:1 client-{me}-{n}")
            assert found == f"value-{me}-{n}".encode()


def locks_of(place):
    found = files_of(place.parent).keys() - data_files(place.parent).keys()
    assert found, "there is no permanent lock file"
    return found


def test_security_11_the_lock_file_is_permanent(place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    store.save(KEY, b"1")
    before = {path: path.stat().st_ino for path in locks_of(place)}
    store.save(KEY, b"2")
    store.delete(KEY)
    bl.EncryptedFileStore(place, PASSPHRASE).save(KEY, b"3")
    assert {path: path.stat().st_ino for path in locks_of(place)} == before


def test_security_11_a_held_lock_is_waited_for_with_a_limit(place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    store.save(KEY, b"1")
    with contextlib.ExitStack() as held:
        for path in locks_of(place):
            fcntl.flock(held.enter_context(path.open("rb+")), fcntl.LOCK_EX)
        with pytest.raises(bl.StoreError) as caught:
            store.save(KEY, b"2")
        assert caught.value.hint
    store.save(KEY, b"3")
    assert bl.EncryptedFileStore(place, PASSPHRASE).load(KEY) == b"3"
