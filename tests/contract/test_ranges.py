"""Section 4.3 and `Pager.range`: which range of time is sent, what the pager says of it, and what
number cannot be meant as a time."""

import json
import time
from datetime import date, datetime, timedelta, timezone
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


def test_a_start_after_the_services_time_is_rejected_before_a_page_is_requested():
    expected = "before the service's current time, which is"
    with StandInService(clock=3600.0) as server, client_of(server) as client:
        pager = client.fills_history("281756", "HK", start=time.time_ns() // 1000 + DAY)
        with pytest.raises(bl.ConfigError, match=expected) as caught:
            pager.all()
        assert server.received == [] and len(server.asked_for_time) == 1
    assert "start is" in str(caught.value)


NOW = 1_790_000_000
MEANT = {
    NOW: NOW * 10**6,
    NOW * 10**3: NOW * 10**6,
    NOW * 10**9: NOW * 10**6,
    2026: "'2026-01-01'",
    20260101: "'2026-01-01'",
    20261231: "'2026-12-31'",
}


@pytest.mark.parametrize("number", [*MEANT, 1, -5, 10**17, 2**63])
def test_a_number_that_cannot_be_meant_as_microseconds_is_rejected(number):
    with StandInService() as server, client_of(server) as client:
        for name in ("start", "end"):
            expected = f"{name} is {number}; expected micro"
            with pytest.raises(bl.ConfigError, match=expected) as caught:
                client.fills_history("281756", "HK", **{name: number})
        assert server.received == [] == server.asked_for_time
    suffix = f"did you mean {MEANT[number]}?" if number in MEANT else "1990 to 2100"
    assert str(caught.value).endswith(suffix), caught.value


@pytest.mark.parametrize("kind", ["seconds", "millis", "micros"])
@pytest.mark.parametrize("paged", [False, True])
def test_a_number_is_a_time_in_the_unit_of_a_custom_endpoint(kind, paged):
    paging = bl.DateRange("end", next="extra.next_time") if paged else None
    endpoint = bl.Endpoint(
        "kline", "GET", "/kline", rows="data.list", paging=paging, arguments={"start": kind}
    )
    right = NOW * {"seconds": 1, "millis": 10**3, "micros": 10**6}[kind]
    body = {"ret_code": 0, "data": {"list": []}, "pagination": {"has_more": False}}
    with StandInService(lambda _: response(body)) as server, client_of(server) as client:
        read = client.pages if paged else client.call
        for number in {NOW, NOW * 10**3, NOW * 10**6, NOW * 10**9} - {right}:
            with pytest.raises(bl.ConfigError, match=f"did you mean {right}"):
                read(endpoint, start=number)
        with pytest.raises(bl.ConfigError, match="did you mean '2026-01-01'"):
            read(endpoint, start=20260101)
        assert server.received == []
        for number in (0, right):
            result = read(endpoint, start=number)
            assert list(result) == []
        assert [start for start, _ in sent(server)] == ["0", str(right)]


@pytest.mark.parametrize(
    ("end", "last"),
    [
        (datetime.max.replace(tzinfo=timezone.utc), 253_402_300_799_999_999),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        (date.max, 253_402_214_400_000_000),
    ],
    ids=str,
)
def test_the_last_moment_of_a_datetime_is_a_time(end, last):
    with StandInService(lambda _: response(EMPTY)) as server, client_of(server) as client:
        pager = client.fills_history("281756", "HK", start=START, end=end)
        pager.all()
        assert sent(server) == [(str(START), str(last))]
    assert pager.range[1] == time_of(last)


DOUBLED = [
    ('"completed":true,"completed":false', '"completed":false,"completed":true'),
    ('"page_flag":"x","completed":false,"page_flag":"1"', '"page_flag":"y","completed":true'),
    ('"completed":null,"page_flag":"1","completed":false', '"completed":false,"completed":true'),
]


@pytest.mark.parametrize(("first", "last"), DOUBLED)
def test_of_a_mark_that_is_repeated_the_last_counts_as_in_json_loads(first, last):
    def service(received):
        flag = dict(parse_qsl(received.query)).get("page_flag")
        assert flag in (None, "1")
        marks = first + ',"page_flag":"1"' if flag is None else last
        body = (
            f'{{"s":"error","d":{{}},"s":"ok","d":{{"order_fills":[{{"n":{flag or 0}}}],{marks}}}}}'
        )
        assert json.loads(body)["s"] == "ok"
        return response(body.encode())

    ask = {"start": START, "end": END}
    with StandInService(service) as server, client_of(server) as client:
        assert list(client.fills_history("281756", "HK", **ask)) == [{"n": 0}, {"n": 1}]


def test_batches_have_one_type_for_each_column_whatever_undeclared_fields_hold():
    pa = pytest.importorskip("pyarrow")
    values = [1, 1.5, "x", None, True, {"a": 1}, [2], 10**30]
    pages = [[{"code": "HK.00700", "new": value}] for value in values] + [[{"code": "HK.00005"}]]

    def service(received):
        flag = int(dict(parse_qsl(received.query)).get("page_flag") or 0)
        last = flag + 1 == len(pages)
        marks = {"page_flag": str(flag + 1), "completed": last}
        return response({"s": "ok", "d": {"order_fills": pages[flag], **marks}})

    with StandInService(service) as server, client_of(server) as client:
        ask = ("281756", "HK")
        batches = list(client.fills_history(*ask, start=START, end=END).to_arrow(batches=True))
        whole = client.fills_history(*ask, start=START, end=END).to_arrow()
    types = {str(field.type) for batch in batches for field in batch.schema if field.name == "new"}
    assert types == {"string"} and len(batches) == len(pages)
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    joined = pa.concat_tables(tables, promote_options="permissive")
    assert joined.schema == whole.schema and joined.num_rows == len(pages)
    texts = ["1", "1.5", "x", None, "true", '{"a":1}', "[2]", str(10**30), None]
    assert [text and text.replace(" ", "") for text in joined["new"].to_pylist()] == texts
