"""Reading an archive, which needs no client."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence, Sized
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from boardlot import Endpoint, Records, _core
from boardlot._calls import explained, named
from boardlot._support.clients import Time, warn
from boardlot._support.tables.cell_format import shown_time, time_of
from boardlot.archive import observations
from boardlot.archive.arguments import check_new, micros, path_of
from boardlot.archive.check import Findings, check
from boardlot.archive.coverage import gaps
from boardlot.archive.database import Database
from boardlot.archive.fills import FillStore
from boardlot.archive.freshness import Place, row_of, service_now
from boardlot.archive.lists import AnyListName, ListName, Series, list_named
from boardlot.archive.query_result import QueryResult
from boardlot.archive.stored_fills import StoredFills
from boardlot.archive.tables import export
from boardlot.errors import ConfigError
from boardlot.records import records_of

# A time or day in a form that the views of SQLite do not use.
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*|\d{1,2}[/.]\d{1,2}[/.]\d{4}.*")
# The texts of a query, and a comparison of a time with a number (`trigger_time` is one).
LITERAL = re.compile("'([^']*)'")
COUNTED = re.compile(
    r"\b(?!trigger)(\w+_time|seen_at)\s*(?:[<>=!]+|between)\s*(\d{9,16})\b", re.IGNORECASE
)
# `check` reports a list that was not read completely for this long.
UNREAD = timedelta(days=7)


@explained
@named("Archive")
class Reader:
    """The methods of an archive that only read it."""

    _database: Database

    def fills(
        self,
        acc_id: str | int,
        trd_market: str,
        *,
        code: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
    ) -> StoredFills:
        """The stored fills of an account in a market, latest update first.

        Args:
            acc_id: An account id.
            trd_market: Its trading market, such as `"HK"`.
            code: Only fills of this security.
            start: Start of the update time, as for `fills_history`.
            end: End of the update time; both ends are included.

        Returns:
            The service's own values; empty if the archive has none. A warning says that no update
            has read these fills, or that none has read as far back as `start`, or, for an empty
            result, which period the archive covers.

        Raises:
            ConfigError: An argument is not valid.
        """
        series = Series.checked((acc_id, trd_market))
        if code is not None:
            _core._stored_records("fills_history", [*series.arguments, ("code", code)], [])
        first, last = (
            None if value is None else _core._micros(name, value)
            for name, value in (("start", start), ("end", end))
        )
        if first is not None and last is not None and last < first:
            raise ConfigError(f"end is {end!r}; expected a time not before start: {start!r}")
        # Closed even if a text cannot be read: the exception would keep the transaction open.
        store = FillStore(self._database, series)
        with closing(store.texts(code, first, last)) as texts:
            rows = series.rows(texts)
        self._warn(rows, series.place, f"fills {series}")
        if not len(rows) or first is not None:
            covered = store.state().covered
            earliest = min((begin for begin, _ in covered), default=0)
            text = ""
            if not len(rows) and covered:
                until = shown_time(max(end for _, end in covered))
                text = f"from {shown_time(earliest)} until {until}, and none of these there"
            elif first is not None and first < earliest:
                text = f"from {shown_time(earliest)} on"
            if text:
                warn(
                    f"the archive {self._database.name} has fills {series} {text}; "
                    "update(fills=..., start=...) reads earlier ones"
                )
        return StoredFills(rows)

    def _warn(self, found: Sized, place: Place, what: str) -> None:
        if not len(found) and row_of(self._database, place, "id") is None:
            warn(f"the archive {self._database.name} has no update of {what}")

    def seen(
        self,
        list: ListName | Endpoint,
        key: str | int | Mapping[str, Any],
        at: Time | None = None,
    ) -> Records[Any]:
        """A list as it was last seen, or as it was at a given time.

        Args:
            list: One of `crypto_orders`, `sim_orders`, `sim_positions`, `ipos`, `dividends`,
                `futures` and `plates`, or a custom endpoint.
            key: The account, market, symbol or code of the plate; for a custom endpoint, its
                arguments.
            at: A point in time: an aware `datetime`, a `date` (midnight UTC), ISO 8601 text, or
                microseconds since 1970.

        Returns:
            The records in the service's order; empty, with a warning, if the list had not been read
            by then.

        Raises:
            ConfigError: There is no list of this name, or `key` or `at` is not valid.
        """
        spec = list_named(list)
        checked = spec.key_of(key)
        at_micros = None if at is None else _core._micros("at", at)
        texts = observations.seen(self._database, spec, checked, at_micros)
        rows = spec.rows(checked, texts)
        self._warn(rows, spec.place(checked), f"{spec.name} {checked}")
        if at_micros is not None:
            first = observations.first_read(self._database, spec, checked)
            if first is not None and at_micros < first:
                warn(
                    f"at is {shown_time(at_micros)}, but {spec.name} {checked} was first read at "
                    f"{shown_time(first)}: nothing is known of it before; for now, leave out at="
                )
        return records_of(rows)

    def changes(self, list: AnyListName | Endpoint, key: Any) -> Records[Any]:
        """The records of a list that appeared, changed and disappeared, in this order.

        Each record has two more fields: `seen_at`, in microseconds since 1970 (a timestamp in typed
        columns), and `change`: `"new"`, `"changed"`, `"gone"` or, of fills, `"back"`. A record that
        is gone is shown as it was last seen. Fills that a version before `verify` stored have no
        `seen_at`.

        Args:
            list: As for `seen`, or `fills`.
            key: As for `seen`; of fills, an account and a market, such as `("281756", "HK")`.

        Raises:
            ConfigError: There is no list of this name, or `key` is not valid.
        """
        if list == "fills":
            series = Series.checked(key)
            rows = series.changed(FillStore(self._database, series).changes())
            self._warn(rows, series.place, f"fills {series}")
            return records_of(rows)
        spec = list_named(list, "fills")
        checked = spec.key_of(key)
        texts = observations.changes(self._database, spec, checked)
        rows = spec.rows(checked, texts, observed=True)
        self._warn(rows, spec.place(checked), f"{spec.name} {checked}")
        return records_of(rows)

    def gaps(self, acc_id: str | int, trd_market: str) -> list[tuple[datetime, datetime]]:
        """The spans of time between the first and the last stored read that no read has covered.

        Gaps are spans that an unfinished update has not reached, and times between reads that do
        not adjoin: `update(start=...)` fills them.

        Args:
            acc_id: The account id.
            trd_market: The trading market, such as `HK`.

        Raises:
            ConfigError: An argument is not valid.
        """
        series = Series.checked((acc_id, trd_market))
        state = FillStore(self._database, series).state()
        found = list(gaps(state, service_now(self._database)))
        self._warn(found, series.place, f"fills {series}")
        return [(time_of(start), time_of(end)) for start, end in found]

    def check(self, *, unread: timedelta = UNREAD) -> Findings:
        """The problems in the archive's contents.

        The kinds of problems are spans of fills that were not read (`"gap"`), ids that were sent
        twice with different contents (`"twice"`), dividends that were restated (`"restated"`),
        lists that no update has read completely for long (`"unread"`), reads in the future, by a
        clock that was wrong (`"future"`), values that are null in the views because they are not of
        the kind of their field (`"unconverted"`), and records without typed columns (`"columns"`).

        Args:
            unread: The age at which a list counts as unread, by the service's clock if a read on
                this machine knows it, otherwise by this machine's.

        Returns:
            A list with a finding for each problem. Its `periods` are the periods of fills that the
            archive covers.

        Raises:
            ConfigError: `unread` is not a timedelta of 0 or more.
        """
        return check(self._database, micros("unread", unread))

    def status(self) -> list[dict[str, Any]]:
        """A row for each list: its name and key, the number of its records, the time of the last
        read, and whether an update of it was interrupted. `from` and `until` are the period of
        fills that the archive covers; `None` for other lists.

        Raises:
            StoreError: The archive cannot be read.
        """
        rows = self._database.read(
            "select 'fills', s.account || ' ' || s.market, (select count(*) from fill_versions f "
            "where f.series = s.id and f.run <= s.published "
            "and (f.replaced is null or f.replaced > s.published)), s.read_at, s.position, "
            "(select min(start_at) from coverage c where c.series = s.id), "
            "(select max(end_at) from coverage c where c.series = s.id) "
            "from series s order by s.account, s.market"
        )
        rows += self._database.read(
            "select l.list, l.key, (select count(*) from snapshot_records r "
            "where r.list = l.id and r.snapshot = l.snapshot), l.read_at, null, null, null "
            "from lists l where l.read_at is not null order by l.list, l.key"
        )
        return [
            {
                "list": name,
                "key": key,
                "records": count,
                "read_at": None if read_at is None else time_of(read_at),
                "unfinished": position is not None,
                "from": None if first is None else time_of(first),
                "until": None if last is None else time_of(last),
            }
            for name, key, count, read_at, position, first, last in rows
        ]

    def _followers(self) -> list[tuple[str, str]]:
        """The fills that are followed, and the name of each follower."""
        return [
            (series, name)
            for series, name in self._database.read(
                "select s.account || ' ' || s.market, w.name from followers w "
                "join series s on s.id = w.series order by s.account, s.market, w.name"
            )
        ]

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> QueryResult:
        """The result of a query over typed views.

        The views are `fills`, each list's last content by its name, and all of its changes as
        `..._history`. The columns are those of the typed frames, value by value, with decimals as
        floating point; a value of another type is null, and `check` finds it. `record` is the
        service's own text, for the JSON functions of the database. In PostgreSQL, only these views
        are found by their names: write another table with its schema. The query cannot change
        anything: neither data, settings, transactions nor files.

        Args:
            query: One statement in the SQL of the database.
            parameters: Values for its placeholders: `?` in SQLite, `%s` in PostgreSQL. A time must
                have a time zone.

        Raises:
            ConfigError: The query or its parameters are not valid.

        Example:
            >>> archive = bl.Archive(folder / "trades.db")
            >>> _ = archive.update(client, dividends=["HK.00700"])
            >>> archive.sql("select symbol, count(*) as n from dividends group by 1").to_dicts()
            [{'symbol': 'HK.00700', 'n': 21}]
            >>> archive.close()
        """
        if not isinstance(query, str):
            raise ConfigError(f"query is of type {type(query).__name__}; expected a string")
        if not isinstance(parameters, (list, tuple)):
            raise ConfigError(
                f"parameters is of type {type(parameters).__name__}; expected a list or a tuple"
            )
        parameters = [_parameter(number, value) for number, value in enumerate(parameters, 1)]
        if self._database.times_are_texts:
            texts = [(f"parameter {number}", one) for number, one in enumerate(parameters, 1)]
            for place, value in [*texts, *(("a text", one) for one in LITERAL.findall(query))]:
                if isinstance(value, str) and ISO.fullmatch(value):
                    warn(
                        f"{place} of the query is {value!r}; SQLite compares it as a text with "
                        "times such as '2026-11-24 00:00:00.000000+00:00': pass a datetime"
                    )
            if count := COUNTED.search(query):
                warn(
                    f"the query compares {count[1]} with {count[2]}, but its values are texts such "
                    "as '2026-11-24 00:00:00.000000+00:00': pass a datetime"
                )
        result = QueryResult(*self._database.query(query, parameters))
        if not result and not self._database.read("select 1 from series union select 1 from lists"):
            warn(f"the archive {self._database.name} has no update")
        return result

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the archive, which may be in use, into a new file, which is an archive too.

        The copy has everything that was committed when it began. Only its owner can read it (mode
        0600). `boardlot archive restore` restores it.

        Args:
            path: The new file.

        Raises:
            ConfigError: `path` exists or is not valid, or the archive is in PostgreSQL, which
                `pg_dump` copies.
            StoreError: The archive cannot be read, or the file cannot be written; then no file is
                left.

        Example:
            >>> archive = bl.Archive(folder / "trades.db")
            >>> _ = archive.update(client, dividends=["HK.00700"])
            >>> archive.backup(folder / "backup.db")
            >>> with bl.Archive(folder / "backup.db") as copy:
            ...     len(copy.seen("dividends", "HK.00700"))
            21
            >>> archive.close()
        """
        target = path_of("path", path)
        check_new("path", target)
        self._database.back_up(Path(os.path.abspath(target)))  # noqa: PTH100

    def export(
        self,
        list: AnyListName | Endpoint,
        path: str | os.PathLike[str],
        key: Any = None,
        at: Time | None = None,
        *,
        history: bool = False,
    ) -> int:
        """Write a list as it is now to a Parquet file (extra `arrow`).

        Fills have leading columns `account` and `market`, other lists one for their key.

        Args:
            list: `fills`, one of the other lists by its name, or a custom endpoint.
            path: The file to write.
            key: Only this key, as for `seen`; of `fills`, an `acc_id` and a `trd_market`. By
                default, all keys in the archive.
            at: The list as it was seen at this time, as for `seen`.
            history: Write every change, as `changes` returns them, with `seen_at` and `change`.

        Returns:
            The number of rows.

        Raises:
            ConfigError: An argument is not valid, such as `at` of fills, or a `path` to something
                other than a regular file, or to the archive itself.
            StoreError: The file cannot be written; an existing one is unchanged.
        """
        at_micros = None if at is None else _core._micros("at", at)
        rows = export(self._database, list, path, key, at_micros, history)
        name = list if isinstance(list, str) else list.name
        place: Place = ("series", {}) if name == "fills" else ("lists", {"list": name})
        self._warn(range(rows), place, name)
        return rows


def _parameter(number: int, value: Any) -> Any:
    """Returns a parameter of a query for the driver; a time in UTC, as SQLite compares times as
    texts."""
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
    if kind in ("pandas.NAType", "pandas.NaTType"):
        raise ConfigError(
            f"parameter {number} of the query is {kind.removesuffix('Type')}, a missing value; "
            "expected None, which is null"
        )
    if kind in ("numpy.bool", "numpy.bool_"):
        return bool(value)
    if not isinstance(value, datetime):
        # SQLite would take a number of numpy for bytes.
        plain = None if isinstance(value, int) else _core._plain_number(value)
        return value if plain is None else plain
    if value.utcoffset() is None:
        raise ConfigError(
            f"parameter {number} of the query is {value}, a time without a time zone; expected one "
            "with a time zone, such as datetime.now(timezone.utc)"
        )
    utc = value.astimezone(timezone.utc)
    # A plain `datetime`: no database accepts a subclass such as `pandas.Timestamp`.
    return datetime.combine(utc.date(), utc.timetz())
