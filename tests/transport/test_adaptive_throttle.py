"""Promise 28: a path that is rejected as too frequent gets fewer requests, as long as needed."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

from ..support.service import StandInService, response
from ..support.threads import wait_until

OK = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
TIME = response({"server_time_ms": "1790000000123"})
REFUSALS = {
    "429": response(b"", 429),
    "200 with a code": response({"ret_code": -11, "error": {"code": "rate_limited"}}),
    "403 with words": response({"ret_code": -12006, "ret_msg": "request frequency too high"}, 403),
}


class Meter:
    """A service that takes so many requests a second of one path."""

    def __init__(self, per_second, refusal):
        self.per_second, self.refusal = per_second, refusal
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
                return self.refusal
            self._tokens -= 1.0
            self.taken += 1
            return OK


class Workers:
    """Threads that ask for the same symbol again and again; refusals are theirs to bear."""

    def __init__(self, client, count=6):
        self._client, self._going = client, True
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]

    def _work(self):
        while self._going:
            with contextlib.suppress(bl.RateLimited):
                self._client.dividends("HK.00700")

    def __enter__(self):
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_):
        self._going = False
        for thread in self._threads:
            thread.join(60)


@pytest.mark.parametrize(
    "name", ["429", *(pytest.param(name, marks=pytest.mark.slow) for name in list(REFUSALS)[1:])]
)
def test_security_28_a_path_that_is_rejected_settles_near_what_the_service_takes(name):
    meter = Meter(40.0, REFUSALS[name])
    with StandInService(meter) as server:
        client = bl.Client(server.base_url, auth=bl.BearerToken("token"), timeout=5.0)
        with Workers(client):
            wait_until(lambda: meter.taken >= 45)
            taken, refused = meter.taken, meter.refused
            wait_until(lambda: meter.taken >= taken + 60)
            taken, refused = meter.taken - taken, meter.refused - refused
            # Unpaced, six threads over loopback would be refused as often as taken, or more.
            assert refused <= taken / 3
            # Nothing but that path is slowed down: two hundred calls do not take seconds.
            before = meter.taken
            for _ in range(200):
                client.server_time()
            assert meter.taken - before < 150


@pytest.mark.slow
def test_security_28_a_limit_that_was_learned_is_let_go_of():
    meter = Meter(20.0, REFUSALS["429"])
    with StandInService(meter) as server:
        client = bl.Client(server.base_url, auth=bl.BearerToken("token"), timeout=5.0)
        with Workers(client):
            wait_until(lambda: meter.taken >= 20 and meter.refused >= 5)
        meter.per_second = 1e9

        def burst():
            """Whether 50 requests go out as fast as they can, well above what was learned."""
            start = time.monotonic()
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda _: client.dividends("HK.00700"), range(50)))
            return time.monotonic() - start < 0.5

        wait_until(burst)


def test_security_28_one_refusal_by_itself_slows_nothing_down():
    script = [OK] * 5 + [REFUSALS["429"]] + [OK] * 300
    with StandInService(script) as server:
        client = bl.Client(server.base_url, auth=bl.BearerToken("token"))
        for _ in range(300):
            client.dividends("HK.00700")
        assert len(server.received) == 301
