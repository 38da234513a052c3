"""One update: reads each list and stores what it contains."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from boardlot import _core
from boardlot.archive import observations
from boardlot.archive.database import Database
from boardlot.archive.fills import Fills, FillStore, State, add
from boardlot.archive.lists import ListSpec, Series
from boardlot.archive.report import Counts, Name, UpdateReport
from boardlot.archive.steps import Request, Steps, Store, next_page
from boardlot.errors import (
    ApiError,
    BoardlotError,
    ConfigError,
    PaginationError,
    StoreError,
)

__all__ = ["Update", "micros", "read_fills", "with_update_lock"]

# How many fills are read before they are stored, and for how long: a transaction for each page
# would take longer than its request. An update that is killed reads these pages again.
FILLS = 1_000
SECONDS = 1.0
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Update:
    """What to update, checked."""

    database: Database
    client: Any
    fills: list[Series]
    lists: list[tuple[ListSpec, list[str]]]
    # Microseconds.
    since: int | None
    overlap: int
    # For how many seconds another writer is waited for.
    wait: float
    on_rows: Callable[[int], None]

    def steps(self) -> Steps:
        """Update each list; the result is the `UpdateReport`."""
        report = UpdateReport()
        now: int | None = None
        for series in self.fills:
            name: Name = ("fills", (series.account, series.market))
            counts = report.lists[name] = Counts()
            try:
                if now is None:
                    # The service's clock: that of this machine may be wrong.
                    # It is past, so nothing arrives in the ranges that are read.
                    now = yield Request(self.client._service_now)
                yield from self.fills_steps(series, now, counts)
            except (ConfigError, StoreError):
                raise
            except BoardlotError as error:
                report.errors[name] = error
        for spec, keys in self.lists:
            for key in keys:
                counts = report.lists[spec.name, key] = Counts()
                try:
                    yield from self._list(spec, key, counts)
                except (ConfigError, StoreError):
                    raise
                except BoardlotError as error:
                    report.errors[spec.name, key] = error
        return report

    def fills_steps(
        self, series: Series, now: int, counts: Counts, not_before: int | None = None
    ) -> Steps:
        """Read the fills of an account up to `now`: from `overlap` before the newest one, but not
        from before `not_before`."""
        if self.since is not None and self.since > now:
            raise ConfigError(
                f"since is {self.since} (microseconds since 1970), which is in the future; "
                f"expected at most {now}, the service's time"
            )
        store = FillStore(self.database, series)

        def read() -> Steps:
            state = yield Store(store.state)
            if state.position is not None and state.run_start is not None:
                # An update that was interrupted continues first.
                span = (state.run_start, state.run_end or now)
                try:
                    yield from read_fills(self, store, series, span, now, counts, state.position)
                except (ApiError, ConfigError, PaginationError) as error:
                    # The service may have forgotten the cursor, or it is that of another service.
                    if error.retryable:
                        raise
                    yield from read_fills(self, store, series, span, now, counts)
                state = yield Store(store.state)
            for span in self._spans(series, state, now, not_before):
                yield from read_fills(
                    self, store, series, span, now, counts, whole_overlap=not_before is None
                )

        yield from with_update_lock(self.database, f"fills {series}", self.wait, read())

    def _spans(
        self, series: Series, state: State, now: int, not_before: int | None
    ) -> Iterator[tuple[int, int]]:
        """The ranges to read: what is new, and what `since` requests and was never read."""
        newest = state.newest or (state.covered[-1][1] if state.covered else None)
        if newest is None:
            # As the service does without a start.
            start = self.since or _core._time_range("fills_history", series.arguments, now)[0]
        else:
            # A time in the future must not hide what comes until then.
            start = max(1, min(newest, now) - self.overlap, self.since or 0, not_before or 0)
        yield start, max(now, start + 1)
        at = self.since
        if at is not None and newest is not None:
            for covered_from, covered_to in state.covered:
                if at < min(covered_from, start):
                    yield at, min(covered_from, start)
                at = max(at, covered_to)
            if at < start:
                yield at, start

    def _list(self, spec: ListSpec, key: str, counts: Counts) -> Steps:
        def read() -> Steps:
            pages = []
            if spec.paged:
                pager = spec.request(self.client, key).pages()
                while (page := (yield next_page(pager))) is not None:
                    pages.append(page)
            else:
                pages.append((yield Request(lambda: spec.request(self.client, key))))
            # A list is complete, or nothing is stored: an error midway has ended this.
            records = observations.stored(spec, pages)
            total = pages[0].meta.get(spec.total) if spec.total is not None else None
            complete = not isinstance(total, int) or len(records) >= total
            now = time.time_ns() // 1000
            counts.add(
                (
                    yield Store(
                        lambda: observations.store_read(
                            self.database, spec, key, records, complete, now
                        )
                    )
                )
            )
            self.on_rows(len(records))

        yield from with_update_lock(self.database, f"{spec.name} {key}", self.wait, read())


def read_fills(
    update: Update,
    store: FillStore,
    series: Series,
    span: tuple[int, int],
    now: int,
    counts: Counts,
    position: str | None = None,
    whole_overlap: bool = False,
) -> Steps:
    """Read a range of fills, storing some pages at a time, and publish it when it is complete.

    Args:
        position: Where an interrupted read of the same range continues.
    """
    start, end = span
    # Not as numbers, which the client takes for times since 1990 only.
    times = {"start": time_of(start), "end": time_of(end)}
    arguments = {**dict(series.arguments), **times}
    pager = update.client.fills_history(**arguments, resume=position)
    if position is None:
        yield Store(lambda: store.begin(start, end))
    pages = pager.pages()
    unstored: Fills = {}
    stored_at = time.monotonic()

    def store_fills() -> Steps:
        counts.add((yield Store(partial(store.store, unstored, pager.checkpoint()))))
        unstored.clear()

    while True:
        try:
            page = yield next_page(pages)
        except BoardlotError:
            if unstored:
                yield from store_fills()
            raise
        if page is None:
            break
        # While the next page is being fetched.
        add(unstored, page)
        update.on_rows(len(page))
        if len(unstored) >= FILLS or time.monotonic() - stored_at >= SECONDS:
            yield from store_fills()
            stored_at = time.monotonic()
    if unstored:
        yield from store_fills()
    yield Store(lambda: store.publish(start, end, now, whole_overlap))


def with_update_lock(database: Database, what: str, wait: float, steps: Steps) -> Steps:
    """Do the steps with the lock of a list."""
    lock = database.lock(f"update:{what}")
    yield Store(lambda: lock.acquire(wait))
    try:
        return (yield from steps)
    finally:
        lock.release()


def time_of(micros: int) -> datetime:
    """The time of a number of microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


def micros(time: datetime | timedelta) -> int:
    """A time or a duration in microseconds."""
    span = time - EPOCH if isinstance(time, datetime) else time
    return span // timedelta(microseconds=1)
