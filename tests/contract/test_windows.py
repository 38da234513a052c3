"""Section 4.3, `fills_history(windows=N)`: parts fetched side by side, one stream, each deal once.

The document does not say whether the ends of a range belong to it; here both do, so a deal on a
seam is in two parts and has to be handed out once.
"""

from functools import partial
from urllib.parse import parse_qsl

import pytest

from .scripted import Scripted, answer
from .support import FACES, assert_signed, run

START, END = 1780000000000000, 1780000000000000 + 8 * 3_600_000_000
PAGE = 10


def deal(number, moment):
    return {"deal_id": str(number), "code": "HK.00700", "qty": "1", "updated_time": moment}


class Ledger:
    """Deals by update time, latest first, in pages; the cursor is a place within one range."""

    def __init__(self, moments):
        ordered = sorted(moments, reverse=True)
        self.deals = [deal(len(ordered) - n, moment) for n, moment in enumerate(ordered)]

    def __call__(self, received):
        query = dict(parse_qsl(received.query, keep_blank_values=True))
        start, end = int(query["start"]), int(query["end"])
        found = [one for one in self.deals if start <= one["updated_time"] <= end]
        place = int(query["page_flag"] or 0)
        rest = {"page_flag": str(place + PAGE), "completed": place + PAGE >= len(found)}
        return answer({"s": "ok", "d": {"order_fills": found[place : place + PAGE], **rest}})


LEDGERS = {
    "spread": range(START, END + 1, 400_000_000),
    "on every seam": sorted({START + (END - START) * n // 24 for n in range(25)}),
    "all at one end": range(END - 60, END + 1),
    "all at the other end": range(START, START + 60),
    "several at one moment": [START + (END - START) // 2] * 7 + [START, END],
    "none": [],
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("windows", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("name", LEDGERS)
def test_windows_make_one_stream_in_the_same_order_with_each_deal_once(name, windows, face):
    ledger = Ledger(LEDGERS[name])
    ask = {"start": START, "end": END, "windows": windows}
    with Scripted(ledger) as server:
        rows = run(face, server, lambda c: c.everything("fills_history", "281756", "HK", **ask))
    assert [row["deal_id"] for row in rows] == [row["deal_id"] for row in ledger.deals]
    assert rows == ledger.deals
    ranges = set()
    for received in server.received:
        assert_signed(received)
        query = dict(parse_qsl(received.query, keep_blank_values=True))
        ranges.add((int(query["start"]), int(query["end"])))
    assert len(ranges) == windows
    assert min(start for start, _ in ranges) == START
    assert max(end for _, end in ranges) == END
    assert all(start < end for start, end in ranges)


@pytest.mark.parametrize("face", FACES)
def test_a_checkpoint_in_the_middle_of_windows_loses_and_doubles_nothing(face):
    ledger = Ledger(LEDGERS["spread"])
    ask = {"start": START, "end": END, "windows": 3}

    async def use(client, taken):
        pager = client.pager("fills_history", "281756", "HK", **ask)
        head = await client.rows(pager, taken)
        resumed = client.pager("fills_history", "281756", "HK", **ask, resume=pager.checkpoint())
        return head, await client.rows(resumed)

    for taken in (0, 1, 24, 25, 31, len(ledger.deals)):
        with Scripted(ledger) as server:
            head, tail = run(face, server, partial(use, taken=taken))
        assert head + tail == ledger.deals
