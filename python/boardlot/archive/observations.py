"""Observations of the lists that are read as a whole, with their times."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from boardlot import _core
from boardlot.archive.database import Database, Row, Transaction, canonical, digest
from boardlot.archive.freshness import Fetch, row_made
from boardlot.archive.lists import ListSpec
from boardlot.archive.locks import Lock
from boardlot.archive.report import Counts
from boardlot.archive.views import define_custom

# A list that was read this much after the service's time was not: it was a clock that was wrong.
AHEAD_MAX_US = 24 * 3600 * 1_000_000
# The identity and digest of a record, and its text.
Record = tuple[str, str, str]


@dataclass(frozen=True)
class Read:
    """The content of a list.

    Attributes:
        complete: True if the list has all records. Otherwise a missing record may still exist, so
            none is gone.
        now: When it was read, in microseconds: by the service's clock, if it told its time.
        fetch: Where, and when by the service's clock.
    """

    records: list[Record]
    complete: bool
    now: int
    fetch: Fetch


def is_complete(spec: ListSpec, pages: Sequence[Any]) -> bool:
    """True if pages have all of a list, which the service may cut."""
    total = pages[0].meta.get(spec.total) if spec.total is not None else None
    return not isinstance(total, int) or sum(map(len, pages)) >= total


def stored(spec: ListSpec, pages: Iterable[Any]) -> list[Record]:
    """The records of a list's pages. Several with the same identity are distinguished by number."""
    records: list[Record] = []
    seen_before: Counter[str] = Counter()
    for page in pages:
        for found, hashed, text in _core._record_texts(
            page, list(spec.identity), list(spec.ignored)
        ):
            # Without these fields, it is identified by all of its values.
            identity = digest(canonical(text, spec.ignored)) if found == hashed else found
            seen_before[identity] += 1
            number = seen_before[identity]
            records.append((identity if number == 1 else f"{identity} {number}", hashed, text))
    return records


def store_read(
    database: Database, spec: ListSpec, key: str, read: Read, lock: Lock | None = None
) -> Counts:
    """Store the contents of a list, in one transaction.

    The times of one list never go back, unless they are so far ahead of the service's time that
    another clock must have been wrong.
    """
    records, complete = read.records, read.complete
    with database.transaction(lock) as transaction:
        if spec.fields is not None:
            define_custom(database, transaction, spec.name, spec.fields)
        row, read_at, snapshot = row_made(transaction, spec.place(key), "id, read_at, snapshot")
        is_wrong = read.fetch.at is not None and (read_at or 0) > read.now + AHEAD_MAX_US
        now = read.now if is_wrong else max(read.now, (read_at or 0) + 1)
        read.fetch.store(transaction, "lists", row)
        transaction.execute("update lists set read_at = ? where id = ?", (now, row))
        before = _records_of(transaction, row, snapshot)
        missing = dict(before)
        for identity, _, _ in records:
            missing.pop(identity, None)
        counts = Counts(gone=len(missing) if complete else 0)
        ((last_version,),) = transaction.execute(
            "select coalesce(max(id), 0) from versions where list = ?", (row,)
        )
        versions: list[Row] = []
        current: list[int] = []

        def add(change: str, record: Record) -> int:
            version = last_version + len(versions) + 1
            versions.append((row, version, now, change, *record))
            return int(version)

        for record in records:
            identity, hashed, text = record
            old = before.get(identity)
            if old is not None and (
                old[1] == hashed or canonical(old[2], spec.ignored) == canonical(text, spec.ignored)
            ):
                counts.unchanged += 1
                current.append(old[0])
            elif old is not None:
                counts.changed += 1
                current.append(add("changed", record))
            else:
                counts.new += 1
                current.append(add("new", record))
        for identity, (version, hashed, text) in missing.items():
            if complete:
                add("gone", (identity, hashed, text))
            else:
                current.append(version)
        known = [one[0] for one in before.values()]
        if not is_wrong and snapshot is not None and sorted(current) == sorted(known):
            if current != known:
                # The same records in another order need no list of versions of their own.
                _store_order(transaction, row, snapshot, current)
        else:
            transaction.execute_many(
                "insert into versions (list, id, seen_at, change, identity, digest, record) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                versions,
            )
            _store_snapshot(transaction, row, (snapshot or 0) + 1, current, now)
    return counts


def _records_of(
    transaction: Transaction, row: int, snapshot: int | None
) -> dict[str, tuple[int, str, str]]:
    """The version, digest and text of each record of a snapshot, in their order."""
    rows = transaction.execute(
        "select v.identity, v.id, v.digest, v.record from snapshot_records r "
        "join versions v on v.list = r.list and v.id = r.version "
        "where r.list = ? and r.snapshot = ? order by r.position",
        (row, snapshot or 0),
    )
    return {identity: (version, hashed, text) for identity, version, hashed, text in rows}


def _store_snapshot(
    transaction: Transaction, row: int, snapshot: int, versions: list[int], now: int
) -> None:
    transaction.execute(
        "insert into snapshots (list, id, seen_at) values (?, ?, ?)", (row, snapshot, now)
    )
    _store_order(transaction, row, snapshot, versions)
    transaction.execute("update lists set snapshot = ? where id = ?", (snapshot, row))


def _store_order(transaction: Transaction, row: int, snapshot: int, versions: list[int]) -> None:
    transaction.execute(
        "delete from snapshot_records where list = ? and snapshot = ?", (row, snapshot)
    )
    transaction.execute_many(
        "insert into snapshot_records (list, snapshot, position, version) values (?, ?, ?, ?)",
        [(row, snapshot, place, version) for place, version in enumerate(versions)],
    )


def seen(database: Database, spec: ListSpec, key: str, at: int | None) -> list[str]:
    """The texts of a list's records as they were last seen, or as they were at a given time."""
    rows = database.read(
        "select v.record from lists l "
        "join snapshot_records r on r.list = l.id "
        "join versions v on v.list = r.list and v.id = r.version "
        "where l.list = ? and l.key = ? and r.snapshot = "
        "(select max(id) from snapshots where list = l.id and seen_at <= ?) "
        "order by r.position",
        (spec.name, key, 2**63 - 1 if at is None else at),
    )
    return [text for (text,) in rows]


def first_read(database: Database, spec: ListSpec, key: str) -> int | None:
    """When a list was read for the first time, in microseconds."""
    query = (
        "select min(s.seen_at) from lists l join snapshots s on s.list = l.id "
        "where l.list = ? and l.key = ?"
    )
    ((first,),) = database.read(query, (spec.name, key))
    return None if first is None else int(first)


def seen_with_time(database: Database, spec: ListSpec, key: str) -> tuple[list[str], int]:
    """The texts of the records of the last complete read, and when that was, in microseconds."""
    # One query, so that both are of the same read; a list without records has a row as well.
    rows = database.read(
        "select l.read_at, v.record from lists l "
        "left join snapshot_records r on r.list = l.id and r.snapshot = l.snapshot "
        "left join versions v on v.list = r.list and v.id = r.version "
        "where l.list = ? and l.key = ? order by r.position",
        (spec.name, key),
    )
    return [text for _, text in rows if text is not None], rows[0][0]


def changes(database: Database, spec: ListSpec, key: str) -> list[str]:
    """The texts of a list's changes in their order, each with its time and kind."""
    rows = database.read(
        "select v.seen_at, v.change, v.record from lists l join versions v on v.list = l.id "
        "where l.list = ? and l.key = ? order by v.id",
        (spec.name, key),
    )
    return [_observed(text, seen_at, change) for seen_at, change, text in rows]


def _observed(text: str, seen_at: int, change: str) -> str:
    """A record with two more members, which come last: of duplicate names, the last one counts."""
    added = {"seen_at": seen_at, "change": change}
    if any(f'"{name}"' in text for name in added):
        record = json.loads(text)
        added |= {f"{name}_2": record[name] for name in [*added] if name in record}
    members = text[:-1].rstrip()
    return f"{members}{'' if members == '{' else ','}{json.dumps(added)[1:]}"
