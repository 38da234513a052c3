"""The typed columns of lists, which are stored beside the texts of their records.

Each list has one table of typed columns. The core makes its values once, by the rule of frames,
when a record is stored, in the same transaction. The views select these values, and the texts stay
as they were sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache

from boardlot import _core
from boardlot.archive.database import (
    MIGRATED,
    RESTORE,
    Database,
    Row,
    Transaction,
    digest,
    store_error,
)
from boardlot.archive.lists import LISTS, SYSTEM_COLUMNS, Series, columns_of
from boardlot.errors import BoardlotError

# Fields with other names are in `record` alone: no field has the names of the table's own columns.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
LIST, VERSION, UNCONVERTED = '"@list"', '"@version"', '"@unconverted"'
# The first format that has typed columns.
COLUMNS = 2
# The name that is stored instead of names of fields if a record cannot be read at all.
RECORD = "record"
NOT_COLUMNS = {RECORD, *SYSTEM_COLUMNS}
# Number of records in a batch.
BATCH = 5_000

INT64_MAX = 2**63 - 1

# The kinds of fields; see `columns_of`.
KINDS = {
    "text", "object", "date", "timestamp", "integer", "integer not zero", "flag", "number",
    "decimal",
}  # fmt: skip

# A field's name, kind and unit.
Column = tuple[str, str, str]
# The number of a version; for a version of a list, after the number of the list.
Position = tuple[int, ...]


@dataclass(frozen=True)
class TypedList:
    """A list, and the fields that have columns: a table for each set of fields."""

    name: str
    fields: tuple[Column, ...]

    @cached_property
    def table(self) -> str:
        """The name of the table, at most 61 bytes."""
        return f"archive_columns_{self.name[:28]}_{digest(json.dumps([self.name, self.fields]))}"

    @property
    def has_versions_by_list(self) -> bool:
        """True if a version has a number within its list, False if it has one of its own."""
        return self.name != "fills"

    @property
    def _keys(self) -> list[str]:
        """The columns of the table's primary key."""
        return [LIST, VERSION] if self.has_versions_by_list else [VERSION]

    @cached_property
    def _into(self) -> str:
        names = [f'"{name}"' for name, *_ in self.fields]
        return f'"{self.table}" ({", ".join([*self._keys, UNCONVERTED, *names])})'

    def create(self, database: Database, transaction: Transaction) -> None:
        """Create the table, unless it exists."""
        types = database.column_types
        key = f"{VERSION} {types['version']} primary key"
        if self.has_versions_by_list:
            key = f"{LIST} bigint not null, {VERSION} bigint not null"
        columns = [f'"{name}" {types[kind.split()[0]]}' for name, kind, _ in self.fields]
        if self.has_versions_by_list:
            columns.append(f"primary key ({LIST}, {VERSION})")
        transaction.execute(
            f'create table if not exists {database.schema_name}."{self.table}" '
            f"({', '.join([key, f'{UNCONVERTED} text', *columns])})"
        )
        # The index has no names of fields, which may be longer than an index allows.
        keys = ", ".join(self._keys)
        transaction.execute(
            f'create index if not exists "{self.table}_u" on "{self.table}" ({keys}) '
            f"where {UNCONVERTED} is not null"
        )
        database.share(transaction, [self.table])

    def store(self, transaction: Transaction, keys: Iterable[Row], texts: Sequence[str]) -> int:
        """Store the columns of versions that have none, and return how many values were not of the
        kind of their field."""
        rows = self._converted(texts)
        transaction.append(
            self._into,
            [(*key, *row) for key, row in zip(keys, rows, strict=True)],
            has_nul=any("\\u0000" in text or "\0" in text for text in texts),
        )
        return sum(_count(row[0]) for row in rows if row[0] is not None)

    def replace(
        self, transaction: Transaction, versions: Sequence[int], texts: Sequence[str]
    ) -> int:
        """Store the columns of fill versions that were written again, and return how many more
        values than before were not of the kind of their field."""
        condition, values = transaction.among(VERSION, versions)
        query = (
            f'select {UNCONVERTED} from "{self.table}" '
            f"where {condition} and {UNCONVERTED} is not null"
        )
        before = sum(_count(names) for (names,) in transaction.execute(query, (values,)))
        transaction.execute(f'delete from "{self.table}" where {condition}', (values,))
        after = self.store(transaction, [(version,) for version in versions], texts)
        # An update that was killed may have counted the values of before.
        return max(0, after - before)

    def fill(
        self, transaction: Transaction, after: Position, *, limit: int, published: bool = False
    ) -> Position | None:
        """Store the columns of the next versions, for those that have none.

        Args:
            after: The version after which to look.
            limit: The number of versions to look at, including versions of other lists.
            published: Only versions that no writer changes any more.

        Returns:
            The last version that was looked at; `None` if there are no more after it.
        """
        columns, table = ["id"], "fill_versions"
        if self.has_versions_by_list:
            columns, table = ["list", "id"], "versions"
            query = "select min(id) from lists where list = ? and id >= ?"
            ((first,),) = transaction.execute(query, (self.name, after[0]))
            if first is None:
                return None
            after = max(after, (first, 0))
        key = ", ".join(f"v.{column}" for column in columns)
        # A range of numbers takes a database the same time wherever the range is.
        ends = transaction.execute(
            f"select {key} from {table} v where ({key}) > {_marks(key)} "
            f"order by {key} limit 1 offset {limit - 1}",
            after,
        )
        until: Position = ends[0] if ends else tuple(INT64_MAX for _ in after)
        source, condition, values = f"{table} v", "", []
        # Of SQLite, a cross join is in this order: each batch reads its range, not whole lists.
        if self.has_versions_by_list:
            source += " cross join lists l"
            # PostgreSQL 17.12 returns rows of other lists for `l.id = v.list` beside a range of
            # rows (list, id), if an index has both: the sum is in no index.
            condition = "l.id = v.list + 0 and l.list = ? and "
            values = [self.name]
        elif published:
            source += " cross join series s"
            condition = "s.id = v.series and v.run <= s.published and "
        query = f"from {source} where {condition}{_within(key)} order by {key}"
        versions = transaction.execute(f"select {key} {query}", (*values, *after, *until))
        # For the same reason, not a condition of the query before.
        keys = ", ".join(self._keys)
        stored_query = f'select {keys} from "{self.table}" where {_within(keys)}'
        stored = set(transaction.execute(stored_query, (*after, *until)))
        if missing := {version for version in versions if version not in stored}:
            query = f"select {key}, v.record {query}"
            found = transaction.execute(query, (*values, *after, *until))
            rows = [row for row in found if row[:-1] in missing]
            self.store(transaction, [row[:-1] for row in rows], [row[-1] for row in rows])
        return until if ends else None

    def fill_all(self, transaction: Transaction) -> None:
        """Store the columns of all versions that have none."""
        position: Position | None = self.first
        while position is not None:
            position = self.fill(transaction, position, limit=BATCH)

    @property
    def first(self) -> Position:
        """The position before all versions."""
        return (0, 0) if self.has_versions_by_list else (0,)

    def _converted(self, texts: Sequence[str]) -> list[Row]:
        """For each text, the names of the fields whose values could not be converted, and the
        values."""
        if not texts:
            return []
        fields = list(self.fields)
        with suppress(BoardlotError):
            rows: list[Row] = _core._typed_records(",".join(texts).encode(), fields)
            if len(rows) == len(texts):
                return rows
        # One of the texts was damaged.
        return [self._alone(text) for text in texts]

    def _alone(self, text: str) -> Row:
        with suppress(BoardlotError):
            rows = _core._typed_records(text.encode(), list(self.fields))
            if len(rows) == 1:
                return rows[0]
        return (RECORD, *[None] * len(self.fields))


def _marks(columns: str) -> str:
    """A row of parameters, one for each of the columns."""
    return f"({', '.join('?' * (columns.count(',') + 1))})"


def _within(columns: str) -> str:
    """The condition that rows are after one row, and not after another one."""
    return f"({columns}) > {_marks(columns)} and ({columns}) <= {_marks(columns)}"


def _count(names: str) -> int:
    """The number of names of fields in a text."""
    return names.count(",") + 1


def typed_list(name: str, fields: Iterable[Column]) -> TypedList:
    """A list with the fields that can have columns. Databases do not distinguish upper and lower
    case in names, and older versions allowed more names."""
    by_name: dict[str, Column] = {}
    for field in fields:
        if NAME.fullmatch(field[0]) and field[0].lower() not in NOT_COLUMNS:
            by_name.setdefault(field[0].lower(), (field[0], field[1], field[2]))
    return TypedList(name, tuple(by_name.values()))


@lru_cache(maxsize=1)
def built_in() -> dict[str, TypedList]:
    """Fills and the lists of the service, by their names."""
    found = {"fills": typed_list("fills", columns_of(Series("0", "-").rows([])))}
    for spec in LISTS.values():
        schemas = [columns_of(rows) for rows in spec.samples()]
        # A field that several markets have is as in the first market.
        by_name = {field[0]: field for schema in reversed(schemas) for field in schema}
        found[spec.name] = typed_list(spec.name, by_name.values())
    return found


def custom(database: Database, rows: Iterable[Row]) -> Iterator[TypedList]:
    """The custom endpoints of an archive, by the rows of its table `endpoints`.

    Raises:
        StoreError: The fields of one of them are not fields.
    """
    for name, text in rows:
        yield typed_list(name, _fields(database, name, text))


def _fields(database: Database, name: str, text: str) -> list[Column]:
    with suppress(ValueError, TypeError, RecursionError):
        fields = [(field, kind, unit) for field, kind, unit in json.loads(text)]
        if all(isinstance(part, str) for one in fields for part in one) and all(
            kind in KINDS for _, kind, _ in fields
        ):
            return fields
    raise store_error(
        database.name,
        f"has fields of the custom endpoint {name!r} that this version does not know: it was "
        "damaged, or written by a newer boardlot",
        hint=f"Update boardlot. If that does not help: {RESTORE}",
    )


def tables(transaction: Transaction) -> dict[str, str]:
    """The table of each list whose columns are complete."""
    return dict(transaction.execute("select list, columns_table from archive_columns"))


def check_current(database: Database, transaction: Transaction, typed: TypedList) -> None:
    """Make sure that a list has the table that this version writes, until the end of the
    transaction.

    Raises:
        StoreError: Another version has replaced the table.
    """
    found = transaction.execute(
        f"select columns_table from archive_columns where list = ?{database.for_share}",
        (typed.name,),
    )
    if not found:
        text = f"has no columns of the list {typed.name}: it was damaged"
        raise store_error(database.name, text, hint=RESTORE)
    if found != [(typed.table,)]:
        raise store_error(database.name, f"was {MIGRATED}", hint="Then run the same update again.")


def stored_fields(database: Database, transaction: Transaction, name: str) -> TypedList:
    """A custom endpoint as the archive has it, until the end of the transaction.

    Raises:
        StoreError: As `check_current`, or the archive no longer has the endpoint.
    """
    # Locks the row before the fields are read, so that nobody replaces them.
    query = f"select 1 from archive_columns where list = ?{database.for_share}"
    transaction.execute(query, (name,))
    query = "select name, fields from endpoints where name = ?"
    for typed in custom(database, transaction.execute(query, (name,))):
        check_current(database, transaction, typed)
        return typed
    raise store_error(
        database.name,
        f"went back to an earlier state while {name} was read, such as that of a backup",
        retryable=True,
        hint="Run the same update again.",
    )


def adopt(transaction: Transaction, typed: TypedList) -> None:
    """Make a complete table the table of its list."""
    transaction.execute(
        "insert into archive_columns (list, columns_table) values (?, ?) "
        "on conflict (list) do update set columns_table = excluded.columns_table",
        (typed.name, typed.table),
    )
