"""`KeyringStore` with a real Secret Service on a session bus of the test's own."""

import secrets
import subprocess
import sys
import textwrap

import pytest

from ..support.authorization_server import AuthorizationServer
from ..support.keyring import ABSENT, LOCKED, UNLOCKED, missing, session
from ..support.processes import ROOT
from ..support.stores import KEY, files_of
from ..support.system import not_installed

pytestmark = pytest.mark.skipif(bool(missing()), reason=not_installed(" and ".join(missing())))
SAVE = """
    import sys
    import boardlot as bl
    bl.KeyringStore().save(sys.argv[1], sys.stdin.buffer.read())
    """
LOAD = """
    import sys
    import boardlot as bl
    value = bl.KeyringStore().load(sys.argv[1])
    sys.stdout.buffer.write(b"none" if value is None else b"value " + value)
    """
DELETE = """
    import sys
    import boardlot as bl
    bl.KeyringStore().delete(sys.argv[1])
    """
REFUSED = """
    import sys
    import boardlot as bl
    store_error = []
    for work in (
        lambda: bl.KeyringStore().save(sys.argv[1], sys.argv[2].encode()),
        lambda: bl.KeyringStore().load(sys.argv[1]),
    ):
        try:
            work()
            print("done")
        except bl.StoreError as error:
            print("StoreError", bool(error.hint))
    """
LOGIN = """
    import sys
    import boardlot as bl
    from urllib.request import urlopen
    flow = bl.begin_login(sys.argv[1], timeout=120.0)
    print(flow.url, flush=True)
    oauth = flow.finish(sys.stdin.readline().strip())
    with bl.Client(sys.argv[1], auth=oauth) as client:
        print(len(client.reference_futures("HK.HSImain")))
    """
AGAIN = """
    import sys
    import boardlot as bl
    oauth = bl.OAuth(sys.argv[2], store=bl.KeyringStore())
    with bl.Client(sys.argv[1], auth=oauth) as client:
        print(len(client.reference_futures("HK.HSImain")))
    """
LOGIN_REFUSED = """
    import sys
    import boardlot as bl
    try:
        flow = bl.begin_login(sys.argv[1], timeout=120.0)
        print(flow.url, flush=True)
        flow.finish(sys.stdin.readline().strip())
        print("done")
    except bl.StoreError as error:
        print("StoreError", bool(error.hint))
    """


def child(bus, code, *args, data=b"", seconds=60, status=0):
    """Runs `code` in the session; returns what it printed."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    done = subprocess.run(
        command,
        input=data,
        capture_output=True,
        env=bus.environment,
        cwd=ROOT,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == status, done.stderr.decode()
    return done.stdout


def in_plain_text(folder, *needles):
    return [
        str(path)
        for path, data in files_of(folder).items()
        if any(needle in data or needle.hex().encode() in data for needle in needles)
    ]


def test_a_value_is_saved_seen_by_another_process_and_deleted(tmp_path):
    canary = b"canary-" + secrets.token_hex(16).encode()
    with session(tmp_path, UNLOCKED) as bus:
        assert child(bus, LOAD, KEY) == b"none"
        child(bus, SAVE, KEY, data=canary)
        assert child(bus, LOAD, KEY) == b"value " + canary
        assert child(bus, LOAD, KEY + "x") == b"none"
        child(bus, SAVE, KEY, data=b"second " + canary)
        assert child(bus, LOAD, KEY) == b"value second " + canary
        child(bus, DELETE, KEY)
        assert child(bus, LOAD, KEY) == b"none"
        child(bus, DELETE, KEY)
        assert in_plain_text(tmp_path, canary) == []


def test_a_value_of_any_size_and_any_bytes(tmp_path):
    with session(tmp_path, UNLOCKED) as bus:
        for size in (0, 1, 2_400, 2_561, 70_000, 1_000_000):
            value = secrets.token_bytes(size)
            child(bus, SAVE, KEY, data=value)
            assert child(bus, LOAD, KEY) == b"value " + value
            if size > 32:
                assert in_plain_text(tmp_path, value[:32], value[-32:]) == []


def test_two_keys_do_not_meet(tmp_path):
    keys = [KEY, KEY + "2", KEY.replace(":1 ", ":2 "), "Größe \u202e"]
    with session(tmp_path, UNLOCKED) as bus:
        for n, key in enumerate(keys):
            child(bus, SAVE, key, data=b"value-%d" % n)
        child(bus, DELETE, keys[1])
        got = [child(bus, LOAD, key) for key in keys]
    assert got == [b"value value-0", b"none", b"value value-2", b"value value-3"]


@pytest.mark.parametrize("state", [ABSENT, LOCKED])
def test_a_keyring_that_cannot_be_used_is_a_store_error(tmp_path, state):
    canary = "canary-" + secrets.token_hex(16)
    with session(tmp_path, state) as bus:
        before = files_of(bus.home)
        printed = child(bus, REFUSED, KEY, canary)
        # A locked one may be read for a value it does not have.
        assert printed.splitlines()[0] == b"StoreError True"
        assert state is LOCKED or printed.splitlines() == [b"StoreError True"] * 2
        assert in_plain_text(tmp_path, canary.encode()) == []
        assert set(files_of(bus.home)) - set(before) == set() or state is LOCKED


def test_no_session_bus_at_all_is_a_store_error(tmp_path):
    canary = "canary-" + secrets.token_hex(16)
    with session(tmp_path, ABSENT) as bus:
        bus.environment.pop("DBUS_SESSION_BUS_ADDRESS")
        bus.environment["XDG_RUNTIME_DIR"] = str(tmp_path / "nowhere")
        assert child(bus, REFUSED, KEY, canary).splitlines() == [b"StoreError True"] * 2
        assert files_of(bus.home) == {}


def test_a_login_is_kept_in_the_keychain_by_default(tmp_path):
    with AuthorizationServer() as server, session(tmp_path, UNLOCKED) as bus:
        pipes = {"stderr": None, "text": True}
        running = bus.start(
            *(sys.executable, "-c", textwrap.dedent(LOGIN), server.base_url), cwd=ROOT, **pipes
        )
        url = running.stdout.readline().strip()
        out, _ = running.communicate(server.authorize(url) + "\n", timeout=60)
        assert out == "0\n"
        (client_id,) = server.clients
        server.expire()
        assert child(bus, AGAIN, server.base_url, client_id) == b"0\n"
        assert child(bus, AGAIN, server.base_url, client_id) == b"0\n"
        assert server.counts["refresh_token"] == 1
        assert in_plain_text(tmp_path, *map(str.encode, server.secrets)) == []


def test_a_login_without_a_keychain_fails_closed(tmp_path):
    with AuthorizationServer() as server, session(tmp_path, ABSENT) as bus:
        command = (sys.executable, "-c", textwrap.dedent(LOGIN_REFUSED), server.base_url)
        running = bus.start(*command, cwd=ROOT, stderr=None, text=True)
        line = running.stdout.readline()
        if not line.startswith("StoreError"):
            # It is better reported before the user logs in; it has to be reported afterwards.
            callback = server.authorize(line.strip())
            line, _ = running.communicate(callback + "\n", timeout=60)
        assert line == "StoreError True\n"
        assert files_of(bus.home) == {}
        assert in_plain_text(tmp_path, *map(str.encode, server.secrets)) == []
