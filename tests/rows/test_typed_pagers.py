"""`.as_type(T)` on pagers: every row once, with exact checkpoints."""

import dataclasses
import gc
import weakref
from dataclasses import dataclass

import boardlot as bl
import pytest
from boardlot import _core

from ..support.clients import MODES, run
from ..support.paged_service import CALLS, PagedList
from ..support.service import StandInService


@dataclass
class Row:
    code: str
    n: int


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
        for taken in (0, 1, 3, 4, 40, 66, 67, 73, 75, len(expected)):
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


def test_a_constructor_that_fails_loses_no_row_and_runs_when_its_row_is_requested():
    args, kwargs = CALLS["plate_stocks"]
    made = []

    @dataclass
    class Careful:
        n: int

        def __post_init__(self):
            made.append(self.n)
            if made.count(self.n) == 1 and self.n % 10 == 4:
                raise KeyboardInterrupt

    with StandInService(PagedList("plate_stocks", [30])) as server:
        client = bl.Client(server.base_url, auth=bl.BearerToken("t"))
        rows, seen = client.plate_stocks(*args, **kwargs).as_type(Careful), []
        while len(seen) < 30:
            try:
                seen.append(next(rows).n)
            except KeyboardInterrupt:
                assert made[-1] == len(seen)
    assert seen == list(range(30))


def test_an_iterator_that_its_class_refers_to_is_collected():
    pager = _core._pager_from_bodies("fills_history", [("acc_id", "1"), ("trd_market", "HK")], [])
    cls = dataclasses.make_dataclass("T", [("code", str)])
    cls.rows = pager.as_type(cls)
    kept = weakref.ref(cls)
    del cls
    gc.collect()
    assert kept() is None
