"""The migration of an older archive, by the first update or follower of this version.

The typed columns of the archive's records are stored in batches, while the archive stays as it is
for all readers and writers. Then one transaction stores the columns of the records that were
written meanwhile, replaces the views, and keeps older versions from writing. A migration that is
killed continues after its last batch.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from boardlot.archive.database import Database, Transaction, format_of, store_error
from boardlot.archive.locks import Lock
from boardlot.archive.schema import FORMAT, change_tables
from boardlot.archive.typed_columns import (
    BATCH,
    Position,
    TypedList,
    adopt,
    built_in,
    custom,
    tables,
)
from boardlot.archive.view import Blocked
from boardlot.archive.views import Kept, check_replaced, define_views, defining
from boardlot.archive.waiting import check_cancelled
from boardlot.errors import StoreError

LOG = logging.getLogger("boardlot.archive")


def make_current(database: Database, wait: float) -> None:
    """Migrate an older archive, for a writer.

    Raises:
        StoreError: The archive cannot be written, or another process has been migrating or reading
            it for `wait` seconds.
    """
    if _is_current(database):
        return
    with database.lock("migrate:all").held(wait) as lock:
        # Another process may have been first.
        if _is_current(database):
            return
        LOG.info("the archive %s is migrated: its typed columns are made", database.name)
        _fill(database, lock, wait)

        def complete(transaction: Transaction) -> None:
            lock.check()
            _complete(database, transaction)

        try:
            defining(database, wait, complete)
        except Kept as kept:
            raise _not_replaced(database, kept.blocked) from None


def _not_replaced(database: Database, blocked: Sequence[Blocked]) -> StoreError:
    names = ", ".join(one.view for one in blocked)
    dependents = sorted({name for one in blocked for name in one.dependents})
    reason = f"{', '.join(dependents)} depends on it" if dependents else "somebody reads it"
    return store_error(
        database.name,
        f"cannot be migrated: the view {names} cannot be replaced, because {reason}",
        retryable=not dependents,
        hint="Drop what depends on it, run the same update again, and make it again."
        if dependents
        else "Run the same update again once nobody reads it.",
    )


def _is_current(database: Database) -> bool:
    with database.snapshot() as snapshot:
        if format_of(snapshot) < FORMAT:
            return False
        known = tables(snapshot)
        return all(known.get(typed.name) == typed.table for typed in _lists(database, snapshot))


def _lists(database: Database, transaction: Transaction) -> list[TypedList]:
    endpoints = transaction.execute("select name, fields from endpoints order by name")
    return [*built_in().values(), *custom(database, endpoints)]


def _fill(database: Database, lock: Lock, wait: float) -> None:
    """Store the columns of all versions that no writer changes any more."""
    lists: list[TypedList] = []

    def create(transaction: Transaction) -> None:
        lists[:] = _lists(database, transaction)
        for typed in lists:
            typed.create(database, transaction)

    defining(database, wait, create)
    for typed in lists:
        position: Position | None = typed.first
        while position is not None:
            check_cancelled()
            with database.transaction(lock) as transaction:
                position = typed.fill(transaction, position, limit=BATCH, published=True)


def _complete(database: Database, transaction: Transaction) -> None:
    # This comes first, so that no other process writes any more: neither an older version, nor a
    # version of this format that has other columns.
    change_tables(database, transaction)
    database.stop_writers(transaction)
    before = tables(transaction)
    lists = _lists(database, transaction)
    for typed in lists:
        typed.create(database, transaction)
        typed.fill_all(transaction)
        adopt(transaction, typed)
    blocked = define_views(database, transaction)
    for typed in lists:
        if (unused := before.get(typed.name)) not in (None, typed.table):
            check_replaced(typed, blocked)
            database.drop_table(transaction, unused)
