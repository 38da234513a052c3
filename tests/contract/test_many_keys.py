"""`fetch_many` with arguments that are the same for all keys, and lists of several pages."""

import re
from urllib.parse import parse_qs

import boardlot as bl
import pytest

from ..support.paged_service import page
from ..support.service import StandInService
from .test_requests import modes, run

RANGE = {"start": 1780000000000000, "end": 1787000000000000}


def fills_service(received):
    """Two pages for each account: the row is a number of the account's own."""
    account = received.path.split("/")[4]
    cursor = parse_qs(received.query, keep_blank_values=True)["page_flag"][0]
    rows = [{"deal_id": f"{account}-{'2' if cursor else '1'}"}]
    return page("fills_history", rows, None if cursor else "after 1")


def service(clock=None):
    return StandInService(fills_service, clock=clock)


@modes
def test_all_arguments_but_the_keys_follow_by_name(mode):
    with service() as server:
        records = run(
            mode,
            server,
            lambda c: c.call("fetch_many", "fills_history", [7, "8"], trd_market="HK", **RANGE),
        )
    assert [(row["acc_id"], row["deal_id"]) for row in records] == [
        ("7", "7-1"), ("7", "7-2"), ("8", "8-1"), ("8", "8-2"),
    ]  # fmt: skip
    sent = {(r.path.split("/")[4], r.query.split("&page_flag")[0]) for r in server.received}
    query = f"trd_market=HK&start={RANGE['start']}&end={RANGE['end']}"
    assert sent == {("7", query), ("8", query)}


@modes
def test_any_required_argument_can_take_the_keys(mode):
    with service() as server:
        records = run(
            mode,
            server,
            lambda c: c.call("fetch_many", "fills_history", ["HK", "US"], acc_id="7", **RANGE),
        )
    assert [row["trd_market"] for row in records] == ["HK", "HK", "US", "US"]


@modes
@pytest.mark.parametrize("given", [{}, {"start": RANGE["start"]}, {"start": 0, "end": 0}])
def test_an_open_range_ends_at_the_same_moment_for_all_keys(mode, given):
    with service(clock=3600.0) as server:
        run(
            mode,
            server,
            lambda c: c.call("fetch_many", "fills_history", range(9), trd_market="HK", **given),
        )
        ranges = {tuple(re.findall(r"(?:start|end)=(\d+)", r.query)) for r in server.received}
        assert len(server.received) == 18
    [(start, end)] = ranges
    length = int(end) - int(start)
    assert int(start) == given["start"] if given.get("start") else length == 90 * 86_400 * 10**6


@modes
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "has 1 more required argument than the keys; pass trd_market= by name"),
        ({"acc_id": 1, "trd_market": "HK"}, "has an argument for the keys"),
        ({"trd_market": "HK", "colour": 1}, "unknown argument 'colour'"),
        ({"trd_market": "HK", "page_size": 9}, "page_size is 9"),
        ({"trd_market": "HK", "start": 2026}, "start is 2026"),
    ],
)
def test_an_invalid_fixed_argument_is_rejected_before_anything_is_sent(mode, arguments, words):
    with service() as server:
        with pytest.raises(bl.ConfigError, match=words):
            run(mode, server, lambda c: c.call("fetch_many", "fills_history", ["7"], **arguments))
        assert server.received == []


@modes
def test_the_same_for_an_endpoint_of_the_users_own(mode):
    own = bl.Endpoint(
        "own", "GET", "/api/v1.0/accounts/{acc_id}/{kind}", rows="d.order_fills",
        paging="page_flag", record={"deal_id": "text"},
    )  # fmt: skip
    with service() as server:
        records = run(
            mode,
            server,
            lambda c: c.call("fetch_many", own, ["7"], kind="fills", page_flag="", colour="red"),
        )
        assert [r.query.split("&")[-1] for r in server.received] == ["colour=red"] * 2
    assert [row["deal_id"] for row in records] == ["7-1", "7-2"]
