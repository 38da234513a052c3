"""The ranges of time in which an account's fills are known, and the progress of their updates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from boardlot._support.tables.cell_format import time_of
from boardlot.archive.database import Row, Transaction


@dataclass(frozen=True)
class State:
    """The progress of a series' updates."""

    # The position of an unfinished run, and its range.
    position: str | None
    run_start: int | None
    run_end: int | None
    # The time of the newest published fill, and the ranges of time that were read.
    newest: int | None
    covered: list[Row]
    # The time of the last read of the whole overlap, by the service's clock.
    overlap_read_at: int | None

    @property
    def period(self) -> tuple[datetime, datetime] | None:
        """The first and the last time that were read; gaps are between them."""
        if not self.covered:
            return None
        first, last = self.covered[0][0], max(end for _, end in self.covered)
        return time_of(first), time_of(last)


def gaps(state: State, now: int) -> Iterator[tuple[int, int]]:
    """Yields the spans between the first and the last requested time that were not read, until
    now."""
    bounds = list(state.covered)
    if state.run_start is not None and state.run_end is not None:
        # The range of a run that has not finished.
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


def cover(transaction: Transaction, series: int, start: int, end: int) -> None:
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
