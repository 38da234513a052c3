"""Clients with hooks that refer to their owners, made, used and dropped; see `test_collection`."""

import asyncio
import weakref

import boardlot as bl

from ..support.processes import options_of, report
from ..support.sandbox_process import SandboxProcess, Used
from ..support.threads import wait_until
from .cycles import Owner, collect


def make(base_url, kind, alive):
    owner = Owner()
    owner.client = kind(base_url, on_request=owner.seen, on_response=owner.seen)
    alive.add(owner)
    return owner


def use(base_url, count, alive):
    for _ in range(count // 2):
        make(base_url, bl.Client, alive).client.server_time()

    async def some(number):
        for _ in range(number):
            await make(base_url, bl.AsyncClient, alive).client.server_time()

    for first in range(0, count // 2, 100):
        asyncio.run(some(min(100, count // 2 - first)))


def main():
    options = options_of("count")
    count, alive = int(options.count), weakref.WeakSet()
    with SandboxProcess(seed=7) as sandbox:
        use(sandbox.base_url, 20, alive)  # What is made once is made.
        collect()
        before = Used.of()
        use(sandbox.base_url, count, alive)

        def is_over():
            collect()
            after = Used.of()
            return not alive and after.files <= before.files and after.threads <= before.threads

        # Connections are closed in the background.
        wait_until(is_over, "the end of the clients, their threads and files")
    report(made=count)


if __name__ == "__main__":
    main()
