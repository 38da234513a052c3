"""Promise 28: a path that is rejected as too frequent gets fewer requests, as long as needed."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl

from ..support.clients import client_of
from ..support.service import StandInService, response
from ..support.threads import wait_until

OK = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
TIME = response({"server_time_ms": "1790000000123"})
REFUSED = response(b"", 429)


class Meter:
    """A service that takes this many requests a second of one path."""

    def __init__(self, per_second):
        self.per_second = per_second
        self.taken = self.refused = 0
        self._tokens, self._last, self._lock = 1.0, time.monotonic(), threading.Lock()

    def __call__(self, received):
        if "/dividends" not in received.path:
            return TIME
        with self._lock:
            now = time.monotonic()
            more = (now - self._last) * self.per_second
            self._tokens, self._last = min(self._tokens + more, self.per_second), now
            if self._tokens < 1.0:
                self.refused += 1
                return REFUSED
            self._tokens -= 1.0
            self.taken += 1
            return OK


def test_security_28_a_path_that_is_rejected_settles_near_what_the_service_takes():
    meter, over = Meter(40.0), threading.Event()
    with StandInService(meter) as server, ThreadPoolExecutor(6) as pool:
        client = client_of(server, max_retries=2)

        def work():
            while not over.is_set():
                with contextlib.suppress(bl.RateLimited, bl.RequestTimeout):
                    client.dividends("HK.00700")

        for _ in range(6):
            pool.submit(work)
        try:
            wait_until(lambda: meter.taken >= 45)
            taken, refused = meter.taken, meter.refused
            wait_until(lambda: meter.taken >= taken + 60)
            # Unpaced, six threads over loopback would be refused as often as taken, or more.
            assert meter.refused - refused <= (meter.taken - taken) / 3
            # Nothing but that path is slowed down: it gets far fewer than 200 meanwhile.
            before = meter.taken
            for _ in range(200):
                client.server_time()
            assert meter.taken - before < 150
        finally:
            over.set()


def test_security_28_one_refusal_by_itself_slows_nothing_down():
    script = [OK] * 5 + [REFUSED] + [OK] * 300
    with StandInService(script) as server:
        client = client_of(server, max_retries=2)
        for _ in range(300):
            client.dividends("HK.00700")
        assert len(server.received) == 301
