"""A service that notes when each request arrives and from which process, and can throttle."""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from bisect import bisect_left
from collections import Counter

BODY = b'{"server_time_ms": "1790000000123"}'
HEAD = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n"
ACCEPTED = HEAD % (b"200 OK", len(BODY), b"") + BODY
WORKER = b"x-worker: "
# Of Linux; Python has no name for it.
SO_TIMESTAMPNS = 35


class Arrivals:
    """The times and processes of the requests; `throttle(seconds)` rejects the next one."""

    def __init__(self):
        self.seen = []
        self.base_url = ""
        self.throttled_at = None
        self._throttle = None

    def throttle(self, seconds):
        self.throttled_at, self._throttle = None, seconds

    def response(self, request, now):
        at = request.find(WORKER) + len(WORKER)
        worker = request[at : request.find(b"\r\n", at)].decode()
        self.seen.append((now, worker))
        wait, self._throttle = self._throttle, None
        if wait is None:
            return ACCEPTED
        self.throttled_at = now
        return HEAD % (b"429 Too Many Requests", 0, b"Retry-After: %d\r\n" % wait)

    @property
    def times(self):
        return sorted(at for at, _ in self.seen)

    def in_any_second(self):
        """The most requests that arrived within one second, whenever it began."""
        times = self.times
        return max(bisect_left(times, at + 1.0) - number for number, at in enumerate(times))

    def between(self, start, end):
        times = self.times
        return bisect_left(times, end) - bisect_left(times, start)

    def by_worker(self, start, end):
        return Counter(worker for at, worker in self.seen if start <= at < end)


class _Connection:
    """One connection, whose data the kernel stamps as it arrives: the service may be late."""

    def __init__(self, loop, connected, arrivals):
        self.loop, self.socket, self.arrivals = loop, connected, arrivals
        self.received = b""
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        loop.add_reader(connected, self.read)

    def read(self):
        try:
            data, stamps, *_ = self.socket.recvmsg(1 << 16, 64)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.loop.remove_reader(self.socket)
            self.socket.close()
            return
        at = time.time()
        for _, kind, stamp in stamps:
            if kind == SO_TIMESTAMPNS:
                seconds, nanos = struct.unpack("qq", stamp[:16])
                at = seconds + nanos / 1e9
        self.received += data
        while b"\r\n\r\n" in self.received:
            request, _, self.received = self.received.partition(b"\r\n\r\n")
            self.socket.send(self.arrivals.response(request.lower() + b"\r\n", at))


@contextlib.contextmanager
def serve():
    """Runs the service on a thread of its own."""
    arrivals, loop = Arrivals(), asyncio.new_event_loop()
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        listener.setblocking(False)
        arrivals.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        connections = []

        def accept():
            with contextlib.suppress(BlockingIOError):
                accepted, _ = listener.accept()
                connections.append(_Connection(loop, accepted, arrivals))

        loop.add_reader(listener, accept)
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield arrivals
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            for connection in connections:
                connection.socket.close()
            loop.close()
