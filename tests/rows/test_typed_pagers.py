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
from ..support.paged_service import CALLS, PagedList
from ..support.service import StandInService


@dataclass
class Row:
    code: str
    n: int


def named_tuple(name, fields):
    return typing.NamedTuple(name, fields)


LENGTHS = [3, 0, 70, 1, 0, 2]


@pytest.mark.parametrize("mode", MODES)
def test_a_pager_yields_instances_with_exact_checkpoints(mode):
    args, kwargs = CALLS["plate_stocks"]
    book = PagedList("plate_stocks", LENGTHS)
    expected = [Row(**row) for row in book.rows]

    async def use(client):
        pager = client.pager("plate_stocks", *args, **kwargs)
        rows = pager.as_type(Row)
        assert await client.rows(rows) == expected
        assert (rows.total, rows.requests) == (len(expected), len(LENGTHS))
        for taken in (0, 3, 40, 73, len(expected)):
            pager = client.pager("plate_stocks", *args, **kwargs)
            rows = pager.as_type(Row)
            assert await client.rows(rows, taken) == expected[:taken]
            assert rows.checkpoint() == pager.checkpoint()
            resumed = client.pager("plate_stocks", *args, **kwargs, resume=rows.checkpoint())
            assert await client.rows(resumed.as_type(Row)) == expected[taken:]

    with StandInService(book) as server:
        run(mode, server, use)


@pytest.mark.parametrize("mode", MODES)
def test_rows_before_a_wrong_one_arrive_and_its_error_has_their_checkpoint(mode):
    args, kwargs = CALLS["plate_stocks"]
    book = PagedList("plate_stocks", [5, 30])
    book.rows[17]["n"] = "many"

    async def use(client):
        rows = client.pager("plate_stocks", *args, **kwargs).as_type(Row)
        assert [row.n for row in await client.rows(rows, 17)] == list(range(17))
        for _ in range(2):  # It stays where it is.
            with pytest.raises(
                bl.ProtocolError, match='n of record 12 of its page is "many"'
            ) as caught:
                await client.rows(rows)
            resumed = client.pager("plate_stocks", *args, **kwargs, resume=caught.value.checkpoint)
            assert (await client.rows(resumed))[0]["n"] == "many"

    with StandInService(book) as server:
        run(mode, server, use)


@pytest.mark.parametrize("mode", MODES)
def test_an_error_of_a_constructor_keeps_its_own_checkpoint(mode):
    args, kwargs = CALLS["plate_stocks"]

    class Unfit(Exception):
        checkpoint = "of the caller's"

    class Row:
        n: int

        def __init__(self, n):
            raise Unfit

    class Reading:
        n: int

        def __init__(self, n):
            raise foreign

    async def use(client):
        rows = client.pager("plate_stocks", *args, **kwargs)
        with pytest.raises(Unfit) as caught:
            await client.rows(rows.as_type(Row), 1)
        assert (caught.value.checkpoint, vars(caught.value)) == ("of the caller's", {})
        with pytest.raises(bl.ProtocolError) as caught:
            await client.rows(rows.as_type(Reading), 1)
        assert caught.value.checkpoint == "of another list"

    foreign = bl.ProtocolError("no JSON")
    foreign.checkpoint = "of another list"
    with StandInService(PagedList("plate_stocks", [5])) as server:
        run(mode, server, use)


@pytest.mark.parametrize("taken", [0, 29])
@pytest.mark.parametrize("make", [dataclasses.make_dataclass, named_tuple])
def test_an_iterator_that_its_class_refers_to_is_collected(make, taken):
    args, kwargs = CALLS["plate_stocks"]
    with StandInService(PagedList("plate_stocks", [30])) as server, client_of(server) as client:
        cls = make("T", [("code", str)])
        cls.rows = client.plate_stocks(*args, **kwargs).as_type(cls)
        # The rows after them are instances that nobody has received.
        assert len(list(itertools.islice(cls.rows, taken))) == taken
        kept = weakref.ref(cls)
        del cls
        gc.collect()
        assert kept() is None
