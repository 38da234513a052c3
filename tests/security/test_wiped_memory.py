"""Promise 15: what of a key or a login is left in a process's memory when it was dropped."""

import re
import subprocess
import sys
from pathlib import Path

import boardlot as bl
import pytest

from ..support.keys import secret_of
from ..support.processes import program, python
from ..support.threads import wait_until

BEFORE = 60


def places_of(texts, pid):
    """The bytes before each copy of the texts in the writable memory of a process, by the text."""
    found = {text: [] for text in texts}
    wanted = re.compile(b"|".join(re.escape(text.encode("latin-1")) for text in texts))
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(part, 16) for part in place.split("-"))
            try:
                memory.seek(start)
                content = memory.read(end - start)
            except (OSError, OverflowError):
                # Pages of a device.
                continue
            for match in wanted.finditer(content):
                before = content[max(0, match.start() - BEFORE) : match.start()]
                found[match[0].decode("latin-1")].append(before)
    return found


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/PID/mem")

KEY = program(__file__, "keys_in_memory")


def test_security_15_a_dropped_key_is_wiped_and_one_in_use_is_found(tmp_path):
    secrets, paths = [], []
    for name in ("dropped", "kept"):
        pem = bl.generate_key().private_pem
        path = tmp_path / name
        path.touch(mode=0o600)
        path.write_text(pem)
        seed, text = secret_of(pem)
        secrets.append((seed.decode("latin-1"), text))
        paths.append(path)
    with python(KEY, *paths) as child:
        assert child.stdout.readline() == "ready\n"
        # A thread of the core may be about to drop what it shared.
        wait_until(lambda: not any(places_of(secrets[0], child.pid).values()), "the end of a key")
        found = places_of(secrets[1], child.pid)
        child.kill()
    assert {secret for secret, places in found.items() if places} == {secrets[1][0]}


LOGIN = program(__file__, "login_in_memory")


# Where the HTTP library has what it sent and received, in buffers that nobody else can wipe.
OF_THE_LIBRARY = (b"authorization: Bearer ", b'_token": "')


def test_security_15_tokens_that_were_sent_are_wiped_where_they_can_be(server):
    with python(LOGIN, server.base_url, stderr=subprocess.STDOUT) as child:

        def response_to(reply):
            child.stdin.write(reply + "\n")
            child.stdin.flush()
            return child.stdout.readline().strip()

        url = child.stdout.readline().strip()
        assert response_to(server.authorize(url)) == "expire"
        (first,) = server.access
        server.expire()
        assert response_to("go") == "used"
        tokens = [first, *server.access, *server.refresh]
        verifiers = [seen.form["code_verifier"] for seen in server.of("authorization_code")]
        assert len(tokens) == 3 and len(verifiers) == 1
        in_use = places_of(tokens, child.pid)
        assert sum(not at.endswith(OF_THE_LIBRARY) for places in in_use.values() for at in places)
        assert response_to("go") == "done"

        def is_left(secret, places):
            others = [at for at in places if not at.endswith(OF_THE_LIBRARY)]
            return others or len(places) > (0 if secret in verifiers else 2)

        def left():
            found = places_of([*tokens, *verifiers], child.pid)
            return [secret for secret, places in found.items() if is_left(secret, places)]

        # A thread of the core may be about to drop what it shared.
        wait_until(lambda: not left(), "the end of the secrets")
        child.stdin.write("go\n")
