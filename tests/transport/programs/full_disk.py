"""Records on a disk that becomes full in the middle of a line."""

import resource
import sys
from pathlib import Path

import boardlot as bl

path, limit = sys.argv[1], int(sys.argv[2])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)


def ask(client, number):
    try:
        return client.request("GET", f"/nowhere/{number}").status
    except bl.ConfigError:
        return None


with bl.Sandbox(seed=7) as sandbox, bl.Recorder(path) as recorder:
    client = sandbox.client(cassette=recorder)
    statuses = [ask(client, 0)]
    # The disk has room for a part of the next line.
    resource.setrlimit(resource.RLIMIT_FSIZE, (Path(path).stat().st_size + limit, hard))
    statuses.append(ask(client, 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    statuses.append(ask(client, 2))
assert statuses == [404, None, 404], statuses
with bl.Client(cassette=bl.Replay(path)) as client:
    assert [ask(client, number) for number in range(3)] == statuses
