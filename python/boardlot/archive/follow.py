"""Following the fills of an account: each new or changed one exactly once."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from boardlot.archive.fills import FillStore, Position
from boardlot.archive.freshness import ServiceClock, check_service
from boardlot.archive.lists import Series
from boardlot.archive.locks import Lock
from boardlot.archive.report import Counts
from boardlot.archive.running import Runner, pause
from boardlot.archive.update import FillReader, Update
from boardlot.errors import BoardlotError, StoreError

# Fills that are read from the archive at a time.
BATCH = 500
# A tick reads again the latest fills, as many as one request returns with room for new ones, and
# all fills of this time before the newest one, in microseconds: some arrive late.
RECENT = 39
LATE_WINDOW_US = 10 * 60 * 1_000_000
# Its range ends this much after the service's time as this client knows it: the service's clock may
# have been set since. What arrives meanwhile is read twice at most, and stored once.
AHEAD_US = 24 * 3600 * 1_000_000
# How often a tick reads all of `overlap` instead: seconds.
FULL_READ_INTERVAL_S = 3600
# For how many seconds another follower of the same name may still be ending: when this one starts,
# and after its connection to the server was lost, which the server may notice late.
LOCK_WAIT_S = 1.0
LOST_LOCK_WAIT_S = 60.0
# The longest wait after errors, in seconds.
BACKOFF = 60.0

Fills = Generator[Any, None, None]


def follow(update: Update, series: Series, every: float, name: str, runner: Runner) -> Fills:
    """Deliver each fill, oldest first, and look for new ones every so many seconds."""
    check_service(update.database, series.place, f"fills {series}", update.client)
    lock = update.database.lock(f"follow:{series} {name}")
    follower = _Follower(update, series, every, name, lock, runner)
    try:
        follower.connect(LOCK_WAIT_S)
        while True:
            try:
                yield from follower.ticks()
            except _Lost:
                follower.connect(LOST_LOCK_WAIT_S)
    finally:
        lock.release()


class _Lost(Exception):
    """The database cannot be reached, or the lock was lost with the connection."""


@contextmanager
def _noticing_loss() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        if not error.retryable:
            raise
        raise _Lost from error


class _Follower:
    def __init__(
        self, update: Update, series: Series, every: float, name: str, lock: Lock, runner: Runner
    ) -> None:
        self._update, self._runner = update, runner
        self._series, self._every, self._name = series, every, name
        self._lock = lock
        # Distinguishes this follower from another one of its name, which may have taken over.
        self._holder = uuid4().hex
        self._store = FillStore(update.database, series, lock)
        # The position of what the caller has received; the archive learns it a moment later.
        self._position: Position | None = None
        # Fills may have arrived late while nobody was following.
        self._read_overlap = False
        self._failures = 0

    def ticks(self) -> Fills:
        """Deliver, look for new fills and wait, until the database is lost."""
        if self._position is None:
            with _noticing_loss():
                self._store.prepare_following()
                self._position = self._store.take_over(self._name, self._holder)
        while True:
            yield from self._deliver()
            tick = time.monotonic()
            try:
                self._look()
                self._failures, wait = 0, self._every
            except BoardlotError as error:
                if not error.retryable:
                    raise
                self._failures += 1
                wait = max(self._every, _backoff(error, self._failures))
            yield from self._deliver()
            pause(max(0.0, tick + wait - time.monotonic()))

    def _deliver(self) -> Fills:
        while True:
            with _noticing_loss():
                found = self._store.undelivered(self._position or Position(), BATCH)
                # It was held while that was read.
                self._lock.check()
            if not found:
                return
            records = self._series.records([",".join([text for _, text in found]).encode()])
            for (reached, _), fill in zip(found, records, strict=True):
                yield fill
                # The next one was requested.
                self._position = reached
                with _noticing_loss():
                    mine = self._store.delivered(self._name, reached, self._holder)
                if not mine:
                    raise self._lock.in_use()

    def connect(self, wait: float) -> None:
        """Have the lock, once the database can be reached.

        Raises:
            StoreError: Another follower of this name has it, or has had it meanwhile.
        """
        while True:
            self._lock.release()
            try:
                mine = self._lock.try_for(wait)
                if mine and self._position is not None:
                    mine = self._store.delivered(self._name, self._position, self._holder)
            except StoreError as error:
                if not error.retryable:
                    raise
                self._failures += 1
                wait = LOST_LOCK_WAIT_S
                pause(_backoff(error, self._failures))
                continue
            if not mine:
                raise self._lock.in_use()
            return

    def _look(self) -> None:
        """Read what is new: one request, unless there is more than a page of it."""
        clock = ServiceClock(self._update.client, self._runner)
        now = clock.reading()
        state = self._store.state()
        read_at = state.overlap_read_at if self._read_overlap else None
        if (
            read_at is None
            or state.newest is None
            or not 0 <= now - read_at <= FULL_READ_INTERVAL_S * 1_000_000
        ):
            recent = None
        else:
            recent = self._store.time_of_recent(RECENT)
            recent = recent and min(recent, min(state.newest, now) - LATE_WINDOW_US)
        reader = FillReader(self._update, self._series, clock, self._runner)
        reader.look(Counts(), now, now + AHEAD_US, recent)
        self._read_overlap = True


def _backoff(error: BoardlotError, failures: int) -> float:
    asked = getattr(error, "retry_after", None)
    return max(asked or 0.0, min(BACKOFF, 0.5 * 2.0 ** min(failures, 10)))
