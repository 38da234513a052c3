"""`Archive`: keeps what was seen, and when."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Generator, Iterable, Sequence
from contextlib import closing
from datetime import date, datetime, timedelta, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from boardlot import AsyncClient, Client, _core
from boardlot.archive import observations, steps
from boardlot.archive.arguments import EVERY_MIN, follower_name, seconds, series_of
from boardlot.archive.export import export
from boardlot.archive.fills import FillStore, gaps
from boardlot.archive.follow import follow
from boardlot.archive.lists import LISTS, Series, list_named
from boardlot.archive.open import open_database, path_of
from boardlot.archive.progress import Bar, awaited_with
from boardlot.archive.report import UpdateReport
from boardlot.archive.sql import QueryResult, views
from boardlot.archive.update import EPOCH, Update, micros
from boardlot.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Self

    from boardlot import Records
    from boardlot._records import Fill

    Time = str | int | date | datetime
    Keys = Iterable[str | int]
    Account = tuple[str | int, str]

__all__ = ["Archive"]

OVERLAP = timedelta(days=7)


class Archive:
    """What was seen at the service, and when, in a SQLite file or a PostgreSQL database.

    The text of each record is stored as the service sent it, and read through the same schema as
    a response, so a value looks the same whether it arrived today or a year ago.

    An archive may be used by several threads and processes. Readers see a list only once it has
    been read completely. A second update of the same list (in a SQLite file: of any list) waits.

    Args:
        target: The path of a SQLite file, which is created if it does not exist, or the address of
            a PostgreSQL database, `postgresql://user@host/database` (extra `postgres`).
        wait: How many seconds an update waits for another one.

    Raises:
        ConfigError: `target` is not a path or an address of PostgreSQL.
        StoreError: It cannot be opened: it is damaged, is not an archive, or has a newer format.

    Example:
        >>> archive = bl.Archive(folder / "trades.db")
        >>> account = sandbox.accounts["trade"][0]
        >>> report = archive.update(client, fills=[(account, "HK")], ipos=["hk"])
        >>> report.new == len(archive.fills(account, "HK")) + len(archive.seen("ipos", "hk"))
        True
        >>> archive.close()
    """

    def __init__(self, target: str | os.PathLike[str], *, wait: float = 30.0) -> None:
        self._wait = seconds("wait", wait, 0.0)
        self._database = open_database(path_of("target", target), self._wait)

    def close(self) -> None:
        """Close the archive; may be called again."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        # Of one that could not be opened there is no database; a debugger may show it.
        database = getattr(self, "_database", None)
        return "<Archive>" if database is None else f"<Archive {database.name}>"

    def __reduce__(self) -> Any:
        raise ConfigError(
            "cannot pickle an Archive; pass its path or address, and open it in each process"
        )

    @overload
    def update(
        self,
        client: Client,
        *,
        fills: Iterable[Account] = (),
        crypto_orders: Keys = (),
        sim_orders: Keys = (),
        sim_positions: Keys = (),
        ipos: Keys = (),
        dividends: Keys = (),
        futures: Keys = (),
        plates: Keys = (),
        since: Time | None = None,
        overlap: timedelta = OVERLAP,
        progress: bool = False,
    ) -> UpdateReport: ...

    @overload
    def update(
        self,
        client: AsyncClient,
        *,
        fills: Iterable[Account] = (),
        crypto_orders: Keys = (),
        sim_orders: Keys = (),
        sim_positions: Keys = (),
        ipos: Keys = (),
        dividends: Keys = (),
        futures: Keys = (),
        plates: Keys = (),
        since: Time | None = None,
        overlap: timedelta = OVERLAP,
        progress: bool = False,
    ) -> Awaitable[UpdateReport]: ...

    def update(
        self,
        client: Client | AsyncClient,
        *,
        fills: Iterable[Account] = (),
        crypto_orders: Keys = (),
        sim_orders: Keys = (),
        sim_positions: Keys = (),
        ipos: Keys = (),
        dividends: Keys = (),
        futures: Keys = (),
        plates: Keys = (),
        since: Time | None = None,
        overlap: timedelta = OVERLAP,
        progress: bool = False,
    ) -> UpdateReport | Awaitable[UpdateReport]:
        """Read lists, and store what is new, changed or gone. Awaited with an `AsyncClient`.

        About a thousand fills and their position are stored in one transaction, and so is every
        other list: an update that is killed at any moment and run again ends up as if nothing had
        happened. A list that fails does not stop the others, and nothing in it counts as gone.

        Args:
            client: A client; it is not closed.
            fills: Pairs of an account and a trading market, such as `[("281756", "HK")]`.
            crypto_orders: Accounts.
            sim_orders: Accounts.
            sim_positions: Accounts.
            ipos: Markets: `hk`, `us`, `cn`, `sg` or `my`.
            dividends: Symbols, such as `HK.00700`.
            futures: Symbols of continuous futures contracts, such as `HK.HSImain`.
            plates: Codes of plates, such as `HK.BK1001`.
            since: How far back to read fills, like `start` of `fills_history`; by default
                the first update reads the last 90 days. Not in the future.
            overlap: How long before the newest stored fill an update starts, to find fills that
                arrived late.
            progress: Whether a bar is shown (tqdm, if it is installed).

        Returns:
            What happened to each list.

        Raises:
            ConfigError: An argument is not valid; nothing was sent.
            StoreError: The archive cannot be written, or another process updates it for longer than
                `wait`; what was stored before is kept.
        """
        keys = {
            "crypto_orders": crypto_orders,
            "sim_orders": sim_orders,
            "sim_positions": sim_positions,
            "ipos": ipos,
            "dividends": dividends,
            "futures": futures,
            "plates": plates,
        }
        checked = [(spec, spec.keys(keys[name])) for name, spec in LISTS.items()]
        bar = Bar(shown=progress)
        update = self._update(client, series_of(fills), checked, since, overlap, bar)
        work = update.steps()
        if isinstance(client, AsyncClient):
            return awaited_with(bar, steps.run_async(work))
        with bar:
            report: UpdateReport = steps.run(work)
        return report

    def _update(
        self,
        client: Client | AsyncClient,
        fills: list[Series],
        lists: list[Any],
        since: Time | None,
        overlap: timedelta,
        bar: Bar,
    ) -> Update:
        if not isinstance(client, (Client, AsyncClient)):
            raise ConfigError(f"client is of type {type(client).__name__}; expected a Client")
        if not isinstance(overlap, timedelta) or overlap < timedelta(0):
            raise ConfigError(f"overlap is {overlap!r}; expected a timedelta of 0 or more")
        return Update(
            self._database,
            client,
            fills,
            lists,
            since=None if since is None else _core._micros("since", since),
            overlap=micros(overlap),
            wait=self._wait,
            on_rows=bar.add,
        )

    def fills(
        self,
        account: str | int,
        market: str,
        *,
        code: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
    ) -> Records[Fill]:
        """The stored fills of an account in a market, latest update first.

        Args:
            account: An account id.
            market: Its trading market, such as `"HK"`.
            code: Only fills of this security.
            start: Start of the update time, as for `fills_history`.
            end: End of the update time; both ends are included.

        Returns:
            The service's own values; empty if the archive has none.
        """
        series = Series.checked((account, market))
        if code is not None:
            _core._stored_records("fills_history", [*series.arguments, ("code", code)], [])
        bounds = [
            None if value is None else _core._micros(name, value)
            for name, value in (("start", start), ("end", end))
        ]
        # Closed even if a text cannot be read: the exception would keep the transaction open.
        with closing(FillStore(self._database, series).texts(code, *bounds)) as texts:
            records: Records[Fill] = series.records(texts)
        return records

    def seen(self, list: str, key: str | int, at: Time | None = None) -> Records[Any]:
        """A list as it was last seen, or as it was at a given time.

        Args:
            list: One of `crypto_orders`, `sim_orders`, `sim_positions`, `ipos`, `dividends`,
                `futures` and `plates`.
            key: The account, market, symbol or code of the plate.
            at: A point in time: an aware `datetime`, a `date` (midnight UTC), ISO 8601 text, or
                microseconds since 1970.

        Returns:
            The records in the service's order; empty if the list had not been read yet.
        """
        spec = list_named(list)
        (key,) = spec.keys([key])
        at_micros = None if at is None else _core._micros("at", at)
        texts = observations.seen(self._database, spec, key, at_micros)
        records: Records[Any] = spec.records(key, texts)
        return records

    def changes(self, list: str, key: str | int) -> Records[Any]:
        """What appeared, changed and disappeared in a list, in this order.

        Each record has two more fields: `seen_at`, in microseconds since 1970 (a timestamp in typed
        columns), and `change`: `"new"`, `"changed"` or `"gone"`. A record that is gone is shown as
        it was last seen.
        """
        spec = list_named(list)
        (key,) = spec.keys([key])
        texts = observations.changes(self._database, spec, key)
        records: Records[Any] = spec.records(key, texts, observed=True)
        return records

    def gaps(self, account: str | int, market: str) -> list[tuple[datetime, datetime]]:
        """The spans of time between the first and the last stored read that no read has covered.

        These are what an unfinished update has not reached, and the time between reads that do not
        adjoin: `update(since=...)` fills them.
        """
        state = FillStore(self._database, Series.checked((account, market))).state()
        return [(_datetime(start), _datetime(end)) for start, end in gaps(state)]

    def status(self) -> list[dict[str, Any]]:
        """A row for each list: its name and key, the number of its records, when it was read last,
        and whether an update of it was interrupted."""
        rows = self._database.read(
            "select 'fills', s.account || ' ' || s.market, (select count(*) from fill_versions f "
            "where f.series = s.id and f.run <= s.published "
            "and (f.replaced is null or f.replaced > s.published)), s.read_at, s.position "
            "from series s order by s.id"
        )
        rows += self._database.read(
            "select l.list, l.key, (select count(*) from snapshot_records r "
            "where r.list = l.id and r.snapshot = l.snapshot), l.read_at, null "
            "from lists l where l.read_at is not null order by l.id"
        )
        return [
            {
                "list": name,
                "key": key,
                "records": count,
                "read_at": None if read_at is None else _datetime(read_at),
                "unfinished": position is not None,
            }
            for name, key, count, read_at, position in rows
        ]

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> QueryResult:
        """The result of a query over typed views.

        The views are `fills`, each list's last content by its name, and all of its changes as
        `..._history`. Columns are those of the typed frames, with decimals as floating point; a
        value that is not of its type is null. `record` is the service's own text, for the
        database's functions for JSON. The query cannot change anything.

        Args:
            query: One statement in the SQL of the database.
            parameters: Values for its placeholders: `?` in SQLite, `%s` in PostgreSQL.

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
        return QueryResult(*self._database.query(query, parameters, views(self._database)))

    def export(self, list: str, path: str | os.PathLike[str]) -> int:
        """Write a list with all of its keys to a Parquet file (extra `arrow`).

        Fills have leading columns `account` and `market`. Other lists are written with all of their
        changes, as `changes` returns them, and a leading column for the key.

        Returns:
            The number of rows.

        Raises:
            ConfigError: `path` is something other than a regular file, such as a device.
            StoreError: The file cannot be written; an existing one is unchanged.
        """
        return export(self._database, list, path)

    @overload
    def follow(
        self,
        client: Client,
        *,
        fills: Account,
        every: float = 5.0,
        name: str = "default",
        overlap: timedelta = OVERLAP,
        since: Time | None = None,
    ) -> Generator[Fill, None, None]: ...

    @overload
    def follow(
        self,
        client: AsyncClient,
        *,
        fills: Account,
        every: float = 5.0,
        name: str = "default",
        overlap: timedelta = OVERLAP,
        since: Time | None = None,
    ) -> AsyncGenerator[Fill, None]: ...

    def follow(
        self,
        client: Client | AsyncClient,
        *,
        fills: Account,
        every: float = 5.0,
        name: str = "default",
        overlap: timedelta = OVERLAP,
        since: Time | None = None,
    ) -> Generator[Fill, None, None] | AsyncGenerator[Fill, None]:
        """Each new or changed fill exactly once, also across restarts; never ends by itself.

        First come the fills that the archive has and this follower has not received, then
        those that arrive, each read in the order of update time. A fill counts as delivered
        when the next one is requested, so the fill that was being handled when the process died
        comes again.

        The first tick reads all of `overlap`, and so does one tick an hour. Others read the latest
        39 fills and the ten minutes before the newest fill again: one request, while that and what
        is new are no more than a page. Errors that may pass are retried after a growing wait.

        Args:
            client: A client, for `for`; an `AsyncClient`, for `async for`. It is not closed.
            fills: An account and a trading market, such as `("281756", "HK")`.
            every: Seconds between two requests.
            name: The name of this follower; each name has its own position. Only one follower of
                a name may run at a time.
            overlap: As for `update`.
            since: As for `update`.

        Raises:
            ConfigError: An argument is not valid; nothing was sent.
            StoreError: The archive cannot be written, or another follower of these fills has the
                same name.
            BoardlotError: An error that a later request cannot resolve.
        """
        name = follower_name(name)
        series = Series.checked(fills)
        update = self._update(client, [series], [], since, overlap, Bar(shown=False))
        work = follow(update, series, seconds("every", every, EVERY_MIN), name)
        if isinstance(client, AsyncClient):
            return steps.iterate_async(work)
        return steps.iterate(work)


def _datetime(at_micros: int) -> datetime:
    return EPOCH.astimezone(timezone.utc) + timedelta(microseconds=at_micros)
