"""The views of an archive: its lists with a typed column for each declared field."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

from boardlot.archive.database import Database, Row, Transaction, digest, store_error
from boardlot.archive.fill_versions import CURRENT, EVENTS
from boardlot.archive.lists import LISTS
from boardlot.archive.locks import WAIT
from boardlot.archive.typed_columns import (
    LIST,
    VERSION,
    Column,
    TypedList,
    adopt,
    built_in,
    custom,
    tables,
)
from boardlot.archive.view import Blocked, View
from boardlot.archive.waiting import pause
from boardlot.errors import ConfigError, StoreError

# Views, each with the table of its columns.
Views = dict[str, tuple[View, "str | None"]]


def are_current(database: Database, transaction: Transaction) -> bool:
    """True if the views are those that this version makes."""
    return not _outdated(database, transaction)


def define_views(
    database: Database, transaction: Transaction, only: Collection[str] | None = None
) -> list[Blocked]:
    """Create the views that differ from those of this version, or `only` some of them, and return
    the views that could not be replaced, which are unchanged."""
    blocked: list[Blocked] = []
    for name, (view, made_of) in _outdated(database, transaction).items():
        if only is not None and name not in only:
            continue
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
    """Replace outdated views in a transaction of its own, and return those on which others
    depend."""
    with database.snapshot() as snapshot:
        if are_current(database, snapshot):
            return []
    with database.defining() as transaction:
        return [one for one in define_views(database, transaction) if one.dependents]


def _outdated(database: Database, transaction: Transaction) -> dict[str, tuple[View, str]]:
    """The views that are to be created, and a digest of each, without views of lists whose columns
    are those of another version."""
    endpoints = transaction.execute("select name, fields from endpoints order by name")
    lists = tuple(custom(database, endpoints))
    known: dict[str, str] = dict(transaction.execute("select name, digest from archive_views"))
    complete = {None, *tables(transaction).values()}
    return {
        name: (view, made_of)
        for name, (view, made_of, table) in _wanted(type(database), lists).items()
        if known.get(name) != made_of and table in complete
    }


@lru_cache(maxsize=16)
def _wanted(
    database: type[Database], endpoints: tuple[TypedList, ...]
) -> dict[str, tuple[View, str, str | None]]:
    """Each view with its digest, and the table of its columns."""
    views: Views = {"coverage_of_fills": (_coverage(database), None)}
    views |= _of_fills(database, built_in()["fills"])
    for spec in LISTS.values():
        views |= _of_list(database, built_in()[spec.name], spec.column)
    for typed in endpoints:
        views |= _of_list(database, typed, "key")
    return {name: (view, digest(view.query()), table) for name, (view, table) in views.items()}


def check_name(rows: Callable[[str, Sequence[Any]], list[Row]], name: str) -> None:
    """Refuse the name of a custom endpoint if another one has the same name in other upper and
    lower case.

    Raises:
        ConfigError: The archive has such an endpoint.
    """
    query = "select name from endpoints where lower(name) = ? and name <> ?"
    for (other,) in rows(query, (name.lower(), name)):
        raise ConfigError(
            f"the endpoint's name is {name!r}, but the archive has one with the name {other!r}; "
            "expected a name that differs by more than upper and lower case"
        )


class Kept(Exception):
    """Ends a transaction, since views of a list could not be replaced: the list keeps the columns,
    too, that these views show."""

    def __init__(self, blocked: list[Blocked]) -> None:
        super().__init__(blocked)
        self.blocked = blocked


def check_replaced(typed: TypedList, blocked: Sequence[Blocked]) -> None:
    """Make sure that the views of a list show the columns that it has now.

    Raises:
        Kept: One of them could not be replaced.
    """
    own = [one for one in blocked if one.view in _views_of(typed)]
    if own:
        raise Kept(own)


def _views_of(typed: TypedList) -> set[str]:
    return {typed.name, f"{typed.name}_history"}


def defining(database: Database, wait: float, work: Callable[[Transaction], None]) -> None:
    """Change columns and views in one transaction, once no reader or writer blocks it.

    Raises:
        StoreError: Somebody has been reading or writing for `wait` seconds.
    """
    end = time.monotonic() + wait
    while True:
        try:
            with database.defining() as transaction:
                work(transaction)
            return
        except StoreError as error:
            if not database.was_locked(error):
                raise
            if time.monotonic() >= end:
                raise store_error(
                    database.name,
                    "cannot get its new columns: another program is in a transaction that has "
                    f"been reading or writing it for {wait:g} seconds",
                    retryable=True,
                    hint="Run the same update again once that transaction has ended; "
                    "`select * from pg_stat_activity` lists it.",
                ) from error
        pause(WAIT)


def define_custom(
    database: Database, typed: TypedList, fields: list[Column], wait: float
) -> list[Blocked]:
    """Make the columns and the views of a custom endpoint, if its fields are new.

    Returns:
        The views that could not be replaced: the archive has it with its other fields still.

    Raises:
        StoreError: As `defining`.
    """
    text = json.dumps(fields)

    def is_defined(transaction: Transaction) -> bool:
        query = "select fields from endpoints where name = ?"
        return transaction.execute(query, (typed.name,)) == [(text,)]

    def define(transaction: Transaction) -> None:
        # Another process may have been first.
        if is_defined(transaction):
            return
        check_name(transaction.execute, typed.name)
        before = tables(transaction).get(typed.name)
        transaction.execute(
            "insert into endpoints (name, fields) values (?, ?) "
            "on conflict (name) do update set fields = excluded.fields",
            (typed.name, text),
        )
        typed.create(database, transaction)
        # This comes first, so that no other process stores records until the end.
        adopt(transaction, typed)
        typed.fill_all(transaction)
        check_replaced(typed, define_views(database, transaction, _views_of(typed)))
        if before not in (None, typed.table):
            database.drop_table(transaction, before)

    with database.snapshot() as snapshot:
        if is_defined(snapshot):
            return []
    try:
        defining(database, wait, define)
    except Kept as kept:
        return kept.blocked
    return []


def _of_fills(database: type[Database], typed: TypedList) -> Views:
    """The views of fills and of all their changes. `record` is the service's own text."""
    keys, record = [("s.account", "account"), ("s.market", "market")], ("record", "record")
    of_fills = _columns(typed, {"account", "market"})
    changes = _columns(typed, {"account", "market", "seen_at", "change"})
    seen_at = (database.timestamp_sql("r.seen_at"), "seen_at")
    values = f'left join "{typed.table}" c on c.{VERSION} = '
    fills = View(
        (*keys, *of_fills, record),
        f"from fill_versions f join series s on s.id = f.series {values}f.id where {CURRENT}",
    )
    history = View(
        (*keys, *changes, seen_at, ("e.change", "change"), record),
        f"from ({EVENTS}) e join series s on s.id = e.series left join series_runs r "
        f"on r.series = e.series and r.run = e.run {values}e.id where e.run <= s.published",
    )
    return {"fills": (fills, typed.table), "fills_history": (history, typed.table)}


def _coverage(database: type[Database]) -> View:
    """The view of the spans of time whose fills were read."""
    first, last = map(database.timestamp_sql, ("c.start_at", "c.end_at"))
    columns = (
        ("s.account", "account"),
        ("s.market", "market"),
        (first, "covered_from"),
        (last, "covered_until"),
    )
    return View(columns, "from coverage c join series s on s.id = c.series")


def _of_list(database: type[Database], typed: TypedList, key: str) -> Views:
    """The latest contents of a list, and, as `..._history`, all of its changes."""
    chosen = (
        ("l.key", key),
        *_columns(typed, {key, "seen_at", "change"}),
        (database.timestamp_sql("v.seen_at"), "seen_at"),
    )
    name, record = typed.name, ("record", "record")
    rest = (
        f'left join "{typed.table}" c on c.{LIST} = v.list and c.{VERSION} = v.id '
        f"where l.list = '{name}'"
    )
    last = View(
        (*chosen, record),
        "from lists l join snapshot_records r on r.list = l.id and r.snapshot = l.snapshot "
        f"join versions v on v.list = r.list and v.id = r.version {rest}",
    )
    history = View(
        (*chosen, ("v.change", "change"), record),
        f"from lists l join versions v on v.list = l.id {rest}",
    )
    return {name: (last, typed.table), f"{name}_history": (history, typed.table)}


def _columns(typed: TypedList, taken: set[str]) -> list[tuple[str, str]]:
    """The expression and the name of each field whose name is not that of one of the view's own
    columns."""
    return [(f'c."{name}"', name) for name, *_ in typed.fields if name.lower() not in taken]
