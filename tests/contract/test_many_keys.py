"""`fetch_many`: its order, errors, fixed arguments, and lists of several pages."""

import re
import threading
from urllib.parse import parse_qs

import boardlot as bl
import numpy as np
import pandas as pd
import pytest

from ..support.paged_service import page
from ..support.service import StandInService, response
from .test_requests import modes, run

RANGE = {"start": 1780000000000000, "end": 1787000000000000}


def dividends_service(received):
    symbol = received.path.split("/")[4]
    if symbol.startswith("BAD"):
        error = {"code": "invalid_symbol"}
        return response({"ret_code": -7, "ret_msg": f"no {symbol}", "error": error})
    count = int(symbol.split(".")[1]) % 3
    lists = [{"statement": symbol, "dividend_per_share": n} for n in range(count)]
    return response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": lists}})


@modes
def test_keys_are_fetched_three_at_a_time_and_come_in_the_order_they_were_given(mode):
    symbols = [f"HK.{n}" for n in range(12)]
    running, most = set(), []
    changed = threading.Condition()

    def service(received):
        with changed:
            running.add(received.path)
            most.append(len(running))
            changed.notify_all()
            # The first requests wait for as many others as may come.
            changed.wait_for(lambda: len(most) >= 3, 60)
            running.discard(received.path)
        return dividends_service(received)

    with StandInService(service) as server:
        records = run(
            mode, server, lambda c: c.call("fetch_many", "dividends", symbols, concurrency=3)
        )
    assert max(most) == 3
    wanted = [symbol for n, symbol in enumerate(symbols) for _ in range(n % 3)]
    assert isinstance(records, bl.Records)
    assert [next(iter(row.values())) for row in records] == wanted
    assert [row["statement"] for row in records] == wanted
    assert records.to_arrow().column(0).to_pylist() == wanted
    assert len(server.received) == len(symbols)


@modes
def test_one_rejected_key_raises_unless_they_are_collected(mode):
    symbols = ["HK.1", "BAD.1", "HK.2", "BAD.2"]

    async def use(client):
        with pytest.raises(bl.InvalidSymbol):
            await client.call("fetch_many", "dividends", symbols)
        return await client.call("fetch_many", "dividends", symbols, on_error="collect")

    records = run(mode, dividends_service, use)
    assert [row["symbol"] for row in records] == ["HK.1", "HK.2", "HK.2"]
    assert list(records.errors) == ["BAD.1", "BAD.2"]
    for symbol, error in records.errors.items():
        assert isinstance(error, bl.InvalidSymbol) and symbol in error.message


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
            lambda c: c.call(
                "fetch_many", "fills_history", [7, "8", "7", 8], trd_market="HK", **RANGE
            ),
        )
    assert [(row["acc_id"], row["deal_id"]) for row in records] == [
        ("7", "7-1"), ("7", "7-2"), ("8", "8-1"), ("8", "8-2"),
    ]  # fmt: skip
    sent = {(r.path.split("/")[4], r.query.split("&page_flag")[0]) for r in server.received}
    query = f"trd_market=HK&start={RANGE['start']}&end={RANGE['end']}"
    assert sent == {("7", query), ("8", query)}


def test_any_required_argument_can_take_the_keys():
    with service() as server:
        records = run(
            "sync",
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
@pytest.mark.parametrize("method", ["fetch_many", "pages_many"])
def test_a_key_that_is_no_value_fails_alone_and_is_named_by_its_text_and_index(mode, method):
    keys = ["7", None, float("nan"), pd.NaT, pd.NA, ("8", "HK"), None, "9"]
    said = {
        "None": "keys[1] is None;",
        "nan": "keys[2] is NaN;",
        "NaT": "keys[3] is pandas.NaT, a missing time;",
        "<NA>": "keys[4] is pandas.NA, a missing value;",
        "('8', 'HK')": "keys[5] is a tuple;",
    }

    async def use(client):
        options = {"trd_market": "HK", "on_error": "collect", **RANGE}
        if method == "fetch_many":
            rows = await client.call(method, "fills_history", keys, **options)
            return rows, rows.errors
        pager = client.pager(method, "fills_history", keys, **options)
        return await client.rows(pager), pager.errors

    with service() as server:
        rows, errors = run(mode, server, use)
        assert len(server.received) == 4
    assert [row["deal_id"] for row in rows] == ["7-1", "7-2", "9-1", "9-2"]
    assert list(errors) == list(said)
    for key, error in errors.items():
        assert type(error) is bl.ConfigError and error.endpoint == "fills_history"
        assert str(error).startswith(f"fills_history of '{key}': {said[key]} expected ")


@pytest.mark.parametrize("keys", [[None], [281756.0, None], ["no account!"]])
def test_keys_of_which_none_can_be_sent_are_all_failed_keys(keys):
    options = {"trd_market": "HK", "on_error": "collect", **RANGE}
    with service() as server, bl.Client(server.base_url) as client:
        found = client.fetch_many("fills_history", keys, **options)
        pager = client.pages_many("fills_history", keys, **options)
        assert found == pager.all() == []
        assert list(found.errors) == list(pager.errors) == [str(key) for key in keys]
        for call in (client.fetch_many, client.pages_many):
            with pytest.raises(bl.ConfigError, match="start is 2026"):
                call("fills_history", [*keys, "7"], **{**options, "start": 2026})
        assert server.received == []


def test_a_key_that_cannot_be_sent_leaves_one_range_for_all_others():
    with service(clock=3600.0) as server, bl.Client(server.base_url) as client:
        client.fetch_many("fills_history", [*range(9), None], trd_market="HK", on_error="collect")
        ranges = {tuple(re.findall(r"(?:start|end)=(\d+)", r.query)) for r in server.received}
        assert len(server.received) == 18 and len(ranges) == 1


@pytest.mark.parametrize("key", [None, float("nan"), pd.NaT, pd.NA, ("8", "HK")], ids=repr)
def test_a_key_that_is_no_value_is_raised_before_anything_is_sent(key):
    with service() as server, bl.Client(server.base_url) as client:
        for call in (client.fetch_many, client.pages_many):
            with pytest.raises(bl.ConfigError, match=r"keys\[1\] is "):
                call("fills_history", ["7", key], trd_market="HK")
        assert server.received == []


def test_the_text_of_a_key_is_another_key_than_a_missing_value():
    declared = bl.Endpoint("one", "GET", "/one/{name}", rows="data.list")

    def of_name(received):
        return response({"ret_code": 0, "data": {"list": [{"path": received.path}]}})

    with StandInService(of_name) as server, bl.Client(server.base_url) as client:
        found = client.fetch_many(declared, [None, "None"], on_error="collect")
    assert [row["path"] for row in found] == ["/one/None"] and list(found.errors) == ["None"]


def test_numbers_of_numpy_are_keys_like_those_of_python():
    keys = np.array([7, 8])
    with service() as server, bl.Client(server.base_url) as client:
        found = client.fetch_many("fills_history", keys, trd_market="HK", **RANGE)
        assert found == client.fetch_many("fills_history", [7, 8], trd_market="HK", **RANGE)


def test_a_failing_str_of_a_key_is_the_callers_own_error():
    class Odd:
        def __str__(self):
            raise KeyError("mine")

    keys = [Odd()]
    with bl.Client("https://api.example.com") as client, pytest.raises(KeyError, match="mine"):
        client.fetch_many("fills_history", keys, trd_market="HK", on_error="collect")
