"""Times in microseconds since 1970, as the archive stores them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def time_of(micros: int) -> datetime:
    """The time of a number of microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


def micros(time: datetime | timedelta) -> int:
    """A time or a duration in microseconds."""
    span = time - EPOCH if isinstance(time, datetime) else time
    return span // timedelta(microseconds=1)
