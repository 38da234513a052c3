"""The fault-injecting proxy: HTTP/1.1 between client and sandbox, wrong where a plan says so."""

import asyncio
import contextlib
import socket
from dataclasses import dataclass

from ..support.addresses import Unanswering
from ..support.proxy import Proxy, connect, reset
from ..support.service import SplitTarget


@dataclass
class Request(SplitTarget):
    """One request, byte for byte in `raw`."""

    method: str
    target: str
    raw: bytes
    body: bytes


@dataclass
class Response:
    """One response, its transfer coding undone."""

    status: int
    headers: list
    body: bytes

    def encode(self, length=None):
        lines = [f"HTTP/1.1 {self.status} Here", *(f"{name}: {v}" for name, v in self.headers)]
        lines.append(f"Content-Length: {len(self.body) if length is None else length}")
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


class FaultProxy(Proxy):
    """Passes requests on to the sandbox; those that `plan` picks go through `kind` instead.

    `plan(request)` tells whether this one is to fail. `mutated` are the changed responses,
    `followed` tells whether a redirect was.
    """

    def __init__(self, target, kind, plan, dice, context=None):
        super().__init__(target, context)
        self.kind, self.plan, self.dice = kind, plan, dice
        self.mutated, self.cursors, self.held = [], {}, {}
        self.followed = False
        self.refuses_grants = False
        self.bad_handshakes = 0
        self._away = None
        if context is not None:
            context.sni_callback = self._choose_certificate

    def _choose_certificate(self, connection, _name, _context):
        if self.bad_handshakes > 0:
            self.bad_handshakes -= 1
            connection.context = self.kind.context

    def __enter__(self):
        # Bound from begin to end, never listening: while the proxy is away, nobody gets its port,
        # not even a login that comes back to the port which it was registered with.
        self._holder = socket.socket()
        self._holder.bind(("127.0.0.1", 0))
        self.port = self._holder.getsockname()[1]
        return super().__enter__()

    @contextlib.contextmanager
    def _sharing_the_port(self):
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)

    async def start(self):
        with self._sharing_the_port():
            await super().start()

    async def _end(self):
        if self._away is not None:
            self._away.cancel()
        await super()._end()
        self._holder.close()

    async def serve(self, reader, writer):
        upstream = await connect(self.target, limit=1 << 20)
        try:
            while True:
                request = await read_request(reader)
                if not await self._exchange(request, upstream, writer):
                    return
        finally:
            upstream[1].transport.abort()

    async def _exchange(self, request, upstream, writer):
        """Responds to one request; false if the connection is not to be used again."""
        self.followed |= request.path.startswith("/followed")
        exchange = Exchange(self, request, upstream, writer)
        refreshes = request.path == "/oauth2/token" and b"grant_type=refresh_token" in request.body
        if refreshes and self.refuses_grants:
            return await exchange.send(json_response(400, b'{"error":"invalid_grant"}'))
        if not request.path.startswith("/oauth2/") and self.plan(request):
            return await self.kind.apply(exchange)
        return await exchange.send(await exchange.real())

    def go_away(self, seconds, silent):
        """The address refuses connections for a while, or loses their packets."""
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()
        if not self.is_away:
            self._away = asyncio.ensure_future(self._stay_away(seconds, silent))

    @property
    def is_away(self):
        return self._away is not None and not self._away.done()

    async def _stay_away(self, seconds, silent):
        await self.stop_listening()
        if silent:
            with self._sharing_the_port(), Unanswering(self.port):
                await asyncio.sleep(seconds)  # time: a service that is away for a while
        else:
            await asyncio.sleep(seconds)  # time: as above
        await self.start()


class Exchange:
    """The means that a kind of fault has for one request."""

    def __init__(self, proxy, request, upstream, writer):
        self.proxy, self.request, self.writer = proxy, request, writer
        self._upstream = upstream
        self.dice = proxy.dice

    async def real(self):
        """The sandbox's own response."""
        held = self._held()
        if held is not None:
            return held
        reader, writer = self._upstream
        writer.write(self.request.raw)
        return await read_response(reader)

    def _held(self):
        places = (self.request.query.encode(), self.request.body)
        for cursor, response in self.proxy.held.items():
            if any(cursor.encode() in place for place in places):
                return response
        return None

    async def send(self, response):
        await self.write(response.encode() + response.body)
        return True

    async def send_mutated(self, response):
        self.proxy.mutated.append((response.status, response.body))
        return await self.send(response)

    async def write(self, data):
        self.writer.write(data)
        await self.writer.drain()

    def reset(self):
        reset(self.writer)
        return False


def json_response(status, body, *headers):
    return Response(status, [("Content-Type", "application/json"), *headers], body)


async def read_request(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    length = length_of(head) or 0
    body = await reader.readexactly(length)
    return Request(method, target, head + body, body)


async def read_response(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    body = await reader.readexactly(length_of(head))
    kept = [pair for pair in headers if pair[0].lower() not in ("content-length", "connection")]
    return Response(int(first.split(" ")[1]), kept, body)


def length_of(head):
    for line in head.decode("latin-1").lower().split("\r\n"):
        if line.startswith("content-length:"):
            return int(line.partition(":")[2])
    return None
