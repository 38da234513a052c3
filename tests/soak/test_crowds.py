"""The sandbox under load: thousands of connections, slow clients, memory that stays bounded."""

import asyncio
import contextlib

import boardlot as bl
import pytest

from ..support.sandbox_process import SandboxProcess, allow_many_files

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


async def until(condition, seconds=30.0):
    for _ in range(int(seconds / 0.05)):
        if condition():
            return True
        await asyncio.sleep(0.05)
    return False


def enough_files(count):
    if allow_many_files() < count + 500:
        pytest.skip(f"this system does not allow {count} open files")


async def someone_else_is_served(sandbox):
    async with bl.AsyncClient(sandbox.base_url, timeout=30.0, max_retries=0) as client:
        await asyncio.gather(*(client.server_time() for _ in range(50)))


@pytest.mark.parametrize("count", MANY)
def test_many_connections_are_held_and_served_with_memory_that_is_bounded(sandbox, count):
    enough_files(count)
    before = sandbox.used()

    async def use():
        async with Crowd(sandbox, count) as crowd:
            await crowd.send(TIME)
            assert await until(lambda: sandbox.used().files >= before.files + count)
            held = sandbox.used()
            await someone_else_is_served(sandbox)
            await crowd.send(b"\r\n")
            return held, await crowd.statuses()

    held, statuses = asyncio.run(use())
    assert statuses == [200] * count
    assert held.memory - before.memory < 24 + count * 64 / 1024  # 64 KiB a connection.
    assert asyncio.run(until(lambda: sandbox.used().files <= before.files + 5))


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize(
    "head",
    [
        TIME + b"X-Long: " + b"x" * 10_000,
        b"POST /oauth2/token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000\r\n\r\n{",
    ],
    ids=["a head without an end", "a body that never comes"],
)
def test_slow_clients_keep_nobody_waiting(sandbox, count, head):
    enough_files(count)
    before = sandbox.used()

    async def use():
        async with Crowd(sandbox, count) as crowd:
            await crowd.send(head)
            for _ in range(3):
                await crowd.send(b"x")
                await someone_else_is_served(sandbox)
            return sandbox.used()

    held = asyncio.run(use())
    assert held.memory - before.memory < 24 + count * 64 / 1024
    assert asyncio.run(until(lambda: sandbox.used().files <= before.files + 5))


ENDLESS = {
    "a head": (TIME, b"X-More: " + b"x" * 65_000 + b"\r\n"),
    "a line": (b"GET /", b"x" * 65_536),
    "a body": (
        b"POST /oauth2/token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10737418240\r\n\r\n",
        b"x" * 65_536,
    ),
    "chunks": (
        b"POST /oauth2/token HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"10000\r\n" + b"x" * 65_536 + b"\r\n",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_cut_off_with_memory_that_is_bounded(sandbox, name):
    start, more = ENDLESS[name]
    before = sandbox.used()

    async def use():
        async with Crowd(sandbox, 100) as crowd:
            await crowd.send(start)

            async def pour(reader, writer):
                with contextlib.suppress(OSError):
                    for _ in range(1_000):  # 64 MiB each, if anybody took it.
                        writer.write(more)
                        await writer.drain()
                        if writer.transport.is_closing() or reader.at_eof():
                            return True
                return True

            ended = asyncio.gather(*(pour(*peer) for peer in crowd.peers[:4]))
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(ended, 5)
            await someone_else_is_served(sandbox)
            return sandbox.used()

    held = asyncio.run(use())
    assert held.memory - before.memory < 32


def test_what_was_received_is_remembered_within_bounds():
    async def use(base_url):
        async with bl.AsyncClient(base_url) as client:
            for _ in range(21):
                await asyncio.gather(*(client.server_time() for _ in range(500)))

    with bl.Sandbox(seed=7) as sandbox:
        asyncio.run(use(sandbox.base_url))
        assert len(sandbox.requests) == 10_000
