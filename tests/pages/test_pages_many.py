"""`pages_many`: one pager over the pages of many keys."""

import re
from urllib.parse import parse_qs

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.clients import MODES, run, settled, stream
from ..support.paged_service import page
from ..support.service import StandInService, response
from ..support.threads import wait_until
from ..support.words import raises

RANGE = {"start": 1780000000000000, "end": 1787000000000000}
ACCOUNTS = ["7", "8", "9"]
PAGES = 3
BUSY = response({"s": "error", "errcode": -4, "errmsg": "busy"})


class Fills:
    """Three pages of two fills for each account; the pages of `failing` are errors."""

    def __init__(self, failing=()):
        self.failing = set(failing)

    def __call__(self, received):
        account = received.path.split("/")[4]
        cursor = parse_qs(received.query, keep_blank_values=True)["page_flag"][0]
        number = int(cursor.removeprefix("after ")) + 1 if cursor else 0
        if (account, number) in self.failing:
            return BUSY
        rows = [{"deal_id": f"{account}-{2 * number + n}", "price": "1.50"} for n in range(2)]
        return page("fills_history", rows, f"after {number}" if number + 1 < PAGES else None)


ALL = [f"{account}-{n}" for account in ACCOUNTS for n in range(2 * PAGES)]


def pager_of(client, keys=ACCOUNTS, **options):
    options = {"trd_market": "HK", **RANGE, **options}
    return client.pager("pages_many", "fills_history", keys, **options)


def ids(rows):
    return [row["deal_id"] for row in rows]


@pytest.mark.parametrize("mode", MODES)
def test_the_rows_of_all_keys_come_in_the_order_of_the_keys_with_their_key(mode):
    async def use(client):
        rows = await client.rows(pager_of(client))
        assert [(row["acc_id"], row["deal_id"]) for row in rows] == [(one[0], one) for one in ALL]
        many = await client.call("fetch_many", "fills_history", ACCOUNTS, trd_market="HK", **RANGE)
        assert rows == list(many) == list(await settled(pager_of(client).all()))
        pages = await client.pages(pager_of(client))
        assert [(one[0]["acc_id"], len(one)) for one in pages] == [
            (account, 2) for account in ACCOUNTS for _ in range(PAGES)
        ]

    run(mode, Fills(), use)


@pytest.mark.parametrize("mode", MODES)
def test_frames_have_the_key_as_their_first_column(mode):
    pytest.importorskip("pyarrow")

    async def use(client):
        table = await settled(pager_of(client).to_arrow())
        assert table.column_names[:2] == ["acc_id", "trd_side"]
        assert table["acc_id"].to_pylist() == [one[0] for one in ALL]
        assert table["deal_id"].to_pylist() == ALL
        some = await settled(pager_of(client).select("acc_id", "price").to_arrow())
        assert some.to_pylist() == [{"acc_id": one[0], "price": 1.5} for one in ALL]

    run(mode, Fills(), use)


def accounts_of(server):
    return {one.path.split("/")[4] for one in server.received}


def test_a_page_of_each_of_the_keys_that_are_read_side_by_side_is_fetched_ahead():
    with StandInService(Fills()) as server, bl.Client(server.base_url) as client:
        pager = client.pages_many(
            "fills_history", ACCOUNTS, trd_market="HK", concurrency=2, **RANGE
        )
        next(pager)
        rest = pager.checkpoint()
        next(pager.pages())
        wait_until(lambda: accounts_of(server) >= {"7", "8"}, "a page of the second account")
        assert accounts_of(server) == {"7", "8"} and pager.requests <= 4
        resumed = client.pages_many(
            "fills_history", ACCOUNTS, trd_market="HK", resume=rest, concurrency=1, **RANGE
        )
        assert ids(resumed.all()) == ALL[1:]


@pytest.mark.parametrize("mode", MODES)
def test_its_checkpoint_is_exact_within_and_between_keys(mode):
    async def use(client):
        for count in range(len(ALL) + 1):
            pager = pager_of(client)
            taken = await client.rows(pager, count)
            rest = await client.rows(pager_of(client, resume=pager.checkpoint()))
            assert ids(taken) == ALL[:count] and ids(rest) == ALL[count:]

    run(mode, Fills(), use)


@pytest.mark.parametrize("others", [["7", "8"], ["8", "7", "9"], ["7", "8", "9", "10"]])
def test_a_checkpoint_is_refused_by_another_list_of_keys(others):
    with StandInService(Fills()) as server, bl.Client(server.base_url) as client:
        pager = client.pages_many("fills_history", ACCOUNTS, trd_market="HK", **RANGE)
        next(pager)
        with raises(
            bl.ConfigError,
            snapshot(
                "fills_history: resume is a checkpoint of another call (fills_history); pass the "
                "same arguments to the same method: one such as code, start or page_size differs"
            ),
        ):
            client.pages_many(
                "fills_history", others, trd_market="HK", resume=pager.checkpoint(), **RANGE
            )
        # `7` and `"7"` are one key.
        same = client.pages_many(
            "fills_history", [7, 8, "9", 9], trd_market="HK", resume=pager.checkpoint(), **RANGE
        )
        assert ids(same) == ALL[1:]


@pytest.mark.parametrize("mode", MODES)
def test_an_open_range_ends_at_the_same_moment_for_all_keys(mode):
    with StandInService(Fills(), clock=3600.0) as server:
        run(mode, server, lambda client: client.rows(pager_of(client, start=None, end=None)))
        ranges = {tuple(re.findall(r"(?:start|end)=(\d+)", r.query)) for r in server.received}
    [(start, end)] = ranges
    assert int(end) - int(start) == 90 * 86_400 * 10**6


@pytest.mark.parametrize("mode", MODES)
def test_the_first_failure_is_raised_and_the_pager_goes_on_from_there(mode):
    fills = Fills(failing=[("8", 1)])

    async def use(client):
        pager, taken = pager_of(client), []
        with pytest.raises(bl.ApiError, match="busy") as caught:
            async for row in stream(pager):
                taken.append(row)
        assert ids(taken) == ALL[:8] and pager.checkpoint() == caught.value.checkpoint
        fills.failing.clear()
        return ids(taken + await client.rows(pager))

    assert run(mode, fills, use) == ALL


FAILURES = [[("8", 1)], [("7", 0)], [("9", 2)], [("7", 2), ("8", 0), ("9", 1)]]


@pytest.mark.parametrize("failing", FAILURES)
@pytest.mark.parametrize("mode", MODES)
def test_collected_failures_are_named_and_a_resume_tries_them_again_from_where_they_failed(
    mode, failing
):
    fills = Fills(failing)
    kept = [
        one
        for one in ALL
        if not any(one[0] == key and int(one[2:]) >= 2 * number for key, number in failing)
    ]

    async def use(client):
        pager = pager_of(client, on_error="collect")
        assert ids(await client.rows(pager)) == kept
        assert list(pager.errors) == [key for key, _ in failing]
        assert all(isinstance(error, bl.ApiError) for error in pager.errors.values())
        whole = pager_of(client, on_error="collect")
        assert ids(await settled(whole.all())) == kept
        assert list(whole.errors) == list(pager.errors)
        assert pager.checkpoint() == whole.checkpoint()
        fills.failing.clear()
        again = pager_of(client, on_error="collect", resume=pager.checkpoint())
        rest = ids(await client.rows(again))
        assert rest == [one for one in ALL if one not in kept] and again.errors == {}
        # Nothing is left.
        end = pager_of(client, on_error="collect", resume=again.checkpoint())
        assert await client.rows(end) == []

    run(mode, fills, use)


def test_a_resume_in_the_middle_tries_failed_keys_first_and_then_goes_on():
    fills = Fills([("7", 1)])
    with StandInService(fills) as server, bl.Client(server.base_url, max_retries=0) as client:
        options = {"trd_market": "HK", "on_error": "collect", **RANGE}
        pager = client.pages_many("fills_history", ACCOUNTS, **options)
        taken = [next(pager) for _ in range(5)]
        assert ids(taken) == ["7-0", "7-1", "8-0", "8-1", "8-2"]
        fills.failing.clear()
        checkpoint, rest = pager.checkpoint(), []
        # From each checkpoint on the way, too.
        while True:
            resumed = client.pages_many("fills_history", ACCOUNTS, resume=checkpoint, **options)
            if (row := next(resumed, None)) is None:
                break
            rest.append(row)
            checkpoint = resumed.checkpoint()
        assert ids(rest) == ["7-2", "7-3", "7-4", "7-5", "8-3", "8-4", "8-5", *ALL[12:]]


def test_an_invalid_key_is_refused_or_collected():
    with StandInService(Fills()) as server, bl.Client(server.base_url) as client:
        with pytest.raises(bl.ConfigError, match="acc_id"):
            client.pages_many("fills_history", ["7", "x y"], trd_market="HK", **RANGE)
        assert server.received == []
        pager = client.pages_many(
            "fills_history", ["7", "x y", "9"], trd_market="HK", on_error="collect", **RANGE
        )
        assert ids(pager) == ALL[:6] + ALL[12:]
        assert list(pager.errors) == ["x y"]
        assert isinstance(pager.errors["x y"], bl.ConfigError)


def test_a_method_that_returns_one_response_is_refused():
    with StandInService(Fills()) as server, bl.Client(server.base_url) as client:
        wrong = pytest.raises(
            bl.ConfigError, match="dividends does not return pages; use fetch_many"
        )
        with wrong:
            client.pages_many("dividends", ["HK.00700"])


def test_without_keys_there_is_nothing():
    with StandInService(Fills()) as server, bl.Client(server.base_url) as client:
        pager = client.pages_many("fills_history", [], trd_market="HK", **RANGE)
        assert list(pager) == [] and server.received == []
