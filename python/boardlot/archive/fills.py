"""The fills of accounts: their versions, the time they cover, and what followers have received."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from boardlot import _core
from boardlot._support.tables.cell_format import time_of
from boardlot.archive.database import (
    Database,
    Row,
    Transaction,
    canonical,
    digest,
    format_of,
    observed,
    store_error,
)
from boardlot.archive.freshness import Fetch, row_made, row_of
from boardlot.archive.lists import Series
from boardlot.archive.locks import Lock
from boardlot.archive.report import Counts
from boardlot.archive.typed_columns import built_in, check_current
from boardlot.errors import StoreError

# The versions that readers see: those of complete runs that none of a complete run has replaced.
# The sign keeps SQLite from using the index of the runs, which nearly all versions match.
CURRENT = "+f.run <= s.published and (f.replaced is null or f.replaced > s.published)"
# Those that a follower has not received in an earlier version of the same content.
UNRECEIVED = (
    "not exists (select 1 from followers_received h where h.version = f.id and h.follower = ?)"
)
# The order in which followers receive fills. Keeping it costs every update, so the first follower
# of an archive makes it.
RUN_INDEX = (
    "create index if not exists fill_versions_by_run on fill_versions (series, run, updated)"
)
# The same for what is gone, of a follower that receives that too.
GONE_INDEX = (
    "create index if not exists fill_versions_by_end on fill_versions (series, replaced) "
    "where replaced is not null"
)
# The kind of change that a version is.
CHANGE = (
    "coalesce((select case when o.replaced = f.run then 'changed' else 'back' end "
    "from fill_versions o where o.series = f.series and o.identity = f.identity "
    "and o.run < f.run order by o.run desc limit 1), 'new')"
)
# Those that no other version follows.
IS_GONE = (
    "f.replaced is not null and not exists (select 1 from fill_versions n "
    "where n.series = f.series and n.identity = f.identity and n.run = f.replaced)"
)
# Each change of a fill, with the run that has it.
EVENTS = (
    f"select f.series, f.run, f.updated, f.id, f.record, {CHANGE} as change from fill_versions f "
    "union all select f.series, f.replaced, f.updated, f.id, f.record, 'gone' "
    f"from fill_versions f where {IS_GONE}"
)
# Versions that are read from the database at a time, as one text.
AT_ONCE = 4_000
INT64_MAX = 2**63 - 1
# The first format that has the times of runs.
RUNS = 2

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

    @property
    def period(self) -> tuple[datetime, datetime] | None:
        """The first and the last time that were read; `gaps` are between them."""
        if not self.covered:
            return None
        first, last = self.covered[0][0], max(end for _, end in self.covered)
        return time_of(first), time_of(last)


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
    # Of a follower that receives changes.
    change: str | None = None
    seen_at: int | None = None

    @property
    def shown(self) -> str:
        """The text that the follower's caller receives."""
        return self.text if self.change is None else observed(self.text, self.seen_at, self.change)


@dataclass(frozen=True)
class Head:
    """A fill that the archive has, by its newest version."""

    identity: str
    version: int
    updated: int


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

    # Verifying.

    def head(self, after: int, until: int) -> list[Head]:
        """The fills of a range of time, oldest first, by their newest versions."""
        rows = self._database.read(
            "select f.identity, f.id, f.updated from fill_versions f "
            "join series s on s.id = f.series where s.account = ? and s.market = ? "
            "and f.replaced is null and f.updated > ? and f.updated <= ? order by f.updated, f.id",
            (*self._names, after, until),
        )
        return [Head(*row) for row in rows]

    def time_of_next(self, after: int, count: int) -> int | None:
        """The time of the last of so many fills after this time; `None` if there are fewer."""
        rows = self._database.read(
            "select f.updated from fill_versions f join series s on s.id = f.series "
            "where s.account = ? and s.market = ? and f.replaced is null and f.updated > ? "
            "order by f.updated limit 1 offset ?",
            (*self._names, after, count - 1),
        )
        return rows[0][0] if rows else None

    def still_there(self, fills: Sequence[Head]) -> list[Head]:
        """Those of the fills whose newest version is still the same."""
        with self._database.snapshot() as snapshot:
            found = _unreplaced(snapshot, fills)
        return [one for one in fills if one.version in found]

    def correct(
        self,
        fills: Fills,
        now: int,
        covered: tuple[int, int] | None = None,
        counted: Fills | None = None,
    ) -> Counts:
        """Store fills exactly as they are listed, also older versions, and show them to readers.

        Args:
            now: When they were read.
            covered: The range of which they are all fills.
            counted: Fills that have been counted.
        """
        self._counted = counted or {}
        with self._writing() as (transaction, series):
            run, counts = self._next_run(transaction, series), Counts()
            if fills:
                self._compare(transaction, series, run, fills, counts, exact=True)
            if covered is not None:
                _cover(transaction, series, *covered)
            _publish_run(transaction, series, now)
        return counts

    def remove(self, fills: Sequence[Head], now: int) -> int:
        """Store that fills are gone, and that everything was read; how many of them were there.

        Those that have another version by now are not.
        """
        with self._writing() as (transaction, series):
            found = sorted(_unreplaced(transaction, fills))
            if found:
                run = self._next_run(transaction, series)
                condition, values = transaction.among("f.id", found)
                transaction.execute(
                    "insert into followers_received (version, follower) "
                    "select f.id, w.name from fill_versions f join followers w "
                    f"on w.series = f.series where {condition} "
                    "and (f.run, f.updated, f.id) <= (w.run, w.updated, w.version) "
                    "on conflict do nothing",
                    (values,),
                )
                transaction.execute_many(
                    "update fill_versions set replaced = ? where id = ?",
                    [(run, version) for version in found],
                )
                _store_run(transaction, series, run)
                _publish_run(transaction, series, now)
            transaction.execute(
                "update series set read_at = ? where id = ? and coalesce(read_at, 0) < ?",
                (now, series, now),
            )
        return len(found)

    def _next_run(self, transaction: Transaction, series: int) -> int:
        query = "select published from series where id = ?"
        return int(transaction.execute(query, (series,))[0][0]) + 1

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
            run, counts = self._next_run(transaction, series), Counts()
            inserted = 0
            if run == 1:
                # Nothing to compare with, but for a fill that this run has stored before.
                inserted = self._insert(transaction, series, run, [*fills.values()], counts)
            if inserted < len(fills):
                self._compare(transaction, series, run, fills, counts)
            # The fills that were just inserted were found unchanged.
            counts.unchanged -= inserted if inserted < len(fills) else 0
            counts.new += inserted
            if inserted:
                _store_run(transaction, series, run)
            transaction.execute("update series set position = ? where id = ?", (position, series))
        self._counted = dict(fills)
        return counts

    def _compare(
        self,
        transaction: Transaction,
        series: int,
        run: int,
        fills: Fills,
        counts: Counts,
        *,
        exact: bool = False,
    ) -> None:
        """Store those fills that are new, or newer than the stored version; if `exact`, those that
        differ from it."""
        condition, values = transaction.among("identity", list(fills))
        found = transaction.execute(
            "select identity, id, run, updated, record from fill_versions "
            f"where series = ? and replaced is null and {condition}",
            (series, values),
        )
        known = {identity: rest for identity, *rest in found}
        unknown = [identity for identity in fills if identity not in known]
        gone = _gone(transaction, series, unknown) if unknown and run > 1 else {}
        inserted: list[Fill] = []
        replaced: list[Row] = []
        rewritten: list[Row] = []
        returned: list[Row] = []
        for identity, fill in fills.items():
            before = known.get(identity)
            if before is None:
                if identity not in gone:
                    counts.new += 1
                    inserted.append(fill)
                    continue
                counts.back += 1
                version, of_text = gone[identity]
                if is_same := canonical(fill[3]) == canonical(of_text):
                    returned.append((series, identity, run, version))
                inserted.append((*fill[:3], of_text) if is_same else fill)
                continue
            _, updated, code, text = fill
            version, of_run, of_time, of_text = before
            counted = identity in self._counted
            is_older = updated < of_time and not exact
            if is_older or text == of_text or canonical(text) == canonical(of_text):
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
            check_current(self._database, transaction, typed := built_in()["fills"])
            versions, texts = [row[3] for row in rewritten], [row[2] for row in rewritten]
            counts.unconverted += typed.replace(transaction, versions, texts)
        self._insert(transaction, series, run, inserted, counts)
        if inserted:
            _store_run(transaction, series, run)
        if returned:
            transaction.execute_many(
                "insert into followers_received (version, follower) select f.id, w.follower "
                "from fill_versions f, followers_received w where f.series = ? "
                "and f.identity = ? and f.run = ? and w.version = ? on conflict do nothing",
                returned,
            )

    def _insert(
        self,
        transaction: Transaction,
        series: int,
        run: int,
        fills: Sequence[Fill],
        counts: Counts,
    ) -> int:
        """Insert the fills that the run does not have yet, with their columns, and count them."""
        if not fills:
            return 0
        typed = built_in()["fills"]
        check_current(self._database, transaction, typed)
        ids = transaction.new_ids("fill_versions", len(fills))
        inserted = transaction.insert(
            "fill_versions (id, series, run, identity, updated, code, record)",
            [(one, series, run, *fill) for one, fill in zip(ids, fills, strict=True)],
        )
        texts = {one: fill[3] for one, fill in zip(ids, fills, strict=True)}
        if inserted < len(fills):
            condition, values = transaction.among("id", ids)
            found = transaction.execute(
                f"select id from fill_versions where {condition} order by id", (values,)
            )
            texts = {one: texts[one] for (one,) in found}
        versions = [(one,) for one in texts]
        counts.unconverted += typed.store(transaction, versions, [*texts.values()])
        return inserted

    def publish(self, start: int, end: int, now: int, whole_overlap: bool) -> None:
        """Show readers the newly stored fills: the range was read completely."""
        with self._progressing() as (transaction, series):
            transaction.execute(
                "update series set position = null, run_start = null, run_end = null, read_at = ?, "
                "overlap_read_at = case when ? then ? else overlap_read_at end, "
                "published = published + 1 where id = ?",
                (now, whole_overlap, now, series),
            )
            _publish_run(transaction, series, now, counted=False)
            _cover(transaction, series, start, end)

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

    def prepare_following(self, changes: bool) -> None:
        """Create the indexes that followers need."""
        if not self._database.read("select 1 from followers limit 1"):
            self._database.define(RUN_INDEX)
        if changes:
            self._database.define(GONE_INDEX)

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

    def undelivered(
        self, name: str, limit: int, changes: bool
    ) -> tuple[Follower | None, list[Delivery]]:
        """The follower of this name, and the fills after its position: fills of earlier
        reads first, then in the order of time; or all changes of fills."""
        with self._database.snapshot() as snapshot:
            follower = self._follower_named(snapshot.execute, name)
            after = Position() if follower is None else follower.position
            if changes:
                return follower, self._changes_after(snapshot, after, limit)
            rows = snapshot.execute(
                "select f.run, f.updated, f.id, f.record "
                "from fill_versions f join series s on s.id = f.series "
                f"where s.account = ? and s.market = ? and {CURRENT} and {UNRECEIVED} "
                "and f.run >= ? and (f.run, f.updated, f.id) > (?, ?, ?) "
                f"order by f.run, f.updated, f.id limit {limit}",
                (*self._names, name, after.run, after.run, after.updated, after.version),
            )
        return follower, [Delivery(Position(*row), text) for *row, text in rows]

    def _changes_after(
        self, transaction: Transaction, after: Position, limit: int
    ) -> list[Delivery]:
        rows: list[Row] = []
        # Each by its index.
        for run, change, condition in (
            ("f.run", CHANGE, "1 = 1"),
            ("f.replaced", "'gone'", IS_GONE),
        ):
            rows += transaction.execute(
                f"select {run}, f.updated, f.id, f.record, {change}, (select r.seen_at "
                f"from series_runs r where r.series = f.series and r.run = {run}) "
                "from fill_versions f join series s on s.id = f.series "
                f"where s.account = ? and s.market = ? and {run} <= s.published "
                f"and {run} >= ? and ({run}, f.updated, f.id) > (?, ?, ?) and {condition} "
                f"order by {run}, f.updated, f.id limit {limit}",
                (*self._names, after.run, after.run, after.updated, after.version),
            )
        found = [Delivery(Position(*row[:3]), *row[3:]) for row in rows]
        return sorted(found, key=lambda one: one.position)[:limit]

    def changes(self) -> list[str]:
        """The texts of all changes in their order, each with its time and kind."""
        with self._database.snapshot() as snapshot:
            join = "left join series_runs r on r.series = e.series and r.run = e.run "
            seen_at = "r.seen_at"
            if format_of(snapshot) < RUNS:
                join, seen_at = "", "null"
            rows = snapshot.execute(
                f"select e.record, {seen_at}, e.change "
                f"from ({EVENTS}) e join series s on s.id = e.series {join}"
                "where s.account = ? and s.market = ? and e.run <= s.published "
                "order by e.run, e.updated, e.id",
                self._names,
            )
        return [observed(*row) for row in rows]

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
        after = received.position
        with self._writing() as (transaction, series):
            if received.change is None:
                is_next = self._is_next_fill(transaction, series, name, follower.position, received)
            else:
                is_next = self._changes_after(transaction, follower.position, 1) == [received]
            if not is_next or self._follower_named(transaction.execute, name) != follower:
                return False
            transaction.execute(
                "update followers set run = ?, updated = ?, version = ? "
                "where series = ? and name = ?",
                (after.run, after.updated, after.version, series, name),
            )
            # One that went while it was being handled need not come again if it is back.
            transaction.execute(
                "insert into followers_received (version, follower) select f.id, ? "
                f"from fill_versions f where f.id = ? and {IS_GONE} on conflict do nothing",
                (name, after.version),
            )
        return True

    def _is_next_fill(
        self,
        transaction: Transaction,
        series: int,
        name: str,
        before: Position,
        received: Delivery,
    ) -> bool:
        after = received.position
        up_to_it = transaction.execute(
            # The fill itself may have been replaced since it was read.
            "select f.id from fill_versions f join series s on s.id = f.series "
            "where f.series = ? and (f.run, f.updated, f.id) > (?, ?, ?) "
            "and (f.run, f.updated, f.id) <= (?, ?, ?) "
            f"and (({CURRENT} and {UNRECEIVED}) or (f.id = ? and f.run <= s.published)) "
            "and (f.id <> ? or f.record = ?) limit 2",
            (
                *(series, before.run, before.updated, before.version),
                *(after.run, after.updated, after.version),
                *(name, after.version, after.version, received.text),
            ),
        )
        return up_to_it == [(after.version,)]


def _progress(transaction: Transaction, series: int) -> Row:
    """Identifies the progress of a read: the same range read again has a different end."""
    columns = "published, position, run_start, run_end"
    return transaction.execute(f"select {columns} from series where id = ?", (series,))[0]


def add(fills: Fills, page: Any) -> int:
    """Add the fills of a page that are new, or newer; the characters of the page's."""
    size = 0
    for found, updated, code, text in _core._fill_rows(page):
        # Without an id, it is identified by all of its values.
        identity = found if found.startswith("[") else digest(canonical(text))
        fill = (identity, updated, code, text)
        if identity not in fills or fills[identity][1] <= fill[1]:
            fills[identity] = fill
        size += len(text)
    return size


def _store_run(transaction: Transaction, series: int, run: int) -> None:
    """Record that a run has stored something; its time is set once it is published."""
    transaction.insert("series_runs (series, run, seen_at)", [(series, run, 0)])


def _publish_run(transaction: Transaction, series: int, now: int, *, counted: bool = True) -> None:
    """Show readers what the next run has stored, or, if that was `counted` already, when."""
    if counted:
        transaction.execute("update series set published = published + 1 where id = ?", (series,))
    transaction.execute(
        "update series_runs set seen_at = ? where series = ? "
        "and run = (select published from series where id = ?)",
        (now, series, series),
    )


def _cover(transaction: Transaction, series: int, start: int, end: int) -> None:
    """Record that everything in a range was read."""
    touching = transaction.execute(
        "select start_at, end_at from coverage where series = ? and start_at <= ? and end_at >= ?",
        (series, end, start),
    )
    transaction.execute(
        "delete from coverage where series = ? and start_at <= ? and end_at >= ?",
        (series, end, start),
    )
    first = min([start, *(one for one, _ in touching)])
    last = max([end, *(one for _, one in touching)])
    transaction.execute(
        "insert into coverage (series, start_at, end_at) values (?, ?, ?)", (series, first, last)
    )


def _unreplaced(transaction: Transaction, fills: Sequence[Head]) -> set[int]:
    """The versions of these fills that nothing has replaced."""
    condition, values = transaction.among("id", [one.version for one in fills])
    query = f"select id from fill_versions where replaced is null and {condition}"
    return {version for (version,) in transaction.execute(query, (values,))}


def _gone(
    transaction: Transaction, series: int, identities: Sequence[str]
) -> dict[str, tuple[int, str]]:
    """The last version of each of these fills that is gone, and its text."""
    condition, values = transaction.among("identity", identities)
    rows = transaction.execute(
        f"select identity, id, record from fill_versions where series = ? and {condition} "
        "order by run",
        (series, values),
    )
    return {identity: (version, text) for identity, version, text in rows}


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
