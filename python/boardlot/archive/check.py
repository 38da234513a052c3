"""Checks for problems in an archive's contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from boardlot._support.tables.cell_format import shown_time
from boardlot.archive.coverage import gaps
from boardlot.archive.database import Database, Transaction, canonical, format_of
from boardlot.archive.fills import FillStore
from boardlot.archive.freshness import service_now
from boardlot.archive.lists import LISTS, Series
from boardlot.archive.observations import NUMBER, told_apart
from boardlot.archive.typed_columns import COLUMNS, LIST, UNCONVERTED, VERSION, tables

# The most by which the time known here may be behind the time of a read.
FUTURE_US = 3600 * 1_000_000


@dataclass(frozen=True)
class Finding:
    """A problem in an archive's contents.

    Attributes:
        kind: `"gap"`, `"twice"`, `"restated"`, `"unread"`, `"future"`, `"unconverted"` or
            `"columns"`.
        list: The name of the list.
        key: The key of the list; for fills, the account and the market.
        text: A description of the problem, for people.
    """

    kind: str
    list: str
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.list} {self.key}: {self.text}"


class Findings(list[Finding]):
    """The findings of a check.

    Args:
        found: The findings.
        periods: The period of fills that the archive covers for each account, by the account and
            the market, such as `"281756 HK"`: nothing is known of fills before or after the period.
    """

    def __init__(
        self,
        found: Iterable[Finding] = (),
        periods: Mapping[str, tuple[datetime, datetime]] | None = None,
    ) -> None:
        super().__init__(found)
        self.periods: dict[str, tuple[datetime, datetime]] = dict(periods or {})


def check(database: Database, unread: int) -> Findings:
    """Returns all findings; see `Archive.check`."""
    now = service_now(database)
    periods = {
        str(series): FillStore(database, series).state().period for series in _series(database)
    }
    covered = {key: period for key, period in periods.items() if period is not None}
    return Findings(_findings(database, unread, now), covered)


def _series(database: Database) -> list[Series]:
    query = "select account, market from series order by account, market"
    return [Series(*row) for row in database.read(query)]


def _findings(database: Database, unread: int, now: int) -> list[Finding]:
    return [
        *_gaps(database, now),
        *_fills_twice(database),
        *_records_twice(database),
        *_restated(database),
        *_unread(database, now - unread),
        *_in_the_future(database, now + FUTURE_US),
        *_of_columns(database),
    ]


def _gaps(database: Database, now: int) -> Iterator[Finding]:
    for series in _series(database):
        for start, end in gaps(FillStore(database, series).state(), now):
            yield Finding(
                "gap",
                "fills",
                str(series),
                f"from {shown_time(start)} to {shown_time(end)} nothing was read; update it with "
                f"start={shown_time(start)!r}",
            )


def _fills_twice(database: Database) -> Iterator[Finding]:
    """Finds versions of a fill that have the same time and different contents."""
    rows = database.read(
        "select s.account || ' ' || s.market, f.identity, f.updated, f.record "
        "from fill_versions f join series s on s.id = f.series where f.run <= s.published "
        "and exists (select 1 from fill_versions o where o.series = f.series "
        "and o.identity = f.identity and o.updated = f.updated and o.run <> f.run "
        "and o.run <= s.published and o.record <> f.record) order by f.series, f.identity"
    )
    found: dict[tuple[Any, ...], set[str]] = {}
    for *version, record in rows:
        found.setdefault(tuple(version), set()).add(canonical(record))
    for (key, identity, _), contents in found.items():
        if (count := len(contents)) > 1:
            text = f"the fill {identity} was sent with {count} contents and one updated_time"
            yield Finding("twice", "fills", key, text)


def _records_twice(database: Database) -> Iterator[Finding]:
    """Finds records of one read that only their contents tell apart."""
    # Two steps, because databases take long to join the records with themselves.
    lists = database.read(
        "select distinct l.id, l.list, l.key, l.snapshot from lists l "
        "join snapshot_records r on r.list = l.id and r.snapshot = l.snapshot "
        "join versions v on v.list = r.list and v.id = r.version "
        "where v.identity like '%] _%' order by l.id"
    )
    for row, name, key, snapshot in lists:
        spec = LISTS.get(name)
        ignored = spec.ignored if spec is not None else ()
        found: dict[tuple[str, str], set[str]] = {}
        for identity, record in database.read(
            "select v.identity, v.record from snapshot_records r "
            "join versions v on v.list = r.list and v.id = r.version "
            "where r.list = ? and r.snapshot = ? order by r.position",
            (row, snapshot),
        ):
            apart = "" if spec is None else told_apart(spec, record)
            contents = found.setdefault((NUMBER.sub("", identity), apart), set())
            contents.add(canonical(record, ignored))
        for (identity, _), contents in found.items():
            if len(contents) > 1:
                text = f"the last read has {identity} more than once, with different contents"
                yield Finding("twice", name, key, text)


def _of_columns(database: Database) -> Iterator[Finding]:
    """Finds values that are null in views because they are not of the kind of their field, and
    records without typed columns."""
    with database.snapshot() as snapshot:
        if format_of(snapshot) < COLUMNS:
            return
        for name, table in sorted(tables(snapshot).items()):
            of_list = OF_FILLS if name == "fills" else OF_LISTS
            yield from _unconverted(snapshot, name, table, *of_list)
            yield from _without_columns(snapshot, name, table, *of_list)


# SQL for the key of a list, its versions with their list, and the condition that a row of the table
# `c` has the columns of a version.
OF_FILLS = (
    "s.account || ' ' || s.market",
    "fill_versions v join series s on s.id = v.series",
    f"c.{VERSION} = v.id",
)
OF_LISTS = (
    "l.key",
    "versions v join lists l on l.id = v.list",
    f"c.{LIST} = v.list and c.{VERSION} = v.id",
)


def _unconverted(
    transaction: Transaction, name: str, table: str, key: str, versions: str, joined: str
) -> Iterator[Finding]:
    rows = transaction.execute(
        f'select {key}, c.{UNCONVERTED}, count(*) from "{table}" c join ({versions}) on {joined} '
        f"where c.{UNCONVERTED} is not null group by 1, 2 order by 1, 2"
    )
    counts: dict[tuple[str, str], int] = {}
    for of_key, fields, count in rows:
        for field in fields.split(","):
            counts[of_key, field] = counts.get((of_key, field), 0) + count
    for (of_key, field), count in counts.items():
        values = "1 value" if count == 1 else f"{count} values"
        text = f"{values} of the field {field} could not be converted: null in the views"
        yield Finding("unconverted", name, of_key, text)


def _without_columns(
    transaction: Transaction, name: str, table: str, key: str, versions: str, joined: str
) -> Iterator[Finding]:
    condition, values = "", []
    if name != "fills":
        condition, values = "l.list = ? and ", [name]
    rows = transaction.execute(
        f"select {key}, count(*) from {versions} where {condition}"
        f'not exists (select 1 from "{table}" c where {joined}) group by 1 order by 1',
        values,
    )
    for of_key, count in rows:
        records = "1 record has" if count == 1 else f"{count} records have"
        text = (
            f"{records} no typed columns, which are null in the views; after "
            "`delete from archive_columns`, the next update makes them"
        )
        yield Finding("columns", name, of_key, text)


def _restated(database: Database) -> Iterator[Finding]:
    rows = database.read(
        "select l.key, v.identity, v.seen_at from lists l join versions v on v.list = l.id "
        "where l.list = 'dividends' and v.change = 'changed' order by l.id, v.id"
    )
    for key, identity, seen_at in rows:
        text = f"the dividend {identity} was restated; seen at {shown_time(seen_at)}"
        yield Finding("restated", "dividends", key, text)


def _unread(database: Database, before: int) -> Iterator[Finding]:
    rows: list[Any] = database.read(
        "select 'fills', account || ' ' || market, read_at from series "
        "where read_at is null or read_at < ? order by account, market",
        (before,),
    )
    rows += database.read(
        "select list, key, read_at from lists where read_at < ? order by list, key", (before,)
    )
    for name, key, read_at in rows:
        when = "it was never read completely" if read_at is None else f"read {shown_time(read_at)}"
        yield Finding("unread", name, key, f"{when}; nothing has updated it since")


def _in_the_future(database: Database, latest: int) -> Iterator[Finding]:
    """Finds reads whose time is after `latest`, or after a later read, because a clock was
    wrong."""
    rows = database.read(
        "select list, key, max(at) from (select l.id, l.list, l.key, s.seen_at as at from lists l "
        "join snapshots s on s.list = l.id where s.seen_at > ? or s.seen_at > l.read_at "
        "union all select id, list, key, read_at from lists where read_at > ? "
        "union all select id, 'fills', account || ' ' || market, read_at from series "
        "where read_at > ?) found group by id, list, key order by list, key",
        (latest, latest, latest),
    )
    for name, key, at in rows:
        text = f"seen at {shown_time(at)}, which is in the future: a clock was wrong"
        yield Finding("future", name, key, text)
