"""A small service written by hand from the service document, with a clock of its own.

It shares nothing with boardlot or its sandbox. It holds historical fills up to its own now, and
new ones happen all the time, the last at the very moment of each request: a list is never still
while it is read.
"""

import itertools
import json
import random
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
    """The script of a `StandInService`; its clock is `ahead` of this machine's by so many seconds.

    `order` is the field by which fills are listed, latest first: the document says
    "latest deal first" and filters by the time of update, so that both "updated_time" and
    "create_time" fit.
    `paging` says what its cursors are: the place of a "fill" or an "offset". With `changing`, an
    old fill is corrected and another one goes before each page; their ids are in `changed`.
    """

    def __init__(
        self, ahead=0.0, order="updated_time", anonymous=True, paging="fill", changing=False
    ):
        self.ahead, self.order, self.anonymous = ahead, order, anonymous
        self.paging, self.changing, self.changed = paging, changing, set()
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
        self._happened = now

    def now(self):
        """The time in microseconds by this service's clock."""
        return int((time.time() + self.ahead) * 1e6)

    def _fill(self, updated, late=False):
        number = next(self._numbers)
        return {
            "deal_id": str(number),
            "code": "HK.00700",
            "qty": "100",
            "price": "1.5",
            "create_time": updated - (5 * DAY + 13 * MINUTE if late else 0),
            "updated_time": updated,
            "status": "OK",
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
            return self._token(dict(parse_qsl(received.body.decode())))
        if path.startswith("/api/v1.0/accounts/") and path.endswith("/fills_history"):
            return self._refused(received) or self._fills(received)
        return response({"message": "no such path"}, 404)

    def _token(self, asked):
        if (asked["grant_type"], asked.get("code")) != ("authorization_code", CODE):
            return response({"error": "invalid_grant"}, 400)
        token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 7200}
        return response({**token, "refresh_token": "model-refresh-token", "scope": "trade:read"})

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
        start, end = int(asked.get("start", 0)), int(asked.get("end", 0))
        if not start:
            start = (end or self.now()) - SPAN
        end = end or (start + SPAN if int(asked.get("start", 0)) else self.now())
        size = int(asked.get("page_size", 50))
        if not 10 <= size <= 50 or "trd_market" not in asked or start >= end:
            return error(-1200, "invalid parameter")
        with self._lock:
            # An account of that name has trouble with its second page, once.
            if account.startswith("flaky") and asked["page_flag"] and account not in self._failed:
                self._failed.add(account)
                return error(-5, "later", 503)
            self._happen()
            found = [one for one in self.fills if start <= one["updated_time"] <= end]
        found.sort(key=self._key)
        begin = 0
        if asked["page_flag"]:
            place = [int(number) for number in asked["page_flag"].split("_")]
            is_offset = self.paging == "offset"
            begin = place[0] if is_offset else sum(self._key(one) <= place for one in found)
        page = found[begin : begin + size]
        over = begin + size >= len(found)
        place = [begin + size] if self.paging == "offset" else page and self._key(page[-1])
        flag = "" if over else "_".join(map(str, place))
        return response(
            {"s": "ok", "d": {"order_fills": page, "page_flag": flag, "completed": over}}
        )

    def _key(self, one):
        return [-one[self.order], -int(one["deal_id"])]

    def _happen(self):
        """What has happened since the last request: some fills, the last of them just now."""
        now = self.now()
        self.fills += map(self._fill, range(max(self._happened, now - 3000) + 1000, now, 1000))
        self.fills.append(self._fill(now))
        self._happened = now
        if self.changing:
            old = [one for one in self.fills if one["updated_time"] < now - MINUTE]
            corrected, gone = random.sample(old, 2)
            self.fills.remove(gone)
            self.fills.remove(corrected)
            self.fills.append({**corrected, "updated_time": now})
            self.changed |= {corrected["deal_id"], gone["deal_id"]}


def error(code, message, status=200):
    return response({"s": "error", "errcode": code, "errmsg": message}, status)


def serve(**options):
    """A running model, to be used with `with`; its model is `.model`."""
    model = Model(**options)
    server = StandInService(model)
    server.model = model
    return server
