"""Section 4.3: the service's own time bounds a range, whatever this machine's clock says.

A client reads fills up to the service's now: each once, with every credential and however the range
is given or resumed. `crates/client/tests/core/moving_service.rs` does this in simulated time, for
lists that change while they are read.
"""

from datetime import timedelta

import boardlot as bl
import pytest

ACCOUNT = "281756"
FILL = {"trd_side": "BUY", "code": "HK.00700", "qty": "100", "price": "388.200", "status": "OK"}
STYLES = {
    "open": {},
    "half open, from a start": {"start"},
    "half open, to an end": {"end"},
    "closed": {"start", "end"},
    "4 windows": {"windows"},
    "4 windows of a closed range": {"start", "end", "windows"},
    "resumed before the first page": {"resumed at 0"},
    "resumed in the middle": {"resumed at 17"},
    "resumed in the middle of 4 windows": {"resumed at 17", "windows"},
    "asked again after a failure": {"failure"},
    "resumed from a failure": {"failure", "resumed at 0"},
}


def read(sandbox, client, style, times):
    """The ids of the fills, and the end of the range that the pager says it has read."""
    ask = {"page_size": 10, **{name: times[name] for name in times if name in style}}
    ask |= {"windows": 4} if "windows" in style else {}
    pager, ids = client.fills_history(ACCOUNT, "HK", **ask), []
    if "failure" in style:
        sandbox.fail_next("fills_history", status=503)
        with pytest.raises(bl.ServiceError):
            pager.all()
    for taken in (0, 17):
        if f"resumed at {taken}" in style:
            ids += [next(pager)["deal_id"] for _ in range(taken)]
            pager = client.fills_history(ACCOUNT, "HK", **ask, resume=pager.checkpoint())
    return ids + [fill["deal_id"] for fill in pager], pager.range[1]


@pytest.mark.parametrize("clock", [-3600.0, 0.0, 3600.0])
@pytest.mark.parametrize("credential", ["Ed25519", "RSA-SHA256", "oauth"])
def test_security_42_no_fill_is_missing_or_doubled_whatever_the_local_clock_says(credential, clock):
    with (
        bl.Sandbox(seed=7, fills=0, clock_offset=clock) as sandbox,
        sandbox.client(credential, max_retries=0) as client,
    ):
        now = client.server_time()
        # One each minute up to now, by the service's clock.
        fills = [
            {**FILL, "deal_id": str(minute), "create_time": micros, "updated_time": micros}
            for minute in range(60)
            for micros in [int(now.timestamp() * 1_000_000) - minute * 60_000_000]
        ]
        sandbox.put("fills_history", fills, account=ACCOUNT)
        expected = [fill["deal_id"] for fill in fills]
        times = {"start": now - timedelta(days=30), "end": now + timedelta(seconds=1)}
        for name, style in STYLES.items():
            came, end = read(sandbox, client, style, times)
            assert came == expected, name
            # The service tells whole milliseconds.
            after = client.server_time() + timedelta(milliseconds=1)
            assert "end" in style or now <= end <= after, name
