"""Parts of what a method returns, for engines that read them in parallel: the one plan behind
`boardlot.polars`, `boardlot.dask`, `boardlot.ray` and `boardlot.spark`.

A `Query` describes the rows, `plan` splits a query, and each `Partition` reads its own rows: every
row is in exactly one partition. A worker also needs a `Reference` to the client, which contains no
secret.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from boardlot import AsyncClient, Client, Endpoint, RateLimit
from boardlot._core import _plain_number, _Rows as Rows, _stored_records, _time_range
from boardlot._endpoints import ENDPOINTS
from boardlot._support.per_process import PerProcess
from boardlot._support.tables.cell_format import EPOCH, time_of
from boardlot.errors import ConfigError
from boardlot.pager import Pager

Key = str | int
K = TypeVar("K")
METHODS = {endpoint.method: endpoint for endpoint in ENDPOINTS}


@dataclass(frozen=True)
class Query:
    """A method and its arguments.

    If one argument is a list, the method is called for each of its values, and the rows have a
    leading column with the value.
    """

    method: str | Endpoint
    arguments: tuple[tuple[str, Any], ...]
    key: str | None = None
    keys: tuple[Key, ...] = ()

    @classmethod
    def of(cls, method: str | Endpoint, arguments: Mapping[str, Any]) -> Query:
        """The query of a call.

        Raises:
            ConfigError: There is no such method, an argument is missing or invalid, or several are
                lists.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        lists = [name for name, value in given.items() if is_list(value)]
        if len(lists) > 1:
            raise ConfigError(f"{' and '.join(lists)} are lists; expected at most one")
        keys = _each_once(given.pop(lists[0])) if lists else ()
        query = cls(method, tuple(given.items()), lists[0] if lists else None, keys)
        query.sample()
        for key in keys[1:]:
            query.no_rows(key)
        return query

    @property
    def has_range(self) -> bool:
        """True if the list has a range of time, which can be split."""
        return isinstance(self.method, str) and METHODS[self.method].resumable

    @property
    def is_paged(self) -> bool:
        if isinstance(self.method, str):
            return METHODS[self.method].paged
        return self.method.paging is not None

    @property
    def name(self) -> str:
        return self.method if isinstance(self.method, str) else self.method.name

    def arguments_for(self, key: Key | None) -> dict[str, Any]:
        """The arguments of the call for one key."""
        arguments = dict(self.arguments)
        if self.key is not None and key is not None:
            arguments = {self.key: key, **arguments}
        return arguments

    def no_rows(self, key: Key | None = None) -> Rows:
        """The rows of a call that returns no rows. Sends nothing, but checks the arguments."""
        return _stored_records(self.method, list(self.arguments_for(key).items()), [])

    def columns(self) -> list[str]:
        """The names of the columns: the key's, then the declared ones.

        Raises:
            ConfigError: The record declares no fields.
        """
        fields = [field.name for field in self.sample().schema]
        if not fields:
            raise ConfigError(
                "the service's documentation does not show the fields of the records of "
                f"{self.name}; use client.fetch_many, or declare an Endpoint with a record"
            )
        if self.key in fields:
            raise ConfigError(
                f"the records have a field {self.key}; expected one value, not a list"
            )
        return fields if self.key is None else [self.key, *fields]

    def sample(self) -> Rows:
        """No rows, for the schema that all calls of the query have."""
        if self.key is None or self.keys:
            return self.no_rows(self.keys[0] if self.keys else None)
        # The query has no keys, and any valid key has the same schema.
        for example in ("HK.00700", "hk", "2026-01-01"):
            with suppress(ConfigError):
                return self.no_rows(example)
        return self.no_rows("1")

    def within(self, start: int, end: int) -> Query:
        """The query with these bounds of its time range, in microseconds since 1970."""
        # Passed as datetimes: the client takes numbers only for times since 1990.
        arguments = dict(self.arguments) | {"start": time_of(start), "end": time_of(end)}
        return replace(self, arguments=tuple(arguments.items()))

    def fixed(self, client: Any) -> Query:
        """The query with both bounds of its time range, if it has such a range."""
        if not self.has_range or (self.key is not None and not self.keys):
            return self
        return self.within(*self.time_range(client))

    def time_range(self, client: Any) -> tuple[int, int]:
        """The range of time that is read, in microseconds since 1970: an open one ends now, by the
        service's clock."""
        arguments = list(self.arguments_for(self.keys[0] if self.keys else None).items())
        span = _time_range(self.method, arguments)
        return span or _time_range(self.method, arguments, client._boardlot_core.service_now())


def _each_once(keys: Iterable[K]) -> tuple[K, ...]:
    """The keys in their order, each once: an account is the same as text and as a number."""
    return tuple({str(key): key for key in keys}.values())


def is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


CODE, TIME = "code", "updated_time"
MICROSECOND = timedelta(microseconds=1)


# Each operator of a condition, and the operator for the same condition with its sides exchanged.
MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Condition:
    """One of several conditions that all hold: `operator` is `==`, `<`, `<=`, `>` or `>=`."""

    column: str
    operator: str
    value: Any


@dataclass(frozen=True)
class Filters:
    """Conditions that the service can apply. Rows that it excludes do not meet the conditions."""

    code: str | None = None
    # Bounds in microseconds since 1970; both belong to the range.
    first: int | None = None
    last: int | None = None

    @classmethod
    def of(cls, conditions: Iterable[Condition]) -> Filters:
        """The conditions that the service can apply; others are left to the engine."""
        code, first, last = None, None, None
        for condition in conditions:
            operator, value = condition.operator, condition.value
            if condition.column == CODE and operator == "==" and isinstance(value, str):
                code = value
            elif condition.column == TIME and (micros := _micros(value)) is not None:
                if operator in (">", ">=", "=="):
                    first = micros if first is None else max(first, micros)
                if operator in ("<", "<=", "=="):
                    last = micros if last is None else min(last, micros)
        return cls(code, first, last)

    def narrowed(self, start: int, end: int) -> tuple[int, int] | None:
        """The part of a range to request; `None` if no row of it meets the conditions.

        The service's documentation does not say whether a range includes its bounds, so a bound is
        a microsecond further out than the condition, unless the range ends there.
        """
        if self.first is not None:
            start = max(start, self.first - 1)
        if self.last is not None:
            end = min(end, self.last + 1)
        return (start, end) if start < end else None


def _micros(value: object) -> int | None:
    """A time in whole microseconds. The fraction of a finer time is cut off; the microsecond that
    `narrowed` adds makes up for it."""
    if isinstance(value, datetime):
        return datetime.__sub__(value, EPOCH) // MICROSECOND if value.tzinfo is not None else None
    if isinstance(value, date):
        return None
    return value if type(value) is int else None


@dataclass(frozen=True)
class Partition:
    """Some keys, or one part of a range of time.

    Parts request their common boundaries twice; the code that reads pages assigns each row to one
    part by its time.
    """

    query: Query
    keys: tuple[Key | None, ...] = (None,)
    part: int = 0
    parts: int = 1

    def call(self, client: Client, key: Key | None) -> Any:
        """The rows of one of its keys: a pager, for which nothing is sent yet, if it has pages."""
        method, arguments = self.query.method, list(self.query.arguments_for(key).items())
        core = client._boardlot_core
        if self.query.has_range:
            return Pager(core.part_of_pages(client, method, arguments, (self.part, self.parts)))
        if self.query.is_paged:
            return Pager(core.pages(client, method, arguments, None, None))
        return core.call(method, arguments)

    def read(
        self, client: Client, columns: Sequence[str], *, concurrency: int = 8, whole: bool = False
    ) -> tuple[Key | None, Any]:
        """The key that the partition's rows lack, and a pager or rows with these columns.

        Several keys are fetched concurrently, and the rows have their key. With one key, the rows
        are fetched as they are read, if the service returns pages and the rows are not requested as
        a whole.
        """
        if whole or len(self.keys) != 1:
            fixed = dict(self.query.arguments)
            keys = [key for key in self.keys if key is not None]
            fetched = client._boardlot_core.fetch_many(
                self.query.method, keys, concurrency, "raise", None, False, list(fixed.items())
            )
            rows, _errors = fetched
            known = set(rows.names())
            return None, rows.select(*(name for name in columns if name in known))
        fields = [name for name in columns if name != self.query.key]
        # Without any column, the number of rows would be lost.
        source = self.call(client, self.keys[0]).select(*(fields or self.query.columns()[-1:]))
        return (self.keys[0] if self.query.key in columns else None), source

    def __dask_tokenize__(self) -> object:
        """Identifies the rows, however they are requested."""
        arguments = dict(self.query.arguments) | {"page_size": None}
        texts = sorted((name, str(value)) for name, value in arguments.items())
        keys = tuple(str(key) for key in self.keys)
        return (str(self.query.method), texts, self.query.key, keys, self.part, self.parts)


def plan(
    client: Client, query: Query, partitions: int, filters: Filters | None = None
) -> list[Partition]:
    """Splits a query into about this many partitions, in the order of its rows.

    Keys are split before ranges of time. Filters narrow what is requested; without any row that
    meets them, there is no partition. Asks the service for its time if the range is open.

    Raises:
        ConfigError: The number of partitions is not a positive integer.
        BoardlotError: As raised by `server_time`.
    """
    count(partitions)
    keys: tuple[Key | None, ...] = query.keys if query.key is not None else (None,)
    if not keys:
        return []
    parts = 1
    if query.has_range:
        filters = filters or Filters()
        span = filters.narrowed(*query.time_range(client))
        if span is None:
            return []
        query = query.within(*span)
        if filters.code is not None and CODE not in dict(query.arguments):
            # A value that the client would refuse is left to the engine, which finds no row.
            with suppress(ConfigError):
                narrower = replace(query, arguments=(*query.arguments, (CODE, filters.code)))
                narrower.sample()
                query = narrower
        parts = max(1, min(partitions // len(keys), span[1] - span[0]))
    if parts > 1:
        return [Partition(query, (key,), part, parts) for key in keys for part in range(parts)]
    return by_keys(query, keys, partitions)


def by_keys(query: Query, keys: Sequence[Key | None], partitions: int) -> list[Partition]:
    """About this many partitions, each of a part of the keys."""
    keys = _each_once(keys)
    groups = max(1, min(partitions, len(keys)))
    cuts = [len(keys) * index // groups for index in range(groups + 1)]
    chunks = (tuple(keys[cuts[index] : cuts[index + 1]]) for index in range(groups))
    return [Partition(query, chunk) for chunk in chunks]


def count(partitions: object, name: str = "partitions") -> int:
    """The number of partitions.

    Raises:
        ConfigError: It is not a positive integer.
    """
    number = _plain_number(partitions)
    if not isinstance(number, int) or number < 1:
        raise ConfigError(f"{name} is {partitions!r}; expected a positive integer")
    return number


@dataclass(frozen=True)
class Reference:
    """The source of a worker's client: the client's own pickle, which contains no secret."""

    base_url: str
    # Not in the `repr`, since it is long and unreadable.
    pickled: bytes = field(repr=False)
    # Requests per second of all workers together. A `RateLimit` has a name, by which the workers
    # share it.
    rate_limit: float | RateLimit | None = None

    def open(self) -> Client:
        """A client with the whole rate limit, for the process that makes the plan."""
        return _open(self.pickled, self.rate_limit)

    def client(self, processes: int = 1, process: str | None = None) -> Client:
        """The client of a process, made once, with its share of the rate limit.

        Args:
            processes: The number of processes that fetch at the same time.
            process: A name that distinguishes workers that share this process.
        """
        share = self.rate_limit
        if isinstance(share, (int, float)):
            share /= max(1, processes)
        with _CREATING.value:
            return _client(self.pickled, share, process)


def refer(
    client_or_profile: Client | AsyncClient | str, rate_limit: float | RateLimit | None = None
) -> Reference:
    """The reference to a client or a profile.

    Raises:
        ConfigError: The client has credentials without a reference, such as a key made from
            text or a bearer token, or headers that may be secrets; or there is no such profile;
            or the rate limit is not valid.
    """
    if isinstance(client_or_profile, str):
        client: Client | AsyncClient = Client(profile=client_or_profile)
    elif isinstance(client_or_profile, (Client, AsyncClient)):
        client = client_or_profile
    else:
        kind = type(client_or_profile).__name__
        raise ConfigError(f"expected a client or the name of a profile, got {kind}")
    try:
        pickled = pickle.dumps(client)
    except ConfigError:
        raise
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise ConfigError(
            f"the client cannot be sent to workers: {error}; a function that asks for a "
            "passphrase must be at the top level of a module that the workers have too"
        ) from error
    if rate_limit is None:
        rate_limit = _arguments(client).get("rate_limit")
    if isinstance(rate_limit, RateLimit) and rate_limit.name is None:
        raise ConfigError(
            "rate_limit has no name, so the workers cannot share it: pass "
            "RateLimit(..., name=...), and with several machines a database"
        )
    # Made once here, so that settings that no worker could use are rejected at once.
    with _open(pickled, rate_limit) as local:
        return Reference(local.base_url, pickled, rate_limit)


def _arguments(client: Client | AsyncClient) -> dict[str, Any]:
    """The arguments that the client was made with, from its pickle."""
    reduced: Any = client.__reduce__()
    return dict(reduced[1][1])


def _open(pickled: bytes, rate_limit: float | RateLimit | None) -> Client:
    return Client(**_arguments(pickle.loads(pickled)) | {"rate_limit": rate_limit})


_CREATING = PerProcess(threading.Lock)


# A process has several clients only if it works for several frames, or its share has changed.
@lru_cache(maxsize=8)
def _client(pickled: bytes, rate_limit: float | RateLimit | None, _process: str | None) -> Client:
    return _open(pickled, rate_limit)
