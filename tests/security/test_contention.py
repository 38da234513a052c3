"""Promises 10 and 11: many processes, and processes that die, over one store."""

import hashlib
import random
import time

import boardlot as bl
import pytest

from ..support.processes import python
from ..support.stores import KEY, PASSPHRASE, files_of, open_bits

SAVING = """
    import hashlib, sys
    import boardlot as bl
    store = bl.EncryptedFileStore(sys.argv[1], sys.argv[2])
    n = int(sys.argv[4])
    while True:
        n += 1
        text = str(n).encode() * (n % 400 + 1)
        store.save(sys.argv[3], hashlib.sha256(text).hexdigest().encode() + text)
        if n == int(sys.argv[4]) + 1:
            print("ready", flush=True)
    """
UPDATING = """
    import sys
    import boardlot as bl
    store = bl.EncryptedFileStore(sys.argv[1], sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    me = sys.argv[3]
    for n in range(int(sys.argv[4])):
        store.save(f"http://127.0.0.1:1 client-{me}-{n}", f"value-{me}-{n}".encode())
    print("done", flush=True)
    """
HOLDING = """
    import fcntl, sys
    held = []
    for path in sys.argv[1:]:
        for lock in (fcntl.flock, fcntl.lockf):
            held.append(open(path, "rb+"))
            lock(held[-1], fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.readline()
    """


def kill_while_saving(place, rounds):
    dice = random.Random(11)
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    store.save(KEY, hashlib.sha256(b"first").hexdigest().encode() + b"first")
    # As a child does it: a store of its own, whose passphrase is stretched first.
    start = time.monotonic()
    other = bl.EncryptedFileStore(place, PASSPHRASE)
    other.save(KEY, hashlib.sha256(b"second").hexdigest().encode() + b"second")
    # Long enough for some saves, whatever one takes here.
    longest = 2.5 * (time.monotonic() - start) + 0.02
    values = set()
    for n in range(rounds):
        with python(SAVING, place, PASSPHRASE, KEY, n * 1000) as child:
            assert child.stdout.readline() == "ready\n"
            time.sleep(dice.uniform(0.0, longest))
            child.kill()
        value = bl.EncryptedFileStore(place, PASSPHRASE).load(KEY)
        assert hashlib.sha256(value[64:]).hexdigest().encode() == value[:64]
        values.add(value)
        assert open_bits(place.parent) == {}
    # The children did get to saving, and a survivor can still save.
    assert len(values) > rounds // 2
    bl.EncryptedFileStore(place, PASSPHRASE).save(KEY, b"last")
    assert store.load(KEY) == b"last"
    assert len(files_of(place.parent)) < 20, "files of the dead pile up"


def test_security_10_kill_9_while_saving_leaves_a_readable_file(place):
    kill_while_saving(place, 20)


@pytest.mark.slow
def test_security_10_1000_kill_9_while_saving_leave_a_readable_file(place):
    kill_while_saving(place, 1000)


def test_security_11_8_processes_with_100_updates_each_lose_none(place):
    children = [python(UPDATING, place, PASSPHRASE, n, 100) for n in range(8)]
    try:
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in children:
            assert child.communicate(timeout=300)[0] == "done\n"
    finally:
        for child in children:
            child.kill()
            child.wait()
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    lost = [
        (me, n)
        for me in range(8)
        for n in range(100)
        if store.load(f"http://127.0.0.1:1 client-{me}-{n}") != f"value-{me}-{n}".encode()
    ]
    assert lost == []


def locks_of(place):
    found = [
        path for path, data in files_of(place.parent).items() if "lock" in path.name or not data
    ]
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
    with python(HOLDING, *locks_of(place)) as holder:
        assert holder.stdout.readline() == "held\n"
        saver = python(
            """
            import sys
            import boardlot as bl
            try:
                bl.EncryptedFileStore(sys.argv[1], sys.argv[2]).save(sys.argv[3], b"2")
                print("saved")
            except bl.StoreError as error:
                print("refused", bool(error.hint))
            """,
            *(place, PASSPHRASE, KEY),
        )
        try:
            out, _ = saver.communicate(timeout=90)
        finally:
            saver.kill()
            saver.wait()
            holder.kill()
    assert out == "refused True\n"
    store.save(KEY, b"3")
    assert bl.EncryptedFileStore(place, PASSPHRASE).load(KEY) == b"3"


def test_security_11_the_lock_of_a_dead_process_is_free(place):
    bl.EncryptedFileStore(place, PASSPHRASE).save(KEY, b"1")
    with python(SAVING, place, PASSPHRASE, KEY, 0) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.2)
        child.kill()
    start = time.monotonic()
    bl.EncryptedFileStore(place, PASSPHRASE).save(KEY, b"2")
    # Less than a lock that is held is waited for.
    assert time.monotonic() - start < 15
