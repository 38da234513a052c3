"""Section 4.3, `fills_history(windows=N)`: parts fetched side by side, one stream, each fill once.

The document does not say whether the ends of a range belong to it; here both do, so a fill on a
seam is in two parts and has to be received once.
"""

from urllib.parse import parse_qsl

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, run
from ..support.keys import assert_signed
from ..support.service import StandInService, response

START, END = 1780000000000000, 1780000000000000 + 8 * 3_600_000_000
PAGE = 10


def fill(number, moment):
    return {"deal_id": str(number), "code": "HK.00700", "qty": "1", "updated_time": moment}


class Ledger:
    """Fills by update time, latest first, in pages; the cursor is a place within one range."""

    def __init__(self, moments):
        ordered = sorted(moments, reverse=True)
        self.fills = [fill(len(ordered) - n, moment) for n, moment in enumerate(ordered)]

    def __call__(self, received):
        query = dict(parse_qsl(received.query, keep_blank_values=True))
        start, end = int(query["start"]), int(query["end"])
        found = [one for one in self.fills if start <= one["updated_time"] <= end]
        place = int(query["page_flag"] or 0)
        rest = {"page_flag": str(place + PAGE), "completed": place + PAGE >= len(found)}
        return response({"s": "ok", "d": {"order_fills": found[place : place + PAGE], **rest}})


LEDGERS = {
    "spread": range(START, END + 1, 400_000_000),
    "on every seam": sorted({START + (END - START) * n // 24 for n in range(25)}),
    "all at one end": range(END - 60, END + 1),
    "all at the other end": range(START, START + 60),
    "several at one moment": [START + (END - START) // 2] * 7 + [START, END],
    "none": [],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("windows", [1, 2, 8])
@pytest.mark.parametrize("name", LEDGERS)
def test_windows_make_one_stream_in_the_same_order_with_each_fill_once(name, windows, mode):
    ledger = Ledger(LEDGERS[name])
    ask = {"start": START, "end": END, "windows": windows}
    with StandInService(ledger) as server:
        rows = run(mode, server, lambda c: c.everything("fills_history", "281756", "HK", **ask))
    assert [row["deal_id"] for row in rows] == [row["deal_id"] for row in ledger.fills]
    assert rows == ledger.fills
    ranges = set()
    for received in server.received:
        assert_signed(received)
        query = dict(parse_qsl(received.query, keep_blank_values=True))
        ranges.add((int(query["start"]), int(query["end"])))
    assert len(ranges) == windows
    assert min(start for start, _ in ranges) == START
    assert max(end for _, end in ranges) == END
    assert all(start < end for start, end in ranges)


@pytest.mark.parametrize("mode", MODES)
def test_an_iteration_keeps_at_most_a_page_of_each_window_ahead(mode):
    ledger = Ledger(LEDGERS["spread"])

    async def use(client):
        pager = client.pager("fills_history", "281756", "HK", start=START, end=END, windows=3)
        rows = await client.rows(pager, 1)
        return rows, pager.requests

    with StandInService(ledger) as server:
        rows, requests = run(mode, server, use)
    assert rows == ledger.fills[:1]
    # The page in hand, and one ahead in each window.
    assert requests == 4 and len(server.received) <= 4


@pytest.mark.parametrize("windows", [0, -1, 65])
def test_windows_are_1_to_64(windows):
    with StandInService() as server, client_of(server) as client:
        with pytest.raises(bl.ConfigError, match="1 to 64"):
            client.fills_history("281756", "HK", windows=windows)
        assert server.received == []
