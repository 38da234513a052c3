"""Section 4.3: the service's own time bounds a range, whatever this machine's clock says.

A client reads the fills of a model of the service, whose clock is another: all fills that existed
when it asked, each once, with every credential and however the range is given or resumed.
`tests/rust/moving_service.rs` does this with simulated time, for many more lists.
"""

from functools import partial
from urllib.parse import parse_qs, urlsplit

import boardlot as bl
import pytest

from ..support.clients import MODES, run, settled
from ..support.keys import api_key
from ..support.model_service import CODE, DAY, TOKEN, serve

CLOCKS = {"an hour slow": -3600.0, "right": 0.0, "an hour fast": 3600.0}
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
CREDENTIALS = {
    "none": lambda _: None,
    "key": lambda _: api_key(),
    "token": lambda _: bl.BearerToken(TOKEN),
    "login": lambda server: login(server.base_url),
}


def login(base_url):
    flow = bl.begin_login(base_url, store=bl.MemoryStore())
    asked = parse_qs(urlsplit(flow.url).query)
    return flow.finish(f"{asked['redirect_uri'][0]}?code={CODE}&state={asked['state'][0]}")


async def read(client, style, times):
    """The ids of the fills, and the range that the pager says it has read."""
    ask = {"page_size": 10, **{name: times[name] for name in times if name in style}}
    ask |= {"windows": 4} if "windows" in style else {}
    account = "flaky" if "failure" in style else "281756"

    def fills(**more):
        return client.pager("fills_history", account, "HK", **ask, **more)

    pager, rows = fills(), []
    if "failure" in style:
        with pytest.raises(bl.ServiceError):
            await settled(pager.all())
    for taken in (0, 17):
        if f"resumed at {taken}" in style:
            rows += await client.rows(pager, taken)
            pager = fills(resume=pager.checkpoint())
    rows += await client.rows(pager)
    return [row["deal_id"] for row in rows], pager.range


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("credential", CREDENTIALS)
def test_security_42_no_fill_is_missing_or_doubled_whatever_the_local_clock_says(
    credential, clock, mode
):
    for name, style in STYLES.items():
        with serve(ahead=CLOCKS[clock], anonymous=credential == "none") as server:
            model, auth = server.model, CREDENTIALS[credential](server)
            times = {"start": model.now() - 30 * DAY, "end": model.now()}
            read_it = partial(read, style=style, times=times)
            came, (start, end) = run(mode, server, read_it, auth=auth)
            expected = model.expected(*(times[one] if one in style else None for one in times))
        assert len(came) == len(set(came)), f"doubled: {name}"
        # Fills that happened while the list was read may be in it, and no others.
        assert set(came) & {one["deal_id"] for one in model.first} == expected, name
        first, last = (round(at.timestamp() * 1_000_000) for at in (start, end))
        updated = {one["deal_id"]: one["updated_time"] for one in model.fills}
        assert all(first <= updated[one] <= last for one in came), name
        # A range that ends at the service's time is past when the first page is requested.
        assert max(model.ends_ahead) < 0, name


@pytest.mark.parametrize("windows", [2, 8])
@pytest.mark.parametrize("order", ["updated_time", "create_time"])
def test_security_42_windows_hold_each_fill_once_the_later_updated_window_first(order, windows):
    """Within a window the order is the service's; by update time it is that of the whole list."""
    with serve(order=order) as server, bl.Client(server.base_url) as client:
        start, end = server.model.now() - 80 * DAY, server.model.now() - 1
        ask = {"start": start, "end": end, "page_size": 10}
        whole = list(client.fills_history("281756", "HK", **ask))
        parts = list(client.fills_history("281756", "HK", windows=windows, **ask))
    assert sorted(row["deal_id"] for row in parts) == sorted(row["deal_id"] for row in whole)
    length = (end - start) / windows
    numbers = [int((end - row["updated_time"]) // length) for row in parts]
    assert numbers == sorted(numbers)
    if order == "updated_time":
        assert parts == whole
