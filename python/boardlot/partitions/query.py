"""What is read: a method with its arguments, of which one may have several values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from boardlot import Endpoint
from boardlot._core import _stored_records, _time_range
from boardlot._endpoints import ENDPOINTS
from boardlot.errors import ConfigError

if TYPE_CHECKING:
    from boardlot import Records

__all__ = ["Key", "Query"]

Key = str | int
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
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
        keys = tuple(given.pop(lists[0])) if lists else ()
        query = cls(method, tuple(given.items()), lists[0] if lists else None, keys)
        for key in keys or (None,):
            if lists and key is None:
                continue
            query.empty_records(key)
        return query

    @property
    def has_range(self) -> bool:
        """Whether the list is one of a range of time, which can be split."""
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

    def empty_records(self, key: Key | None = None) -> Records[dict[str, Any]]:
        """Records of one call without rows. Sends nothing, but checks the arguments."""
        return _stored_records(self.method, list(self.arguments_for(key).items()), [])

    def columns(self) -> list[str]:
        """The names of the columns: those that are declared, after that of the key.

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

    def sample(self) -> Records[dict[str, Any]]:
        """Records without rows, for the schema that all calls of the query have."""
        return self.empty_records(self.keys[0] if self.keys else None)

    def within(self, start: int, end: int) -> Query:
        """The same with these bounds of its time range, in microseconds since 1970."""
        # Not as numbers, which the client takes for times since 1990 only.
        times = (EPOCH + timedelta(microseconds=micros) for micros in (start, end))
        arguments = dict(self.arguments) | dict(zip(("start", "end"), times, strict=True))
        return replace(self, arguments=tuple(arguments.items()))

    def fixed(self, client: Any) -> Query:
        """The same with a time range that has both bounds, if it has one."""
        return self.within(*self.time_range(client)) if self.has_range else self

    def time_range(self, client: Any) -> tuple[int, int]:
        """The range of time that is read, in microseconds since 1970: an open one ends now, by the
        service's clock."""
        arguments = list(self.arguments_for(self.keys[0] if self.keys else None).items())
        span = _time_range(self.method, arguments)
        return span or _time_range(self.method, arguments, client._service_now())


def is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
