"""The arguments that boardlot refuses by docs/not-documented.md: each row, and nothing is sent."""

import re

import boardlot as bl
import pytest

from .test_pages import DOCS

SECTION = (DOCS / "not-documented.md").read_text("utf-8").partition("refuses by itself\n")[2]
TABLE = re.findall(r"^\| (.+?) \| .+ \|$", SECTION.partition("\n#")[0], re.MULTILINE)
DAYS = {"start": "2026-01-05", "end": "2026-01-09"}
TIMES = {name: f"{day}T00:00Z" for name, day in DAYS.items()}
FILLS = {"acc_id": "281756", "trd_market": "HK"}
# The document says it of these: an id that is no uint64, a range that does not end after its start.
DOCUMENTED = {("crypto_orders", "acc_id"), ("fills_history", "end")}
# Of each row: the method, arguments that it accepts, and one of them as it is refused.
ROWS = [
    [
        ("dividends", {"symbol": "HK.00700"}, {"symbol": "ABCDEFGHI.1"}),
        ("dividends", {"symbol": "HK.00700"}, {"symbol": "hk.00700"}),
        ("dividends", {"symbol": "HK.00700"}, {"symbol": "HK.00 700"}),
        ("plate_stocks", {"plate_code": "HK.BK1001"}, {"plate_code": "hk.BK1001"}),
        ("fills_history", {**FILLS, "code": "HK.00700"}, {"code": "HK.00/700"}),
    ],
    [("trading_days", {"market": "HK", **DAYS}, {"market": name}) for name in ("hk", "HKSEX", "")],
    [
        *(("fills_history", FILLS, {"acc_id": name}) for name in ("a b", "1" * 65, "")),
        ("crypto_orders", {"acc_id": "5001"}, {"acc_id": "a"}),
    ],
    [("fills_history", FILLS, {"trd_market": name}) for name in ("", "H" * 257, "H\tK")],
    [
        ("plate_stocks", {"plate_code": "HK.BK1001", "limit": 1}, {"limit": 0}),
        ("crypto_orders", {"acc_id": "5001", "page_size": 1}, {"page_size": 0}),
    ],
    [
        ("plate_stocks", {"plate_code": "HK.BK1001", "limit": 1}, {"limit": 2**31}),
        ("sim_positions", {"acc_id": "5001", "market": 1}, {"market": 2**31}),
        ("sim_positions", {"acc_id": "5001", "market": 1}, {"market": -(2**31) - 1}),
    ],
    [
        ("trading_days", {"market": "HK", **DAYS}, {"end": "2026-01-04"}),
        ("trading_days", {"market": "HK", **DAYS, "end": DAYS["start"]}, {"end": "2026-01-04"}),
        ("fills_history", {**FILLS, **TIMES}, {"end": TIMES["start"]}),
    ],
    [("fills_history", FILLS, {"start": time}) for time in (631_151_999_999_999, 1_790_000_000)],
]


@pytest.mark.parametrize(("row", "calls"), list(zip(TABLE[1:], ROWS, strict=True)))
def test_what_a_row_says_is_refused_and_nothing_is_sent(row, calls):
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        for method, accepted, refused in calls:
            with pytest.raises(bl.ConfigError, match=next(iter(refused))) as caught:
                getattr(client, method)(**{**accepted, **refused})
            is_documented = (method, *refused) in DOCUMENTED
            assert ("boardlot's own rule" in str(caught.value)) is not is_documented
        assert not sandbox.requests
        for method, accepted, _ in calls:
            getattr(client, method)(**accepted)


def test_rules_for_custom_endpoints_and_paths_are_said_to_be_of_boardlot():
    one = bl.Endpoint("one", "GET", "/one/{key}")
    with bl.Client("https://api.example.com") as client:
        for call in (
            lambda: client.call(one, key=".."),
            lambda: client.call(one, key="a/b"),
            lambda: client.request("GET", "/a/../b"),
            lambda: list(client.paginate("GET", "one", paging="next_key", rows="data")),
        ):
            with pytest.raises(bl.ConfigError, match=r"\(boardlot's own rule\)"):
                call()
