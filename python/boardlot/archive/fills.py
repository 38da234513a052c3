"""The fills of accounts, and their versions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from boardlot import _core
from boardlot.archive.coverage import State, cover
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
from boardlot.archive.fill_versions import CURRENT, EVENTS
from boardlot.archive.freshness import Fetch, row_made, row_of
from boardlot.archive.lists import Series
from boardlot.archive.locks import Lock
from boardlot.archive.report import Counts
from boardlot.archive.typed_columns import built_in, check_current
from boardlot.errors import StoreError

# Number of versions that are read from the database at a time, as one text.
AT_ONCE = 4_000
INT64_MAX = 2**63 - 1
# The first format that has the times of runs.
RUNS = 2

T = TypeVar("T")

# The identity of a fill, its time, symbol and text.
Fill = tuple[str, int, "str | None", str]
# The newest version of each fill, by the fill's identity.
Fills = dict[str, Fill]


@dataclass(frozen=True)
class Head:
    """A fill that the archive has, by its newest version."""

    identity: str
    version: int
    updated: int


class FillStore:
    """The fills of one account in one market. One process at a time writes them.

    Args:
        lock: The lock that a writer must still have.
        service: The service that a writer's fills come from.
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
        # The fills that the last `store` counted: a page may begin with the last fills of the page
        # before.
        self._counted: Fills = {}

    def keeping(self, call: Callable[[], T], *others: Lock) -> T:
        """The result of a call that waits for the service, during which the locks are kept."""
        return call() if self._lock is None else self._lock.keeping(call, *others)

    # Reading.

    def texts(
        self, code: str | None = None, start: int | None = None, end: int | None = None
    ) -> Generator[bytes, None, None]:
        """Yields the fills, latest update first, in texts of many records each."""
        names = list[Any](self._names)
        condition, codes = ("", []) if code is None else ("and f.code = ? ", [code])
        # A text for each record would take Python longer than the database needs for all of this.
        query = (
            f"select {self._database.concat_sql('record')} from (select f.record "
            "from fill_versions f join series s on s.id = f.series "
            f"where s.account = ? and s.market = ? and {CURRENT} {condition}"
            "and f.updated >= ? and f.updated <= ? "
            # Fills of one read stay as the service listed them. The limit makes the database keep
            # the order.
            f"order by f.updated desc, f.run desc, f.id limit {INT64_MAX}) ordered"
        )
        first, last = start or 0, INT64_MAX if end is None else end
        with self._database.snapshot() as snapshot:
            while first <= last:
                # A part has about `AT_ONCE` versions: all versions of one time are in the same
                # part.
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
        """The service's time at the last read of everything up to that time."""
        row = row_of(self._database, self._series.place, "fetched_at")
        return None if row is None else row[0]

    def time_of_recent(self, count: int) -> int | None:
        """The update time of the fill that has `count` others after it; `None` if there is none."""
        rows = self._database.read(
            "select f.updated from fill_versions f join series s on s.id = f.series "
            f"where s.account = ? and s.market = ? and {CURRENT} "
            "order by f.updated desc limit 1 offset ?",
            (*self._names, count),
        )
        return rows[0][0] if rows else None

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
        """Returns the fills whose newest version is still the same."""
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
            now: The time at which the fills were read.
            covered: A range, if these are all of its fills.
            counted: Fills that are not to be counted again.
        """
        self._counted = counted or {}
        with self._writing() as (transaction, series):
            run, counts = self._next_run(transaction, series), Counts()
            if fills:
                self._compare(transaction, series, run, fills, counts, exact=True)
            if covered is not None:
                cover(transaction, series, *covered)
            _publish_run(transaction, series, now)
        return counts

    def remove(self, fills: Sequence[Head], now: int) -> int:
        """Store that fills are gone and that everything was read, and return how many were removed.

        Fills that have another version by now are not removed.
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
            StoreError: The progress that this writer has stored is no longer in the archive.
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
            # The series may have another id since a backup was restored.
            (series,) = row_made(transaction, self._series.place, "id")
            if self._service is not None:
                transaction.execute(
                    "update series set service = ? where id = ? and service is null",
                    (self._service, series),
                )
            yield transaction, series

    def store(self, fills: Fills, position: str) -> Counts:
        """Store fills, and the position after their pages, in one transaction.

        A fill that the previous `store` has counted is not counted again.
        """
        with self._progressing() as (transaction, series):
            run, counts = self._next_run(transaction, series), Counts()
            inserted = 0
            if run == 1:
                # The only fills to compare with are those that this run has stored before.
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
        """Store the fills that are new, or newer than the stored version; if `exact`, all that
        differ from the stored version."""
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
            cover(transaction, series, start, end)

    def read_completely(self, fetch: Fetch) -> None:
        """Record that everything up to this time was read."""
        with self._progressing() as (transaction, series):
            fetch.store(transaction, "series", series)

    def forget_unread(self) -> None:
        """Remove a series that was never read because the service refuses it: its account or market
        was mistyped, and `check` would report it forever."""
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


def _progress(transaction: Transaction, series: int) -> Row:
    """Identifies the progress of a read: the same range has a different end if it is read again."""
    columns = "published, position, run_start, run_end"
    return transaction.execute(f"select {columns} from series where id = ?", (series,))[0]


def add(fills: Fills, page: Any) -> int:
    """Add the new and newer fills of a page, and return the number of characters of all its
    fills."""
    size = 0
    for found, updated, code, text in _core._fill_rows(page):
        # A fill without an id is identified by all of its values.
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
    """Show readers the versions of the next run, and store its time. If not `counted`, the caller
    has increased `published` itself."""
    if counted:
        transaction.execute("update series set published = published + 1 where id = ?", (series,))
    transaction.execute(
        "update series_runs set seen_at = ? where series = ? "
        "and run = (select published from series where id = ?)",
        (now, series, series),
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
