"""Ctrl-C at any moment of an update, a follower or a query: it arrives, and harms nothing."""

import gc
import itertools
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import boardlot as bl
import pytest

from .service import HK, followed

NUMBERS = itertools.count()


def update(archive, client):
    archive.update(client, fills=[HK])
    return query(archive)


def update_lists(archive, client):
    archive.update(client, fills=[HK, ("281757", "HK")], dividends=["HK.00700"], ipos=["hk"])
    return query(archive)


def follow(archive, client):
    return followed(archive, client, 3, every=3600.0, name=f"follower {next(NUMBERS)}")


def query(archive, client=None):
    return archive.sql("select count(*) as n from fills").to_dicts()


class Interrupt:
    """Sends a Ctrl-C to this process at the event of this number, at which Python looks for
    signals: a Python function begins, or a C function returns."""

    def __init__(self, at):
        self.at, self.events, self.sent_at = at, 0, None

    def __enter__(self):
        # An interrupt in a hook of the garbage collector, such as Hypothesis's, would be lost.
        gc.disable()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        gc.enable()

    def _profile(self, frame, event, called):
        # In 3.10, an exception of this function ends a resuming generator without its `finally`.
        if event == "call" and sys.version_info < (3, 11) and frame.f_lasti >= 0:
            return
        # `__enter__`, which is a call since 3.14, is left out: 3.15 looks for no signals there, and
        # 3.14 leaves the lock locked (CPython's issue 148874).
        if event == "call" or (event == "c_return" and called.__name__ != "__enter__"):
            self.events += 1
            if self.events == self.at:
                self.sent_at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("tried", [30, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_follower_that_is_interrupted_while_it_closes_leaves_its_name(tried, file, book, client):
    book.put_fills(3)
    with bl.Archive(file) as archive:

        def closed(at):
            follower = archive.follow(client, fills=HK, every=3600.0)
            next(follower)
            interrupt = Interrupt(at)
            with suppress(KeyboardInterrupt), interrupt:
                follower.close()
            return interrupt

        events = closed(0).events
        assert events > 5
        for at in range(1, events, max(1, events // tried)):
            interrupt = closed(at)
            assert followed(archive, client, 1) == ["1"], interrupt.sent_at


@pytest.mark.parametrize("tried", [6, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stored", ["file", "memory"])
@pytest.mark.parametrize("operation", [update, update_lists, follow, query])
def test_ctrl_c_at_any_moment_arrives_and_harms_nothing(
    operation, stored, tried, book, client, tmp_path
):
    book.put_fills(3)
    with bl.Archive(":memory:") as archive:
        update(archive, client)
        with Interrupt(0) as run:
            expected = operation(archive, client)
    for at in range(1, run.events, max(1, run.events // tried)):
        with bl.Archive(tmp_path / f"{at}" if stored == "file" else ":memory:") as archive:
            if operation is query:
                update(archive, client)
            interrupt = Interrupt(at)
            try:
                with interrupt:
                    operation(archive, client)
                assert interrupt.sent_at is None, "no KeyboardInterrupt arrived"
            except KeyboardInterrupt:
                pass
            assert operation(archive, client) == expected, interrupt.sent_at
            assert update(archive, client) == [{"n": 3}], interrupt.sent_at
            # The interrupted thread holds no lock of the process.
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(query, archive).result(60.0) == [{"n": 3}], interrupt.sent_at
