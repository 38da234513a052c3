"""What stands between client and service: a TCP relay on an event loop of its own thread."""

import asyncio
import contextlib
import socket
import struct
import threading


class Loop:
    """An event loop in a thread, shared by all relays of the process."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda *_: None)  # A peer that went away is no news.
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)


_shared = []
_lock = threading.Lock()


def shared_loop():
    with _lock:
        if not _shared:
            _shared.append(Loop())
        return _shared[0]


class Relay:
    """Listens on 127.0.0.1 and hands each connection to `serve`, by default to `target`.

    With a TLS `context` it ends TLS there. `host` is the name in `base_url`.
    """

    def __init__(self, target=None, context=None, host="127.0.0.1", port=0):
        self.target, self.context, self.host = target, context, host
        self.connections = 0
        self.port = port
        self._loop = shared_loop()
        self._tasks = set()
        self._server = None

    @property
    def base_url(self):
        return f"{'https' if self.context else 'http'}://{self.host}:{self.port}"

    def __enter__(self):
        self._loop.run(self.start())
        return self

    def __exit__(self, *_):
        self._loop.run(self._end())

    async def start(self):
        """Listens; again on the same port where it listened before."""
        self._server = await asyncio.start_server(
            self._accepted, "127.0.0.1", self.port, ssl=self.context, backlog=1024, limit=1 << 20
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop_listening(self):
        # Not `wait_closed`: since Python 3.12 that waits for the connections too.
        self._server.close()

    async def _end(self):
        await self.stop_listening()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accepted(self, reader, writer):
        self.connections += 1
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            await self.serve(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            with contextlib.suppress(OSError, RuntimeError):
                writer.transport.abort()

    async def serve(self, reader, writer):
        await pipe_to(self.target, reader, writer)


async def pipe_to(port, reader, writer):
    """Passes bytes both ways until one side ends."""
    upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", port)
    ways = [copied(reader, upstream_writer), copied(upstream_reader, writer)]
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        upstream_writer.close()


async def copied(reader, writer):
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


def reset(writer):
    """Closes with RST, as a peer that died does."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def port_of(base_url):
    return int(base_url.rsplit(":", 1)[1])


class Untouched:
    """A listening address to which nobody may even connect."""

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        return self

    def __exit__(self, kind, *_):
        with self._listener:
            if kind is None:
                self.assert_untouched()

    def assert_untouched(self):
        try:
            self._listener.accept()[0].close()
        except BlockingIOError:
            return
        raise AssertionError("something connected")


class Unanswering:
    """An address whose packets get lost: its queue of connections is full (Linux)."""

    def __init__(self, port=0):
        self.port = port

    def __enter__(self):
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self._listener.listen(0)
        self.port = self._listener.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", self.port))
            self._waiting.append(one)
        return self

    def __exit__(self, *_):
        for one in (*self._waiting, self._listener):
            one.close()
