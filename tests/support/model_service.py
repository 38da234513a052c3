"""A small service written by hand from the service document, with a clock of its own.

It shares nothing with boardlot or its sandbox. It holds historical fills up to its own now, and
new ones happen all the time, the last at the very moment of each request: a list is never still
while it is read.
"""

import contextlib
import itertools
import json
import threading
import time
from urllib.parse import parse_qsl

from .service import StandInService, response

DAY = 86_400 * 10**6
MINUTE = 60 * 10**6
SPAN = 90 * DAY
TOKEN = "model-access-token"
CODE = "model-authorization-code"


class Model:
    """The script of a `StandInService`, whose clock is `ahead` of this machine's by these seconds.

    `order` is the field by which fills are listed, latest first: the document says
    "latest deal first" and filters by the time of update, so that both "updated_time" and
    "create_time" fit.
    """

    def __init__(self, ahead=0.0, order="updated_time", anonymous=True):
        self.ahead, self.order, self.anonymous = ahead, order, anonymous
        self._lock = threading.Lock()
        self._nonces, self._failed = set(), set()
        self._numbers = itertools.count(1)
        now = self.now()
        # Sixty in the last hour, the last of them just now, and others back to beyond 90 days; some
        # were updated long after they were made.
        ages = [minute * MINUTE for minute in range(60)]
        ages += [DAY // 2 + number * DAY * 7 // 5 for number in range(60)]
        ages += [SPAN + (1 + number) * DAY for number in range(5)]
        self.first = [self._fill(now - age, late=index % 7 == 3) for index, age in enumerate(ages)]
        self.fills = list(self.first)
        # By how much the end of each requested range was ahead of this clock.
        self.ends_ahead = []

    def now(self):
        """The time in microseconds by this service's clock."""
        return int((time.time() + self.ahead) * 1e6)

    def _fill(self, updated, late=False):
        return {
            "deal_id": str(next(self._numbers)),
            "code": "HK.00700",
            "create_time": updated - (5 * DAY + 13 * MINUTE if late else 0),
            "updated_time": updated,
        }

    def expected(self, start=None, end=None):
        """The ids of the first fills within a range, by the document's table of start and end."""
        if start is None:
            start = (end or self.now()) - SPAN
        end = end or self.now()
        return {one["deal_id"] for one in self.first if start <= one["updated_time"] <= end}

    def __call__(self, received):
        path = received.path
        if path == "/api/v1.0/server-time":
            return response({"server_time_ms": str(self.now() // 1000)})
        if path == "/oauth2/register":
            asked = json.loads(received.body)
            return response({**asked, "client_id": "model-client", "client_id_issued_at": 1})
        if path == "/oauth2/token":
            asked = dict(parse_qsl(received.body.decode()))
            assert (asked["grant_type"], asked["code"]) == ("authorization_code", CODE)
            token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 7200}
            return response({**token, "refresh_token": "model-refresh", "scope": "trade:read"})
        assert path.startswith("/api/v1.0/accounts/") and path.endswith("/fills_history")
        return self._refused(received) or self._fills(received)

    def _refused(self, received):
        """The error of section 5, if the request is not who it has to be."""
        if received.header("X-Api-Key") is None:
            given = received.header("Authorization")
            if given == f"Bearer {TOKEN}" or (given is None and self.anonymous):
                return None
            return error(-1, "credentials", 401)
        with self._lock:
            known = received.header("X-Nonce") in self._nonces
            self._nonces.add(received.header("X-Nonce"))
        if known:
            return error(-1, "nonce", 401)
        if abs(int(received.header("X-Timestamp")) - self.now() // 1000) > 5000:
            return error(-12006, "timestamp", 401)
        return None

    def _fills(self, received):
        asked = dict(parse_qsl(received.query, keep_blank_values=True))
        account = received.path.split("/")[4]
        start, end = int(asked["start"]), int(asked["end"])
        size = int(asked.get("page_size") or 50)
        if not 10 <= size <= 50 or "trd_market" not in asked or start >= end:
            return error(-1200, "invalid parameter")
        with self._lock:
            self.ends_ahead.append(end - self.now())
            # An account of that name has trouble with its second page, once.
            if account.startswith("flaky") and asked["page_flag"] and account not in self._failed:
                self._failed.add(account)
                return error(-5, "later", 503)
            self.fills.append(self._fill(self.now()))
            found = [one for one in self.fills if start <= one["updated_time"] <= end]
        found.sort(key=self._key)
        place = [int(number) for number in filter(None, asked["page_flag"].split("_"))]
        begin = sum(self._key(one) <= place for one in found) if place else 0
        page = found[begin : begin + size]
        over = begin + size >= len(found)
        flag = "" if over else "_".join(map(str, self._key(page[-1])))
        return response(
            {"s": "ok", "d": {"order_fills": page, "page_flag": flag, "completed": over}}
        )

    def _key(self, one):
        return [-one[self.order], -int(one["deal_id"])]


def error(code, message, status=200):
    return response({"s": "error", "errcode": code, "errmsg": message}, status)


@contextlib.contextmanager
def serve(**options):
    """A running model; its model is `.model`."""
    model = Model(**options)
    with StandInService(model) as server:
        server.model = model
        yield server
