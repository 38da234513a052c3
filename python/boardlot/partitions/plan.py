"""The plan: which rows each partition has, so that every row is in exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from boardlot.errors import ConfigError
from boardlot.partitions.filters import CODE, Filters
from boardlot.partitions.query import Key, Query

if TYPE_CHECKING:
    from boardlot import Client

__all__ = ["Partition", "count", "plan"]


@dataclass(frozen=True)
class Partition:
    """Some keys, or one part of a range of time.

    Which rows are a part's own is decided where pages are read: parts share their boundaries in
    what they request, and each row has one owner by its time.
    """

    query: Query
    keys: tuple[Key | None, ...] = (None,)
    part: int = 0
    parts: int = 1

    def call(self, client: Client, key: Key | None) -> Any:
        """The rows of one of its keys: a pager, for which nothing is sent yet, if it has pages."""
        method, arguments = self.query.method, list(self.query.arguments_for(key).items())
        if self.query.has_range:
            return client._part_of_pages(method, arguments, (self.part, self.parts))
        if self.query.is_paged:
            return client._pages(method, arguments, None, None)
        return client._call(method, arguments)

    def read(
        self, client: Client, columns: Sequence[str], *, concurrency: int = 8
    ) -> tuple[Key | None, Any]:
        """The key that its rows lack, and the rows, a pager or records, with these columns.

        Several keys are fetched concurrently, and the rows have their key. With one key, the rows
        are fetched as they are read, if the service returns pages.
        """
        if len(self.keys) != 1:
            fixed = dict(self.query.arguments)
            keys = [key for key in self.keys if key is not None]
            called: Any = client
            records = called.fetch_many(self.query.method, keys, concurrency=concurrency, **fixed)
            return None, records.select(*columns)
        fields = [name for name in columns if name != self.query.key]
        # Without any column, the number of rows would be lost.
        rows = self.call(client, self.keys[0]).select(*(fields or self.query.columns()[-1:]))
        return (self.keys[0] if self.query.key in columns else None), rows

    def __dask_tokenize__(self) -> object:
        """Identifies the rows, however they are requested."""
        arguments = dict(self.query.arguments) | {"page_size": None}
        texts = sorted((name, str(value)) for name, value in arguments.items())
        keys = tuple(str(key) for key in self.keys)
        return (str(self.query.method), texts, self.query.key, keys, self.part, self.parts)


def plan(
    client: Client, query: Query, partitions: int, filters: Filters | None = None
) -> list[Partition]:
    """Splits a query into about so many partitions, in the order of its rows.

    Keys are split before ranges of time. Filters narrow what is requested; without any row that
    meets them, there is no partition. Asks the service for its time if the range is open.

    Raises:
        ConfigError: The number of partitions is not a positive integer.
        BoardlotError: As raised by `server_time`.
    """
    count(partitions)
    keys: tuple[Key | None, ...] = query.keys if query.key is not None else (None,)
    parts = 1
    if query.has_range and keys:
        filters = filters or Filters()
        span = filters.narrowed(*query.time_range(client))
        if span is None:
            return []
        query = query.within(*span)
        if filters.code is not None and CODE not in dict(query.arguments):
            query = replace(query, arguments=(*query.arguments, (CODE, filters.code)))
        parts = max(1, min(partitions // len(keys), span[1] - span[0]))
    if parts > 1:
        return [Partition(query, (key,), part, parts) for key in keys for part in range(parts)]
    groups = max(1, min(partitions, len(keys)))
    cuts = [len(keys) * index // groups for index in range(groups + 1)]
    chunks = (keys[cuts[index] : cuts[index + 1]] for index in range(groups))
    return [Partition(query, chunk) for chunk in chunks]


def count(partitions: object, name: str = "partitions") -> int:
    """The number of partitions.

    Raises:
        ConfigError: It is not a positive integer.
    """
    if type(partitions) is not int or partitions < 1:
        raise ConfigError(f"{name} is {partitions!r}; expected a positive integer")
    return partitions
