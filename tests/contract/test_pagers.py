"""Section 2.4 and `Pager`: pages, limits, checkpoints, and nothing lost or doubled."""

import json

import boardlot as bl
import pytest

from ..support.clients import MODES, run, settled
from ..support.keys import PRIVATE_PEM
from ..support.paged_service import CALLS, END, RANGE, START, PagedList, cursor_of, page
from ..support.service import StandInService, response

modes = pytest.mark.parametrize("mode", MODES)
methods = pytest.mark.parametrize("method", CALLS)
LENGTHS = [3, 0, 4, 1, 0, 2]


def pager_of(client, method, **extra):
    args, kwargs = CALLS[method]
    return client.pager(method, *args, **{**kwargs, **extra})


@methods
@modes
def test_iteration_returns_every_row_in_order(method, mode):
    book = PagedList(method, LENGTHS)

    async def use(client):
        pager = pager_of(client, method)
        rows = await client.rows(pager)
        return rows, pager.requests, pager.total, await client.rows(pager)

    with StandInService(book) as server:
        rows, requests, total, rest = run(mode, server, use)
    assert rows == book.rows
    assert rest == []
    assert requests == len(LENGTHS) == len(server.received)
    assert total == (len(book.rows) if method == "plate_stocks" else None)


@methods
@modes
def test_the_first_page_is_requested_as_each_endpoint_expects(method, mode):
    with StandInService(PagedList(method, [1, 1])) as server:
        run(mode, server, lambda c: c.rows(pager_of(c, method)))
    first = {"plate_stocks": "", "crypto_orders": None, "fills_history": ""}[method]
    assert [cursor_of(received) for received in server.received] == [first, "after 1"]


@methods
@modes
def test_at_most_one_page_is_fetched_ahead(method, mode):
    book = PagedList(method, [2] * 9)

    async def use(client):
        pager = pager_of(client, method)
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
    with StandInService(book) as server:
        pages = run(mode, server, lambda c: c.pages(pager_of(c, method)))
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


@methods
@modes
@pytest.mark.parametrize("taken", range(11))
def test_a_checkpoint_resumes_after_the_last_row_received(method, taken, mode):
    book = PagedList(method, LENGTHS)

    async def use(client):
        pager = pager_of(client, method)
        head = await client.rows(pager, taken)
        return head, pager.checkpoint()

    with StandInService(book) as server:
        head, checkpoint = run(mode, server, use)
        assert isinstance(checkpoint, str) and len(checkpoint) < 4096
        json.loads(checkpoint)
        assert PRIVATE_PEM.split("\n")[1] not in checkpoint
        tail = run(mode, server, lambda c: c.rows(pager_of(c, method, resume=checkpoint)))
    assert head + tail == book.rows


@modes
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_an_open_range_stays_fixed_over_a_checkpoint(taken, mode):
    book = PagedList("fills_history", [2, 2, 2])

    async def use(client):
        pager = client.pager("fills_history", "281756", "HK")
        head = await client.rows(pager, taken)
        return head, pager.checkpoint()

    with StandInService(book, clock=0.0) as server:
        head, checkpoint = run(mode, server, use)
        resumed = run(
            mode,
            server,
            lambda c: c.everything("fills_history", "281756", "HK", resume=checkpoint),
        )
        ranges = {
            tuple(part for part in received.query.split("&") if part.startswith(("start=", "end=")))
            for received in server.received
        }
    assert head + resumed == book.rows
    assert len(ranges) == 1


FAULTS = {
    "HTTP 500": lambda: response(b"oops", 500, {"Content-Type": "text/plain"}),
    "a refusal": lambda: response(
        {"code": 5, "s": "error", "errcode": 5, "errmsg": "m", "msg": "m"}
    ),
    "HTML": lambda: response(b"<html>"),
    "a reset": lambda: response(drop=True),
    "a cut-off body": lambda: response(b'{"code":0,' + b" " * 99, truncate=20),
}


@methods
@modes
@pytest.mark.parametrize("number", [0, 1, 2, 5])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_midway_raises_and_can_be_resumed_with_nothing_lost_or_doubled(
    method, fault, number, mode
):
    book = PagedList(method, LENGTHS, {number: [FAULTS[fault]()]})
    head = []

    async def use(client):
        pager = pager_of(client, method)
        while True:
            (row,) = await client.rows(pager, 1)
            head.append(row)

    with StandInService(book) as server:
        with pytest.raises(bl.BoardlotError) as caught:
            run(mode, server, use)
        assert head == book.rows[: len(head)] and len(head) <= sum(LENGTHS[:number])
        assert isinstance(caught.value.checkpoint, str)
        checkpoint = caught.value.checkpoint
        tail = run(mode, server, lambda c: c.rows(pager_of(c, method, resume=checkpoint)))
    assert head + tail == book.rows


@methods
@modes
def test_all_never_returns_a_short_list(method, mode):
    book = PagedList(method, LENGTHS, {3: [response(b"oops", 500)]})

    async def all_of(client):
        return await settled(pager_of(client, method).all())

    with StandInService(book) as server, pytest.raises(bl.ServiceError):
        run(mode, server, all_of)


@methods
@modes
@pytest.mark.parametrize(
    "cursors", [["x", "x"], ["x", "y", "x"], ["x", "y", "z", "y"]], ids="-".join
)
def test_a_cursor_that_was_already_seen_is_a_pagination_error(method, cursors, mode):
    script = [page(method, [{"n": n}], cursor) for n, cursor in enumerate(cursors)]
    with StandInService(script) as server:
        with pytest.raises(bl.PaginationError) as caught:
            run(mode, server, lambda c: c.rows(pager_of(c, method)))
        assert len(server.received) == len(cursors)
    assert isinstance(caught.value, bl.ProtocolError)
    assert method in caught.value.endpoint and caught.value.hint


@modes
@pytest.mark.parametrize("method", ["fills_history", "plate_stocks"])
def test_a_cursor_back_to_the_beginning_is_a_pagination_error(method, mode):
    again = page(method, [{"n": 1}], "")
    with StandInService(lambda _: again) as server:
        with pytest.raises(bl.PaginationError):
            run(mode, server, lambda c: c.rows(pager_of(c, method)))
        assert len(server.received) == 1


def checkpoint_of(method, mode="sync", **extra):
    async def use(client):
        pager = pager_of(client, method, **extra)
        await client.rows(pager, 1)
        return pager.checkpoint()

    with StandInService(PagedList(method, [2, 2])) as server:
        return run(mode, server, use)


OTHER_CALLS = [
    ("plate_stocks", ["HK.BK1002"], {}),
    ("crypto_orders", [8], {}),
    ("fills_history", ["281757", "HK"], RANGE),
    ("fills_history", ["281756", "US"], RANGE),
    ("fills_history", ["281756", "HK"], {**RANGE, "code": "HK.00700"}),
    ("fills_history", ["281756", "HK"], {"start": START, "end": END - 1}),
    ("fills_history", ["281756", "HK"], {"start": START + 1, "end": END}),
]


@modes
@pytest.mark.parametrize(("method", "args", "kwargs"), OTHER_CALLS)
def test_a_checkpoint_of_another_call_is_rejected(method, args, kwargs, mode):
    checkpoint = checkpoint_of(method)
    with StandInService() as server:
        with pytest.raises(bl.ConfigError) as caught:
            run(
                mode,
                server,
                lambda c: c.everything(method, *args, **kwargs, resume=checkpoint),
            )
        assert server.received == []
    assert "resume" in str(caught.value) or "checkpoint" in str(caught.value)


@modes
@pytest.mark.parametrize(
    ("method", "source"),
    [
        (method, source)
        for method in CALLS
        for source in [*CALLS, "", "x", "{}", "[]", "null", "1", '{"version":1}']
        if source != method
    ],
)
def test_a_checkpoint_of_another_method_or_of_none_is_rejected(method, source, mode):
    checkpoint = checkpoint_of(source) if source in CALLS else source
    args, kwargs = CALLS[method]
    with StandInService() as server:
        with pytest.raises(bl.ConfigError):
            run(mode, server, lambda c: c.everything(method, *args, **kwargs, resume=checkpoint))
        assert server.received == []


@methods
def test_a_checkpoint_passes_from_one_kind_of_client_to_the_other(method):
    book = PagedList(method, LENGTHS)

    async def use(client):
        pager = pager_of(client, method)
        return await client.rows(pager, 5), pager.checkpoint()

    with StandInService(book) as server:
        head, checkpoint = run("async", server, use)
        tail = run("sync", server, lambda c: c.rows(pager_of(c, method, resume=checkpoint)))
    assert head + tail == book.rows
