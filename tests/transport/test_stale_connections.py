"""Connections that died while nobody looked, as while a laptop slept, are no error."""

import threading
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.relay import Relay, copied, pipe_to, port_of, reset

SIDE_BY_SIDE = 16


class Sleeper(Relay):
    """Passes everything on; `fall_asleep` ends what is open, each in one way."""

    def __init__(self, target, way):
        super().__init__(target)
        self.way, self._open, self.deaf = way, set(), set()

    async def serve(self, reader, writer):
        self._open.add(writer)
        if self.way != "no answer any more":
            return await pipe_to(self.target, reader, writer)
        await pipe_to(self.target, reader, Deafened(self, writer))
        return await copied(reader, Nothing())

    def fall_asleep(self):
        """Gives how many connections were open."""
        return self._loop.run(self._fall_asleep())

    async def _fall_asleep(self):
        ended = {writer for writer in self._open if not writer.is_closing()}
        self._open.clear()
        for writer in ended:
            if self.way == "reset":
                reset(writer)
            elif self.way == "closed":
                writer.close()
            else:
                self.deaf.add(writer)
        return len(ended)


class Nothing:
    """Where bytes go that nobody reads."""

    def write(self, _):
        pass

    async def drain(self):
        pass


class Deafened:
    """A writer that drops what it is given once its connection has fallen asleep."""

    def __init__(self, sleeper, writer):
        self._sleeper, self._writer = sleeper, writer

    def write(self, data):
        if self._writer not in self._sleeper.deaf:
            self._writer.write(data)

    async def drain(self):
        await self._writer.drain()


def side_by_side(work):
    """Does it on many threads at once, so that as many connections are used."""
    barrier = threading.Barrier(SIDE_BY_SIDE)

    def one(_):
        barrier.wait(30)
        return work()

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return list(pool.map(one, range(SIDE_BY_SIDE)))


@pytest.mark.parametrize("way", ["closed", "reset", "no answer any more"])
def test_stale_connections_are_not_an_error(way):
    with bl.Sandbox(seed=5, plate_stocks=40) as sandbox:
        right = list(sandbox.client().plate_stocks("HK.BK1001"))
        with Sleeper(port_of(sandbox.base_url), way) as sleeper:
            auth = sandbox.api_key()
            client = bl.Client(sleeper.base_url, auth=auth, timeout=0.7)
            for _ in range(2):
                side_by_side(client.server_time)
                assert sleeper.fall_asleep() > 3
                assert client.server_time().tzinfo is not None
                assert list(client.plate_stocks("HK.BK1001")) == right
                side_by_side(client.server_time)
                sleeper.fall_asleep()
                told = side_by_side(lambda: list(client.plate_stocks("HK.BK1001")))
                assert told == [right] * SIDE_BY_SIDE
