"""Section 4.3, `fills_history(windows=...)`: parts of a time range fetched side by side.

`test_clock_and_ranges.py` and `crates/client/tests/core/` have the stream of them: every fill once.
"""

from urllib.parse import parse_qsl

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, result_of, run
from ..support.paged_service import END, RANGE, START, page
from ..support.service import StandInService, response

# 2,000 fills, the latest first: 40 pages.
STEP = (END - START) // 2_000
TIMES = range(END - 1, START, -STEP)
IDS = [str(number) for number in range(len(TIMES))]


def fills_service(received):
    """The fills of the range that is asked for, which includes both of its ends."""
    query = dict(parse_qsl(received.query))
    start, end = int(query["start"]), int(query["end"])
    found = [number for number, at in enumerate(TIMES) if start <= at <= end]
    first = int(query.get("page_flag", 0))
    rows = [
        {"deal_id": str(number), "create_time": TIMES[number], "updated_time": TIMES[number]}
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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("windows", "least", "most"), [(None, 41, 44), ("auto", 41, 44), (1, 40, 40)]
)
def test_everything_is_read_in_windows_unless_one_cursor_is_asked_for(mode, windows, least, most):
    async def use(client):
        pager = client.pager("fills_history", "281756", "HK", **RANGE, windows=windows)
        rows = await result_of(pager.all())
        one = client.pager("fills_history", "281756", "HK", **RANGE)
        assert len(await client.rows(one)) == len(IDS)
        assert pager.checkpoint() == one.checkpoint()
        return [row["deal_id"] for row in rows], pager.requests

    ids, requests = run(mode, fills_service, use)
    assert ids == IDS
    assert least <= requests <= most


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("windows", "least", "most"), [(None, 40, 40), ("auto", 41, 44)])
def test_an_iteration_is_read_by_one_cursor_unless_windows_are_asked_for(
    mode, windows, least, most
):
    async def use(client):
        pager = client.pager("fills_history", "281756", "HK", **RANGE, windows=windows)
        return [row["deal_id"] for row in await client.rows(pager)], pager.requests

    ids, requests = run(mode, fills_service, use)
    assert ids == IDS
    assert least <= requests <= most


def test_frames_and_many_keys_are_read_in_windows():
    with StandInService(fills_service) as server, client_of(server) as client:
        frame = client.fills_history("281756", "HK", **RANGE).to_arrow()
        assert frame["deal_id"].to_pylist() == IDS
        assert 41 <= len(server.received) <= 44
        server.received.clear()
        rows = client.fetch_many("fills_history", ["1", "2"], trd_market="HK", **RANGE)
        assert [row["deal_id"] for row in rows] == IDS * 2
        assert 82 <= len(server.received) <= 88


def test_an_iteration_in_windows_resumes_by_one_cursor_and_the_other_way_round():
    with StandInService(fills_service) as server, client_of(server) as client:
        for first, then in [("auto", None), (None, "auto"), ("auto", "auto")]:
            pager = client.fills_history("281756", "HK", **RANGE, windows=first)
            seen = [next(pager)["deal_id"] for _ in range(777)]
            rest = client.fills_history(
                "281756", "HK", **RANGE, windows=then, resume=pager.checkpoint()
            )
            assert seen + [row["deal_id"] for row in rest] == IDS


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
