"""Checks the arguments of an archive, and opens its database: a SQLite file, or PostgreSQL at an
address."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from boardlot._core import _expand_user, _plain_number
from boardlot._support.extras import needs
from boardlot._support.hidden import Hidden, without_frames
from boardlot.archive.database import Database
from boardlot.archive.lists import LISTS, ListSpec, Series, custom_list, is_pair, listed
from boardlot.archive.report import Name
from boardlot.errors import BoardlotError, ConfigError

T = TypeVar("T")

# Minimum time between two reads of a follower, in seconds.
EVERY_MIN = 0.01
# Maximum of each wait, in seconds: a day, as for the requests of a client.
SECONDS_MAX = 86_400


class Refused:
    """Raises or collects the errors of keys that are not valid.

    Attributes:
        errors: The errors by list and key, as in a report.
    """

    def __init__(self, collect: bool) -> None:
        self._collect = collect
        self.errors: dict[Name, BoardlotError] = {}

    def valid(self, name: str, check: Callable[[Any], T], keys: Iterable[Any]) -> Iterator[T]:
        """Yields the results of `check` for the keys that are valid.

        Raises:
            ConfigError: A key is not valid, and errors are not collected.
        """
        for key in keys:
            try:
                checked = check(key)
            except ConfigError as error:
                if not self._collect:
                    raise
                pair = (str(key[0]), str(key[1])) if name == "fills" and is_pair(key) else None
                self.errors[name, pair or str(key)] = error
            else:
                yield checked


# Example keys for errors; the keys of all other lists are accounts.
EXAMPLES = {"ipos": "hk", "dividends": "HK.00700", "futures": "HK.HSImain", "plates": "HK.BK1001"}


def series_of(given: Iterable[Any], refused: Refused) -> list[Series]:
    """Returns the series that a caller passed, without duplicates."""
    # A list instead of `any(...)`: an interrupt while a generator is freed would be lost.
    if is_pair(given) and not [one for one in given if isinstance(one, (list, tuple, Series))]:
        raise ConfigError(
            f"fills is {given!r}, one account and market; expected a list of such pairs: "
            f"[{given!r}]"
        )
    keys = listed("fills", given, "[('281756', 'HK')]")
    return list(dict.fromkeys(refused.valid("fills", Series.checked, keys)))


def lists_of(name: str, given: Iterable[Any], refused: Refused) -> list[tuple[ListSpec, str]]:
    """Returns the lists of this name that a caller passed by their keys, without duplicates."""
    example = given if isinstance(given, str) else EXAMPLES.get(name, "5001")
    spec, keys = LISTS[name], listed(name, given, f"[{example!r}]")
    return [(spec, key) for key in dict.fromkeys(refused.valid(name, spec.key_of, keys))]


def custom_lists(given: Iterable[Any], refused: Refused) -> list[tuple[ListSpec, str]]:
    """Returns the lists of custom endpoints that a caller passed, without duplicates."""
    example = "[(KLINE, {'symbol': 'HK.00700'})]"
    found: dict[tuple[str, str], tuple[ListSpec, str]] = {}
    named: dict[str, ListSpec] = {}
    for spec, key in refused.valid("lists", custom_list, listed("lists", given, example)):
        # Databases do not distinguish upper and lower case in names.
        if named.setdefault(spec.name.lower(), spec) != spec:
            raise ConfigError(f"lists has two different endpoints with the name {spec.name!r}")
        found[spec.name, key] = spec, key
    return list(found.values())


def seconds(name: str, value: float, least: float) -> float:
    number = _plain_number(value)
    if number is None or not least <= number <= SECONDS_MAX:
        raise ConfigError(
            f"{name} is {value!r}; expected a number of seconds from {least:g} to {SECONDS_MAX}"
        )
    return float(number)


def micros(name: str, span: timedelta) -> int:
    """Returns an argument that is a duration, in microseconds.

    Raises:
        ConfigError: The argument is negative, or is not a duration.
    """
    # Uses the arithmetic of `timedelta` itself, because subclasses such as pendulum's override it.
    if isinstance(span, timedelta):
        count = timedelta.__floordiv__(span, timedelta(microseconds=1))
        if count >= 0:
            return count
    raise ConfigError(f"{name} is {span!r}; expected a timedelta of 0 or more")


def follower_name(name: str) -> str:
    """Checks that a database can store the name of a follower, and returns the name."""
    if not isinstance(name, str) or not name:
        raise ConfigError(f"name is {name!r}; expected a non-empty string")
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in name):
        raise ConfigError(f"name is {name!r}; expected a valid Unicode string without U+0000")
    return name


# The start of an address. A single letter would be a Windows drive. One slash is enough, because
# `Path` turns two slashes into one.
SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]+):/", re.IGNORECASE | re.ASCII)

# Addresses for `sqlite3.connect(..., uri=True)` and SQLAlchemy.
SQLITE_ADDRESS = re.compile(r"\s*(file|sqlite[0-9]?(\+\w+)?):", re.IGNORECASE | re.ASCII)

# A connection string of libpq, such as "host=db user=me", which may contain a password.
CONNECTION_STRING = re.compile(
    r"\s*([a-z_]+\s*=.*\s)?(password|passfile|user|host|hostaddr|port|dbname|service)\s*=",
    re.IGNORECASE | re.DOTALL,
)


def open_database(target: Hidden, wait: float) -> Database:
    """The database at a path or a PostgreSQL address.

    Raises:
        ConfigError: The target is an address of another kind.
        StoreError: The database cannot be opened.
        ImportError: The driver of PostgreSQL is not installed.
    """
    found = without_frames(_path_or_address, target)
    if isinstance(found, Hidden):
        with needs("psycopg", "postgres", "an archive in PostgreSQL"):
            from boardlot.archive.postgres import Postgres
        return Postgres(found)
    from boardlot.archive.sqlite import Sqlite

    if not os.path.lexists(found):
        check_new("target", found)
    return Sqlite(found, wait)


# File extensions, by which users and other programs know the content of a file.
PARQUET = {".parquet", ".pq"}
DATABASES = {".db", ".duckdb", ".sqlite", ".sqlite3"}
DATA_FILES = PARQUET | {
    *(".arrow", ".csv", ".feather", ".ipc", ".json", ".jsonl", ".orc", ".pickle", ".pkl"),
    *(".tsv", ".txt", ".xls", ".xlsx"),
}


def check_new(name: str, path: str) -> None:
    """Refuse the name of another kind of file for an archive that does not exist yet.

    Raises:
        ConfigError: Programs would read a file of this name as that other kind.
    """
    if Path(path).suffix.lower() in DATA_FILES:
        raise ConfigError(
            f"{name} is {path!r}; an archive is an SQLite database: expected a name such as "
            f"{str(Path(path).with_suffix('.db'))!r}",
            hint="`export` writes a list of an archive to a Parquet file.",
        )


def _path_or_address(target: Hidden) -> str | Hidden:
    path = path_of("target", target.reveal())
    address = server_address(path)
    return path if address is None else Hidden(address)


def server_address(target: str) -> str | None:
    """The address of a PostgreSQL database; `None` if the target is a path.

    Raises:
        ConfigError: The target is neither. The error does not show it, because it may contain a
            password.
    """
    expected = "expected the path of a SQLite file or postgresql://user@host:port/database"
    if (form := SQLITE_ADDRESS.match(target)) is not None:
        raise ConfigError(
            f"target begins with {form[0]!r}, which is an address of SQLite in another library; "
            "expected the path of the file alone",
            hint="Pass only the path, such as 'trades.db'. A file that this user cannot "
            "write is only read. If it is the name of a file, pass the absolute path.",
        )
    scheme = SCHEME.match(target)
    if scheme is not None or "://" in target:
        before, separator, rest = target.partition("://")
        if not separator or before.strip().lower() not in ("postgresql", "postgres"):
            raise ConfigError(f"target is an address that is not supported; {expected}")
        if any("\ud800" <= character <= "\udfff" for character in target):
            raise ConfigError(f"target is an address that is not valid Unicode; {expected}")
        return f"postgresql://{rest.strip()}"
    if CONNECTION_STRING.match(target):
        raise ConfigError(
            f"target is a connection string of keyword=value pairs; {expected}",
            hint="If it is the name of a file, pass the absolute path.",
        )
    return None


def path_of(name: str, given: Any) -> str:
    """Returns a path that a caller passed.

    Raises:
        ConfigError: The value is not a path.
    """
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(path, str):
        raise ConfigError(f"{name} is of type {type(given).__name__}; expected a path as a string")
    try:
        valid = path != "" and b"\0" not in os.fsencode(path)
    except UnicodeError:
        valid = False
    if not valid:
        # An address may contain a password.
        raise ConfigError(
            f"{name} is empty or has characters that a path cannot have; expected a path"
        )
    path = _expand_user(path)
    try:
        Path(path).absolute()
    except FileNotFoundError:
        raise ConfigError(
            f"{name} is relative, and the working directory was removed; expected an absolute path"
        ) from None
    return path
