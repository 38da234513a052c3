"""Following the fills of an account: each new or changed one exactly once."""

from __future__ import annotations

import time
from functools import partial

from boardlot.archive.fills import FillStore, Position
from boardlot.archive.lists import Series
from boardlot.archive.report import Counts
from boardlot.archive.steps import Deliver, Pause, Request, Steps, Store
from boardlot.archive.update import Update
from boardlot.errors import BoardlotError

__all__ = ["follow"]

# Fills that are read from the archive at a time.
BATCH = 500
# A tick reads again the latest fills, as many as one request returns with room for new ones, and
# all fills of this time before the newest one, in microseconds: some arrive late.
RECENT = 39
LATE_WINDOW_US = 10 * 60 * 1_000_000
# How often a tick reads all of `overlap` instead, and the service's clock: seconds.
FULL_READ_INTERVAL_S = 3600
# For how many seconds another follower of the same name may still be ending.
LOCK_WAIT_S = 1.0
# The longest wait after errors, in seconds.
BACKOFF = 60.0


def follow(update: Update, series: Series, every: float, name: str) -> Steps:
    """Deliver each fill, oldest first, and look for new ones every so many seconds."""
    lock = update.database.lock(f"follow:{series} {name}")
    yield Store(lambda: lock.acquire(LOCK_WAIT_S))
    try:
        yield from _Follower(update, series, every, name).steps()
    finally:
        lock.release()


class _Follower:
    def __init__(self, update: Update, series: Series, every: float, name: str) -> None:
        self._update = update
        self._series = series
        self._every = every
        self._name = name
        self._store = FillStore(update.database, series)
        # The service's time at a moment of this machine's monotonic clock.
        self._clock: tuple[int, float] | None = None
        # Fills may have arrived late while nobody was following.
        self._read_overlap = False

    def steps(self) -> Steps:
        yield Store(self._store.prepare_following)
        position = yield Store(lambda: self._store.position_of(self._name))
        failures = 0
        while True:
            position = yield from self._deliver(position)
            tick = time.monotonic()
            try:
                yield from self._look()
                failures, wait = 0, self._every
            except BoardlotError as error:
                if not error.retryable:
                    raise
                failures += 1
                wait = max(self._every, _backoff(error, failures))
            position = yield from self._deliver(position)
            yield Pause(max(0.0, tick + wait - time.monotonic()))

    def _deliver(self, position: Position) -> Steps:
        while True:
            found = yield Store(partial(self._store.undelivered, position, BATCH))
            if not found:
                return position
            records = self._series.records([",".join([text for _, text in found]).encode()])
            for (reached, _), fill in zip(found, records, strict=True):
                yield Deliver(fill)
                # The next one was requested.
                yield Store(partial(self._store.delivered, self._name, reached))
                position = reached

    def _look(self) -> Steps:
        """Read what is new: one request, unless there is more than a page of it."""
        if self._clock is None or time.monotonic() - self._clock[1] > FULL_READ_INTERVAL_S:
            end = yield Request(self._update.client._service_now)
            # The service's clock has passed that time by now.
            self._clock = (end, time.monotonic())
        now = self._clock[0] + int((time.monotonic() - self._clock[1]) * 1e6)
        state = yield Store(self._store.state)
        read_at = state.overlap_read_at if self._read_overlap else None
        if (
            read_at is None
            or state.newest is None
            or now - read_at > FULL_READ_INTERVAL_S * 1_000_000
        ):
            recent = None
        else:
            recent = yield Store(lambda: self._store.time_of_recent(RECENT))
            recent = recent and min(recent, min(state.newest, now) - LATE_WINDOW_US)
        yield from self._update.fills_steps(self._series, now, Counts(), recent)
        self._read_overlap = True


def _backoff(error: BoardlotError, failures: int) -> float:
    asked = getattr(error, "retry_after", None)
    return max(asked or 0.0, min(BACKOFF, 0.5 * 2.0 ** min(failures, 10)))
