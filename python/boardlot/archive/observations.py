"""Observations of the lists that are read as a whole, with their times."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from boardlot import _core
from boardlot.archive.database import (
    Database,
    Row,
    Transaction,
    canonical,
    digest,
    format_of,
    observed,
)
from boardlot.archive.freshness import Fetch, row_made
from boardlot.archive.lists import ListSpec
from boardlot.archive.locks import Lock
from boardlot.archive.report import Counts
from boardlot.archive.schema import ORDERS
from boardlot.archive.typed_columns import built_in, check_current, stored_fields

# No list is read this much after the service's time: a clock was wrong.
AHEAD_MAX_US = 24 * 3600 * 1_000_000
INT64_MAX = 2**63 - 1
# The number behind an identity that several records of a list have.
NUMBER = re.compile(r" [0-9]+$")
# The identity and digest of a record, and its text.
Record = tuple[str, str, str]


@dataclass(frozen=True)
class Read:
    """The content of a list.

    Attributes:
        complete: True if the list has all records. Otherwise a missing record may still exist, so
            none is gone.
        now: The time of the read, in microseconds: by the service's clock, if the service told its
            time.
        fetch: The service of the read, and its time by the service's clock.
    """

    records: list[Record]
    complete: bool
    now: int
    fetch: Fetch


def is_complete(spec: ListSpec, pages: Sequence[Any]) -> bool:
    """True if the pages have all records of a list, which the service may cut."""
    total = pages[0].meta.get(spec.total) if spec.total is not None else None
    return not isinstance(total, int) or sum(map(len, pages)) >= total


def stored(spec: ListSpec, pages: Iterable[Any]) -> list[Record]:
    """Returns the records of a list's pages. Several may have the same identity."""
    records: list[Record] = []
    for page in pages:
        for found, hashed, text in _core._record_texts(
            page, list(spec.identity), list(spec.ignored)
        ):
            # A record without these fields is identified by all of its values.
            identity = digest(canonical(text, spec.ignored)) if found == hashed else found
            records.append((identity, hashed, text))
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
        if spec.fields is None:
            check_current(database, transaction, typed := built_in()[spec.name])
        else:
            # The fields that the list's views show, which may be earlier ones; see `define_custom`.
            typed = stored_fields(database, transaction, spec.name)
        row, read_at, snapshot = row_made(transaction, spec.place(key), "id, read_at, snapshot")
        is_wrong = read.fetch.at is not None and (read_at or 0) > read.now + AHEAD_MAX_US
        now = read.now if is_wrong else max(read.now, (read_at or 0) + 1)
        read.fetch.store(transaction, "lists", row)
        transaction.execute("update lists set read_at = ? where id = ?", (now, row))
        before = _records_of(transaction, row, snapshot)
        matched, left = _matches(spec, before, records)
        counts = Counts(gone=len(left) if complete else 0)
        ((last_version,),) = transaction.execute(
            "select coalesce(max(id), 0) from versions where list = ?", (row,)
        )
        versions: list[Row] = []
        current: list[int] = []

        def add(change: str, record: Record) -> int:
            version = last_version + len(versions) + 1
            versions.append((row, version, now, change, *record))
            return int(version)

        for name, old, (_, hashed, text) in matched:
            if old is None:
                counts.new += 1
                current.append(add("new", (name, hashed, text)))
            elif _is_same(spec, old.record, (name, hashed, text)):
                counts.unchanged += 1
                current.append(old.version)
            else:
                counts.changed += 1
                current.append(add("changed", (name, hashed, text)))
        for old in left:
            if complete:
                add("gone", old.record)
            else:
                current.append(old.version)
        if is_wrong or snapshot is None or current != [one.version for one in before]:
            transaction.execute_many(
                "insert into versions (list, id, seen_at, change, identity, digest, record) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                versions,
            )
            # Values of records that are gone were counted before.
            stored = [one for one in versions if one[3] != "gone"]
            gone = [one for one in versions if one[3] == "gone"]
            counts.unconverted = typed.store(
                transaction, [one[:2] for one in stored], [one[-1] for one in stored]
            )
            typed.store(transaction, [one[:2] for one in gone], [one[-1] for one in gone])
            _store_snapshot(transaction, row, (snapshot or 0) + 1, current, now)
    return counts


@dataclass(frozen=True)
class _Stored:
    """A record of the last snapshot. Its identity has a number if it is not the only one."""

    version: int
    record: Record


def _records_of(transaction: Transaction, row: int, snapshot: int | None) -> list[_Stored]:
    """The records of the last snapshot, in their order."""
    rows = transaction.execute(
        "select v.id, v.identity, v.digest, v.record from snapshot_records r "
        "join versions v on v.list = r.list and v.id = r.version "
        "where r.list = ? and r.snapshot = ? order by r.position",
        (row, snapshot or 0),
    )
    return [_Stored(version, (identity, *rest)) for version, identity, *rest in rows]


def _is_same(spec: ListSpec, one: Record, other: Record) -> bool:
    return one[1] == other[1] or canonical(one[2], spec.ignored) == canonical(
        other[2], spec.ignored
    )


def _matches(
    spec: ListSpec, before: list[_Stored], records: list[Record]
) -> tuple[list[tuple[str, _Stored | None, Record]], list[_Stored]]:
    """Returns each record that was read with its name and its stored record, and the stored records
    that were not read.

    Records of the same identity are matched by their contents, then by the fields that tell them
    apart, and the others in their order. The name of a record is its identity, with a number unless
    it is the first one.
    """
    stored_by: dict[str, list[_Stored]] = {}
    for one in before:
        stored_by.setdefault(NUMBER.sub("", one.record[0]), []).append(one)
    read_by: dict[str, list[int]] = {}
    for place, (identity, _, _) in enumerate(records):
        read_by.setdefault(identity, []).append(place)
    found: dict[int, tuple[str, _Stored | None]] = {}
    for identity, places in read_by.items():
        known = stored_by.get(identity, [])
        pairs = _pairs(spec, known, places, records)
        names = {one.record[0] for one in known}
        free = (name for name in _names(identity) if name not in names)
        for place in places:
            old = pairs.get(place)
            found[place] = (next(free) if old is None else old.record[0], old)
    were_read = {old.version for _, old in found.values() if old is not None}
    return (
        [(*found[place], record) for place, record in enumerate(records)],
        [one for one in before if one.version not in were_read],
    )


def _pairs(
    spec: ListSpec, known: list[_Stored], places: list[int], records: list[Record]
) -> dict[int, _Stored]:
    """Returns the stored records by the index of the record that was read, all of the same
    identity."""
    if len(known) == len(places) == 1:
        return {places[0]: known[0]}
    pairs: dict[int, _Stored] = {}
    taken: set[int] = set()
    rules: tuple[Callable[[Record], str], ...] = (
        lambda record: canonical(record[2], spec.ignored),
        lambda record: told_apart(spec, record[2]),
        lambda _: "",
    )
    for rule in rules:
        waiting: dict[str, list[_Stored]] = {}
        for one in known:
            if one.version not in taken:
                waiting.setdefault(rule(one.record), []).append(one)
        for place in places:
            if place not in pairs and (same := waiting.get(rule(records[place]))):
                pairs[place] = same.pop(0)
                taken.add(pairs[place].version)
    return pairs


def told_apart(spec: ListSpec, text: str) -> str:
    """Returns the values that tell records of the same identity apart."""
    if not spec.distinguishing:
        return ""
    try:
        record = dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):  # It was damaged.
        return ""
    return json.dumps([record.get(name) for name in spec.distinguishing])


def _names(identity: str) -> Iterator[str]:
    yield identity
    for number in count(2):
        yield f"{identity} {number}"


def _store_snapshot(
    transaction: Transaction, row: int, snapshot: int, versions: list[int], now: int
) -> None:
    _store_orders(transaction, row)
    transaction.execute(
        "insert into snapshots (list, id, seen_at, versions) values (?, ?, ?, ?)",
        (row, snapshot, now, _order(versions)),
    )
    # Only the last snapshot has rows, which views join.
    transaction.execute("delete from snapshot_records where list = ?", (row,))
    transaction.execute_many(
        "insert into snapshot_records (list, snapshot, position, version) values (?, ?, ?, ?)",
        [(row, snapshot, place, version) for place, version in enumerate(versions)],
    )
    transaction.execute("update lists set snapshot = ? where id = ?", (snapshot, row))


def _store_orders(transaction: Transaction, row: int) -> None:
    """Make one value of each order that an archive of format 1 has stored as rows."""
    older = transaction.execute(
        "select id from snapshots where list = ? and versions is null order by id", (row,)
    )
    for (snapshot,) in older:
        rows = transaction.execute(
            "select version from snapshot_records where list = ? and snapshot = ? "
            "order by position",
            (row, snapshot),
        )
        transaction.execute(
            "update snapshots set versions = ? where list = ? and id = ?",
            (_order([version for (version,) in rows]), row, snapshot),
        )


def _order(versions: list[int]) -> str:
    return ",".join(map(str, versions))


def seen(database: Database, spec: ListSpec, key: str, at: int | None) -> list[str]:
    """The texts of a list's records as they were last seen, or as they were at a given time."""
    with database.snapshot() as snapshot:
        rows = snapshot.execute(
            "select s.list, s.id from lists l join snapshots s on s.list = l.id "
            "where l.list = ? and l.key = ? and s.seen_at <= ? order by s.id desc limit 1",
            (spec.name, key, INT64_MAX if at is None else at),
        )
        if not rows:
            return []
        if format_of(snapshot) >= ORDERS:
            query = "select versions from snapshots where list = ? and id = ?"
            ((order,),) = snapshot.execute(query, rows[0])
            if order is not None:
                return _in_order(snapshot, rows[0][0], order)
        rows = snapshot.execute(
            "select v.record from snapshot_records r "
            "join versions v on v.list = r.list and v.id = r.version "
            "where r.list = ? and r.snapshot = ? order by r.position",
            rows[0],
        )
        return [text for (text,) in rows]


def _in_order(snapshot: Transaction, row: int, order: str) -> list[str]:
    versions = [int(version) for version in order.split(",") if version]
    condition, values = snapshot.among("id", versions)
    query = f"select id, record from versions where list = ? and {condition}"
    texts: dict[int, str] = dict(snapshot.execute(query, (row, values)))
    return [texts[version] for version in versions]


def first_read(database: Database, spec: ListSpec, key: str) -> int | None:
    """The time at which a list was read for the first time, in microseconds."""
    query = (
        "select min(s.seen_at) from lists l join snapshots s on s.list = l.id "
        "where l.list = ? and l.key = ?"
    )
    ((first,),) = database.read(query, (spec.name, key))
    return None if first is None else int(first)


def seen_with_time(database: Database, spec: ListSpec, key: str) -> tuple[list[str], int]:
    """The texts of the records of the last complete read, and the time of the read, in
    microseconds."""
    # One query, so that time and texts are of the same read; a list without records has a row, too.
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
    return [observed(text, seen_at, change) for seen_at, change, text in rows]
