"""The position of a pager: exact after every end, and the same when resumed."""

import asyncio
import gc
import json
import warnings

import boardlot as bl
import pytest

from ..support.clients import client_of, run, settled
from ..support.paged_service import CALLS, PagedList, cursor_of, page
from ..support.service import StandInService
from ..support.threads import wait_until
from .test_pagers import LENGTHS, methods, modes, pager_of


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
            await settled(pager.to_arrow(batches=True))

    with StandInService(PagedList("fills_history", LENGTHS)) as server:
        run(mode, server, use)
        assert len(server.received) == len(LENGTHS)


@modes
def test_limited_calls_in_a_loop_end_with_an_empty_result(mode):
    book = PagedList("fills_history", LENGTHS)

    async def use(client):
        pager, chunks = pager_of(client, "fills_history"), []
        while chunk := await settled(pager.all(max_items=4)):
            chunks.append(list(chunk))
        with pytest.raises(bl.ConfigError, match="exhausted"):
            await settled(pager.all(max_items=4))
        return chunks

    chunks = run(mode, book, use)
    assert [len(chunk) for chunk in chunks] == [4, 4, 2]
    assert [row for chunk in chunks for row in chunk] == book.rows


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
    assert [str(one.message) for one in warned] == ["crypto_orders was never awaited"]
