"""A service that notes when each request arrives and from which process, and can throttle."""

import re
import socket
import struct
import time
from bisect import bisect_left
from collections import Counter

from ..support.service import StandInService, response, wire

ACCEPTED = response({"server_time_ms": "1790000000123"})
# Of Linux; Python has no name for it.
SO_TIMESTAMPNS = 35


class Arrivals(StandInService):
    """The times and processes of the requests; `throttle(seconds)` rejects the next one."""

    def __init__(self):
        super().__init__()
        self.seen, self.throttled_at, self._throttle = [], None, None

    def throttle(self, seconds):
        self.throttled_at, self._throttle = None, seconds

    def _converse(self, connection):
        """The kernel stamps the data of a connection as they arrive: this thread may be late."""
        connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        received = b""
        while not self._closing.is_set():
            data, stamps, *_ = connection.recvmsg(1 << 16, 64)
            if not data:
                return
            at = time.time()
            for _, kind, stamp in stamps:
                if kind == SO_TIMESTAMPNS:
                    seconds, nanos = struct.unpack("qq", stamp[:16])
                    at = seconds + nanos / 1e9
            received += data
            while b"\r\n\r\n" in received:
                request, _, received = received.partition(b"\r\n\r\n")
                connection.sendall(b"".join(wire(self._respond(request.decode(), at))))

    def _respond(self, request, at):
        worker = re.search(r"x-worker: (\w+)", request, re.IGNORECASE)
        with self._lock:
            self.seen.append((at, worker and worker[1]))
            wait, self._throttle = self._throttle, None
        if wait is None:
            return ACCEPTED
        self.throttled_at = at
        return response(b"", 429, {"Retry-After": str(wait)})

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
