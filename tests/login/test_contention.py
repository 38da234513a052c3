"""Promises 10 and 11: many processes, and processes that die, over one store."""

import contextlib
import os
import random
import signal

import boardlot as bl
import pytest

from ..support.processes import program, python
from ..support.stores import KEY, PASSPHRASE, data_files, files_of, open_bits

fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")

SAVING = program(__file__, "saving")
UPDATING = program(__file__, "updating")


# The kill comes at once, when a save has made a new file, or when it has replaced the old one.
MOMENTS = [
    lambda place: None,
    lambda place: sorted(place.parent.iterdir()),
    lambda place: place.stat(),
]


@pytest.mark.parametrize("rounds", [24, pytest.param(1000, marks=pytest.mark.slow)])
def test_security_10_kill_9_while_saving_leaves_a_readable_file(place, rounds):
    dice = random.Random(11)
    values = set()
    with contextlib.ExitStack() as stack:
        parent = stack.enter_context(python(SAVING, place, PASSPHRASE, KEY))
        stack.callback(parent.kill)
        store = bl.EncryptedFileStore(place, PASSPHRASE)
        for n in range(rounds):
            parent.stdin.write(f"{n * 1000}\n")
            parent.stdin.flush()
            child = int(parent.stdout.readline())
            for _ in range(dice.randint(1, 4)):
                assert parent.stdout.readline() == "saved\n"
            look = MOMENTS[n % len(MOMENTS)]
            before = look(place)
            # Without a pause: the file is whole again after a moment.
            while before is not None and look(place) == before:
                pass
            os.kill(child, signal.SIGKILL)
            while parent.stdout.readline() != "dead\n":
                pass
            words = store.load(KEY).split()
            assert len(set(words)) == 1 and len(words) == int(words[0]) % 400 + 1
            values.add(words[0])
            assert open_bits(place.parent) == {}
    assert len(values) == rounds
    # The lock of the dead is free, and their files do not pile up.
    store.save(KEY, b"last")
    assert bl.EncryptedFileStore(place, PASSPHRASE).load(KEY) == b"last"
    assert len(files_of(place.parent)) < 20


@pytest.mark.parametrize(
    ("processes", "updates"), [(3, 20), pytest.param(8, 100, marks=pytest.mark.slow)]
)
def test_security_11_processes_with_many_updates_each_lose_none(place, processes, updates):
    with contextlib.ExitStack() as stack:
        children = []
        for n in range(processes):
            children.append(stack.enter_context(python(UPDATING, place, PASSPHRASE, n, updates)))
            stack.callback(children[-1].kill)
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        assert {child.stdout.readline() for child in children} == {"done\n"}
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    for me in range(processes):
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


@pytest.mark.slow
def test_security_11_a_held_lock_is_waited_for_with_a_limit(place):
    """It takes the 20 seconds of the limit. A limit of some milliseconds is tested in Rust, beside
    `FileLock`; Ctrl-C ends the wait in `tests/stress/test_signals.py`."""
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
