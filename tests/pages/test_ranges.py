"""Section 4.3 and `Pager.range`: which range of time is sent, what the pager says of it, and what
number cannot be meant as a time."""

from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qsl

import boardlot as bl
import pytest

from ..support.clients import client_of, run
from ..support.paged_service import PagedList
from ..support.service import StandInService, response
from .test_pagers import modes

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
DAY = 86_400 * 10**6
START, END = 1_780_000_000_000_000, 1_787_000_000_000_000
EMPTY = {"s": "ok", "d": {"order_fills": [], "page_flag": "", "completed": True}}


def time_of(micros):
    return EPOCH + timedelta(microseconds=micros)


def sent(server):
    """The ranges of the requests, as they were sent."""
    queries = [dict(parse_qsl(one.query)) for one in server.received]
    return [(query.get("start"), query.get("end")) for query in queries]


@pytest.mark.parametrize("windows", [None, 3])
@pytest.mark.parametrize("start", [START, time_of(START), time_of(START).isoformat()], ids=str)
def test_an_end_of_0_is_sent_as_0_and_is_90_days_after_the_start(start, windows):
    with StandInService(lambda _: response(EMPTY)) as server, client_of(server) as client:
        pager = client.fills_history("281756", "HK", start=start, end=0, windows=windows)
        assert list(pager) == []
        assert server.asked_for_time == []
    assert pager.range == (time_of(START), time_of(START + 90 * DAY))
    if windows is None:
        assert sent(server) == [(str(START), "0")]
    else:
        assert min(int(first) for first, _ in sent(server)) == START
        assert max(int(last) for _, last in sent(server)) == START + 90 * DAY


@modes
@pytest.mark.parametrize("windows", [None, 4])
@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({"start": START, "end": END}, (START, END)),
        ({"end": END}, (END - 90 * DAY, END)),
        ({"start": 0, "end": END}, (END - 90 * DAY, END)),
        # To the service, 0 would mean that none is given.
        ({"end": "1970-01-02T00:00Z"}, (1, DAY)),
        ({"start": START}, None),
        ({}, None),
        ({"start": 0, "end": 0}, None),
    ],
    ids=str,
)
def test_the_range_of_a_pager_is_what_is_sent(mode, given, known, windows):
    known = known and tuple(map(time_of, known))

    async def use(client):
        pager = client.pager("fills_history", "281756", "HK", windows=windows, **given)
        before, name = pager.range, repr(pager)
        await client.rows(pager)
        same = [pager.select("code").range, pager.as_type(Code).range]
        assert same == [pager.range] * 2
        # A checkpoint of the beginning leaves an open range open; that of the end does not.
        resumed = client.pager(
            "fills_history", "281756", "HK", windows=windows, resume=pager.checkpoint(), **given
        )
        return before, name, pager.range, repr(pager), resumed.range

    with StandInService(lambda _: response(EMPTY), clock=0.0) as server:
        before, name, read, shown, resumed = run(mode, server, use)
        ranges = [(int(start), int(end)) for start, end in sent(server)]
        # The service's clock is read once, and only if the range depends on it.
        assert len(server.asked_for_time) == (known is None)
    lowest, highest = min(start for start, _ in ranges), max(end for _, end in ranges)
    assert read == (time_of(lowest), time_of(highest)) == resumed
    assert all(at.utcoffset() == timedelta(0) for at in read)
    assert before == known and (known is None or read == known)
    assert (" from " in name) == (known is not None)
    first, last = shown.removesuffix(">").partition(" from ")[2].split(" to ")
    assert [first[:19], last[:19]] == [at.isoformat()[:19] for at in read]
    assert first.endswith("Z") and last.endswith("Z")


def test_a_range_that_begins_after_the_services_time_is_refused():
    start = datetime.now(timezone.utc) + timedelta(hours=1)
    with StandInService(clock=0.0) as server, client_of(server) as client:
        with pytest.raises(bl.ConfigError, match="a time before the service's current time"):
            client.fills_history("281756", "HK", start=start).all()
        assert server.received == []


class Code:
    code: str

    def __init__(self, code=""):
        self.code = code


def test_a_list_without_a_time_range_has_none():
    with StandInService(PagedList("crypto_orders", [1, 2])) as server, client_of(server) as client:
        pager = client.crypto_orders(7)
        assert pager.range is None
        assert len(list(pager)) == 3
        assert pager.range is None and " from " not in repr(pager)
