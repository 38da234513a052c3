"""An update reads eight lists at a time: each as if alone, and none continues without the
others."""

import _thread
import threading
from types import SimpleNamespace

import boardlot as bl
import pytest
from boardlot.archive import fills, side_by_side, update as updating

from ..support.interrupts import ends_at_once
from .service import HK, fill, path_of

SYMBOLS = [f"HK.{number:05}" for number in range(1, 13)]


def put_dividends(book):
    for symbol in SYMBOLS:
        book.lists[path_of("dividends", symbol)] = [{"ex_date": "2026-01-02", "statement": symbol}]


def stored(archive):
    return {
        symbol: [row["statement"] for row in archive.seen("dividends", symbol)]
        for symbol in SYMBOLS
    }


def test_eight_lists_are_read_at_a_time_and_reported_in_the_order_of_the_caller(
    archive, book, client, service
):
    put_dividends(book)
    # Each of the first eight responses waits for all eight requests.
    together, left = threading.Barrier(8), iter(range(8))
    book.before = lambda received: (
        received.path.endswith("/dividends") and next(left, None) is not None and together.wait(60)
    )
    report = archive.update(client, dividends=SYMBOLS)
    assert [key for _, key in report.lists] == SYMBOLS
    assert report.new == len(SYMBOLS) and not together.broken
    assert stored(archive) == {symbol: [symbol] for symbol in SYMBOLS}
    # The time of the service is requested once for all of them.
    assert len(service.received) == len(SYMBOLS) + 1


def test_where_no_thread_can_be_started_one_list_is_read_after_another(
    archive, book, client, monkeypatch
):
    put_dividends(book)

    def refused(*_):
        raise RuntimeError("can't start new thread")

    refusing = SimpleNamespace(allocate_lock=_thread.allocate_lock, start_new_thread=refused)
    with monkeypatch.context() as patched:
        patched.setattr(side_by_side, "_thread", refusing)
        assert archive.update(client, dividends=SYMBOLS).new == len(SYMBOLS)
    assert stored(archive) == {symbol: [symbol] for symbol in SYMBOLS}


def test_a_list_that_cannot_be_stored_ends_the_others_at_once(target, book, client):
    book.put_fills(3)
    asked, never = threading.Event(), threading.Event()
    book.before_page = lambda _: asked.set() or never.wait(60)
    put_dividends(book)
    with bl.Archive(target, wait=0.1) as archive, bl.Archive(target) as other:
        other.update(client, dividends=SYMBOLS[:1])
        in_use = pytest.raises(bl.StoreError, match=f"dividends {SYMBOLS[0]}.* is being updated")
        with other._database.lock(f"update:dividends {SYMBOLS[0]}").held(1), in_use:
            archive.update(client, fills=[HK], dividends=SYMBOLS[:1])
        assert asked.is_set() and not never.is_set()
        never.set()
        book.before_page = None
        # Neither of the two holds a lock.
        assert archive.update(client, fills=[HK], dividends=SYMBOLS[:1]).new == 3


@pytest.mark.parametrize("count", [1, 2, 20])
def test_whatever_a_work_raises_is_raised(count):
    for error in (IndexError, RuntimeError, SystemExit):

        def failing(error=error):
            raise error("mine")

        with pytest.raises(error, match="mine"):
            side_by_side.side_by_side([failing] * count, 8)


def test_ctrl_c_ends_all_of_them(archive, book, client):
    put_dividends(book)
    others = [symbol.replace("HK", "US") for symbol in SYMBOLS]
    never = threading.Event()
    book.before = lambda received: "/HK." in received.path and never.wait(60)
    # Opens and closes as many sessions.
    ends_at_once(
        lambda: archive.update(client, dividends=SYMBOLS),
        alike=lambda: archive.update(client, dividends=others),
    )
    never.set()
    book.before = None
    assert archive.update(client, dividends=SYMBOLS).new == len(SYMBOLS)


LONG = [pytest.param(*case, marks=pytest.mark.slow) for case in ((4, 1_050), (40, 350))]


@pytest.mark.parametrize(("accounts", "most"), [(1, 1_050), (16, 350), *LONG])
def test_what_an_update_holds_in_memory_does_not_grow_with_accounts(
    file, book, client, monkeypatch, accounts, most
):
    """With few accounts, about a thousand fills of each are held; with sixteen, fewer of each."""
    held, store = [], fills.FillStore.store

    def watched(self, some, position):
        held.append(len(some))
        return store(self, some, position)

    monkeypatch.setattr(fills.FillStore, "store", watched)
    monkeypatch.setattr(updating, "SECONDS", 1e9)
    now = book.now()
    count = 1_200 if accounts < 10 else 400
    whole = [fill(n, now - n * 10**6, stock_name="x" * 300) for n in range(count)]
    keys = [(str(100 + n), "HK") for n in range(accounts)]
    book.fills |= dict.fromkeys(keys, whole)
    with bl.Archive(file) as archive:
        assert archive.update(client, fills=keys).new == accounts * len(whole)
    assert max(held) <= most
