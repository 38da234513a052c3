"""The migration of an older archive, by the first update or follower of this version.

The columns of what it has are stored in batches, while it stays as it is for all who read or write
it. Then one transaction stores the columns of what was written meanwhile, replaces the views, and
keeps older versions from writing. A migration that is killed continues after its last batch.
"""

from __future__ import annotations

import logging
import time

from boardlot.archive.database import Database, Transaction, format_of
from boardlot.archive.locks import WAIT, Lock
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
from boardlot.archive.views import define_views
from boardlot.archive.waiting import check_cancelled, pause
from boardlot.errors import StoreError

LOG = logging.getLogger("boardlot.archive")


def make_current(database: Database, wait: float) -> None:
    """Migrate an older archive, for a writer.

    Raises:
        StoreError: It cannot be written, or another process has been migrating or reading it for
            `wait` seconds.
    """
    if _is_current(database):
        return
    with database.lock("migrate:all").held(wait) as lock:
        # Another process may have been first.
        if _is_current(database):
            return
        LOG.info("the archive %s is migrated: its typed columns are made", database.name)
        _fill(database, lock)
        end = time.monotonic() + wait
        while True:
            try:
                with database.defining() as transaction:
                    lock.check()
                    _complete(database, transaction)
                return
            except StoreError as error:
                if not database.was_locked(error) or time.monotonic() >= end:
                    raise
            pause(WAIT)


def _is_current(database: Database) -> bool:
    with database.snapshot() as snapshot:
        if format_of(snapshot) < FORMAT:
            return False
        known = tables(snapshot)
        return all(known.get(typed.name) == typed.table for typed in _lists(snapshot))


def _lists(transaction: Transaction) -> list[TypedList]:
    endpoints = transaction.execute("select name, fields from endpoints order by name")
    return [*built_in().values(), *custom(endpoints)]


def _fill(database: Database, lock: Lock) -> None:
    """Store the columns of what no writer changes any more."""
    with database.defining() as transaction:
        lists = _lists(transaction)
        for typed in lists:
            typed.create(database, transaction)
    for typed in lists:
        position: Position | None = typed.first
        while position is not None:
            check_cancelled()
            with database.transaction(lock) as transaction:
                position = typed.fill(transaction, position, limit=BATCH, published=True)


def _complete(database: Database, transaction: Transaction) -> None:
    # First, so that no other process writes any more: neither an older version nor one of this
    # format, whose columns are others.
    change_tables(database, transaction)
    database.stop_writers(transaction)
    before = tables(transaction)
    lists = _lists(transaction)
    for typed in lists:
        typed.create(database, transaction)
        typed.fill_all(transaction)
        adopt(transaction, typed)
    define_views(database, transaction)
    for typed in lists:
        if (unused := before.get(typed.name)) not in (None, typed.table):
            database.drop_table(transaction, unused)
