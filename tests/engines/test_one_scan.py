"""One lazy frame, by hand: what a query needs is requested, and nothing before it is collected."""

import boardlot as bl
import pytest

polars = pytest.importorskip("polars")

ACCOUNT = "281756"
# 2026-01-05 00:00 UTC, in microseconds.
FIRST = 1_767_571_200_000_000
FILLS = [
    {
        "deal_id": str(number),
        "code": ["HK.00700", "HK.00005"][number % 2],
        "qty": "100",
        "updated_time": FIRST + number,
    }
    for number in reversed(range(120))
]


def test_a_scan_requests_what_its_query_needs():
    import boardlot.polars

    with bl.Sandbox() as sandbox, sandbox.client() as client:
        sandbox.put("fills_history", FILLS, account=ACCOUNT)
        times = {"start": FIRST - 1, "end": FIRST + 1_000}
        fills = boardlot.polars.scan(
            client, "fills_history", acc_id=ACCOUNT, trd_market="HK", **times
        )
        of_one = fills.filter(polars.col("code") == "HK.00005").select("deal_id", "qty")
        assert sandbox.requests == []

        frame = of_one.collect()
        assert frame["deal_id"].to_list() == [str(number) for number in range(119, 0, -2)]
        assert frame["qty"].sum() == 6_000.0
        assert all("code=HK.00005" in request.query for request in sandbox.requests)
