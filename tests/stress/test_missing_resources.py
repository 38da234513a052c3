"""A resource of the system that is missing is an error that names it, whatever needs it.

Nothing aborts, hangs or panics, and the same operation succeeds once the resource is back.
"""

import json
import os
import shutil
import subprocess
import sys

import boardlot as bl
import pytest

from ..support.keys import uploaded_key
from ..support.processes import ROOT
from .jailed import Operations

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")

OPERATIONS = [name for name in vars(Operations) if not name.startswith("_") and name != "client"]
# What needs the runtime's threads, and what needs one for a single job.
RUNTIME = {
    "awaited_call",
    "list_in_pages",
    "awaited_list_in_pages",
    "many_keys",
    "archive_update",
    "store_of_a_user",
    "new_key",
    "sandbox",
}
JOB = {"call_to_a_name", "call_with_a_hook", "frame"}
# What opens files or connections; the archive that is opened has its file already.
FILES = {*OPERATIONS} - {"frame"}
DISK = {"archive_update", "archive_opened", "shared_limit", "encrypted_store"}
# What signs, encrypts, makes a key, or starts a thread.
RANDOM = {*OPERATIONS} - {"archive_opened"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with bl.Sandbox(seed=7, fills=200) as sandbox:
        key_id, path = uploaded_key(sandbox, tmp_path_factory.mktemp("key"))
        yield [sandbox.base_url, sandbox.accounts["trade"][0], key_id, path]


def outcomes_of(tries, service, jail=()):
    """How each operation ends without each resource, and after it is back."""
    command = [*jail, sys.executable, "-m", "tests.stress.jailed", json.dumps(tries)]
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    done = subprocess.run(
        [*command, *service],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=290,
    )  # fmt: skip
    # An abort has its status; a panic says so on stderr.
    assert done.returncode == 0 and "panicked" not in done.stderr, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each for each in found if each[3]] == [], done.stderr
    return {
        (kind, left): {name: ends for *resource, name, _, ends in found if resource == [kind, left]}
        for kind, left, _ in tries
    }


# A name that cannot be looked up needs a file more than the others. Room for a megabyte: a
# thread's stack takes more, and no error is anything else.
TRIES = [
    ("threads", 0, OPERATIONS),
    ("threads", 1, OPERATIONS),
    ("files", 0, OPERATIONS),
    ("files", 3, ["call_to_a_name", "call", "shared_limit"]),
    ("disk", 0, OPERATIONS),
    ("memory", 1, sorted(RUNTIME - {"archive_update"})),
]


@pytest.fixture(scope="module")
def outcomes(service):
    """One process tries all, in forks, as it loads the modules once."""
    return outcomes_of(TRIES, service)


def fails_and_recovers(outcomes, failing, word):
    """Those in `failing` end with an error about `word`, and all are done once it is back."""
    for name, (missing, again) in outcomes.items():
        assert again == {"done": True}, f"{name}: {again}"
        if name in failing:
            assert "error" in missing, f"{name}: {missing}"
            assert word in f"{missing['text']} {missing['hint']}", f"{name}: {missing}"
        else:
            assert missing == {"done": True}, f"{name}: {missing}"


# One is not enough for the runtime's threads on a machine of two processors or more.
@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.skipif(os.cpu_count() == 1, reason="the runtime has a thread for each processor")
def test_security_57_threads(outcomes, left):
    failing = RUNTIME if left else RUNTIME | JOB
    fails_and_recovers(outcomes["threads", left], failing, "threads")


def test_security_57_files(outcomes):
    found = dict(outcomes["files", 0])
    # SQLite does not say why it cannot open a file.
    missing, again = found.pop("archive_opened")
    assert missing["error"] == "StoreError" and again == {"done": True}
    fails_and_recovers(found, FILES - {"archive_opened"}, "open files")


def test_security_57_a_name_that_cannot_be_looked_up_without_a_file(outcomes):
    found = outcomes["files", 3]
    fails_and_recovers(found, {*found}, "open files")


def test_security_57_disk(outcomes):
    fails_and_recovers(outcomes["disk", 0], DISK, "disk")


def test_security_57_memory_for_threads(outcomes):
    found = outcomes["memory", 1]
    fails_and_recovers(found, {*found}, "memory")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="mounts need root")
def test_security_57_entropy(service):
    """Neither the call nor the devices: a filter of calls cannot be taken back."""
    devices = "mount --bind /dev/null /dev/urandom && mount --bind /dev/null /dev/random"
    jail = ["unshare", "-m", "sh", "-c", f'{devices} && exec "$@"', "sh"]
    tried = outcomes_of([("entropy", 0, OPERATIONS)], service, jail)
    for name, (missing, _) in tried["entropy", 0].items():
        if name in RANDOM - {"call_to_a_name"}:
            assert missing["error"] in ("ConfigError", "ArchiveUpdateError"), f"{name}: {missing}"
            assert "no random numbers" in missing["text"]
        else:
            assert "raw" not in missing, f"{name}: {missing}"
