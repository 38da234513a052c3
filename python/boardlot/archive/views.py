"""The views of an archive: its lists with a typed column for each declared field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from boardlot.archive import samples
from boardlot.archive.database import Database, Row, Transaction, digest
from boardlot.archive.fills import CURRENT, EVENTS
from boardlot.archive.lists import LISTS, Series, columns_of
from boardlot.archive.view import Blocked, View
from boardlot.errors import ConfigError

# Fields with other names are in `record` alone.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# A field's name, kind and unit.
Column = tuple[str, str, str]


def are_current(database: Database, transaction: Transaction) -> bool:
    """True if the views are those that this version makes."""
    return not _outdated(database, transaction)


def define_views(database: Database, transaction: Transaction) -> list[Blocked]:
    """Create the views that differ from those of this version, and return those that could not be
    replaced: they are as they were."""
    blocked: list[Blocked] = []
    for name, (view, made_of) in _outdated(database, transaction).items():
        is_read = any(not one.dependents for one in blocked)
        found = database.replace_view(transaction, name, view, wait=not is_read)
        if found is not None:
            blocked.append(found)
            continue
        transaction.execute("delete from archive_views where name = ?", (name,))
        transaction.execute(
            "insert into archive_views (name, digest) values (?, ?)", (name, made_of)
        )
    return blocked


def replace_views(database: Database) -> list[Blocked]:
    """The same in a transaction of its own; the views on which others depend."""
    with database.snapshot() as snapshot:
        if are_current(database, snapshot):
            return []
    with database.defining() as transaction:
        return [one for one in define_views(database, transaction) if one.dependents]


def _outdated(database: Database, transaction: Transaction) -> dict[str, tuple[View, str]]:
    """The views that are to be created, and a digest of each."""
    custom = transaction.execute("select name, fields from endpoints order by name")
    known: dict[str, str] = dict(transaction.execute("select name, digest from archive_views"))
    wanted = _wanted(type(database), tuple(custom))
    return {name: one for name, one in wanted.items() if known.get(name) != one[1]}


@lru_cache(maxsize=16)
def _wanted(database: type[Database], custom: tuple[Row, ...]) -> dict[str, tuple[View, str]]:
    views = _views(database, custom)
    return {name: (view, digest(view.query())) for name, view in views.items()}


def check_name(rows: Callable[[str, Sequence[Any]], list[Row]], name: str) -> None:
    """Refuse the name of a custom endpoint that another one has but for upper and lower case.

    Raises:
        ConfigError: The archive has it.
    """
    query = "select name from endpoints where lower(name) = ? and name <> ?"
    for (other,) in rows(query, (name.lower(), name)):
        raise ConfigError(
            f"the endpoint's name is {name!r}, but the archive has one with the name {other!r}; "
            "expected a name that differs by more than upper and lower case"
        )


def define_custom(
    database: Database, transaction: Transaction, name: str, fields: list[Column]
) -> None:
    """Create the views of a custom endpoint, if its fields are new."""
    check_name(transaction.execute, name)
    text = json.dumps(fields)
    if transaction.execute("select fields from endpoints where name = ?", (name,)) == [(text,)]:
        return
    transaction.execute("delete from endpoints where name = ?", (name,))
    transaction.execute("insert into endpoints (name, fields) values (?, ?)", (name, text))
    define_views(database, transaction)


def _views(database: type[Database], custom: Iterable[Row]) -> dict[str, View]:
    """Each view.

    `fills`, each list's latest contents, and, as `..._history`, all of their changes; and the spans
    of time of which fills were read. Their columns are the declared fields, as in a frame; null for
    a value of another type. `record` is the service's own text.
    """
    fields = columns_of(Series("0", "-").rows([]))
    keys, record = [("s.account", "account"), ("s.market", "market")], ("record", "record")
    of_fills = _columns(database, fields, {"account", "market"})
    changes = _columns(database, fields, {"account", "market", "seen_at", "change"})
    seen_at = (database.timestamp_sql("r.seen_at"), "seen_at")
    first, last = map(database.timestamp_sql, ("c.start_at", "c.end_at"))
    views = {
        "fills": View(
            (*keys, *of_fills, record),
            f"from fill_versions f join series s on s.id = f.series where {CURRENT}",
        ),
        "fills_history": View(
            (*keys, *changes, seen_at, ("e.change", "change"), record),
            f"from ({EVENTS}) e join series s on s.id = e.series left join series_runs r "
            "on r.series = e.series and r.run = e.run where e.run <= s.published",
        ),
        "coverage_of_fills": View(
            (*keys, (first, "covered_from"), (last, "covered_until")),
            "from coverage c join series s on s.id = c.series",
        ),
    }
    for spec in LISTS.values():
        schemas = [columns_of(rows) for rows in spec.samples()]
        by_name = {field[0]: field for schema in reversed(schemas) for field in schema}
        views |= _of_list(database, spec.name, spec.column, list(by_name.values()))
    for name, text in custom:
        views |= _of_list(database, name, "key", [tuple(field) for field in json.loads(text)])
    return views


def samples_of_views(custom: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """A value of the type of each column of each view in SQLite, by their names in lower case."""
    keys = {"account": "", "market": "", "record": ""}
    of_fills = _samples(columns_of(Series("0", "-").rows([]))) | keys
    found = {
        "fills": of_fills,
        "fills_history": of_fills | {"seen_at": samples.TIME, "change": ""},
        "coverage_of_fills": {
            "account": "",
            "market": "",
            "covered_from": samples.TIME,
            "covered_until": samples.TIME,
        },
    }
    lists = {
        spec.name: (spec.column, [one for rows in spec.samples() for one in columns_of(rows)])
        for spec in LISTS.values()
    }
    lists |= {name: ("key", [tuple(field) for field in json.loads(text)]) for name, text in custom}
    for name, (key, fields) in lists.items():
        columns = _samples(fields) | {key: "", "seen_at": samples.TIME, "record": ""}
        found[name.lower()] = columns
        found[f"{name.lower()}_history"] = columns | {"change": ""}
    return found


def _samples(fields: list[Column]) -> dict[str, Any]:
    return {name.lower(): samples.of_kind(kind) for name, kind, _ in fields}


def _of_list(
    database: type[Database], name: str, key: str, fields: list[Column]
) -> dict[str, View]:
    chosen = (
        ("l.key", key),
        *_columns(database, fields, {key, "seen_at", "change"}),
        (database.timestamp_sql("v.seen_at"), "seen_at"),
    )
    one, record = f"where l.list = '{name}'", ("record", "record")
    return {
        name: View(
            (*chosen, record),
            "from lists l join snapshot_records r on r.list = l.id and r.snapshot = l.snapshot "
            f"join versions v on v.list = r.list and v.id = r.version {one}",
        ),
        f"{name}_history": View(
            (*chosen, ("v.change", "change"), record),
            f"from lists l join versions v on v.list = l.id {one}",
        ),
    }


def _columns(
    database: type[Database], fields: list[Column], taken: set[str]
) -> list[tuple[str, str]]:
    taken, columns = {*taken, "record"}, []
    for name, kind, unit in fields:
        if NAME.fullmatch(name) and name.lower() not in taken:
            taken.add(name.lower())
            columns.append((database.typed(name, kind, unit), name))
    return columns
