"""The fills of accounts: their versions, the time they cover, and what followers have received."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from boardlot import _core
from boardlot.archive.database import (
    Database,
    Row,
    Transaction,
    canonical,
    digest,
    store_error,
)
from boardlot.archive.freshness import Fetch, row_made, row_of
from boardlot.archive.lists import Series
from boardlot.archive.locks import Lock
from boardlot.archive.report import Counts
from boardlot.errors import StoreError

# The versions that readers see: those of complete runs that none of a complete run has replaced.
# The sign keeps SQLite from using the index of the runs, which nearly all versions match.
CURRENT = "+f.run <= s.published and (f.replaced is null or f.replaced > s.published)"
# The order in which followers receive fills. Keeping it costs every update, so the first follower
# of an archive makes it.
RUN_INDEX = (
    "create index if not exists fill_versions_by_run on fill_versions (series, run, updated)"
)
# Versions that are read from the database at a time, as one text.
AT_ONCE = 4_000
INT64_MAX = 2**63 - 1

T = TypeVar("T")

# The identity of a fill, its time, symbol and text.
Fill = tuple[str, int, "str | None", str]
# The newest version of each, by its identity.
Fills = dict[str, Fill]


@dataclass(frozen=True)
class State:
    """The progress of a series' updates."""

    # The position of an unfinished run, and its range.
    position: str | None
    run_start: int | None
    run_end: int | None
    # The newest fill that was published, and the end of the time that was read.
    newest: int | None
    covered: list[Row]
    # When the whole overlap was read for the last time, by the service's clock.
    overlap_read_at: int | None


@dataclass(frozen=True, order=True)
class Position:
    """The progress of a follower: everything up to this version is delivered."""

    run: int = 0
    updated: int = 0
    version: int = 0


@dataclass(frozen=True)
class Follower:
    """A follower in the archive: its position, and its holder."""

    position: Position
    holder: str | None


@dataclass(frozen=True)
class Delivery:
    """The text of a fill, and where a follower is that has received it."""

    position: Position
    text: str


class FillStore:
    """The fills of one account in one market. One process at a time writes them.

    Args:
        lock: What a writer must still have.
        service: Where a writer's fills come from.
    """

    def __init__(
        self,
        database: Database,
        series: Series,
        lock: Lock | None = None,
        service: str | None = None,
    ) -> None:
        self._database = database
        self._series = series
        self._names = (series.account, series.market)
        # The progress of the read that this writer has begun.
        self._progress: Row | None = None
        self._lock, self._service = lock, service
        # The fills that the last `store` counted: a page may begin with the end of the one before.
        self._counted: Fills = {}

    def keeping(self, call: Callable[[], T], *others: Lock) -> T:
        """The result of a call that waits for the service, during which the locks are kept."""
        return call() if self._lock is None else self._lock.keeping(call, *others)

    # Reading.

    def texts(
        self, code: str | None = None, start: int | None = None, end: int | None = None
    ) -> Generator[bytes, None, None]:
        """The fills, latest update first, as texts of many records each."""
        names = list[Any](self._names)
        condition, codes = ("", []) if code is None else ("and f.code = ? ", [code])
        # A text for each record would take Python longer than all of this takes the database.
        query = (
            f"select {self._database.concat_sql('record')} from (select f.record "
            "from fill_versions f join series s on s.id = f.series "
            f"where s.account = ? and s.market = ? and {CURRENT} {condition}"
            "and f.updated >= ? and f.updated <= ? "
            # Of one read: as the service listed them. With a limit, the order is kept.
            f"order by f.updated desc, f.run desc, f.id limit {INT64_MAX}) ordered"
        )
        first, last = start or 0, INT64_MAX if end is None else end
        with self._database.snapshot() as snapshot:
            while first <= last:
                # About `AT_ONCE` versions: those of the same time are in the same part.
                rows = snapshot.execute(
                    "select f.updated from fill_versions f join series s on s.id = f.series "
                    "where s.account = ? and s.market = ? and f.updated >= ? and f.updated <= ? "
                    f"order by f.updated desc limit 1 offset {AT_ONCE}",
                    (*names, first, last),
                )
                part = rows[0][0] if rows else first
                ((text,),) = snapshot.execute(query, (*names, *codes, part, last))
                if text is not None:
                    yield text
                last = part - 1

    def state(self) -> State:
        """The progress of the series' updates."""
        columns = "id, position, run_start, run_end, overlap_read_at"
        row = row_of(self._database, self._series.place, columns)
        if row is None:
            return State(None, None, None, None, [], None)
        series, position, start, end, overlap_read_at = row
        query = "select start_at, end_at from coverage where series = ? order by start_at"
        covered = self._database.read(query, (series,))
        return State(position, start, end, self.time_of_recent(0), covered, overlap_read_at)

    def fetched_at(self) -> int | None:
        """The service's time when everything up to now was last read."""
        row = row_of(self._database, self._series.place, "fetched_at")
        return None if row is None else row[0]

    def time_of_recent(self, count: int) -> int | None:
        """The update time of the fill that has this many others after it; `None` without one."""
        rows = self._database.read(
            "select f.updated from fill_versions f join series s on s.id = f.series "
            f"where s.account = ? and s.market = ? and {CURRENT} "
            "order by f.updated desc limit 1 offset ?",
            (*self._names, count),
        )
        return rows[0][0] if rows else None

    # Writing.

    def begin(self, start: int, end: int) -> None:
        """Start to read a range."""
        with self._writing() as (transaction, series):
            transaction.execute(
                "update series set position = null, run_start = ?, run_end = ? where id = ?",
                (start, end, series),
            )
            self._progress = _progress(transaction, series)

    def resume(self, position: str) -> None:
        """Continue to read a range from a position that an earlier read has stored."""
        with self._writing() as (transaction, series):
            self._progress = _progress(transaction, series)
            if self._progress[1] != position:
                raise self._went_back()

    @contextmanager
    def _progressing(self) -> Iterator[tuple[Transaction, int]]:
        """A transaction in which the read continues where this writer left it.

        Raises:
            StoreError: What it has stored is no longer there.
        """
        with self._writing() as (transaction, series):
            if _progress(transaction, series) != self._progress:
                raise self._went_back()
            yield transaction, series
            progress = _progress(transaction, series)
        self._progress = progress

    def _went_back(self) -> StoreError:
        return store_error(
            self._database.name,
            f"went back to an earlier state while fills {self._series} were read, such as that of "
            "a backup",
            retryable=True,
            hint="Run the same update again: it continues from what the archive has now.",
        )

    @contextmanager
    def _writing(self) -> Iterator[tuple[Transaction, int]]:
        """A transaction, and the id of the series."""
        with self._database.transaction(self._lock) as transaction:
            # It may have another id since a backup was restored.
            (series,) = row_made(transaction, self._series.place, "id")
            if self._service is not None:
                transaction.execute(
                    "update series set service = ? where id = ? and service is null",
                    (self._service, series),
                )
            yield transaction, series

    def store(self, fills: Fills, position: str) -> Counts:
        """Store fills, and the position after their pages, in one transaction.

        A fill that the `store` before has counted is not counted again.
        """
        with self._progressing() as (transaction, series):
            ((published,),) = transaction.execute(
                "select published from series where id = ?", (series,)
            )
            run, counts = published + 1, Counts()
            inserted = 0
            if published == 0:
                # Nothing to compare with, but for a fill that this run has stored before.
                inserted = _insert(transaction, series, run, fills.values())
            if inserted < len(fills):
                self._compare(transaction, series, run, fills, counts)
            # The fills that were just inserted were found unchanged.
            counts.unchanged -= inserted if inserted < len(fills) else 0
            counts.new += inserted
            transaction.execute("update series set position = ? where id = ?", (position, series))
        self._counted = dict(fills)
        return counts

    def _compare(
        self, transaction: Transaction, series: int, run: int, fills: Fills, counts: Counts
    ) -> None:
        """Store those fills that are new, or newer than the stored version."""
        condition, values = transaction.among("identity", list(fills))
        found = transaction.execute(
            "select identity, id, run, updated, record from fill_versions "
            f"where series = ? and replaced is null and {condition}",
            (series, values),
        )
        known = {identity: rest for identity, *rest in found}
        inserted: list[Fill] = []
        replaced: list[Row] = []
        rewritten: list[Row] = []
        for identity, fill in fills.items():
            before = known.get(identity)
            if before is None:
                counts.new += 1
                inserted.append(fill)
                continue
            _, updated, code, text = fill
            version, of_run, of_time, of_text = before
            counted = identity in self._counted
            if updated < of_time or text == of_text or canonical(text) == canonical(of_text):
                counts.unchanged += not counted
                continue
            counts.changed += not counted
            if of_run == run:
                # No reader has seen it yet.
                rewritten.append((updated, code, text, version))
            else:
                replaced.append((run, version))
                inserted.append(fill)
        if replaced:
            transaction.execute_many("update fill_versions set replaced = ? where id = ?", replaced)
        if rewritten:
            transaction.execute_many(
                "update fill_versions set updated = ?, code = ?, record = ? where id = ?", rewritten
            )
        _insert(transaction, series, run, inserted)

    def publish(self, start: int, end: int, now: int, whole_overlap: bool) -> None:
        """Show readers the newly stored fills: the range was read completely."""
        with self._progressing() as (transaction, series):
            transaction.execute(
                "update series set position = null, run_start = null, run_end = null, read_at = ?, "
                "overlap_read_at = case when ? then ? else overlap_read_at end, "
                "published = published + 1 where id = ?",
                (now, whole_overlap, now, series),
            )
            touching = transaction.execute(
                "select start_at, end_at from coverage "
                "where series = ? and start_at <= ? and end_at >= ?",
                (series, end, start),
            )
            transaction.execute(
                "delete from coverage where series = ? and start_at <= ? and end_at >= ?",
                (series, end, start),
            )
            first = min([start, *(one for one, _ in touching)])
            last = max([end, *(one for _, one in touching)])
            transaction.execute(
                "insert into coverage (series, start_at, end_at) values (?, ?, ?)",
                (series, first, last),
            )

    def read_completely(self, fetch: Fetch) -> None:
        """Record that everything up to this time was read."""
        with self._progressing() as (transaction, series):
            fetch.store(transaction, "series", series)

    def forget_unread(self) -> None:
        """Remove a series of which nothing was ever read, since the service refuses it: its account
        or market was mistyped, and `check` would report it for ever."""
        unused = " and ".join(
            f"not exists (select 1 from {table} other where other.series = series.id)"
            for table in ("fill_versions", "coverage", "followers")
        )
        with self._database.transaction(self._lock) as transaction:
            transaction.execute(
                "delete from series where account = ? and market = ? and read_at is null "
                f"and position is null and {unused}",
                self._names,
            )

    # Followers.

    def prepare_following(self) -> None:
        """Create the index that followers need, unless there has been one before."""
        if not self._database.read("select 1 from followers limit 1"):
            self._database.define(RUN_INDEX)

    def follower_named(self, name: str) -> Follower | None:
        """The follower of this name, if there has been one."""
        return self._follower_named(self._database.read, name)

    def _follower_named(self, rows: Callable[[str, Row], list[Row]], name: str) -> Follower | None:
        found = rows(
            "select w.run, w.updated, w.version, w.holder from followers w "
            "join series s on s.id = w.series "
            "where s.account = ? and s.market = ? and w.name = ?",
            (*self._names, name),
        )
        return Follower(Position(*found[0][:3]), found[0][3]) if found else None

    def undelivered(self, name: str, limit: int) -> tuple[Follower | None, list[Delivery]]:
        """The follower of this name, and the fills after its position: fills of earlier
        reads first, then in the order of time."""
        with self._database.snapshot() as snapshot:
            follower = self._follower_named(snapshot.execute, name)
            after = Position() if follower is None else follower.position
            rows = snapshot.execute(
                "select f.run, f.updated, f.id, f.record "
                "from fill_versions f join series s on s.id = f.series "
                f"where s.account = ? and s.market = ? and {CURRENT} "
                "and f.run >= ? and (f.run, f.updated, f.id) > (?, ?, ?) "
                f"order by f.run, f.updated, f.id limit {limit}",
                (*self._names, after.run, after.run, after.updated, after.version),
            )
        return follower, [Delivery(Position(*row), text) for *row, text in rows]

    def take_over(self, name: str, holder: str) -> tuple[str | None, Follower]:
        """Makes this holder the follower; returns the previous one, and the new one."""
        with self._writing() as (transaction, series):
            found = self._follower_named(transaction.execute, name)
            transaction.execute(
                "insert into followers (series, name, run, updated, version, holder) "
                "values (?, ?, 0, 0, 0, ?) on conflict (series, name) do update set holder = ?",
                (series, name, holder, holder),
            )
        before = found or Follower(Position(), None)
        return before.holder, Follower(before.position, holder)

    def delivered(self, name: str, follower: Follower, received: Delivery) -> bool:
        """Record that a follower, which is the archive's own, has received the next fill.

        `False`, and nothing is stored, if the archive has another follower of this name, or another
        fill is the next one for it: it went back to an earlier state.
        """
        before, after = follower.position, received.position
        with self._writing() as (transaction, series):
            up_to_it = transaction.execute(
                # The fill itself may have been replaced since it was read.
                "select f.id from fill_versions f join series s on s.id = f.series "
                "where f.series = ? and (f.run, f.updated, f.id) > (?, ?, ?) "
                "and (f.run, f.updated, f.id) <= (?, ?, ?) "
                f"and ({CURRENT} or (f.id = ? and f.run <= s.published)) "
                "and (f.id <> ? or f.record = ?) limit 2",
                (
                    *(series, before.run, before.updated, before.version),
                    *(after.run, after.updated, after.version, after.version),
                    *(after.version, received.text),
                ),
            )
            if up_to_it != [(after.version,)]:
                return False
            if self._follower_named(transaction.execute, name) != follower:
                return False
            transaction.execute(
                "update followers set run = ?, updated = ?, version = ? "
                "where series = ? and name = ?",
                (after.run, after.updated, after.version, series, name),
            )
        return True


def _progress(transaction: Transaction, series: int) -> Row:
    """Identifies the progress of a read: the same range read again has a different end."""
    columns = "published, position, run_start, run_end"
    return transaction.execute(f"select {columns} from series where id = ?", (series,))[0]


def add(fills: Fills, page: Any) -> None:
    """Add the fills of a page that are new, or newer."""
    for found, updated, code, text in _core._fill_rows(page):
        # Without an id, it is identified by all of its values.
        identity = found if found.startswith("[") else digest(canonical(text))
        fill = (identity, updated, code, text)
        if identity not in fills or fills[identity][1] <= fill[1]:
            fills[identity] = fill


def _insert(transaction: Transaction, series: int, run: int, fills: Iterable[Fill]) -> int:
    """Insert the fills that the run does not have yet, and count them."""
    into = "fill_versions (series, run, identity, updated, code, record)"
    return transaction.insert(into, [(series, run, *fill) for fill in fills])


def gaps(state: State, now: int) -> Iterator[tuple[int, int]]:
    """The spans between the first and the last requested time that were not read, until now."""
    bounds = list(state.covered)
    if state.run_start is not None and state.run_end is not None:
        # Of a run that has not finished.
        bounds.append((state.run_start, max(state.run_start, min(state.run_end, now))))
    if not bounds:
        return
    at, last = min(start for start, _ in bounds), max(end for _, end in bounds)
    for start, end in state.covered:
        if start > at:
            yield at, start
        at = max(at, end)
    if at < last:
        yield at, last
