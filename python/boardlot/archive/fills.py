"""The fills of accounts: their versions, the time they cover, and what followers have received."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from boardlot import _core
from boardlot.archive.database import Database, Row, Transaction
from boardlot.archive.lists import Series
from boardlot.archive.report import Counts

__all__ = ["CURRENT", "FillStore", "Position", "State"]

# The versions that readers see: those of complete runs that none of a complete run has replaced.
# The sign keeps SQLite from using the index of the runs, which nearly all versions match.
CURRENT = "+f.run <= s.published and (f.replaced is null or f.replaced > s.published)"
# Rows that are read from the database at a time.
BATCH = 20_000
INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class State:
    """Where the updates of a series are."""

    # The position of an unfinished run, and its range.
    position: str | None
    run_start: int | None
    run_end: int | None
    # The newest fill that was published, and the end of the time that was read.
    newest: int | None
    covered: list[tuple[int, int]]
    # When the whole overlap was read for the last time, by the service's clock.
    overlap_read_at: int | None


@dataclass(frozen=True)
class Position:
    """How far a follower has come: everything up to this version is delivered."""

    run: int = 0
    updated: int = 0
    version: int = 0


class FillStore:
    """The fills of one account in one market. One process at a time writes them."""

    def __init__(self, database: Database, series: Series) -> None:
        self._database = database
        self._series = series
        self._names = (series.account, series.market)
        self._id: int | None = None

    # Reading.

    def texts(
        self, code: str | None = None, start: int | None = None, end: int | None = None
    ) -> list[str]:
        """The fills, latest update first, as texts of many records each."""
        conditions, parameters = "", list[Any](self._names)
        for condition, value in (
            (" and f.code = ?", code),
            (" and f.updated >= ?", start),
            (" and f.updated <= ?", end),
        ):
            if value is not None:
                conditions += condition
                parameters.append(value)
        query = (
            "select f.record from fill_versions f join series s on s.id = f.series "
            f"where s.account = ? and s.market = ? and {CURRENT}{conditions} "
            # Of one read: as the service listed them.
            "order by f.updated desc, f.run desc, f.id"
        )
        batches = self._database.batches(query, parameters, BATCH)
        return [",".join([text for (text,) in rows]) for rows in batches]

    def state(self) -> State:
        """Where the updates of the series are."""
        rows = self._database.read(
            "select id, position, run_start, run_end, overlap_read_at from series "
            "where account = ? and market = ?",
            self._names,
        )
        if not rows:
            return State(None, None, None, None, [], None)
        ((series, position, start, end, overlap_read_at),) = rows
        newest, covered = self.time_of_recent(0), self._coverage(series)
        return State(position, start, end, newest, covered, overlap_read_at)

    def _coverage(self, series: int) -> list[tuple[int, int]]:
        rows = self._database.read(
            "select start_at, end_at from coverage where series = ? order by start_at", (series,)
        )
        return [(start, end) for start, end in rows]

    def time_of_recent(self, count: int) -> int | None:
        """When the fill was updated that has this many others after it; `None` without one."""
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
        with self._database.transaction() as transaction:
            series = self._row(transaction)
            transaction.execute(
                "update series set position = null, run_start = ?, run_end = ? where id = ?",
                (start, end, series),
            )

    def store(self, page: Any, position: str) -> Counts:
        """Store a page and the position after it, in one transaction."""
        found = _core._record_texts(page, ["deal_id"], [], ["updated_time", "code"])
        records: dict[str, tuple[int, str | None, str]] = {}
        for text, identity, _, (updated, code) in found:
            time = _time(updated)
            if identity not in records or records[identity][0] <= time:
                # No symbol has a U+0000, which PostgreSQL cannot store.
                records[identity] = (time, None if "\0" in (code or "") else code, text)
        with self._database.transaction() as transaction:
            series = self._row(transaction)
            counts = self._write(transaction, series, records) if records else Counts()
            transaction.execute("update series set position = ? where id = ?", (position, series))
        return counts

    def _write(
        self,
        transaction: Transaction,
        series: int,
        records: dict[str, tuple[int, str | None, str]],
    ) -> Counts:
        ((published,),) = transaction.execute(
            "select published from series where id = ?", (series,)
        )
        run = published + 1
        condition, values = transaction.among("identity", list(records))
        rows = transaction.execute(
            "select identity, id, run, updated, record from fill_versions "
            f"where series = ? and replaced is null and {condition}",
            (series, values),
        )
        known = {identity: rest for identity, *rest in rows}
        inserted: list[Row] = []
        replaced: list[Row] = []
        rewritten: list[Row] = []
        counts = Counts()
        for identity, (updated, code, text) in records.items():
            before = known.get(identity)
            if before is None:
                counts.new += 1
                inserted.append((series, identity, run, updated, code, text))
                continue
            version, of_run, of_time, of_text = before
            if text == of_text or updated < of_time:
                counts.unchanged += 1
                continue
            counts.changed += 1
            if of_run == run:
                # No reader has seen it yet.
                rewritten.append((updated, code, text, version))
            else:
                replaced.append((run, version))
                inserted.append((series, identity, run, updated, code, text))
        if replaced:
            transaction.execute_many("update fill_versions set replaced = ? where id = ?", replaced)
        if rewritten:
            transaction.execute_many(
                "update fill_versions set updated = ?, code = ?, record = ? where id = ?", rewritten
            )
        if inserted:
            transaction.execute_many(
                "insert into fill_versions (series, identity, run, updated, code, record) "
                "values (?, ?, ?, ?, ?, ?)",
                inserted,
            )
        return counts

    def publish(self, start: int, end: int, now: int, whole_overlap: bool) -> None:
        """Show readers what was stored since the last time: the range was read completely."""
        with self._database.transaction() as transaction:
            series = self._row(transaction)
            transaction.execute(
                "update series set position = null, run_start = null, run_end = null, read_at = ?, "
                "overlap_read_at = case when ? then ? else overlap_read_at end, "
                "published = (select coalesce(max(f.run), series.published) from fill_versions f "
                "where f.series = series.id and f.run > series.published) where id = ?",
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

    def _row(self, transaction: Transaction) -> int:
        """The id of the series, which is created if it does not exist."""
        if self._id is None:
            transaction.execute(
                "insert into series (account, market) values (?, ?) on conflict do nothing",
                self._names,
            )
            ((self._id,),) = transaction.execute(
                "select id from series where account = ? and market = ?", self._names
            )
        return self._id

    # Followers.

    def position_of(self, follower: str) -> Position:
        """How far a follower has come."""
        rows = self._database.read(
            "select w.run, w.updated, w.version from followers w join series s on s.id = w.series "
            "where s.account = ? and s.market = ? and w.name = ?",
            (*self._names, follower),
        )
        return Position(*rows[0]) if rows else Position()

    def undelivered(self, after: Position, limit: int) -> list[tuple[Position, str]]:
        """The fills after a position: those of earlier reads first, then in the order of time."""
        rows = self._database.read(
            "select f.run, f.updated, f.id, f.record "
            "from fill_versions f join series s on s.id = f.series "
            f"where s.account = ? and s.market = ? and {CURRENT} "
            "and f.run >= ? and (f.run, f.updated, f.id) > (?, ?, ?) "
            f"order by f.run, f.updated, f.id limit {limit}",
            (*self._names, after.run, after.run, after.updated, after.version),
        )
        return [(Position(run, updated, version), text) for run, updated, version, text in rows]

    def delivered(self, follower: str, position: Position) -> None:
        """A follower has received everything up to this position."""
        values = (position.run, position.updated, position.version)
        with self._database.transaction() as transaction:
            transaction.execute(
                "insert into followers (series, name, run, updated, version) "
                "values (?, ?, ?, ?, ?) on conflict (series, name) do update "
                "set run = ?, updated = ?, version = ?",
                (self._row(transaction), follower, *values, *values),
            )


def gaps(state: State) -> Iterator[tuple[int, int]]:
    """The spans between the first and the last moment that was asked for that were not read."""
    spans: Sequence[tuple[int, int]] = state.covered
    if state.run_start is not None and state.run_end is not None:
        # Of a run that has not finished.
        bounds = [*spans, (state.run_start, state.run_end)]
    else:
        bounds = list(spans)
    if not bounds:
        return
    at, last = min(start for start, _ in bounds), max(end for _, end in bounds)
    for start, end in spans:
        if start > at:
            yield at, start
        at = max(at, end)
    if at < last:
        yield at, last


def _time(updated: str | None) -> int:
    """The time of an update; 0 for one that is not a time."""
    if updated is None or not updated.isdecimal() or not updated.isascii() or len(updated) > 19:
        return 0
    return min(int(updated), INT64_MAX)
