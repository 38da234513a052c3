"""Verifies fills: compares the fills of an account with all that the service lists.

The documentation does not say what a cursor is. If it counts rows, a fill that is corrected or
removed while a list is read moves others from a page that is still to be read to one that was read.
So a fill counts as gone only if none of these reads lists it, each after the one before:

1. All fills up to the time at which the verification began, in parts of the range that fit on a
   page, which is of one moment. A part with more pages is read until two reads are equal: only a
   fill that was listed before it went away moves others.
2. The fills of its own time, between two others that were listed, which this read has to list, too.
3. All fills that were updated since the verification began, and the newest fill of before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from boardlot._support.tables.cell_format import shown_time, time_of
from boardlot.archive.fills import Fills, FillStore, Head, add
from boardlot.archive.freshness import ServiceClock, check_service
from boardlot.archive.lists import Series
from boardlot.archive.locks import WAIT
from boardlot.archive.migration import make_current
from boardlot.archive.report import Counts, UpdateReport
from boardlot.archive.update import FillReader, Update, periods, read_each, refuse_future
from boardlot.archive.waiting import pause
from boardlot.errors import ConfigError, ProtocolError
from boardlot.pager import Pager

# Number of fills that are compared, and of times that are read again, before others may write.
FILLS, TIMES = 2_000, 50
# Number of accounts that are verified at a time.
AT_ONCE = 4
# Number of fills in a part of the range, which fit on a page of 50 with some that the archive
# lacks, and the minimum, if the service's pages are shorter.
PART, PART_MIN = 40, 8
# How often a range is read that changes meanwhile, or lacks fills that were listed before.
TRIES = 5
# A read of everything since a moment ends this much in the future, and starts this much before the
# moment, in microseconds: the client knows the service's time to the millisecond.
AHEAD_US, BEFORE_US = 24 * 3600 * 1_000_000, 2 * 1_000_000
# At most this number of fills may be gone, or one in this number.
GONE, OF_GONE = 10, 100


def verify(work: Update, accept_gone: bool) -> UpdateReport:
    """Verify the fills of each account."""
    report = UpdateReport({name: Counts() for name in work.refused}, dict(work.refused))
    clock = ServiceClock(work.client)
    for series in work.fills:
        check_service(work.database, series.place, f"fills {series}", work.client)
    make_current(work.database, work.wait)
    reads = [
        (
            ("fills", (series.account, series.market)),
            _Verifier(work, series, clock, accept_gone).verify,
        )
        for series in work.fills
    ]
    read_each(report, reads, AT_ONCE)
    report.periods.update(periods(work))
    return report


@dataclass
class _Group:
    """Fills that a complete read has not listed, and the listed ones before and after them."""

    older: Head | None
    missing: list[Head]
    newer: Head | None = None

    @property
    def range(self) -> tuple[int, int]:
        """The range with all of them, whether the service includes its bounds or not."""
        older, newer = self.older or self.missing[0], self.newer or self.missing[-1]
        return older.updated - 1, newer.updated + 1

    def is_between(self, listed: Fills) -> bool:
        """True if a read lists the two fills that were listed before."""
        return all(
            one.identity in listed and listed[one.identity][1] == one.updated
            for one in (self.older, self.newer)
            if one is not None
        )


@dataclass
class _Complete:
    """A complete read, as far as it has come."""

    # The fills that the archive had.
    had: int = 0
    # The first and the last fill that were listed.
    oldest: Head | None = None
    newest: Head | None = None
    groups: list[_Group] = field(default_factory=list)
    # The fills that the last part listed, because the service's ranges may be inexact.
    last: Fills = field(default_factory=dict)

    def list_older(self, listed: Fills) -> None:
        """Take account of a later read: a response to the first read may have been empty."""
        found = [Head(identity, 0, updated) for identity, updated, *_ in listed.values()]
        self.oldest = min(
            [*found, *([self.oldest] if self.oldest else [])],
            key=lambda one: one.updated,
            default=None,
        )

    def compare(self, heads: list[Head], listed: Fills) -> None:
        """Compare the next part of the range."""
        self.had += len(heads)
        known = listed.keys() | self.last.keys()
        missing = [one for one in heads if one.identity not in known]
        for group in self.groups[-2:]:
            group.missing = [one for one in group.missing if one.identity not in listed]
        self.last = listed
        found = [Head(identity, 0, updated) for identity, updated, *_ in listed.values()]
        for one in sorted([*found, *missing], key=lambda one: one.updated):
            is_open = bool(self.groups) and self.groups[-1].newer is None
            if not one.version:
                if is_open:
                    self.groups[-1].newer = one
                self.oldest, self.newest = self.oldest or one, one
            elif is_open:
                self.groups[-1].missing.append(one)
            else:
                self.groups.append(_Group(self.newest, [one]))


@dataclass
class _Verifier:
    """Verifies the fills of an account in a market."""

    work: Update
    series: Series
    clock: ServiceClock
    accept_gone: bool
    part: int = PART

    def verify(self, counts: Counts) -> bool:
        """Read everything again, and store what differs.

        Raises:
            ProtocolError: The service lists too few of the fills that the archive has, or changed
                them too often. Missing and differing fills are stored; no other fill is gone.
        """
        began, at = self.clock.reading(), None
        complete = _Complete()
        while at is None or at < began:
            with self._writing(counts) as store:
                start = at if at is not None else self._start(store, began)
                at = self._compare_some(store, complete, start, began, counts)
        if complete.oldest is None and complete.had and not self.accept_gone:
            raise self._too_few(complete.had, complete.had)
        undecided = 0
        for first in range(0, len(complete.groups), TIMES):
            with self._writing(counts) as store:
                for group in complete.groups[first : first + TIMES]:
                    undecided += self._read_time(store, complete, group, counts)
        with self._writing(counts) as store:
            gone = store.still_there([one for group in complete.groups for one in group.missing])
            if self.work.start is None and (oldest := complete.oldest) is not None:
                # The service may no longer list some of these fills because they are old.
                listable = [one for one in gone if one.updated >= oldest.updated]
                counts.unlisted += len(gone) - len(listable)
                gone = listable
            if gone and not self._read_since(store, began, complete.newest, counts):
                undecided, gone = undecided + len(gone), []
            gone = store.still_there(gone)
            if len(gone) > max(GONE, complete.had // OF_GONE) and not self.accept_gone:
                raise self._too_few(len(gone), complete.had)
            counts.gone += store.remove(gone, began)
        if undecided:
            raise ProtocolError(
                f"of fills {self.series}, {undecided} were not listed by one read and others that "
                "had been listed were missing in another; these were not marked as gone",
                retryable=True,
                hint="Verify them again.",
            )
        return True

    @contextmanager
    def _writing(self, counts: Counts) -> Iterator[FillStore]:
        """The store, in which no read is unfinished, for one writer at a time."""
        reader = FillReader(self.work, self.series, self.clock)
        with reader.writing() as store:
            reader.finish_interrupted(store, self.clock.now(), counts)
            yield store
        # Other processes try to take the lock every `WAIT` seconds.
        pause(2 * WAIT)

    def _start(self, store: FillStore, now: int) -> int:
        start = self.work.start
        if start is not None:
            refuse_future(start, now)
            return start
        if not (covered := store.state().covered):
            raise ConfigError(
                f"the archive {self.work.database.name} has no update of fills {self.series}; "
                "expected fills that an update has read",
                hint="Update them, or pass start= to read them from a time on.",
            )
        return int(min(first for first, _ in covered))

    def _compare_some(
        self, store: FillStore, complete: _Complete, start: int, began: int, counts: Counts
    ) -> int:
        """Compare the next parts of the range, and return their end."""
        listed, before = Fills(), complete.last
        # The end of one part does not belong to the next part.
        at, had = start - (not complete.had), complete.had
        while at < began and complete.had - had < FILLS and len(listed) < FILLS:
            end = min(store.time_of_next(at, self.part) or began, began)
            while (part := self._listed(store, at, min(end + 1, began), end - at > 1)) is None:
                end = (at + end) // 2
            complete.compare(store.head(at, end), part)
            listed |= part
            self.work.on_rows(len(part))
            at = end
        # The first fills were counted with the previous part.
        counts._add(store.correct(listed, self.clock.now(), (start, at), before))
        return at

    def _read_time(
        self, store: FillStore, complete: _Complete, group: _Group, counts: Counts
    ) -> int:
        """Read the time of missing fills again, and return how many of them remain undecided."""
        group.missing = store.still_there(group.missing)
        if not group.missing:
            return 0
        for _ in range(TRIES):
            listed = self._listed(store, *group.range)
            assert listed is not None
            if group.is_between(listed):
                complete.list_older(listed)
                self._correct(store, listed, group.missing, counts)
                group.missing = [one for one in group.missing if one.identity not in listed]
                return 0
        undecided, group.missing = len(group.missing), []
        return undecided

    def _read_since(
        self, store: FillStore, began: int, newest: Head | None, counts: Counts
    ) -> bool:
        """Read and store everything that was updated since the verification began; `False` if the
        newest fill of before is not listed."""
        start = began - BEFORE_US
        if newest is not None:
            start = min(start, newest.updated - 1)
        for _ in range(TRIES):
            listed = self._since(store, start)
            if newest is None or newest.identity in listed:
                self._correct(store, listed, [], counts)
                return True
        return False

    def _since(self, store: FillStore, start: int) -> Fills:
        fills: Fills = {}
        at = start
        for _ in range(TRIES):
            now = self.clock.now()
            listed, requests = self._read(store, at, now + AHEAD_US)
            fills |= listed
            if requests == 1:
                return fills
            # Fills arrive while several pages are read: the fills up to now are read first.
            fills |= self._listed(store, at, now) or {}
            at = now - BEFORE_US
        raise self._changing(start)

    def _correct(
        self, store: FillStore, listed: Fills, missing: list[Head], counts: Counts
    ) -> None:
        """Store fills, of which only those that were missing have not been counted yet.

        The others are stored, too: an empty response may have hidden a fill with another time from
        the complete read.
        """
        wanted = {one.identity for one in missing}
        others = {name: fill for name, fill in listed.items() if name not in wanted}
        found = store.correct(others, self.clock.now())
        counts._add(replace(found, unchanged=0))
        some = {name: fill for name, fill in listed.items() if name in wanted}
        if some:
            counts._add(store.correct(some, self.clock.now()))

    def _listed(self, store: FillStore, start: int, end: int, splits: bool = False) -> Fills | None:
        """The fills of a range, as they were at one moment.

        Args:
            splits: Return `None` if the range has more fills than may be held at once.
        """
        before: Fills | None = None
        for _ in range(TRIES):
            listed, requests = self._read(store, start, end, FILLS if splits else None)
            if splits and len(listed) > FILLS:
                return None
            if requests == 1 or listed == before:
                return listed
            before = listed
        raise self._changing(start)

    def _read(
        self, store: FillStore, start: int, end: int, most: int | None = None
    ) -> tuple[Fills, int]:
        """The fills of a range, or some more than `most` of them, and the number of requests."""
        client, fills = self.work.client, dict[str, Any]()
        # Not numbers, which the client accepts only as times since 1990.
        times = {"start": time_of(max(1, start)), "end": time_of(max(2, end))}
        arguments = [*self.series.arguments, *times.items()]
        pager: Pager[Any] = Pager(
            client._boardlot_core.pages(client, "fills_history", arguments, None, None)
        )
        pages = pager._row_pages()
        first = None
        while (page := store.keeping(lambda: next(pages, None))) is not None:
            add(fills, page)
            first = len(page) if first is None else first
            if most is not None and len(fills) > most:
                break
        if first is not None and len(fills) > first:
            self.part = max(PART_MIN, min(PART, first * 4 // 5))
        elif pager.requests == 1:
            self.part = min(PART, self.part + 1)
        return fills, pager.requests

    def _too_few(self, gone: int, had: int) -> ProtocolError:
        return ProtocolError(
            f"of the {had} fills {self.series} that the archive has, the service no longer lists "
            f"{gone}; none of them was marked as gone",
            hint="Verify them again later. If they were removed, accept it: accept_gone=True, or "
            "`--accept-gone`.",
        )

    def _changing(self, start: int) -> ProtocolError:
        return ProtocolError(
            f"the fills {self.series} from {shown_time(start)} on changed during each of {TRIES} "
            "reads",
            retryable=True,
            hint="Verify them again when less happens.",
        )
