"""Follows the fills of an account: delivers each new or changed fill exactly once."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from boardlot.archive.followers import Delivery, FollowedFills, Follower
from boardlot.archive.freshness import ServiceClock, check_service
from boardlot.archive.lists import Series
from boardlot.archive.locks import Lock
from boardlot.archive.migration import make_current
from boardlot.archive.report import Counts
from boardlot.archive.update import FillReader, Update
from boardlot.archive.waiting import Pause
from boardlot.errors import BoardlotError, StoreError

# Number of fills that are read from the archive at a time.
BATCH = 500
# A tick reads the latest fills again: this number of fills, which one request returns with room for
# new ones, and all fills of this time before the newest one, in microseconds, since some arrive
# late.
RECENT = 39
LATE_WINDOW_US = 10 * 60 * 1_000_000
# The range of a tick ends this much after the service's time as this client knows it: the service's
# clock may have been set since. Fills that arrive meanwhile are read twice at most, and stored
# once.
AHEAD_US = 24 * 3600 * 1_000_000
# Seconds after which a tick reads all of `overlap` instead.
FULL_READ_INTERVAL_S = 3600
# Seconds in which another follower of the same name may still be ending: when this follower starts,
# and after its connection to the server was lost, which the server may notice late.
LOCK_WAIT_S = 1.0
LOST_LOCK_WAIT_S = 60.0
# The longest wait after errors, in seconds.
BACKOFF = 60.0

# Yields a fill, or a `Pause` before the next look for fills.
Fills = Generator[Any, None, None]

LOG = logging.getLogger("boardlot.archive")


def follow(update: Update, series: Series, every: float, name: str, changes: bool) -> Fills:
    """Deliver each fill, oldest first, or each change, and look for new ones every so many
    seconds."""
    check_service(update.database, series.place, f"fills {series}", update.client)
    lock = update.database.lock(f"follow:{series} {name}")
    follower = _Follower(update, series, every, name, changes, lock)
    try:
        yield from follower.connect(LOCK_WAIT_S)
        while True:
            try:
                yield from follower.ticks()
            except _Lost as lost:
                yield from follower.wait_after(lost.error)
                yield from follower.connect(LOST_LOCK_WAIT_S)
    finally:
        try:
            lock.release()
        finally:
            # Does nothing, unless an interrupt ended the first release.
            lock.release()


class _Lost(Exception):
    """The database cannot be reached, or the lock was lost with the connection."""

    def __init__(self, error: StoreError) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _noticing_loss() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        if not error.retryable:
            raise
        raise _Lost(error) from error


class _Follower:
    def __init__(
        self,
        update: Update,
        series: Series,
        every: float,
        name: str,
        changes: bool,
        lock: Lock,
    ) -> None:
        self._update = update
        self._series, self._every, self._name = series, every, name
        self._changes, self._lock = changes, lock
        # Distinguishes this follower from another one with its name, which may have taken over.
        self._holder = uuid4().hex
        self._store = FollowedFills(update.database, series, lock)
        # The position stored in the archive, and the fills that the caller has received since.
        self._stored: Follower | None = None
        self._received: Delivery | None = None
        # The previous holder: an archive that names it again went back to an earlier state.
        self._before: str | None = None
        # False until all of `overlap` was read: fills may have arrived late while nobody was
        # following.
        self._read_overlap = False
        self._failures, self._failing_since = 0, 0.0

    def ticks(self) -> Fills:
        """Deliver, look for new fills and wait, until the database is lost."""
        if self._stored is None:
            with _noticing_loss():
                self._take_over()
        while True:
            yield from self._deliver()
            tick, wait = time.monotonic(), self._every
            try:
                self._look()
                self._succeeded()
            except BoardlotError as error:
                if not error.retryable:
                    raise
                wait = max(wait, self._failed(error))
            yield from self._deliver()
            yield from self._pause(max(0.0, tick + wait - time.monotonic()))

    def _pause(self, seconds: float) -> Fills:
        """Wait, and keep the lock meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > (step := self._lock.keep_every):
            yield Pause(step)
            with _noticing_loss():
                self._lock.keep()
        yield Pause(max(0.0, left))

    def _take_over(self) -> None:
        make_current(self._update.database, self._update.wait)
        self._store.prepare_following(self._changes)
        self._before, self._stored = self._store.take_over(self._name, self._holder)

    def _deliver(self) -> Fills:
        while True:
            with _noticing_loss():
                follower, found = self._store.undelivered(self._name, BATCH, self._changes)
                # Checks that the lock was held while the fills were read.
                self._lock.check()
                if follower != self._stored:
                    self._went_back()
                    continue
            if not found:
                return
            rows = self._series.rows([",".join([one.shown for one in found]).encode()])
            for delivery, fill in zip(found, rows.dicts(), strict=True):
                yield fill
                # The caller has requested the next fill, so it has received this one.
                self._received = delivery
                with _noticing_loss():
                    if not self._store_received():
                        self._went_back()
                        break

    def _store_received(self) -> bool:
        """Record the fill that the caller has received; `False` if the archive went back."""
        stored, received = self._stored, self._received
        if stored is None or received is None:
            return True
        if not self._store.delivered(self._name, stored, received):
            return False
        self._stored, self._received = Follower(received.position, self._holder), None
        return True

    def _went_back(self) -> None:
        """Resume at the archive's position, where this follower has received fewer fills."""
        self._received, self._read_overlap = None, False
        self._take_over()
        LOG.warning(
            "the archive %s went back to an earlier state, such as a backup that was restored: the "
            "follower %r of fills %s resumes at its position of that time, and later fills are "
            "delivered again",
            self._update.database.name,
            self._name,
            self._series,
        )

    def connect(self, wait: float) -> Fills:
        """Acquire the lock, once the database can be reached.

        Raises:
            StoreError: Another follower of this name has the lock, or has had it meanwhile.
        """
        while True:
            self._lock.release()
            try:
                # A killed follower keeps the lock for `kept_for` seconds.
                mine = self._lock.try_for(max(wait, self._lock.kept_for))
                if mine and self._stored is not None:
                    mine = self._goes_on(self._stored)
            except StoreError as error:
                if not error.retryable:
                    raise
                wait = LOST_LOCK_WAIT_S
                yield from self.wait_after(error)
                continue
            if not mine:
                raise self._lock.in_use()
            return

    def _goes_on(self, stored: Follower) -> bool:
        """Continue at the archive's position; `False` if another follower has taken over."""
        found, received = self._store.follower_named(self._name), self._received
        if received is not None and found == Follower(received.position, self._holder):
            # The position was stored before the connection was lost.
            self._stored, self._received = found, None
        elif found == stored:
            if not self._store_received():
                self._went_back()
        elif (
            found is None
            or found.holder in (self._holder, self._before)
            or found.position < stored.position
        ):
            self._went_back()
        else:
            return False
        return True

    def wait_after(self, error: BoardlotError) -> Fills:
        """Wait after an error, unless it is the first one."""
        seconds = self._failed(error)
        if self._failures > 1:
            yield Pause(seconds)

    def _failed(self, error: BoardlotError) -> float:
        """Count an error that may pass, and return how long to wait after it."""
        self._failures += 1
        if self._failures == 1:
            self._failing_since = time.monotonic()
            LOG.warning(
                "following fills %s is interrupted, and is tried again until it works: %s",
                self._series,
                error,
                extra=described(error),
            )
        return _backoff(error, self._failures)

    def _succeeded(self) -> None:
        if self._failures:
            self._failures = 0
            seconds = time.monotonic() - self._failing_since
            LOG.warning("following fills %s works again after %.0f s", self._series, seconds)

    def _look(self) -> None:
        """Read new fills, in one request unless they fill more than a page."""
        clock = ServiceClock(self._update.client)
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
        reader = FillReader(self._update, self._series, clock, (self._lock,))
        reader.look(Counts(), now, now + AHEAD_US, recent)
        self._read_overlap = True


def described(error: BoardlotError) -> dict[str, Any]:
    """The attributes of a log record about an error."""
    code, hint = getattr(error, "code", None), error.hint
    found = {"error": type(error).__name__, "code": code, "retryable": error.retryable}
    return {**found, "hint": hint}


def _backoff(error: BoardlotError, failures: int) -> float:
    asked = getattr(error, "retry_after", None)
    return max(asked or 0.0, min(BACKOFF, 0.5 * 2.0 ** min(failures, 10)))
