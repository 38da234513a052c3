"""Reading through an archive: what it has, if that is recent enough."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from boardlot.archive import observations
from boardlot.archive.fills import FillStore
from boardlot.archive.running import Runner
from boardlot.archive.update import Update, update

__all__ = ["read_through"]


def read_through(work: Update, runner: Runner) -> Any:
    """The `Records` of the one list of an update, which is read first if it is older.

    Raises:
        BoardlotError: It could not be read.
    """
    report = update(work, runner)
    for error in report.errors.values():
        raise error
    for series in work.fills:
        store = FillStore(work.database, series)
        seen_at = store.fetched_at()
        with closing(store.texts()) as texts:
            return series.records(texts if seen_at is None else _never_none(texts), seen_at)
    ((spec, key),) = work.lists
    texts_of_list, seen_at = observations.seen_with_time(work.database, spec, key)
    return spec.records(key, texts_of_list, seen_at=seen_at)


def _never_none(texts: Any) -> Any:
    """At least one text: an empty one has the time as well."""
    some = False
    for text in texts:
        some = True
        yield text
    if not some:
        yield b""
