"""`KeyringStore` with a real Secret Service on a session bus of the test's own."""

import json
import secrets
import sys

import pytest

from ..support.keyring import ABSENT, LOCKED, UNLOCKED, missing, session
from ..support.processes import ROOT
from ..support.stores import KEY, files_of
from ..support.system import not_installed

pytestmark = pytest.mark.skipif(bool(missing()), reason=not_installed(" and ".join(missing())))
REFUSED = ["StoreError", True]
AGAIN = """
import sys
import boardlot as bl
oauth = bl.OAuth(sys.argv[2], store=bl.KeyringStore())
with bl.Client(sys.argv[1], auth=oauth) as client:
    print(len(client.reference_futures("HK.HSImain")))
"""


def child(bus, *arguments):
    return bus.start(sys.executable, *arguments, cwd=ROOT, stderr=None, text=True)


def outcomes(bus, *commands):
    """The outcomes of the methods of a store in another process."""
    methods = child(bus, "-m", "tests.login.keychain_methods")
    out, _ = methods.communicate("".join(f"{json.dumps(command)}\n" for command in commands))
    return [json.loads(line) for line in out.splitlines()]


def login_of(bus, server):
    return child(bus, "-m", "tests.login.keychain_login", server.base_url)


def in_plain_text(folder, *needles):
    return [
        str(path)
        for path, data in files_of(folder).items()
        if any(needle in data or needle.hex().encode() in data for needle in needles)
    ]


@pytest.fixture
def canary():
    return f"canary-{secrets.token_hex(16)}"


def test_a_value_is_saved_seen_by_another_process_and_deleted(tmp_path, canary):
    with session(tmp_path, UNLOCKED) as bus:
        assert outcomes(bus, ("load", KEY), ("save", KEY, canary)) == [None, None]
        assert outcomes(bus, ("load", KEY), ("load", KEY + "x")) == [canary, None]
        outcomes(bus, ("save", KEY, f"second {canary}"))
        assert outcomes(bus, ("load", KEY)) == [f"second {canary}"]
        outcomes(bus, ("delete", KEY))
        assert outcomes(bus, ("load", KEY), ("delete", KEY)) == [None, None]
        assert in_plain_text(tmp_path, canary.encode()) == []


@pytest.mark.parametrize("state", [ABSENT, LOCKED, "no bus"])
def test_a_keyring_that_cannot_be_used_is_a_store_error(tmp_path, state, canary):
    with session(tmp_path, ABSENT if state == "no bus" else state) as bus:
        if state == "no bus":
            bus.environment.pop("DBUS_SESSION_BUS_ADDRESS")
            bus.environment["XDG_RUNTIME_DIR"] = str(tmp_path / "nowhere")
        before = files_of(bus.home)
        saved, loaded = outcomes(bus, ("save", KEY, canary), ("load", KEY))
        # A locked one may be read for a value it does not have.
        assert saved == REFUSED and (state is LOCKED or loaded == REFUSED)
        assert in_plain_text(tmp_path, canary.encode()) == []
        assert set(files_of(bus.home)) - set(before) == set() or state is LOCKED


def test_a_login_is_kept_in_the_keychain_by_default(server, tmp_path):
    with session(tmp_path, UNLOCKED) as bus:
        login = login_of(bus, server)
        url = login.stdout.readline().strip()
        out, _ = login.communicate(server.authorize(url) + "\n")
        assert out == "0\n"
        (client_id,) = server.clients
        server.expire()
        for _ in range(2):
            again = child(bus, "-c", AGAIN, server.base_url, client_id)
            assert again.communicate()[0] == "0\n"
        assert server.counts["refresh_token"] == 1
        assert in_plain_text(tmp_path, *map(str.encode, server.secrets)) == []


def test_a_login_without_a_keychain_fails_closed(server, tmp_path):
    with session(tmp_path, ABSENT) as bus:
        login = login_of(bus, server)
        line = login.stdout.readline()
        if not line.startswith("StoreError"):
            # It is better reported before the user logs in; it has to be reported afterwards.
            line, _ = login.communicate(server.authorize(line.strip()) + "\n")
        assert line == "StoreError True\n"
        assert files_of(bus.home) == {}
        assert in_plain_text(tmp_path, *map(str.encode, server.secrets)) == []
