"""Promise 15: what of a login is left in a process's memory when it has ended."""

import subprocess
import sys

import pytest

from ..support.memory import places_of
from ..support.processes import python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/PID/mem")

CHILD = """
    import gc, sys
    import boardlot as bl

    def step(what):
        print(what, flush=True)
        return sys.stdin.readline().strip()

    def use():
        flow = bl.begin_login(sys.argv[1], store=bl.MemoryStore(), timeout=30.0)
        oauth = flow.finish(step(flow.url))
        with bl.Client(sys.argv[1], auth=oauth) as client:
            for _ in range(3):
                list(client.reference_futures("HK.HSImain"))
            step("expire")
            for _ in range(3):
                list(client.reference_futures("HK.HSImain"))
            step("used")
            oauth.logout()

    use()
    gc.collect()
    step("done")
    """


# Where the HTTP library has what it sent and received, in buffers that nobody else can wipe.
OF_THE_LIBRARY = (b"authorization: Bearer ", b'_token": "')


def test_security_15_tokens_that_were_sent_are_wiped_where_they_can_be(server):
    with python(CHILD, server.base_url, stderr=subprocess.STDOUT) as child:

        def response_to(reply):
            child.stdin.write(reply + "\n")
            child.stdin.flush()
            return child.stdout.readline().strip()

        url = child.stdout.readline().strip()
        assert response_to(server.authorize(url)) == "expire"
        server.expire()
        assert response_to("go") == "used"
        tokens = [*server.access, *server.refresh]
        verifiers = [seen.form["code_verifier"] for seen in server.of("authorization_code")]
        assert len(tokens) == 3 and len(verifiers) == 1
        in_use = places_of(tokens, child.pid)
        assert sum(not at.endswith(OF_THE_LIBRARY) for places in in_use.values() for at in places)
        assert response_to("go") == "done"
        left = places_of([*tokens, *verifiers], child.pid)
        for secret, places in left.items():
            assert [at for at in places if not at.endswith(OF_THE_LIBRARY)] == [], secret
            assert len(places) <= 2, places
        assert left[verifiers[0]] == []
        child.stdin.write("go\n")
