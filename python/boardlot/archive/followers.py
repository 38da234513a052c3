"""The followers of fills: their positions, and the fills that each receives next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from boardlot.archive.database import Row, Transaction, observed
from boardlot.archive.fill_versions import CHANGE, CURRENT, IS_GONE
from boardlot.archive.fills import FillStore

# Versions that a follower has not received in an earlier version of the same content.
UNRECEIVED = (
    "not exists (select 1 from followers_received h where h.version = f.id and h.follower = ?)"
)
# Index for the order in which followers receive fills. The index costs time in every update, so the
# first follower of an archive creates it.
RUN_INDEX = (
    "create index if not exists fill_versions_by_run on fill_versions (series, run, updated)"
)
# Index for fills that are gone, created by a follower that receives changes.
GONE_INDEX = (
    "create index if not exists fill_versions_by_end on fill_versions (series, replaced) "
    "where replaced is not null"
)


@dataclass(frozen=True, order=True)
class Position:
    """The progress of a follower: everything up to this version was delivered."""

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
    """The text of a fill, and the position of a follower that has received it."""

    position: Position
    text: str
    # Only for a follower that receives changes.
    change: str | None = None
    seen_at: int | None = None

    @property
    def shown(self) -> str:
        """The text that the follower's caller receives."""
        return self.text if self.change is None else observed(self.text, self.seen_at, self.change)


class FollowedFills(FillStore):
    """The fills of one account in one market, and their followers."""

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
        """Returns the follower of this name, and the fills, or all changes of fills, after its
        position: fills of earlier reads first, then by time."""
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
        # Two queries, each of which has an index of its own.
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

    def take_over(self, name: str, holder: str) -> tuple[str | None, Follower]:
        """Makes this holder the follower; returns the previous holder, and the follower."""
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
        """Record that a follower, as it is in the archive, has received the next fill.

        Returns `False`, and stores nothing, if the archive has another follower of this name, or
        another fill comes next: then the archive went back to an earlier state.
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
            # A fill that disappeared while it was handled need not be delivered again if it is
            # back.
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
