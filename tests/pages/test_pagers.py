"""Section 2.4 and `Pager`: pages, limits, checkpoints, and nothing lost or doubled."""

import asyncio
import gc
import json
import warnings

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.clients import MODES, client_of, result_of, run, settled
from ..support.paged_service import CALLS, END, RANGE, START, PagedList, cursor_of, page
from ..support.service import StandInService
from ..support.threads import wait_until
from ..support.words import raises

modes = pytest.mark.parametrize("mode", MODES)
methods = pytest.mark.parametrize("method", CALLS)
LENGTHS = [3, 0, 4, 1, 0, 2]


def pager_of(client, method, **extra):
    args, kwargs = CALLS[method]
    return client.pager(method, *args, **{**kwargs, **extra})


@modes
def test_at_most_one_page_is_fetched_ahead(mode):
    book = PagedList("crypto_orders", [2] * 9)

    async def use(client):
        pager = pager_of(client, "crypto_orders")
        rows = await client.rows(pager, 5)
        return rows, pager.requests

    with StandInService(book) as server:
        rows, requests = run(mode, server, use)
    assert rows == book.rows[:5]
    assert requests <= 4 and len(server.received) <= 4


@methods
@modes
def test_pages_are_records_with_their_pagination_object(method, mode):
    book = PagedList(method, LENGTHS)
    pages = run(mode, book, lambda c: c.pages(pager_of(c, method)))
    assert all(isinstance(one, bl.Records) for one in pages)
    filled = [one for one in book.pages if one]
    assert [list(one) for one in pages if len(one)] == filled
    first = pages[0].meta.get("pagination", pages[0].meta)
    last = pages[-1].meta.get("pagination", pages[-1].meta)
    if method == "plate_stocks":
        assert (first["has_more"], first["next_key"]) == (True, "after 1")
        assert first["total"] == len(book.rows)
        assert (last["has_more"], last["next_key"]) == (False, "-1")
    else:
        assert (first["completed"], first["page_flag"]) == (False, "after 1")
        assert last["completed"] is True


OTHER_CALLS = [
    ("plate_stocks", "plate_stocks", ["HK.BK1002"], {}),
    ("crypto_orders", "crypto_orders", [8], {}),
    ("fills_history", "fills_history", ["281757", "HK"], RANGE),
    ("fills_history", "fills_history", ["281756", "US"], RANGE),
    ("fills_history", "fills_history", ["281756", "HK"], {**RANGE, "code": "HK.00700"}),
    ("fills_history", "fills_history", ["281756", "HK"], {"start": START, "end": END - 1}),
    ("fills_history", "crypto_orders", *CALLS["crypto_orders"]),
    ("crypto_orders", "plate_stocks", *CALLS["plate_stocks"]),
]


@pytest.mark.parametrize(("of", "method", "args", "kwargs"), OTHER_CALLS)
def test_a_checkpoint_of_another_call_is_rejected(of, method, args, kwargs):
    with StandInService(PagedList(of, [2, 2])) as server, client_of(server) as client:
        own, arguments = CALLS[of]
        pager = getattr(client, of)(*own, **arguments)
        next(pager)
        with pytest.raises(bl.ConfigError, match=r"resume|checkpoint"):
            getattr(client, method)(*args, **kwargs, resume=pager.checkpoint())


# The position: exact after every end, and the same when resumed.


@modes
def test_an_exhausted_pager_raises_instead_of_returning_nothing(mode):
    async def use(client):
        pager = pager_of(client, "fills_history")
        await client.rows(pager)
        assert await client.pages(pager) == []
        for again in (pager.all, pager.to_arrow, pager.to_pandas):
            with pytest.raises(bl.ConfigError, match="exhausted") as caught:
                await settled(again())
            assert json.loads(caught.value.checkpoint)["at"]["done"]
        with pytest.raises(bl.ConfigError, match="exhausted"):
            await settled(pager.record_batches())

    with StandInService(PagedList("fills_history", LENGTHS)) as server:
        run(mode, server, use)
        assert len(server.received) == len(LENGTHS)


@modes
def test_a_page_without_rows_is_not_the_end_and_an_empty_result_at_the_end_is(mode):
    async def use(client):
        pager = client.listing("plate_stocks")
        sizes = [len(await result_of(pager.all(max_pages=1))) for _ in range(3)]
        assert sizes == [3, 0, 2]
        # Everything is received, and an empty result says so once.
        assert await result_of(pager.all(max_items=9)) == []
        with pytest.raises(bl.ConfigError, match="exhausted"):
            await result_of(pager.all(max_items=9))
        rest = client.listing("plate_stocks")
        assert [len(await result_of(rest.all(max_pages=1))) for _ in range(2)] == [3, 0]
        return len(await result_of(rest.all()))

    assert run(mode, PagedList("plate_stocks", [3, 0, 2]), use) == 2


@methods
def test_security_31_a_cursor_from_long_before_a_checkpoint_is_noticed_after_it(method):
    """The service goes back by 190 pages: no row comes twice, resumed or not."""
    book = PagedList(method, [1] * 200)

    def service(received):
        if cursor_of(received) == "after 197":
            return page(method, [{"n": 197}], "after 5")
        return book(received)

    async def begin(client):
        pager = pager_of(client, method)
        await client.rows(pager, 195)
        return pager.checkpoint()

    async def go_on(client):
        pager, rows = pager_of(client, method, resume=checkpoint), []
        with pytest.raises(bl.PaginationError):
            while True:
                rows += await client.rows(pager, 1)
        return rows

    with StandInService(service) as server:
        checkpoint = run("sync", server, begin)
        assert [row["n"] for row in run("sync", server, go_on)] == [195, 196]


def test_a_checkpoint_of_another_account_names_both(sandbox_of_fills):
    with sandbox_of_fills.client() as client:
        pager = client.fills_history(281756, "HK")
        next(pager)
        with pytest.raises(bl.ConfigError) as caught:
            client.fills_history("5001", "US", resume=pager.checkpoint())
        assert str(caught.value) == snapshot(
            "fills_history: resume is a checkpoint of another call (fills_history of acc_id "
            "281756, trd_market HK); this call is of acc_id 5001, trd_market US: pass the "
            "same arguments to the same method"
        )
        with raises(
            bl.ConfigError,
            snapshot(
                "fills_history: resume is a checkpoint of another call (fills_history); pass the "
                "same arguments to the same method: one such as code, start or page_size differs"
            ),
        ):
            client.fills_history("281756", "HK", code="HK.00700", resume=pager.checkpoint())


@pytest.fixture
def sandbox_of_fills():
    with bl.Sandbox(seed=7, fills=60) as sandbox:
        yield sandbox


def test_a_checkpoint_is_rejected_by_another_service_and_with_any_character_changed():
    with (
        StandInService(PagedList("fills_history", LENGTHS)) as server,
        StandInService() as other,
        client_of(server) as client,
        client_of(other) as client_of_other,
    ):
        args, kwargs = CALLS["fills_history"]
        pager = client.fills_history(*args, **kwargs)
        taken = [next(pager) for _ in range(5)]
        checkpoint = pager.checkpoint()
        with pytest.raises(bl.ConfigError, match="another service"):
            client_of_other.fills_history(*args, **kwargs, resume=checkpoint)
        for place, character in enumerate(checkpoint):
            for changed in {"0", "a", '"', chr(ord(character) ^ 1)} - {character}:
                text = checkpoint[:place] + changed + checkpoint[place + 1 :]
                with pytest.raises(bl.ConfigError):
                    client.fills_history(*args, **kwargs, resume=text)
        assert len(taken) == 5 and other.received == []


@modes
def test_a_closed_client_sends_nothing_through_its_pagers(mode):
    async def use(client):
        pager, other = pager_of(client, "fills_history"), pager_of(client, "fills_history")
        await client.rows(pager, 1)
        # The page that is fetched ahead has arrived there: nothing else is on its way.
        wait_until(lambda: len(server.received) == 2)
        await settled(client.client.close())
        before = len(server.received)
        for call in (other.all, pager.all):
            with pytest.raises(bl.ConfigError, match="closed"):
                await settled(call())
        return before

    with StandInService(PagedList("fills_history", [1] * 9)) as server:
        assert run(mode, server, use) == len(server.received)


@pytest.mark.parametrize("range_", [{}, RANGE], ids=["open", "closed"])
def test_a_deadline_that_is_shorter_than_every_response_gets_each_page_in_the_end(range_):
    """Also the service's time, by which an open range ends."""

    async def main(sandbox):
        given_up = 0
        async with sandbox.async_client() as client:
            pager, rows = client.fills_history("281756", "HK", page_size=10, **range_), 0
            while True:
                try:
                    # time: a deadline is what is tried
                    await asyncio.wait_for(anext(pager), 0.01)
                    rows += 1
                except asyncio.TimeoutError:
                    given_up += 1
                except StopAsyncIteration:
                    return rows, given_up, pager.requests

    with bl.Sandbox(seed=3, fills=30) as sandbox:
        sandbox.faults = bl.Faults(latency=0.1)
        rows, given_up, requests = asyncio.run(main(sandbox))
        asked = [one.path for one in sandbox.requests]
    assert given_up > 3 and requests == sum("fills_history" in path for path in asked)
    assert sum("server-time" in path for path in asked) == (0 if range_ else 1)
    assert requests == max(1, rows // 10)


def test_a_forgotten_await_is_warned_of():
    async def main(server):
        async with bl.AsyncClient(server.base_url) as client:
            client.crypto_orders(7).all()

    with (
        StandInService(PagedList("crypto_orders", [1])) as server,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        asyncio.run(main(server))
        gc.collect()
        assert server.received == []
    assert [str(one.message) for one in warned] == ["coroutine 'AsyncPager.all' was never awaited"]
