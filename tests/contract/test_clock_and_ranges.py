"""Section 4.3: the service's own time bounds a range, whatever this machine's clock says.

A process whose clock is wrong reads the fills of a model of the service: all that existed when it
asked, each once, with every credential and however the range is given or resumed.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import boardlot as bl
import pytest

from ..support.keys import PRIVATE_PEM
from ..support.model_service import CODE, DAY, TOKEN, serve
from ..support.system import not_installed

CREDENTIALS = ["none", "key", "token", "login"]
CLOCKS = {"an hour slow": -3600, "right": 0, "an hour fast": 3600}
FOLDERS = ["/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime"]
FOLDERS += ["/usr/lib/faketime", "/usr/lib64/faketime"]

STYLES = {
    "open": {},
    "half open, from a start": {"start": True},
    "half open, to an end": {"end": True},
    "closed": {"start": True, "end": True},
    "4 windows": {"windows": 4},
    "4 windows of a closed range": {"start": True, "end": True, "windows": 4},
    "resumed before the first page": {"taken": 0},
    "resumed in the middle": {"taken": 17},
    "resumed in the middle of 4 windows": {"taken": 17, "windows": 4},
    "asked again after a failure": {"account": "flaky"},
    "resumed from a failure": {"account": "flaky-resumed", "after": "failure"},
    "twice by one client": {"after": "use"},
}


def reader():
    """Runs in the process with the wrong clock: reads each style and prints the ids."""
    given = json.loads(sys.stdin.read())
    outcome_of = {"now": __import__("time").time()}
    for name, style in given["styles"].items():
        try:
            outcome_of[name] = read(given, dict(style))
        except Exception as failure:
            outcome_of[name] = repr(failure)
    print(json.dumps(outcome_of))


def read(given, style):
    taken, after = style.pop("taken", None), style.pop("after", None)
    account = style.pop("account", "281756")
    ask = {"page_size": 10, **style}

    def fills(client, **more):
        return client.fills_history(account, "HK", **ask, **more)

    def client():
        return bl.Client(given["base_url"], auth=credentials(given), max_retries=0)

    if taken is not None:
        pager = fills(client())
        rows = [next(pager) for _ in range(taken)]
        rows += fills(client(), resume=pager.checkpoint()).all()
    elif account.startswith("flaky"):
        pager = fills(client())
        try:
            pager.all()
            raise AssertionError("the second page did not fail")
        except bl.BoardlotError as failure:
            checkpoint = failure.checkpoint
        rows = (fills(client(), resume=checkpoint) if after else pager).all()
    else:
        one = client()
        if after:
            fills(one).all()
        rows = fills(one).all()
    return [row["deal_id"] for row in rows]


def credentials(given):
    if given["credential"] == "key":
        return bl.ApiKey("key-1", given["key"])
    if given["credential"] == "token":
        return bl.BearerToken(given["token"])
    if given["credential"] == "login":
        flow = bl.begin_login(given["base_url"], store=bl.MemoryStore())
        from urllib.parse import parse_qs, urlsplit

        asked = parse_qs(urlsplit(flow.url).query)
        return flow.finish(
            f"{asked['redirect_uri'][0]}?code={given['code']}&state={asked['state'][0]}"
        )
    return None


def wrong_clock(seconds):
    """The environment in which a process has that clock, or None where that cannot be had."""
    if seconds == 0:
        return {}
    for folder in map(Path, FOLDERS):
        if (library := folder / "libfaketime.so.1").exists():
            more = {"DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"}
            return {"LD_PRELOAD": str(library), "FAKETIME": f"{seconds:+}s", **more}
    return None


@functools.cache
def outcomes(credential, clock):
    """Of each style what was expected, what came, and how far the process's clock was off."""
    seconds = CLOCKS[clock]
    environment = wrong_clock(seconds)
    # Where this machine's clock cannot be moved, the service's is moved the other way.
    ahead = 0.0 if environment is not None else float(-seconds)
    with serve(ahead=ahead, anonymous=credential == "none") as server:
        model = server.model
        times = {"start": model.now() - 30 * DAY, "end": model.now()}
        styles = {
            name: {key: times.get(key, value) for key, value in style.items()}
            for name, style in STYLES.items()
        }
        given = {"base_url": server.base_url, "credential": credential, "styles": styles}
        given |= {"key": PRIVATE_PEM, "token": TOKEN, "code": CODE}
        ran = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import reader; reader()"],
            input=json.dumps(given),
            env={**os.environ, **(environment or {})},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        outcome_of = json.loads(ran.stdout)
        expected = {
            name: model.expected(style.get("start"), style.get("end"))
            for name, style in styles.items()
        }
        first = {one["deal_id"] for one in model.first}
    return outcome_of, expected, first


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("credential", CREDENTIALS)
def test_security_42_no_fill_is_missing_or_doubled_whatever_the_local_clock_says(
    credential, clock, style
):
    outcome_of, expected, first = outcomes(credential, clock)
    came = outcome_of[style]
    assert isinstance(came, list), came
    assert len(came) == len(set(came)), "doubled"
    # Fills that happened while the list was read may be in it, and no others.
    assert set(came) & first == expected[style]


def test_security_42_the_clock_of_the_reading_process_is_really_wrong():
    if wrong_clock(3600) is None:
        pytest.skip(f"{not_installed('libfaketime')}; the service's clock is moved instead")
    right = outcomes("token", "right")[0]["now"]
    for clock, seconds in CLOCKS.items():
        assert abs(outcomes("token", clock)[0]["now"] - right - seconds) < 600


@pytest.mark.parametrize("windows", [2, 4, 8])
@pytest.mark.parametrize("order", ["updated_time", "create_time"])
def test_security_42_windows_hold_each_fill_once_the_later_updated_window_first(order, windows):
    """Within a window the order is the service's; by update time it is that of the whole list."""
    with serve(order=order) as server:
        start, end = server.model.now() - 80 * DAY, server.model.now() - 1
        client = bl.Client(server.base_url)
        ask = {"start": start, "end": end, "page_size": 10}
        whole = list(client.fills_history("281756", "HK", **ask))
        parts = list(client.fills_history("281756", "HK", windows=windows, **ask))
        gathered = client.fills_history("281756", "HK", windows=windows, **ask).all()
    ids = [row["deal_id"] for row in parts]
    assert len(ids) == len(set(ids))
    assert sorted(ids) == sorted(row["deal_id"] for row in whole)
    assert list(gathered) == parts
    length = (end - start) / windows
    numbers = [int((end - row["updated_time"]) // length) for row in parts]
    assert numbers == sorted(numbers)
    if order == "updated_time":
        assert parts == whole
