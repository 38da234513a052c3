"""Section 4.3, `fills_history(windows=...)`: parts of a time range fetched side by side.

`test_windows_of_any_service.py` and `crates/client/tests/core/default_windows.rs` have services of
every kind; `test_clock_and_ranges.py` the stream of windows: every fill once.
"""

import logging
import threading
from datetime import datetime, timedelta, timezone
from functools import partial
from urllib.parse import parse_qsl

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, result_of, run
from ..support.paged_service import END, RANGE, START, page
from ..support.service import StandInService, response

# The latest first: 20 pages, for which the client chooses as many windows as it ever does.
FILLS, PAGES = 1_000, 20
# What the windows that nobody asked for may cost besides.
MORE = 12
STEP = (END - START) // FILLS
TIMES = range(END - 1, START, -STEP)
IDS = [str(number) for number in range(len(TIMES))]


def fills_service(received, times=TIMES):
    """The fills of the range that is asked for, which includes both of its ends."""
    query = dict(parse_qsl(received.query))
    start, end = int(query["start"]), int(query["end"])
    found = [number for number, at in enumerate(times) if start <= at <= end]
    first = int(query.get("page_flag", 0))
    rows = [
        {"deal_id": str(number), "create_time": times[number], "updated_time": times[number]}
        for number in found[first : first + 50]
    ]
    return page("fills_history", rows, str(first + 50) if first + 50 < len(found) else None)


@pytest.mark.parametrize("mode", MODES)
def test_an_iteration_keeps_at_most_a_page_of_each_window_ahead(mode):
    def service(received):
        query = dict(parse_qsl(received.query))
        fill = {"deal_id": "1", "updated_time": int(query["end"])}
        return page("fills_history", [fill], query.get("page_flag", "") + "more ")

    async def use(client):
        pager = client.pager("fills_history", "281756", "HK", **RANGE, windows=3)
        return await client.rows(pager, 1), pager.requests

    with StandInService(service) as server:
        came, requests = run(mode, server, use)
    assert came == [{"deal_id": "1", "updated_time": RANGE["end"]}]
    # The page in hand, and one ahead in each window.
    assert requests == 4 and len(server.received) <= 4


@pytest.mark.parametrize("windows", [0, -1, 65, "many", "8"])
def test_windows_are_1_to_64_or_auto(windows):
    with StandInService() as server, client_of(server) as client:
        with pytest.raises(bl.ConfigError, match="1 to 64"):
            client.fills_history("281756", "HK", windows=windows)
        assert server.received == []


@pytest.mark.parametrize(
    ("mode", "windows"), [("sync", None), ("async", None), ("sync", "auto"), ("async", 1)]
)
def test_everything_is_read_in_windows_unless_one_cursor_is_asked_for(mode, windows):
    async def use(client):
        pager = client.pager("fills_history", "281756", "HK", **RANGE, windows=windows)
        rows = await result_of(pager.all())
        one = client.pager("fills_history", "281756", "HK", **RANGE)
        assert len(await client.rows(one)) == len(IDS)
        assert pager.checkpoint() == one.checkpoint()
        return [row["deal_id"] for row in rows], pager.requests

    ids, requests = run(mode, fills_service, use)
    assert ids == IDS
    if windows == 1:
        assert requests == PAGES
    else:
        assert PAGES < requests <= PAGES + MORE


@pytest.mark.parametrize(
    ("mode", "windows"), [("sync", None), ("async", None), ("sync", "auto"), ("async", 1)]
)
def test_what_gives_rows_as_they_come_is_read_by_one_cursor(mode, windows):
    def pager(client, **options):
        return client.pager("fills_history", "281756", "HK", **RANGE, windows=windows, **options)

    async def use(client):
        iteration, pages, begun = (pager(client) for _ in range(3))
        assert [row["deal_id"] for row in await client.rows(iteration)] == IDS
        assert len(await client.pages(pages)) == PAGES
        assert len(await client.rows(begun, 1)) == 1
        resumed = pager(client, resume=begun.checkpoint())
        limited = pager(client)
        assert len(await result_of(begun.all())) == len(await result_of(resumed.all())) == 999
        assert len(await result_of(limited.all(max_items=5000))) == FILLS
        return [one.requests for one in (iteration, pages, begun, resumed, limited)]

    assert run(mode, fills_service, use) == [PAGES] * 5


def test_frames_and_the_lists_of_few_keys_are_read_in_windows():
    with StandInService(fills_service) as server, client_of(server) as client:
        frame = client.fills_history("281756", "HK", **RANGE).to_arrow()
        assert frame["deal_id"].to_pylist() == IDS
        assert PAGES < len(server.received) <= PAGES + MORE
        server.received.clear()
        rows = client.fetch_many("fills_history", ["1", "2", "3"], trd_market="HK", **RANGE)
        assert [row["deal_id"] for row in rows] == IDS * 3
        assert 3 * PAGES < len(server.received) <= 3 * (PAGES + MORE)


@pytest.mark.parametrize(("keys", "concurrency"), [(4, 8), (3, 1), (5, 2)])
def test_the_lists_of_more_keys_are_read_by_one_cursor_each(keys, concurrency):
    names = [str(number) for number in range(keys)]
    with StandInService(fills_service) as server, client_of(server) as client:
        rows = client.fetch_many(
            "fills_history", names, concurrency=concurrency, trd_market="HK", **RANGE
        )
        assert [row["deal_id"] for row in rows] == IDS * keys
        assert len(server.received) == PAGES * keys


@pytest.mark.parametrize(
    ("method", "concurrency", "windows"),
    [
        ("fetch_many", 1, None),
        ("pages_many", 1, 3),
        ("fetch_many", 2, 3),
        ("pages_many", 2, None),
        ("fetch_many", 8, None),
        ("pages_many", 8, 3),
    ],
)
def test_concurrency_bounds_the_requests_at_a_time(method, concurrency, windows):
    lock, in_flight, most = threading.Lock(), 0, 0
    # One after another arrives while all others of the same time are still in flight.
    together = threading.Semaphore(0)

    def service(received):
        nonlocal in_flight, most
        with lock:
            in_flight += 1
            most = max(most, in_flight)
        together.acquire(timeout=0.005)  # time: requests that are sent side by side meet
        with lock:
            in_flight -= 1
        return fills_service(received)

    with StandInService(service) as server, client_of(server) as client:
        arguments = {"concurrency": concurrency, "windows": windows, "trd_market": "HK", **RANGE}
        rows = getattr(client, method)("fills_history", ["1", "2"], **arguments)
        rows = rows.all() if method == "pages_many" else rows
        assert [row["deal_id"] for row in rows] == IDS * 2
    assert most <= concurrency


@pytest.mark.parametrize("whole", [True, False])
def test_a_key_that_fails_in_a_window_is_resumed_from_there_and_gives_no_row_twice(whole):
    """Its windows after that one are not received, whatever came of them."""
    fails = threading.Event()
    fails.set()

    def service(received):
        query = dict(parse_qsl(received.query))
        is_middle = int(query["start"]) > START and int(query["end"]) < END
        if fails.is_set() and "/2/" in received.path and is_middle and "page_flag" in query:
            return response({"s": "error", "errcode": -1200, "errmsg": "no"})
        return fills_service(received)

    arguments = {"windows": 3, "on_error": "collect", "trd_market": "HK", **RANGE}
    with StandInService(service) as server, client_of(server) as client:
        pager = client.pages_many("fills_history", ["1", "2", "3"], **arguments)
        rows = pager.all() if whole else list(pager)
        ids = {key: [row["deal_id"] for row in rows if row["acc_id"] == key] for key in "123"}
        assert ids["1"] == ids["3"] == IDS
        assert 0 < len(ids["2"]) < len(IDS) and ids["2"] == IDS[: len(ids["2"])]
        assert list(pager.errors) == ["2"]
        fails.clear()
        rest = client.pages_many(
            "fills_history", ["1", "2", "3"], resume=pager.checkpoint(), **arguments
        )
        left = list(rest)
        assert {row["acc_id"] for row in left} == {"2"}
        assert ids["2"] + [row["deal_id"] for row in left] == IDS


@pytest.mark.parametrize(("first", "then"), [(None, 4), (4, None), (4, 7), (7, 4)])
def test_a_checkpoint_of_windows_is_resumed_by_one_cursor_and_the_other_way_round(first, then):
    def pager(windows, **options):
        return client.fills_history("281756", "HK", **RANGE, windows=windows, **options)

    with StandInService(fills_service) as server, client_of(server) as client:
        before = pager(first)
        seen = [next(before)["deal_id"] for _ in range(377)]
        rest = pager(then, resume=before.checkpoint())
        assert seen + [row["deal_id"] for row in rest] == IDS


def test_what_is_recorded_is_the_traffic_of_one_cursor(tmp_path):
    recorder = bl.Recorder(tmp_path / "recorded")
    limits = {"rate_limit": 1e4, "max_connections": 3}
    with StandInService(fills_service) as server:
        with client_of(server, cassette=recorder, **limits) as client:
            assert len(client.fills_history("281756", "HK", **RANGE).all()) == len(IDS)
            rows = client.fetch_many("fills_history", ["1"], trd_market="HK", **RANGE)
            assert len(rows) == len(IDS) and len(server.received) == 2 * PAGES
        recorder.close()
        base_url = server.base_url
    replay = bl.Replay(tmp_path / "recorded")
    with client_of(base_url, cassette=replay) as client:
        assert len(client.fills_history("281756", "HK", **RANGE).to_arrow()) == len(IDS)
        assert len(client.fetch_many("fills_history", ["1"], trd_market="HK", **RANGE)) == FILLS


def test_a_range_that_ends_in_the_future_is_read_by_one_cursor():
    hour = timedelta(hours=1)
    now = datetime.now(timezone.utc)
    for end, is_past in [(now + hour, False), (now - hour, True)]:
        spread = {"start": now - timedelta(days=60), "end": end}
        first = int(spread["start"].timestamp() * 1e6)
        step = int((spread["end"] - spread["start"]).total_seconds() * 1e6) // FILLS
        times = [first + step * number for number in range(FILLS - 1, -1, -1)]
        with (
            StandInService(partial(fills_service, times=times), clock=0) as server,
            client_of(server) as client,
        ):
            assert len(client.fills_history("281756", "HK", **spread).all()) == FILLS
            assert (len(server.received) > PAGES) == is_past


def test_each_failure_is_raised_or_counted_as_a_retry(caplog):
    responded = []

    def service(received):
        responded.append(received)
        if len(responded) == 2:
            return response({}, status=503)
        return fills_service(received)

    caplog.set_level(logging.DEBUG, "boardlot.retry")
    with StandInService(service) as server, client_of(server) as client:
        rows = client.fills_history("281756", "HK", **RANGE).all()
        assert [row["deal_id"] for row in rows] == IDS
        # The second page or the probe failed, so the list is read again.
        assert [record.name for record in caplog.records] == ["boardlot.retry"]
    with StandInService([response({}, status=503)]) as server, client_of(server) as client:
        with pytest.raises(bl.ServiceError):
            client.fills_history("281756", "HK", **RANGE).all()
        assert len(server.received) == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_service_that_throttles_loses_no_row(mode):
    responded = []

    def service(received):
        responded.append(received)
        if len(responded) % 4 == 0:
            return response({}, status=429, headers={"Retry-After": "0"})
        return fills_service(received)

    async def use(client):
        return await result_of(client.pager("fills_history", "281756", "HK", **RANGE).all())

    rows = run(mode, service, use, max_retries=1)
    assert [row["deal_id"] for row in rows] == IDS
