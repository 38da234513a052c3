"""Between client and service: a proxy on an event loop in a thread of its own."""

import asyncio
import contextlib
import socket
import struct
import threading


class Proxy:
    """Listens on 127.0.0.1 and passes each connection on to the port `target`.

    With a TLS `context` it ends TLS there. `host` is the name in `base_url`. With `tunnels` it is a
    CONNECT proxy for those names: they map `host:port` to a local port, `asked` are the request
    lines that came in, and `authorizations` their Proxy-Authorization headers. `refusal` is sent
    instead of a tunnel if it is set.
    """

    def __init__(
        self, target=None, context=None, *, host="127.0.0.1", port=0, tunnels=None, refusal=None
    ):
        self.target, self.context, self.host, self.port = target, context, host, port
        self.tunnels, self.refusal = tunnels, refusal
        self.asked, self.authorizations = [], []
        self._tasks, self._open, self._silenced = set(), set(), set()
        self._server = None

    @property
    def base_url(self):
        return f"{'https' if self.context else 'http'}://{self.host}:{self.port}"

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda *_: None)  # A peer that went away is not news.
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self.start())
        return self

    def __exit__(self, *_):
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def start(self):
        """Listens; again on the same port if it listened before."""
        self._server = await asyncio.start_server(
            self._accepted, "127.0.0.1", self.port, ssl=self.context, backlog=1024, limit=1 << 20
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop_listening(self):
        # Not `wait_closed`: since Python 3.12 that waits for the connections too.
        self._server.close()

    def end_connections(self, way):
        """Ends what is open ("closed", "reset" or "silent"); returns how many that were."""

        async def end():
            ended = {writer for writer in self._open if not writer.is_closing()}
            self._open.clear()
            for writer in ended:
                if way == "reset":
                    reset(writer)
                elif way == "closed":
                    writer.close()
                else:
                    self._silenced.add(writer)
            return len(ended)

        return self._run(end())

    async def _end(self):
        await self.stop_listening()
        # Accepted connections have begun before they are cancelled; then the transports close.
        await ticks()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await ticks()

    async def _accepted(self, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        self._open.add(writer)
        try:
            await self.serve(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self._open.discard(writer)
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def serve(self, reader, writer):
        """Handles one connection."""
        target = self.target
        if self.tunnels is not None:
            target = await self._tunnel(reader, writer)
        if target is not None:
            await self._pipe(target, reader, writer)

    async def _tunnel(self, reader, writer):
        """The port that a CONNECT request leads to; None if it is refused."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.asked.append(head[0])
        headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head}
        self.authorizations.append(headers.get("proxy-authorization"))
        method, name, _ = head[0].split(" ")
        if self.refusal is None and method == "CONNECT" and name in self.tunnels:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            return self.tunnels[name]
        writer.write(self.refusal or b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return None

    async def _pipe(self, port, reader, writer):
        """Passes bytes both ways until one side ends."""
        upstream_reader, upstream_writer = await connect(port)
        ways = [self._copy(reader, upstream_writer), self._copy(upstream_reader, writer)]
        tasks = [asyncio.ensure_future(way) for way in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            upstream_writer.transport.abort()
            await asyncio.gather(*tasks, return_exceptions=True)
        while writer in self._silenced and await reader.read(65536):
            pass

    async def _copy(self, reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if writer not in self._silenced:
                    writer.write(data)
                    await writer.drain()


async def connect(port, **options):
    """Opens a connection; asyncio leaves it open if it is cancelled just when it is made."""
    opening = asyncio.ensure_future(asyncio.open_connection("127.0.0.1", port, **options))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            (await opening)[1].transport.abort()
        raise


async def ticks():
    """Lets the loop do what it has begun."""
    for _ in range(5):
        await asyncio.sleep(0)


def reset(writer):
    """Closes with RST, as a peer that died does."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
