"""Section 2.4: lists of a service whose fills run up to its current time, while they are read.

`tests/rust/moving_service.rs` does this with simulated time, for many more lists.
"""

import asyncio
import time

import boardlot as bl
import pytest

from ..support.clients import MODES
from ..support.model_service import DAY, serve

STYLES = {
    "open": {},
    "from a start": {"start": 200 * DAY},
    "4 windows": {"windows": 4},
    "4 windows from a start": {"start": 80 * DAY, "windows": 4},
}


def read(mode, client, style, way):
    """The fills of a list, and the range that the pager says it has read."""
    pager = client.fills_history("281756", "HK", page_size=10, **style)

    async def rows():
        if way == "all":
            return list(await pager.all())
        return [row async for row in pager]

    if mode == "async":
        return asyncio.run(rows()), pager.range
    return list(pager.all() if way == "all" else pager), pager.range


@pytest.mark.parametrize("paging", ["fill", "offset"])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("mode", MODES)
def test_security_42_fills_that_happen_meanwhile_neither_double_nor_hide_others(
    mode, style, paging
):
    with serve(paging=paging) as server:
        client = (bl.AsyncClient if mode == "async" else bl.Client)(server.base_url)
        given = {**STYLES[style]}
        if "start" in given:
            given["start"] = server.model.now() - given["start"]
        for number in range(8):
            # Readings of the service's clock of several ages.
            time.sleep(0.05 * (number % 3))
            existing = {one["deal_id"]: one["updated_time"] for one in list(server.model.fills)}
            rows, (start, end) = read(mode, client, given, ["all", "rows"][number % 2])
            ids = [row["deal_id"] for row in rows]
            assert len(ids) == len(set(ids)), "doubled"
            first, last = (round(at.timestamp() * 1_000_000) for at in (start, end))
            wanted = {one for one, at in existing.items() if first <= at}
            assert all(existing[one] <= last for one in wanted), "it ends before the call"
            assert wanted <= set(ids)
            assert all(first <= row["updated_time"] <= last for row in rows)


@pytest.mark.parametrize("style", STYLES)
def test_the_end_of_an_open_range_is_past_when_the_first_page_is_requested(style):
    with serve() as server:
        model = server.model
        ahead = []
        unchanged = model._fills

        def observed(received):
            ends = [pair.partition("=")[2] for pair in received.query.split("&") if "end=" in pair]
            ahead.append(int(ends[0]) - model.now())
            return unchanged(received)

        model._fills = observed
        given = {**STYLES[style]}
        if "start" in given:
            given["start"] = model.now() - given["start"]
        for _ in range(10):
            bl.Client(server.base_url).fills_history("281756", "HK", **given).all()
        with bl.Client(server.base_url) as client:
            for _ in range(10):
                client.fills_history("281756", "HK", **given).all()
    assert len(ahead) > 20 and max(ahead) < 0


@pytest.mark.parametrize("paging", ["fill", "offset"])
def test_fills_that_change_hide_no_others_by_cursor_and_one_each_by_offset(paging):
    for _ in range(10):
        with serve(paging=paging, changing=True) as server, bl.Client(server.base_url) as client:
            first = server.model.first
            rows, (start, _) = read("sync", client, {}, "all")
            changed = server.model.changed
        ids = [row["deal_id"] for row in rows]
        assert len(ids) == len(set(ids)), "doubled"
        unchanged = {
            one["deal_id"]
            for one in first
            if one["updated_time"] >= round(start.timestamp() * 1_000_000)
        } - changed
        missed = len(unchanged - set(ids))
        assert missed == 0 if paging == "fill" else missed <= len(changed)
