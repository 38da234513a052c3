"""Paging by date range (service document, section 2.4): every row of the range once, then the end.

The model holds bars at moments of its own and returns for a range the latest bars up to its end.
What the document leaves open about `next_time` and `has_more` is tried in every form.
"""

import itertools
from urllib.parse import parse_qsl

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.service import StandInService, response

PATH = "/api/v1.0/quote/HK.00700/history-kline"
COUNT = 40
FIRST, LAST = 1_700_000_000, 1_700_000_000 + 60 * (COUNT - 1)
BARS = [{"time": FIRST + 60 * number, "volume": number} for number in range(COUNT)]


class Bars:
    """Bars at whole minutes; a page holds the latest `limit` of them from `start` to `end`.

    `next_time` is "row" (the earliest row of the page, which comes again) or "before" (just before
    it). `has_more` tells of bars in the range, or with `counts_all` of any earlier bar.
    """

    def __init__(self, limit, next_time="row", counts_all=False, ascending=False):
        self.limit, self.next_time, self.counts_all = limit, next_time, counts_all
        self.ascending = ascending

    def __call__(self, received):
        asked = dict(parse_qsl(received.query))
        start, end = int(asked["start"]), int(asked["end"])
        known = [bar for bar in BARS if bar["time"] <= end]
        within = [bar for bar in known if bar["time"] >= start]
        page = within[-self.limit :]
        # Of an empty page it is the latest bar before the range.
        earliest = (page or known[-1:] or [{"time": end}])[0]["time"]
        more = len(known if self.counts_all else within) > len(page)
        next_end = earliest if self.next_time == "row" else earliest - 1
        rows = page if self.ascending else page[::-1]
        data = {"data": {"kline_list": rows}, "extra": {"next_time": next_end}}
        return response({"ret_code": 0, "ret_msg": "", "pagination": {"has_more": more}, **data})


BY_TIME = bl.DateRange("end", next="extra.next_time", unique="time")


def bars(client, paging=BY_TIME, resume=None, **query):
    return client.paginate(
        "GET", PATH, paging=paging, rows="data.kline_list", query=query, resume=resume
    )


def newest_first(rows):
    return sorted(rows, key=lambda row: -row["time"])


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("counts_all", [False, True])
@pytest.mark.parametrize("next_time", ["row", "before"])
def test_every_row_of_the_range_comes_once_wherever_the_next_end_is(
    next_time, counts_all, ascending
):
    for limit, start in itertools.product([2, 7, COUNT - 1, COUNT + 1], [FIRST, FIRST + 610]):
        end = LAST - 30
        service = StandInService(Bars(limit, next_time, counts_all, ascending))
        with service as server, client_of(server) as client:
            rows = list(bars(client, start=start, end=end).all())
            asked = len(server.received)
        assert newest_first(rows) == [b for b in reversed(BARS) if start <= b["time"] <= end]
        assert asked <= COUNT // (limit - 1) + 2


@pytest.mark.parametrize("limit", [2, 8])
def test_a_checkpoint_anywhere_neither_loses_nor_repeats_a_row(limit):
    query = {"start": FIRST, "end": LAST}
    with StandInService(Bars(limit)) as server, client_of(server) as client:
        for taken in range(0, COUNT + 1, 3):
            pager = bars(client, **query)
            rows = [next(pager) for _ in range(taken)]
            rows += bars(client, resume=pager.checkpoint(), **query)
            assert rows == BARS[::-1], taken


@pytest.mark.parametrize(
    "other",
    [
        bl.DateRange("end", next="extra.next_time"),
        bl.DateRange("end", before="time", unique="time"),
    ],
    ids=["without unique", "another rule"],
)
def test_a_checkpoint_of_another_paging_is_one_of_another_call(other):
    # Rows that the next page repeats are recognized by `unique`: with another, some come twice.
    with StandInService(Bars(7, "row", False, True)) as server, client_of(server) as client:
        pager = bars(client, start=FIRST, end=LAST)
        for _ in range(9):
            next(pager)
        with pytest.raises(bl.ConfigError, match="another call"):
            bars(client, other, start=FIRST, end=LAST, resume=pager.checkpoint())
        resumed = bars(client, start=FIRST, end=LAST, resume=pager.checkpoint())
        assert next(resumed) == next(pager)
