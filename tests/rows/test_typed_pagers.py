"""`.as_type(T)` on pagers: every row once, with exact checkpoints."""

import dataclasses
import gc
import itertools
import typing
import weakref
from dataclasses import dataclass

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, run
from ..support.paged_service import PagedList
from ..support.service import StandInService


@dataclass
class Row:
    code: str
    n: int


LENGTHS = [3, 0, 70, 1, 0, 2]


VIEWS = {
    "instances": (lambda pager: pager.as_type(Row), lambda row: Row(**row)),
    "selected": (lambda pager: pager.select("code"), lambda row: {"code": row["code"]}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("view", "expected"), VIEWS.values(), ids=VIEWS)
def test_a_view_of_a_pager_has_every_row_and_exact_checkpoints(mode, view, expected):
    book = PagedList("plate_stocks", LENGTHS)
    whole = list(map(expected, book.rows))

    async def use(client):
        rows = view(client.listing("plate_stocks"))
        assert await client.rows(rows) == whole
        assert (rows.total, rows.requests) == (len(whole), len(LENGTHS))
        for taken in (0, 3, 40, 73, len(whole)):
            pager = client.listing("plate_stocks")
            rows = view(pager)
            assert await client.rows(rows, taken) == whole[:taken]
            # The position is that of the pager: what it is viewed as is not part of it.
            assert rows.checkpoint() == pager.checkpoint()
            assert (
                await client.rows(client.listing("plate_stocks", rows.checkpoint()))
                == book.rows[taken:]
            )
        pages = await client.pages(client.listing("plate_stocks").select("code"))
        assert [len(page) for page in pages] == LENGTHS

    run(mode, book, use)


@pytest.mark.parametrize("mode", MODES)
def test_rows_before_a_wrong_one_arrive_and_its_error_has_their_checkpoint(mode):
    book = PagedList("plate_stocks", [5, 30])
    book.rows[17]["n"] = "many"

    async def use(client):
        rows = client.listing("plate_stocks").as_type(Row)
        assert [row.n for row in await client.rows(rows, 17)] == list(range(17))
        for _ in range(2):  # It stays where it is.
            with pytest.raises(bl.ProtocolError, match='n of record 12 of its page is "many"') as e:
                await client.rows(rows)
            resumed = client.listing("plate_stocks", e.value.checkpoint)
            assert (await client.rows(resumed))[0]["n"] == "many"

    run(mode, book, use)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [type("Unfit", (Exception,), {}), bl.ProtocolError])
def test_an_error_of_a_constructor_keeps_its_own_checkpoint(mode, kind):
    error = kind("of the caller's")
    error.checkpoint = "of another list"

    class Row:
        n: int

        def __init__(self, n):
            raise error

    async def use(client):
        with pytest.raises(kind) as caught:
            await client.rows(client.listing("plate_stocks").as_type(Row), 1)
        assert caught.value is error and error.checkpoint == "of another list"

    run(mode, PagedList("plate_stocks", [5]), use)


@pytest.mark.parametrize("taken", [0, 29])
@pytest.mark.parametrize("make", [dataclasses.make_dataclass, typing.NamedTuple])
def test_an_iterator_that_its_class_refers_to_is_collected(make, taken):
    with StandInService(PagedList("plate_stocks", [30])) as server, client_of(server) as client:
        cls = make("T", [("code", str)])
        cls.rows = client.plate_stocks("HK.BK1001").as_type(cls)
        # The rows after them are instances that nobody has received.
        assert len(list(itertools.islice(cls.rows, taken))) == taken
        kept = weakref.ref(cls)
        del cls
        gc.collect()
        assert kept() is None
