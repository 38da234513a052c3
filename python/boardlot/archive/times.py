"""Times in microseconds since 1970, as the archive stores them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from boardlot.errors import ConfigError

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def time_of(micros: int) -> datetime:
    """The time of a number of microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


def micros(name: str, span: timedelta) -> int:
    """An argument that is a duration, in microseconds.

    Raises:
        ConfigError: It is negative, or no duration.
    """
    # The arithmetic of `timedelta` itself: subclasses such as pendulum's have another.
    if isinstance(span, timedelta):
        count = timedelta.__floordiv__(span, timedelta(microseconds=1))
        if count >= 0:
            return count
    raise ConfigError(f"{name} is {span!r}; expected a timedelta of 0 or more")
