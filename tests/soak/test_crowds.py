"""The sandbox under load: thousands of connections, slow clients, memory that stays bounded."""

import asyncio
import contextlib

import boardlot as bl
import pytest

from ..support.sandbox_process import SandboxProcess, allow_many_files
from ..support.threads import wait_until

MANY = [300, pytest.param(10_000, marks=pytest.mark.slow)]
TIME = b"GET /api/v1.0/server-time HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture(scope="module")
def sandbox():
    with SandboxProcess(seed=7) as running:
        yield running


class Crowd:
    """Connections that were opened and have sent half a request."""

    def __init__(self, sandbox, count):
        self.port = int(sandbox.base_url.rsplit(":", 1)[1])
        self.count, self.peers = count, []

    async def __aenter__(self):
        for _ in range(0, self.count, 100):
            group = (asyncio.open_connection("127.0.0.1", self.port) for _ in range(100))
            self.peers += await asyncio.gather(*group)
        return self

    async def __aexit__(self, *_):
        for _, writer in self.peers:
            writer.close()
        for _, writer in self.peers:
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def send(self, data):
        for _, writer in self.peers:
            writer.write(data)
        for _, writer in self.peers:
            with contextlib.suppress(OSError):
                await writer.drain()

    async def statuses(self):
        async def one(reader):
            with contextlib.suppress(OSError):
                return int((await reader.read(4096)).split(b" ")[1])

        return await asyncio.gather(*(one(reader) for reader, _ in self.peers))


async def until(condition):
    await asyncio.to_thread(wait_until, condition)


def enough_files(count):
    if allow_many_files() < count + 500:
        pytest.skip(f"this system does not allow {count} open files")


async def someone_else_is_served(sandbox):
    async with bl.AsyncClient(sandbox.base_url, timeout=60.0, max_retries=0) as client:
        await asyncio.gather(*(client.server_time() for _ in range(50)))


@pytest.mark.parametrize("count", MANY)
def test_many_connections_are_held_and_served_with_memory_that_is_bounded(sandbox, count):
    enough_files(count)
    before = sandbox.used()

    async def use():
        async with Crowd(sandbox, count) as crowd:
            await crowd.send(TIME)
            await until(lambda: sandbox.used().files >= before.files + count)
            held = sandbox.used()
            await someone_else_is_served(sandbox)
            await crowd.send(b"\r\n")
            return held, await crowd.statuses()

    held, statuses = asyncio.run(use())
    assert statuses == [200] * count
    assert held.memory - before.memory < 24 + count * 64 / 1024  # 64 KiB a connection.
    wait_until(lambda: sandbox.used().files <= before.files + 5)


@pytest.mark.parametrize("count", MANY)
def test_slow_clients_keep_nobody_waiting(sandbox, count):
    enough_files(count)
    before = sandbox.used()

    async def use():
        async with Crowd(sandbox, count) as crowd:
            # A head without an end.
            await crowd.send(TIME + b"X-Long: " + b"x" * 10_000)
            for _ in range(3):
                await crowd.send(b"x")
                await someone_else_is_served(sandbox)
            return sandbox.used()

    held = asyncio.run(use())
    assert held.memory - before.memory < 24 + count * 64 / 1024
    wait_until(lambda: sandbox.used().files <= before.files + 5)


def test_what_was_received_is_remembered_within_bounds():
    async def use(base_url):
        async with bl.AsyncClient(base_url) as client:
            for _ in range(21):
                await asyncio.gather(*(client.server_time() for _ in range(500)))

    with bl.Sandbox(seed=7) as sandbox:
        asyncio.run(use(sandbox.base_url))
        assert len(sandbox.requests) == 10_000
