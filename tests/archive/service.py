"""A service written by hand from the service document, whose lists a test changes between reads."""

import contextlib
import itertools
import json
import threading
import time
from urllib.parse import parse_qsl

import boardlot as bl

from ..support.paged_service import page
from ..support.service import StandInService, response

HK = ("281756", "HK")
PLATE = "HK.BK1001"
OWN = "/api/v1.0/own"
DAY = 86_400 * 10**6
HOUR = 3_600 * 10**6
# The name of the member with the list, by the end of the path.
NAMES = {
    "orders": "orders",
    "positions": "positions",
    "reference-future": "reference_list",
    "dividends": "dividend_list",
}


def fill(number, updated, **more):
    """A historical fill of section 2.8."""
    return {
        "trd_side": "BUY",
        "deal_id": str(number),
        "order_id": f"o{number}",
        "code": "HK.00700",
        "stock_name": "TENCENT",
        "qty": "100",
        "price": "388.200",
        "create_time": updated,
        "updated_time": updated,
        "counter_broker_id": 6998,
        "counter_broker_name": "China Investment",
        "status": "OK",
        **more,
    }


class Book:
    """The data of the service: fills by account and market, and other lists by their path.

    `failures` are the first responses to requests for a path, and `pages` is the size of a page.
    """

    def __init__(self, ahead=0.0):
        self.ahead = ahead
        self.fills = {}
        self.lists = {}
        self.totals = {}
        self.failures = {}
        self.page = 50
        # The order in which fills are listed.
        self.order = latest_first
        # A function that is called before each response, with the request and the number of a page
        # of fills.
        self.before = None
        self.before_page = None
        self._lock = threading.Lock()

    def in_range(self, one, start, end):
        return start <= one["updated_time"] <= end

    def now(self):
        return int((time.time() + self.ahead) * 1e6)

    def put_fills(self, count, account="281756", market="HK", first=1, step=60 * 10**6):
        """Adds `count` fills, the latest a minute ago, and returns them, latest first."""
        now = self.now()
        made = [fill(first + n, now - (count - n) * step) for n in range(count)]
        self.fills.setdefault((account, market), []).extend(made)
        return self.expected(account, market)

    def expected(self, account="281756", market="HK"):
        return self.order(self.fills.get((account, market), []))

    def __call__(self, received):
        path = received.path
        if self.before is not None:
            self.before(received)
        with self._lock:
            if self.failures.get(path):
                given = self.failures[path].pop(0)
                if given is not None:
                    return given
        if path == "/api/v1.0/server-time":
            return response({"server_time_ms": str(self.now() // 1000)})
        if path.endswith("/fills_history"):
            return self._fills(received)
        if path.endswith("/stock"):
            return self._plate(received)
        rows = self.lists.get(path, [])
        if path.startswith("/api/v1/crypto/"):
            return page("crypto_orders", rows, None)
        name = NAMES.get(path.rpartition("/")[2], "list")
        data = {name: rows}
        if name == "dividend_list":
            data["total_dividend_count"] = self.totals.get(path, len(rows))
            data["total_dividend_money"] = 1.5
        return response({"ret_code": 0, "ret_msg": "success", "data": data})

    def _fills(self, received):
        asked = dict(parse_qsl(received.query, keep_blank_values=True))
        account = received.path.split("/")[4]
        start, end = int(asked.get("start", 0)), int(asked.get("end", 0))
        assert start and end, "an archive asks for a closed range"
        fills = self.fills.get((account, asked["trd_market"]), [])
        found = self.order(one for one in fills if self.in_range(one, start, end))
        begin = int(asked["page_flag"] or 0)
        if self.before_page is not None:
            self.before_page(begin // self.page)
        return self._page("fills_history", found, begin)

    def _plate(self, received):
        rows = self.lists.get(received.path, [])
        return self._page("plate_stocks", rows, int(json.loads(received.body)["next_key"] or 0))

    def _page(self, method, rows, begin):
        end = begin + self.page
        return page(method, rows[begin:end], str(end) if end < len(rows) else None)


def new(book, number):
    """Adds a fill of now, and returns it."""
    one = fill(number, book.now() - 1)
    book.fills[HK].append(one)
    return one


def latest_first(fills):
    return sorted(fills, key=lambda one: (-one["updated_time"], -int(one["deal_id"])))


def path_of(name, key):
    """Returns the path of requests for a list."""
    return {
        "crypto_orders": f"/api/v1/crypto/accounts/{key}/orders",
        "sim_orders": f"/api/v1.0/sim-trade/{key}/orders",
        "sim_positions": f"/api/v1.0/sim-trade/{key}/positions",
        "ipos": f"/api/v1.0/quote/ipo-list/{key}",
        "dividends": f"/api/v1.0/quote/{key}/corporate-actions/dividends",
        "futures": f"/api/v1.0/quote/{key}/reference-future",
        "plates": f"/api/v1.0/quote/plate/{key}/stock",
    }[name]


def own_endpoint(**record):
    """A custom endpoint with these fields."""
    return bl.Endpoint("own", "GET", OWN, rows="data.list", record=record)


def fills_path(account="281756"):
    return f"/api/v1.0/accounts/{account}/fills_history"


def unavailable():
    return response({"s": "error", "errcode": -5, "errmsg": "later"}, 503)


def serve(**options):
    """Returns a service that is running; its book is `.book`."""
    book = Book(**options)
    server = StandInService(book)
    server.book = book
    return server


def ids(fills):
    return [one["deal_id"] for one in fills]


def take(iterator, count):
    return list(itertools.islice(iterator, count))


def followed(archive, client, count, **options):
    """Returns the ids of a follower's next fills, and ends the follower."""
    options = {"fills": HK, "every": 0.01, **options}
    with contextlib.closing(archive.follow(client, **options)) as iterator:
        return ids(take(iterator, count))
