"""What docs/service.md says that boardlot refuses by itself: each row, and nothing is sent."""

import re

import boardlot as bl
import pytest

from .test_pages import DOCS

TABLE = re.findall(
    r"^\| (.+?) \| .+ \|$",
    (DOCS / "service.md")
    .read_text("utf-8")
    .partition("refuses by itself\n")[2]
    .partition("\n#")[0],
    re.MULTILINE,
)
DAYS = {"start": "2026-01-05", "end": "2026-01-09"}
FILLS = {"acc_id": "281756", "trd_market": "HK"}
# Of each row: the method, arguments that it accepts, and one of them as it is refused.
ROWS = [
    [
        ("dividends", {"symbol": "HK.00700"}, {"symbol": "ABCDEFGHI.1"}),
        ("dividends", {"symbol": "HK.00700"}, {"symbol": "hk.00700"}),
        ("dividends", {"symbol": "HK.00700"}, {"symbol": "HK.00 700"}),
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
        ("trading_days", {"market": "HK", **DAYS}, {"end": "2026-01-04"}),
        ("trading_days", {"market": "HK", **DAYS, "end": DAYS["start"]}, {"end": "2026-01-04"}),
        ("fills_history", {**FILLS, **DAYS}, {"end": DAYS["start"]}),
    ],
    [("fills_history", FILLS, {"start": time}) for time in (631_151_999_999_999, 1_790_000_000)],
]


@pytest.mark.parametrize(("row", "calls"), list(zip(TABLE[1:], ROWS, strict=True)))
def test_what_a_row_says_is_refused_and_nothing_is_sent(row, calls):
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        for method, accepted, refused in calls:
            with pytest.raises(bl.ConfigError, match=next(iter(refused))):
                getattr(client, method)(**{**accepted, **refused})
        assert not sandbox.requests
        for method, accepted, _ in calls:
            getattr(client, method)(**accepted)
