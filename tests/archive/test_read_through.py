"""Reading through the archive returns its list if that is recent, and never a part of a list."""

import asyncio
import multiprocessing
import os
import time
from datetime import timedelta

import boardlot as bl
import pytest

from ..support.own_endpoints import KLINE
from ..support.service import response
from ..support.threads import outcomes_of_threads
from .service import HK, fills_path, path_of, serve, unavailable

SYMBOL = "HK.00700"
DIVIDENDS = path_of("dividends", SYMBOL)
HOUR = timedelta(hours=1)
KLINE_PATH = "/api/v1.0/quote/HK.00700/history-kline"


def dividend(number, **more):
    return {"ex_date": f"2026/01/{number:02}", "pub_date": "2025/12/01", **more}


def read_list(service, path=DIVIDENDS):
    return sum(one.path == path for one in service.received)


def test_a_list_is_read_when_it_is_too_old_and_served_when_it_is_not(
    archive, book, client, service
):
    book.lists[DIVIDENDS] = [dividend(1), dividend(2)]
    before = book.now()
    found = archive.get(client, "dividends", SYMBOL, max_age=HOUR)
    assert found == book.lists[DIVIDENDS] and read_list(service) == 1
    assert before <= found.meta["seen_at"] <= book.now()
    sent = len(service.received)
    book.lists[DIVIDENDS] = [dividend(3)]
    again = archive.get(client, "dividends", SYMBOL, max_age=HOUR)
    assert again == found and again.meta == found.meta and len(service.received) == sent
    newer = archive.get(client, "dividends", SYMBOL, max_age=timedelta(0))
    assert newer == book.lists[DIVIDENDS]
    assert newer.meta["seen_at"] > found.meta["seen_at"]


def test_an_empty_list_has_an_age_too(archive, book, client, service):
    for _ in range(2):
        found = archive.get(client, "ipos", "us", max_age=HOUR)
        assert found == [] and found.meta["seen_at"] > 0
    assert read_list(service, path_of("ipos", "us")) == 1
    for _ in range(2):
        assert archive.get(client, "fills", HK, max_age=HOUR).meta["seen_at"] > 0
    assert sum(one.path.endswith("fills_history") for one in service.received) == 1


def test_a_list_that_was_read_in_part_is_never_served(archive, book, client):
    path = path_of("plates", "HK.BK1001")
    book.lists[path] = [{"code": f"HK.{n:05}"} for n in range(120)]
    book.failures[path] = [None, unavailable()]
    with pytest.raises(bl.ServiceError):
        archive.get(client, "plates", "HK.BK1001", max_age=HOUR)
    assert len(archive.get(client, "plates", "HK.BK1001", max_age=HOUR)) == 120
    book.put_fills(120)
    fills = "/api/v1.0/accounts/281756/fills_history"
    book.failures[fills] = [None, unavailable()]
    with pytest.raises(bl.ServiceError):
        archive.get(client, "fills", HK, max_age=HOUR)
    assert archive.get(client, "fills", HK, max_age=HOUR) == book.expected()


def test_an_update_reads_what_is_too_old_only(archive, book, client, service):
    book.lists[DIVIDENDS] = [dividend(1)]
    # Without `max_age`, an update always requests the list.
    for count in (1, 2):
        archive.update(client, dividends=[SYMBOL])
        assert read_list(service) == count
    sent = len(service.received)
    report = archive.update(client, dividends=[SYMBOL], max_age=HOUR)
    assert report.fresh == {("dividends", SYMBOL)} and len(service.received) == sent
    report = archive.update(client, dividends=[SYMBOL], ipos=["us"], max_age=HOUR)
    assert report.fresh == {("dividends", SYMBOL)} and read_list(service) == 2
    assert archive.update(client, fills=[HK], max_age=HOUR).fresh == set()
    assert archive.update(client, fills=[HK], max_age=HOUR).fresh == {("fills", HK)}


def ask(target, url, ready, start, results):
    with bl.Client(url) as client, bl.Archive(target) as archive:
        ready.release()
        start.wait()
        found = archive.get(client, "dividends", SYMBOL, max_age=HOUR)
        results.put((len(found), found.meta["seen_at"]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_eight_processes_that_ask_at_once_fetch_once(target, book, service):
    book.lists[DIVIDENDS] = [dividend(1), dividend(2)]
    bl.Archive(target).close()
    fork = multiprocessing.get_context("fork")
    ready, start, results = fork.Semaphore(0), fork.Event(), fork.Queue()
    children = [
        fork.Process(target=ask, args=(target, service.base_url, ready, start, results))
        for _ in range(8)
    ]
    for child in children:
        child.start()
    for _ in children:
        assert ready.acquire(timeout=60)
    start.set()
    found = {results.get(timeout=60) for _ in children}
    for child in children:
        child.join()
    assert len(found) == 1 and {count for count, _ in found} == {2}
    assert read_list(service) == 1


def test_threads_and_tasks_that_ask_at_once_fetch_once(target, book, service):
    book.lists[DIVIDENDS] = [dividend(1)]

    async def tasks(archive):
        async with bl.AsyncClient(service.base_url) as client:
            asked = (archive.get(client, "dividends", SYMBOL, max_age=HOUR) for _ in range(12))
            return await asyncio.gather(*asked)

    with bl.Archive(target) as archive, bl.Client(service.base_url) as client:
        assert all(found == book.lists[DIVIDENDS] for found in asyncio.run(tasks(archive)))
        asked = outcomes_of_threads(8, lambda: len(archive.get(client, "ipos", "hk", max_age=HOUR)))
        assert asked == {0: 8}
        asked = outcomes_of_threads(8, lambda: len(archive.get(client, "fills", HK, max_age=HOUR)))
        assert asked == {0: 8} and read_list(service, fills_path()) == 1
    assert read_list(service) == 1 and read_list(service, path_of("ipos", "hk")) == 1


@pytest.mark.parametrize("wrong_by", [-7 * 86_400, 3600])
def test_a_wrong_clock_of_this_machine_does_not_change_the_age(
    wrong_by, archive, book, client, service, monkeypatch
):
    archive.get(client, "dividends", SYMBOL, max_age=HOUR)
    right = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right() + wrong_by * 10**9)
    archive.get(client, "dividends", SYMBOL, max_age=HOUR)
    assert read_list(service) == 1


def test_another_machine_asks_the_service_for_its_time(archive, book, client, service, monkeypatch):
    with serve(ahead=7200.0) as other, bl.Client(other.base_url, max_retries=0) as of_other:
        # The second machine's clock is wrong by an hour, which is the age that the list may have.
        for machine in (
            ("one", time.time_ns() // 1000),
            ("two", time.time_ns() // 1000 + 3600 * 10**6),
        ):
            monkeypatch.setattr("boardlot.archive.freshness._local_clock", lambda now=machine: now)
            archive.get(of_other, "dividends", SYMBOL, max_age=HOUR)
        assert read_list(other) == 1
        other.book.ahead += 3601.0
        with bl.Client(other.base_url, max_retries=0) as later:
            archive.get(later, "dividends", SYMBOL, max_age=HOUR)
        assert read_list(other) == 2


def test_a_list_that_was_read_in_the_future_is_read_again(archive, book, service, monkeypatch):
    """The service's clock is set back, and another machine asks the service for its time."""
    for number, (machine, ahead) in enumerate((("one", 7200.0), ("two", 0.0)), start=1):
        book.ahead = ahead
        monkeypatch.setattr(
            "boardlot.archive.freshness._local_clock",
            lambda name=machine: (name, time.time_ns() // 1000),
        )
        with bl.Client(service.base_url, max_retries=0) as client:
            archive.get(client, "dividends", SYMBOL, max_age=HOUR)
        assert read_list(service) == number


def test_wrong_arguments_are_refused_before_anything_is_sent(file, client, service):
    with bl.Archive(file) as archive:
        for name, key, max_age in (
            *(("dividends", SYMBOL, wrong) for wrong in (None, 5, timedelta(days=-1))),
            *(("dividends", "../x", HOUR), ("dividend", SYMBOL, HOUR), ("fills", "281756", HOUR)),
            *((None, SYMBOL, HOUR), (KLINE, SYMBOL, HOUR), (KLINE, {}, HOUR)),
        ):
            with pytest.raises(bl.ConfigError):
                archive.get(client, name, key, max_age=max_age)
        by_name, by_symbol = [("kline", {})], [(KLINE, "HK.00700")]
        for lists in (KLINE, [KLINE], by_name, by_symbol, [(KLINE, {})], 5, "x"):
            with pytest.raises(bl.ConfigError):
                archive.update(client, lists=lists)
    assert service.received == []


T0 = 1_700_000_000


def candle(day, close="10.5"):
    return {"time": T0 + day, "close": close}


def sent(data, has_more=False, **extra):
    pagination = {"has_more": has_more}
    return response({"ret_code": 0, "data": data, "extra": extra, "pagination": pagination})


def send_pages(book, *pages):
    """Sends pages of candles, newest first; each page is named by the end of its range."""
    results = []
    for place, page in enumerate(pages):
        more = place < len(pages) - 1
        extra = {"next_time": page[-1]["time"] - 1} if more else {}
        results.append(sent({"kline_list": page}, more, **extra))
    book.failures[KLINE_PATH] = results


def test_a_record_of_an_own_endpoint_is_identified_by_the_unique_field(archive, book, client):
    lists = [(KLINE, {"symbol": SYMBOL})]
    send_pages(book, [candle(3), candle(2)], [candle(2), candle(1)])
    report = archive.update(client, lists=lists)
    counts = report.lists["kline", '{"symbol": "HK.00700"}']
    assert (counts.new, report.errors) == (3, {})
    send_pages(book, [candle(4), candle(3), candle(2, close="9.5")])
    counts = archive.update(client, lists=lists).lists["kline", '{"symbol": "HK.00700"}']
    assert (counts.new, counts.changed, counts.gone, counts.unchanged) == (1, 1, 1, 1)
    changes = archive.changes(KLINE, {"symbol": SYMBOL})
    assert [(one["change"], one["time"]) for one in changes] == [
        ("new", T0 + 3), ("new", T0 + 2), ("new", T0 + 1),
        ("new", T0 + 4), ("changed", T0 + 2), ("gone", T0 + 1),
    ]  # fmt: skip
    assert archive.seen(KLINE, {"symbol": SYMBOL}) == [
        candle(4), candle(3), candle(2, close="9.5")
    ]  # fmt: skip
    rows = archive.sql("select close, key from kline order by time desc").to_dicts()
    assert [row["close"] for row in rows] == [10.5, 10.5, 9.5]
    assert len(archive.sql("select * from kline_history")) == 6
    assert {row["list"] for row in archive.status()} == {"kline"}


def test_without_a_unique_field_all_values_identify_a_record(archive, book, client):
    flow = bl.Endpoint("flow", "GET", "/api/v1.0/flow", rows="data.list")
    for rows in ([{"a": 1}, {"a": 1}, {"a": 2}], [{"a": 2}, {"a": 3}]):
        book.failures[flow.path] = [sent({"list": rows})]
        report = archive.update(client, lists=[(flow, {})])
    assert (report.new, report.gone, report.unchanged) == (1, 2, 1)


def test_new_fields_of_an_endpoint_make_its_views_again(target, book, client):
    other = bl.Endpoint("flow", "GET", "/api/v1.0/flow", record={"a": "decimal"})
    flow = bl.Endpoint("flow", "GET", "/api/v1.0/flow", record={"a": "text", "b": "integer"})
    for endpoint in (flow, other, flow):
        with bl.Archive(target) as archive:
            book.failures[flow.path] = [sent({"list": [{"a": "1", "b": 2}]})]
            archive.update(client, lists=[(endpoint, {})])
            row = archive.sql("select * from flow").to_dicts()[0]
            assert row["a"] == ("1" if endpoint is flow else 1.0)
            # A column stays, and is null while no endpoint declares it.
            assert row["b"] == (2 if endpoint is flow else None)
