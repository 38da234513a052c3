"""`Pager`: any mix of rows, pages, limits and checkpoints, over pages that may be empty.

The oracle knows the pages and where the caller is, nothing else: it says what each call returns,
and whether the list has ended.
"""

import json
import random

import boardlot as bl
import pytest

from ..support.clients import run, settled
from ..support.paged_service import PagedList
from ..support.service import StandInService
from .test_pagers import methods, modes, pager_of

LIMITS = [None, 0, 1, 2, 5]


class Oracle:
    """A position among pages: the page, and how many of its rows were received."""

    def __init__(self, pages):
        self.pages, self.page, self.row = pages, 0, 0
        # True if the caller knows that nothing is left.
        self.end_is_known = False

    @property
    def is_at_end(self):
        return self.page == len(self.pages)

    def take(self, items):
        """At most this many rows of the current page."""
        rows = self.pages[self.page][self.row :][:items]
        self.row += len(rows)
        if self.row == len(self.pages[self.page]):
            self.page, self.row = self.page + 1, 0
        return rows

    def rows(self, count):
        taken = []
        while len(taken) < count and not self.is_at_end:
            taken += self.take(count - len(taken))
        self.end_is_known |= len(taken) < count
        return taken

    def one_page(self):
        self.end_is_known |= self.is_at_end
        return None if self.is_at_end else self.take(10**9)

    def all(self, max_items=None, max_pages=None):
        items = 10**9 if max_items is None else max_items
        pages = 10**9 if max_pages is None else max_pages
        taken = []
        while items > 0 and pages > 0 and not self.is_at_end:
            rows = self.take(items)
            taken += rows
            items, pages = items - len(rows), pages - 1
        if max_items == max_pages is None:
            self.end_is_known = True
        elif 0 not in (max_items, max_pages):
            self.end_is_known |= self.is_at_end and not taken
        return taken


async def one_page(pager):
    pages = pager.pages()
    page = await anext(pages, None) if hasattr(pages, "__anext__") else next(pages, None)
    return None if page is None else list(page)


async def play(client, method, chance, lengths):
    """Some steps, each checked against the oracle."""
    pages = PagedList(method, lengths).pages
    oracle, pager = Oracle(pages), pager_of(client, method)
    for _ in range(12):
        step = chance.choice(["rows", "page", "all", "all", "all", "frame", "resume"])
        limits = {name: chance.choice(LIMITS) for name in ("max_items", "max_pages")}
        refused = step in ("all", "frame") and oracle.end_is_known
        if refused:
            with pytest.raises(bl.ConfigError, match="exhausted"):
                await settled(pager.all(**limits) if step == "all" else pager.to_arrow())
        elif step == "rows":
            count = chance.choice([0, 1, 2, 7])
            assert await client.rows(pager, count) == oracle.rows(count)
        elif step == "page":
            assert await one_page(pager) == oracle.one_page()
        elif step == "all":
            assert list(await settled(pager.all(**limits))) == oracle.all(**limits)
        elif step == "frame" and chance.random() < 0.2:
            table = await settled(pager.to_arrow())
            assert table.num_rows == len(oracle.all())
        elif step == "resume":
            pager = pager_of(client, method, resume=pager.checkpoint())
            oracle.end_is_known = False
        position = json.loads(pager.checkpoint())["at"]
        assert position.get("done", False) == oracle.is_at_end, (step, limits)
    assert await client.rows(pager) == oracle.rows(10**9)


@methods
@modes
def test_every_row_comes_once_whatever_is_limited_and_whatever_page_is_empty(method, mode):
    pytest.importorskip("pyarrow")
    for seed in range(15):
        chance = random.Random(f"{method} {mode} {seed}")
        lengths = [chance.choice([0, 0, 1, 3, 4]) for _ in range(chance.randint(1, 6))]
        with StandInService(PagedList(method, lengths)) as server:
            run(mode, server, lambda c, ch=chance, ln=lengths: play(c, method, ch, ln))


@modes
@pytest.mark.parametrize("limits", [{"max_items": 0}, {"max_pages": 0}, {"max_pages": 1}], ids=str)
def test_a_result_without_rows_does_not_end_a_list_that_continues(mode, limits):
    book = PagedList("crypto_orders", [0, 3, 2])

    async def use(client):
        pager = pager_of(client, "crypto_orders")
        assert list(await settled(pager.all(**limits))) == []
        resumed = pager_of(client, "crypto_orders", resume=pager.checkpoint())
        return list(await settled(pager.all())), list(await settled(resumed.all()))

    with StandInService(book) as server:
        assert run(mode, server, use) == (book.rows, book.rows)
