"""One update: reads each list and stores what it contains."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from boardlot import _core
from boardlot._core import _Rows as Rows
from boardlot._support.tables.cell_format import shown_time, time_of
from boardlot.archive import observations
from boardlot.archive.coverage import State
from boardlot.archive.database import Database, store_error
from boardlot.archive.fills import Fills, FillStore, add
from boardlot.archive.freshness import Place, ServiceClock, check_service, is_fresh, service_of
from boardlot.archive.lists import ListSpec, Series
from boardlot.archive.locks import Lock
from boardlot.archive.migration import make_current
from boardlot.archive.report import Counts, Name, UpdateReport
from boardlot.archive.side_by_side import side_by_side
from boardlot.archive.typed_columns import typed_list
from boardlot.archive.view import Blocked
from boardlot.archive.views import check_name, define_custom, replace_views
from boardlot.errors import (
    ApiError,
    AuthenticationError,
    BoardlotError,
    ConfigError,
    PaginationError,
    StoreError,
)
from boardlot.pager import Pager

# Number of fills, or of seconds, after which fills are stored: a transaction for each page would
# take longer than the request of the page. An update that was killed reads the pages again that it
# had not stored.
FILLS = 1_000
SECONDS = 1.0
# Maximum number of characters of fills that are read and not stored yet, over all accounts that are
# read at a time: an account stores its fills after its part of them.
ALL_TEXT = 2_000_000
# Number of lists that are read at a time.
AT_ONCE = 16


@dataclass(frozen=True)
class Update:
    """The checked arguments of an update."""

    database: Database
    # A client whose calls block.
    client: Any
    fills: list[Series]
    lists: list[tuple[ListSpec, str]]
    # Times and durations in microseconds.
    start: int | None
    overlap: int
    # Seconds to wait for another writer.
    wait: float
    # Lists that were read more recently are not read.
    max_age: int | None = None
    # The parts of a range that are read side by side.
    windows: int | None = None
    # The errors of keys that are not valid, which are collected.
    refused: Mapping[Name, BoardlotError] = field(default_factory=dict)
    on_rows: Callable[[int], None] = field(default=lambda rows: None)

    @property
    def text_at_once(self) -> int:
        """The number of characters after which an account's fills are stored."""
        return ALL_TEXT // max(1, min(AT_ONCE, len(self.fills) + len(self.lists)))

    def is_fresh(self, place: Place, clock: ServiceClock) -> bool:
        """True if a list is recent enough, so that it need not be read."""
        age = self.max_age
        return age is not None and is_fresh(self.database, place, age, clock.now)


def update(work: Update) -> UpdateReport:
    """Update each list."""
    report = UpdateReport({name: Counts() for name in work.refused}, dict(work.refused))
    clock = ServiceClock(work.client)
    for series in work.fills:
        check_service(work.database, series.place, f"fills {series}", work.client)
    for spec, key in work.lists:
        if spec.endpoint is not None:
            check_name(work.database.read, spec.name)
        check_service(work.database, spec.place(key), f"{spec.name} {key}", work.client)
    make_current(work.database, work.wait)
    kept = define_endpoints(work)
    reads: list[ReadOfList] = [
        (("fills", (series.account, series.market)), FillReader(work, series, clock).update)
        for series in work.fills
    ]
    reads += [
        ((spec.name, key), partial(read_list, work, spec, key, clock)) for spec, key in work.lists
    ]
    read_each(report, reads)
    report.periods.update(periods(work))
    replace_outdated_views(work.database, report, kept)
    return report


def define_endpoints(work: Update) -> list[Blocked]:
    """Make the columns and views of custom endpoints, and return the views that could not be
    replaced."""
    blocked: list[Blocked] = []
    for spec in {spec.name: spec for spec, _ in work.lists}.values():
        if spec.fields is not None:
            typed = typed_list(spec.name, spec.fields)
            blocked += define_custom(work.database, typed, spec.fields, work.wait)
    return blocked


def replace_outdated_views(
    database: Database, report: UpdateReport, kept: Sequence[Blocked] = ()
) -> None:
    """Replace views that are not those of this version, or that somebody was reading; report the
    views that cannot be replaced, including those that were `kept` before."""
    blocked = [one for one in (*kept, *replace_views(database)) if one.dependents]
    if not blocked:
        return
    names = ", ".join(one.view for one in blocked)
    dependents = ", ".join(sorted({name for one in blocked for name in one.dependents}))
    report.lists["views", names] = Counts()
    report.errors["views", names] = store_error(
        database.name,
        f"cannot replace the view {names}, some of whose columns have another type now, because "
        f"{dependents} depends on it; everything else was done",
        hint="Drop what depends on it, run the same update again, and make it again.",
    )


def periods(work: Update) -> dict[Name, tuple[datetime, datetime]]:
    """The period of each account's fills that the archive covers by now."""
    found = {
        ("fills", (series.account, series.market)): FillStore(work.database, series).state().period
        for series in work.fills
    }
    return {name: period for name, period in found.items() if period is not None}


# A list's name, and the function that reads it, which returns `False` if the list was recent
# enough.
ReadOfList = tuple[Any, Callable[[Counts], bool]]


def read_each(report: UpdateReport, reads: Sequence[ReadOfList], at_once: int = AT_ONCE) -> None:
    """Read lists side by side, and report each."""
    errors: dict[Any, BoardlotError] = {}

    def read(name: Any, read_list: Callable[[Counts], bool]) -> None:
        try:
            if not read_list(report.lists[name]):
                report.fresh.add(name)
        except (ConfigError, StoreError):
            raise
        except BoardlotError as error:
            errors[name] = error

    # The report keeps this order, whichever list is read first.
    report.lists.update((name, Counts()) for name, _ in reads)
    side_by_side([partial(read, *one) for one in reads], at_once)
    report.errors.update((name, errors[name]) for name, _ in reads if name in errors)


def refuse_future(start: int, now: int) -> None:
    """Refuse a `start` in the future."""
    if start > now:
        raise ConfigError(
            f"start is {shown_time(start)}, which is in the future; expected at most "
            f"{shown_time(now, 'seconds')}, the service's time"
        )


def read_list(work: Update, spec: ListSpec, key: str, clock: ServiceClock, counts: Counts) -> bool:
    """Read a list as a whole, and store it; `False` if it is recent enough."""
    place, name = spec.place(key), f"{spec.name} {key}"
    if work.is_fresh(place, clock):
        return False
    with work.database.lock(f"update:{name}").held(work.wait) as lock:
        # Another update may have read the list meanwhile.
        if work.is_fresh(place, clock):
            return False
        check_service(work.database, place, name, work.client)
        fetch = clock.fetch()
        if spec.paged:
            found = spec.request(work.client, key)._row_pages()
            pages = list(iter(lambda: lock.keeping(lambda: next(found, None)), None))
        else:
            pages = [lock.keeping(lambda: spec.request(work.client, key))]
        # A list is complete, or nothing is stored: an error midway has ended the read.
        read = observations.Read(
            observations.stored(spec, pages),
            complete=observations.is_complete(spec, pages),
            now=time.time_ns() // 1000 if fetch.at is None else clock.now(),
            fetch=fetch,
        )
        counts._add(observations.store_read(work.database, spec, key, read, lock))
    work.on_rows(len(read.records))
    return True


@dataclass(frozen=True)
class FillReader:
    """Reads the fills of an account in a market, part by part."""

    work: Update
    series: Series
    clock: ServiceClock
    # The locks of the caller, besides that of the update.
    locks: tuple[Lock, ...] = ()

    def update(self, counts: Counts) -> bool:
        """Read and store new fills; `False` if the list is recent enough."""
        place = self.series.place
        if self.work.is_fresh(place, self.clock):
            return False
        # By the service's clock, as this machine's may be wrong. The time is past, so no fill
        # arrives in the ranges that are read.
        now = self.clock.reading()
        with self.writing() as store:
            if self.work.is_fresh(place, self.clock):
                return False
            fetch = self.clock.fetch()
            self.read(store, now, counts)
            store.read_completely(fetch)
        return True

    def look(self, counts: Counts, now: int, end: int, not_before: int | None) -> None:
        """Read and store new fills for a follower, from `not_before` only, and up to `end`."""
        with self.writing() as store:
            self.read(store, now, counts, end, not_before)

    @contextmanager
    def writing(self) -> Iterator[FillStore]:
        """The store of the fills, for one writer at a time."""
        database, client, name = self.work.database, self.work.client, f"fills {self.series}"
        with database.lock(f"update:{name}").held(self.work.wait) as lock:
            # Another update may have been the first to read these fills.
            check_service(database, self.series.place, name, client)
            store = FillStore(database, self.series, lock, service_of(client))
            try:
                yield store
            except ApiError as error:
                if not error.retryable and not isinstance(error, AuthenticationError):
                    store.forget_unread()
                raise

    def read(
        self,
        store: FillStore,
        now: int,
        counts: Counts,
        end: int | None = None,
        not_before: int | None = None,
    ) -> None:
        """Read from `overlap` before the newest stored fill, and finish an interrupted read."""
        if self.work.start is not None:
            refuse_future(self.work.start, now)
        state = self.finish_interrupted(store, now, counts)
        for first, last in self._spans(state, now, not_before):
            span = (first, last if end is None or last < now else end)
            self._read_span(store, span, now, counts, whole_overlap=not_before is None)

    def finish_interrupted(self, store: FillStore, now: int, counts: Counts) -> State:
        """Continue an update that was interrupted, if there is one."""
        state = store.state()
        if state.position is None or state.run_start is None:
            return state
        span = (state.run_start, state.run_end or now)
        try:
            self._read_span(store, span, now, counts, state.position)
        except (ApiError, ConfigError, PaginationError) as error:
            # The service may have forgotten the cursor, or the cursor is that of another service.
            if error.retryable:
                raise
            self._read_span(store, span, now, counts)
        return store.state()

    def _spans(self, state: State, now: int, not_before: int | None) -> Iterator[tuple[int, int]]:
        """The ranges to read: new fills, and ranges that `start` requests and that were never read.

        The service's documentation does not say whether a range includes its bounds: a range that
        adjoins one that was read reaches a microsecond into it.
        """
        ends = {end for _, end in state.covered}
        since = self.work.start
        newest = state.newest or (state.covered[-1][1] if state.covered else None)
        if newest is None:
            # The start that the service takes for a request without one.
            start = since or _core._time_range("fills_history", self.series.arguments, now)[0]
        else:
            # A fill with a time in the future must not hide the fills that come until then.
            start = max(1, min(newest, now) - self.work.overlap, since or 0, not_before or 0)
        yield start - (start in ends), max(now, start + 1)
        at = since
        if at is not None and newest is not None:
            for covered_from, covered_to in state.covered:
                if at < min(covered_from, start):
                    yield at - (at in ends), min(covered_from, start) + 1
                at = max(at, covered_to)
            if at < start:
                yield at - (at in ends), start + 1

    def _read_span(
        self,
        store: FillStore,
        span: tuple[int, int],
        now: int,
        counts: Counts,
        position: str | None = None,
        whole_overlap: bool = False,
    ) -> None:
        """Read a range of fills, storing some pages at a time, and publish it when it is complete.

        Args:
            position: The position from which an interrupted read of the same range continues.
        """
        start, end = span
        # Not numbers, which the client accepts only as times since 1990.
        times = {"start": time_of(start), "end": time_of(end)}
        arguments = [*self.series.arguments, *times.items()]
        client = self.work.client
        pager: Pager[Any] = Pager(
            client._boardlot_core.pages(
                client, "fills_history", arguments, self.work.windows, position
            )
        )
        if position is None:
            store.begin(start, end)
        else:
            store.resume(position)
        pages = pager._row_pages()
        unstored: Fills = {}
        text = 0
        stored_at = time.monotonic()

        def store_fills() -> None:
            nonlocal stored_at
            if unstored:
                counts._add(store.store(unstored, pager.checkpoint()))
                unstored.clear()
            stored_at = time.monotonic()

        while True:
            try:
                page = store.keeping(lambda: next(pages, None), *self.locks)
            except BoardlotError:
                store_fills()
                raise
            if page is None:
                break
            # The next page is being fetched meanwhile.
            text += add(unstored, page)
            self.work.on_rows(len(page))
            is_much = len(unstored) >= FILLS or text >= self.work.text_at_once
            if is_much or time.monotonic() - stored_at >= SECONDS:
                store_fills()
                text = 0
        store_fills()
        # Data that were read beyond the service's time are not complete.
        store.publish(start, max(start, min(end, now)), now, whole_overlap)


def read_through(work: Update) -> Rows:
    """The rows of the only list of an update, which is read first if it is older than `max_age`.

    Raises:
        BoardlotError: The list could not be read.
    """
    report = update(work)
    for error in report.errors.values():
        raise error
    for series in work.fills:
        store = FillStore(work.database, series)
        seen_at = store.fetched_at()
        with closing(store.texts()) as texts:
            # Without fills, an empty text carries the time.
            return series.rows(list(texts) or [b""] * (seen_at is not None), seen_at=seen_at)
    ((spec, key),) = work.lists
    texts_of_list, seen_at = observations.seen_with_time(work.database, spec, key)
    return spec.rows(key, texts_of_list, seen_at=seen_at)
