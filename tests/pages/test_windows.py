"""Section 4.3, `fills_history(windows=N)`: parts fetched side by side.

`test_clock_and_ranges.py` and `crates/client/tests/core/` have the stream of them: every fill once.
"""

from urllib.parse import parse_qsl

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, run
from ..support.paged_service import RANGE, page
from ..support.service import StandInService


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


@pytest.mark.parametrize("windows", [0, -1, 65])
def test_windows_are_1_to_64(windows):
    with StandInService() as server, client_of(server) as client:
        with pytest.raises(bl.ConfigError, match="1 to 64"):
            client.fills_history("281756", "HK", windows=windows)
        assert server.received == []
