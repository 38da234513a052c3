"""A daemon: a client that has been used, in a child that closes all files."""

import asyncio
import contextlib
import os
import resource
import sys

import boardlot as bl

auth = bl.ApiKey(*sys.argv[2:4])
client, awaited = bl.Client(sys.argv[1], auth=auth), bl.AsyncClient(sys.argv[1], auth=auth)
limited = bl.Client(sys.argv[1], auth=auth, rate_limit=bl.RateLimit(500, name=sys.argv[4]))


def use(*clients):
    for one in clients:
        assert len([*one.fills_history("281756", "HK")]) == 120
    asyncio.run(awaited.server_time())


use(client, limited)
result, out = os.pipe()
# As python-daemon does: two forks, a session of its own, no file of the parent.
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for file in range(resource.getrlimit(resource.RLIMIT_NOFILE)[0]):
            if file != out:
                with contextlib.suppress(OSError):
                    os.close(file)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1), os.dup2(null, 2)
        try:
            use(client, limited, bl.Client(sys.argv[1], auth=auth))
            with bl.Archive(":memory:") as archive:
                said = f"{archive.update(client, ipos=['hk']).errors}"
        except BaseException as error:
            said = f"{type(error).__name__} {error}"
        os.write(out, said.encode())
    os._exit(0)
os.close(out)
print(os.read(result, 4096).decode())
