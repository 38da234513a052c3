"""Calls every public method at a moment when a page of the same client is under way.

The service holds that page until the method has returned, so a method that waits for the page, or
for a lock that its request holds, never returns: the child then ends itself with all stacks. See
`test_delivery`.
"""

import asyncio
import contextlib
import faulthandler
import gc
import json
import logging
import signal
import sys
import threading
import traceback
from functools import partial
from operator import attrgetter, methodcaller

import boardlot as bl

from ..support.paged_service import CALLS, PagedList
from ..support.processes import options_of, report
from ..support.service import StandInService, response
from .interruptions import values_of

METHOD = "fills_history"
ARGUMENTS, OPTIONS = CALLS[METHOD]
TIME = response({"server_time_ms": "1790000000123"})
DIVIDENDS = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})

FRAMES = ("to_arrow", "to_pandas", "to_polars")
# Calls on a pager that is in use elsewhere. Those that need the page may refuse.
PAGER = {
    **{name: attrgetter(name) for name in ("total", "requests")},
    **{name: methodcaller(name) for name in ("checkpoint", "pages", "all", *FRAMES)},
    "repr": repr,
    "iter": iter,
    "next": next,
    "next_page": lambda pager: next(pager.pages()),
    "all_some": lambda pager: pager.all(max_items=1),
    "batches": lambda pager: next(pager.record_batches()),
}
CLIENT = {
    **{name: methodcaller(name) for name in ("server_time", "close")},
    "request": lambda client: client.request("GET", "/api/v1.0/server-time"),
    "explain": lambda client: client.explain("GET", "/api/v1.0/server-time"),
    **{name: attrgetter(name) for name in ("base_url", "clock_offset")},
    "repr": repr,
    "dividends": lambda client: client.dividends("HK.00700"),
    "many_keys": lambda client: client.fetch_many("dividends", ["HK.00700", "US.AAPL"]),
    # The service's time is requested under a lock.
    "open_range": lambda client: list(client.fills_history(*ARGUMENTS)),
    "new_pager": lambda client: getattr(client, METHOD)(*ARGUMENTS, **OPTIONS).checkpoint(),
}
WAITING = {"next", "next_page", "all", "all_some", "batches", *FRAMES}
# Of an `AsyncPager`: what is not awaited.
ASYNC_PAGER = ("checkpoint", "total", "requests", "repr", "pages")
ASYNC_CLIENT = ("explain", "base_url", "clock_offset", "repr")


class Held(StandInService):
    """A service whose first response waits for `release`; all others come at once."""

    def __init__(self):
        super().__init__(self.respond)
        self.book = PagedList(METHOD, [2, 2, 1])
        self.arrived, self.release = threading.Event(), threading.Event()

    def respond(self, received):
        if not self.arrived.is_set():
            self.arrived.set()
            self.release.wait(600)
        if "server-time" in received.path:
            return TIME
        return DIVIDENDS if "dividends" in received.path else self.book(received)

    def __exit__(self, *_):
        self.release.set()
        super().__exit__()


class Call:
    """One call, and its outcome; of a pager, errors of the library are one too."""

    def __init__(self, held, name, target):
        self.held, self.target = held, target
        kind, method = name.split(".")
        self.work = CLIENT[method] if kind == "client" else PAGER[method]
        self.is_of_pager = kind == "pager"
        self.may_wait = self.is_of_pager and method in WAITING
        self.has_begun = False
        self.outcome = None

    def __call__(self):
        if self.has_begun:
            return  # A hook is called for the requests of this call too.
        self.has_begun = True
        refused = (bl.BoardlotError, StopIteration) if self.is_of_pager else ()
        with contextlib.suppress(*refused):
            self.outcome = self.work(self.target)
        self.held.release.set()


def rows_of(outcome):
    """The ids of the rows that a call of a pager took."""
    is_frame = hasattr(outcome, "to_pylist") or hasattr(outcome, "columns")
    if not is_frame and not isinstance(outcome, (dict, bl.Records)):
        return []
    # Undeclared fields of batches are text.
    return [int(number) for number in values_of(outcome, "n")]


def finished(held, call, rows):
    """Nobody's rows are lost or doubled."""
    assert call.has_begun, "the call was never made"
    taken = sorted([*rows, *(rows_of(call.outcome) if call.is_of_pager else [])])
    closed = call.work is CLIENT["close"]
    whole = [row["n"] for row in held.book.rows]
    assert taken == whole or (closed and taken == whole[: len(taken)]), taken


def rest(pager):
    """The rows of a pager to its end, as far as a client that may have been closed allows."""
    rows = []
    with contextlib.suppress(bl.ConfigError):
        rows.extend(row["n"] for row in pager)
    return rows


@contextlib.contextmanager
def prepared(held, name, span=OPTIONS, **options):
    """A pager whose page will be under way, and the call to make then."""
    with bl.Client(held.base_url, timeout=600.0, **options) as client:
        pager = getattr(client, METHOD)(*ARGUMENTS, **span)
        yield pager, Call(held, name, client if name.startswith("client.") else pager)


@contextlib.contextmanager
def once_it_is_under_way(held, act):
    """Acts in another thread once the page has been requested."""

    def wait():
        held.arrived.wait()
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


# The call that waits for the caller's code has the only connection.
ALONE = {"max_connections": 1}


def in_a_signal_handler(held, name, span=OPTIONS):
    with prepared(held, name, span, **ALONE) as (pager, call):
        signal.signal(signal.SIGALRM, lambda *_: call())
        with once_it_is_under_way(held, lambda: signal.raise_signal(signal.SIGALRM)):
            finished(held, call, rest(pager))


def in_a_hook(held, name, hook="on_request"):
    called = []
    hooks = {hook: lambda _: [call() for call in called]}
    held.release.set()  # Nothing is under way but the call that waits for the hook.
    with prepared(held, name, **ALONE, **hooks) as (pager, call):
        called.append(call)
        finished(held, call, rest(pager))


def in_a_log_handler(held, name):
    held.release.set()
    logger, handler = logging.getLogger("boardlot.http"), logging.Handler()
    with prepared(held, name, **ALONE) as (pager, call):
        handler.emit = lambda _: call()
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            finished(held, call, rest(pager))
        finally:
            logger.removeHandler(handler)
            logger.setLevel(logging.WARNING)


class Finalized:
    """Makes the call when it is collected; a part of a cycle, as any object of an application."""

    def __init__(self, call):
        self.call, self.self = call, self

    def __del__(self):
        self.call()


def in_a_finalizer(held, name):
    with prepared(held, name, **ALONE) as (pager, call):
        gc.freeze()  # A collection then looks at this call alone.
        gc.disable()  # Not before the page is under way.
        signal.signal(signal.SIGALRM, lambda *_: gc.collect())
        Finalized(call)
        with once_it_is_under_way(held, lambda: signal.raise_signal(signal.SIGALRM)):
            finished(held, call, rest(pager))
        gc.enable()


def in_another_thread(held, name):
    with prepared(held, name) as (pager, call):
        rows = []
        reader = threading.Thread(target=lambda: rows.extend(rest(pager)))
        reader.start()
        held.arrived.wait()
        if call.may_wait:
            # Another thread may well wait for its turn, as long as it gets it.
            held.release.set()
        call()
        reader.join()
        finished(held, call, rows)


def in_the_event_loop(held, name):
    """Beside a task that awaits the page, and again after that task was cancelled."""

    async def use():
        async with bl.AsyncClient(held.base_url, timeout=600.0) as client:
            pager = getattr(client, METHOD)(*ARGUMENTS, **OPTIONS)
            target = client if name.startswith("client.") else pager
            task = asyncio.ensure_future(anext(pager))
            await asyncio.to_thread(held.arrived.wait)
            # A call on a service of its own releases nothing: the page stays where it is.
            Call(Held(), name, target)()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            call = Call(held, name, target)
            call()
            finished(held, call, [row["n"] async for row in pager])

    asyncio.run(use())


PLACES = {
    "signal_handler": in_a_signal_handler,
    "signal_handler_at_the_clock": partial(in_a_signal_handler, span={}),
    "on_request": in_a_hook,
    "on_response": partial(in_a_hook, hook="on_response"),
    "log_handler": in_a_log_handler,
    "finalizer": in_a_finalizer,
    "thread": in_another_thread,
    "event_loop": in_the_event_loop,
}


def calls_in(place):
    pager, client = PAGER, CLIENT
    if place == "event_loop":
        pager, client = ASYNC_PAGER, ASYNC_CLIENT
    return [f"pager.{name}" for name in pager] + [f"client.{name}" for name in client]


def made(place, call, grace):
    # The last call on stderr is the one that hangs.
    print(place, call, file=sys.stderr, flush=True)
    faulthandler.dump_traceback_later(grace, exit=True)
    try:
        with Held() as held:
            PLACES[place](held, call)
    except Exception:
        return traceback.format_exc()
    return "ended"


def main():
    """Makes the calls `{place: calls}`."""
    options = options_of("calls")
    calls = json.loads(options.calls)
    report(
        **{
            place: {call: made(place, call, options.grace) for call in names}
            for place, names in calls.items()
        }
    )


if __name__ == "__main__":
    main()
