"""A stateless paged service for tests: which page it returns depends on the cursor alone."""

import json
from urllib.parse import parse_qsl

from .service import response

START, END = 1780000000000000, 1787000000000000
RANGE = {"start": START, "end": END}

# The arguments of each pager's method.
CALLS = {
    "plate_stocks": (["HK.BK1001"], {}),
    "crypto_orders": ([7], {}),
    "fills_history": (["281756", "HK"], RANGE),
}


def cursor_of(received):
    """The cursor of a request; None if the request has none."""
    if received.method == "POST":
        return json.loads(received.body)["next_key"]
    return dict(parse_qsl(received.query, keep_blank_values=True)).get("page_flag")


def page(method, rows, following, total=None):
    """One page; `following` is the next cursor, or None on the last page."""
    last = following is None
    if method == "plate_stocks":
        pagination = {"has_more": not last, "next_key": "-1" if last else following}
        if total is not None:
            pagination["total"] = total
        return response({"code": 0, "data": {"stock_list": rows}, "pagination": pagination})
    rest = {"page_flag": following or "", "completed": last}
    if method == "crypto_orders":
        return response({"code": 0, "msg": "success", "data": {"orders": rows, **rest}})
    return response({"s": "ok", "d": {"order_fills": rows, **rest}})


def rows_of(lengths):
    """Distinct rows, cut into pages of these lengths."""
    pages, made = [], 0
    for length in lengths:
        pages.append([{"code": f"HK.{n:05}", "n": n} for n in range(made, made + length)])
        made += length
    return pages


class PagedList:
    """Returns pages of the given lengths; `fail` maps a page's number to responses before it."""

    def __init__(self, method, lengths, fail=None):
        self.method = method
        self.pages = rows_of(lengths)
        self.rows = [row for one in self.pages for row in one]
        self.fail = {number: list(responses) for number, responses in (fail or {}).items()}

    def __call__(self, received):
        cursor = cursor_of(received)
        number = int(cursor.removeprefix("after ")) if cursor else 0
        if self.fail.get(number):
            return self.fail[number].pop(0)
        following = f"after {number + 1}" if number + 1 < len(self.pages) else None
        return page(self.method, self.pages[number], following, len(self.rows))
