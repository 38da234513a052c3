"""Arguments of an archive that several of its methods take, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boardlot.archive.lists import ListSpec, Series, custom_list
from boardlot.errors import ConfigError

__all__ = [
    "EVERY_MIN",
    "SECONDS_MAX",
    "custom_lists",
    "follower_name",
    "seconds",
    "series_of",
]

# The least time between two ticks, in seconds.
EVERY_MIN = 0.01
# The most that something may wait for, in seconds: a day, as for the requests of a client.
SECONDS_MAX = 86_400


def series_of(given: Iterable[Any]) -> list[Series]:
    """The series that a caller passed; each once."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ConfigError(f"fills is {given!r}; expected a list, such as [('281756', 'HK')]")
    return [Series.checked(one) for one in dict.fromkeys(map(Series.checked, given))]


def custom_lists(given: Iterable[Any]) -> list[tuple[ListSpec, str]]:
    """The lists of custom endpoints that a caller passed; each once."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ConfigError(
            f"lists is {given!r}; expected a list, such as [(KLINE, {{'symbol': 'HK.00700'}})]"
        )
    found: dict[tuple[str, str], tuple[ListSpec, str]] = {}
    for spec, key in map(custom_list, given):
        other = found.setdefault((spec.name, key), (spec, key))[0].endpoint
        if other != spec.endpoint:
            raise ConfigError(f"lists has two different endpoints with the name {spec.name!r}")
    return list(found.values())


def seconds(name: str, value: float, least: float) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= SECONDS_MAX:
        raise ConfigError(
            f"{name} is {value!r}; expected a number of seconds from {least:g} to {SECONDS_MAX}"
        )
    return float(value)


def follower_name(name: str) -> str:
    """The name of a follower, which a database can store."""
    if not isinstance(name, str) or not name:
        raise ConfigError(f"name is {name!r}; expected a non-empty string")
    try:
        storable = b"\0" not in name.encode()
    except UnicodeEncodeError:
        storable = False
    if not storable:
        raise ConfigError(f"name is {name!r}; expected a valid Unicode string without U+0000")
    return name
