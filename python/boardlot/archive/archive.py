"""`Archive`: keeps lists, with the times at which they were seen."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, overload

from boardlot import AsyncClient, Client, Endpoint, Records, _core
from boardlot._calls import explained
from boardlot._records import Fill
from boardlot._support.clients import Time
from boardlot._support.hidden import Hidden
from boardlot._support.progress import Bar
from boardlot._support.third_party import Self
from boardlot.archive.arguments import (
    EVERY_MIN,
    Refused,
    custom_lists,
    follower_name,
    lists_of,
    micros,
    open_database,
    seconds,
    series_of,
)
from boardlot.archive.event_loops import blocking, each, each_async, in_thread
from boardlot.archive.follow import follow
from boardlot.archive.lists import AnyListName, Series, custom_list, list_named
from boardlot.archive.reader import Reader
from boardlot.archive.report import UpdateReport
from boardlot.archive.update import Update, read_through, update
from boardlot.archive.verify import verify
from boardlot.errors import ConfigError
from boardlot.records import records_of

Keys = Iterable[str | int]
Account = tuple[str | int, str]
Custom = Iterable[tuple[Endpoint, Mapping[str, Any]]]

if TYPE_CHECKING:
    from typing import TypedDict

    from typing_extensions import Required, Unpack

    class UpdateOptions(TypedDict, total=False):
        """The arguments of `Archive.update` besides the client."""

        fills: Iterable[Account]
        crypto_orders: Keys
        sim_orders: Keys
        sim_positions: Keys
        ipos: Keys
        dividends: Keys
        futures: Keys
        plates: Keys
        lists: Custom
        start: Time | None
        overlap: timedelta
        max_age: timedelta | None
        windows: int | None
        on_error: Literal["raise", "collect"]
        progress: bool

    class VerifyOptions(TypedDict, total=False):
        """The arguments of `Archive.verify` besides the client."""

        fills: Iterable[Account]
        start: Time | None
        accept_gone: bool
        on_error: Literal["raise", "collect"]
        progress: bool

    class FollowOptions(TypedDict, total=False):
        """The arguments of `Archive.follow` besides the client."""

        fills: Required[Account]
        every: float
        name: str
        overlap: timedelta
        start: Time | None
        changes: bool


OVERLAP = timedelta(days=7)


@explained
class Archive(Reader):
    """The lists seen at the service, with their times, in a SQLite file or a PostgreSQL database.

    The text of each record is stored as the service sent it, and read through the same schema as
    a response, so a value looks the same whether it arrived today or a year ago.

    An archive may be used by several threads and processes. Readers see a list only once it has
    been read completely. A second update of the same list waits.

    Args:
        target: The path of a SQLite file, which is created if it does not exist, or the address of
            a PostgreSQL database, `postgresql://user@host/database` (extra `postgres`).
        wait: How many seconds an update waits for another one of the same list.

    Raises:
        ConfigError: `target` is not a path or an address of PostgreSQL.
        StoreError: The file or database cannot be opened: it is damaged, is not an archive, or has
            a newer format.

    Example:
        >>> archive = bl.Archive(folder / "trades.db")
        >>> account = sandbox.accounts["trade"][0]
        >>> report = archive.update(client, fills=[(account, "HK")], ipos=["hk"])
        >>> report.new == len(archive.fills(account, "HK")) + len(archive.seen("ipos", "hk"))
        True
        >>> archive.gaps(account, "HK"), archive.check(), len(archive.status())
        ([], [], 2)
        >>> set(archive.changes("ipos", "hk").to_pandas()["change"])
        {'new'}
        >>> archive.export("fills", folder / "fills.parquet")
        2000
        >>> followed = archive.follow(client, fills=(account, "HK"))
        >>> next(followed) == archive.fills(account, "HK").all()[-1]
        True
        >>> followed.close()
        >>> archive.close()
    """

    def __init__(self, target: str | os.PathLike[str], *, wait: float = 30.0) -> None:
        given = Hidden(target)
        del target
        self._wait = seconds("wait", wait, 0.0)
        self._database = open_database(given, self._wait)

    def close(self) -> None:
        """Close the archive; may be called again. Any later use raises `ConfigError`."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        # An archive that could not be opened has no database, but a debugger may still show it.
        database = getattr(self, "_database", None)
        return "<Archive>" if database is None else f"<Archive {database.name}>"

    def __reduce__(self) -> Any:
        raise ConfigError(
            "cannot pickle an Archive; pass its path or address, and open it in each process"
        )

    @overload
    def update(self, client: Client, **options: Unpack[UpdateOptions]) -> UpdateReport: ...

    @overload
    def update(
        self, client: AsyncClient, **options: Unpack[UpdateOptions]
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
        lists: Custom = (),
        start: Time | None = None,
        overlap: timedelta = OVERLAP,
        max_age: timedelta | None = None,
        windows: int | None = None,
        on_error: Literal["raise", "collect"] = "raise",
        progress: bool = False,
    ) -> UpdateReport | Awaitable[UpdateReport]:
        """Read lists, and store the records that are new, changed or gone. Awaited with an
        `AsyncClient`.

        About a thousand fills and their position are stored in one transaction, and so is every
        other list: if an update is killed at any moment, run it again to complete it. A list that
        fails does not stop the others, and nothing in it counts as gone.

        Args:
            client: A client; it is not closed.
            fills: Pairs of an `acc_id` and a `trd_market`, such as `[("281756", "HK")]`.
            crypto_orders: Accounts.
            sim_orders: Accounts.
            sim_positions: Accounts.
            ipos: Markets: `hk`, `us`, `cn`, `sg` or `my`. For `cn`, all A-shares are requested
                (`CnIpoRequest.ALL`), otherwise the service's default.
            dividends: Symbols, such as `HK.00700`.
            futures: Symbols of continuous futures contracts, such as `HK.HSImain`.
            plates: Codes of plates, such as `HK.BK1001`.
            lists: Custom endpoints with their arguments, such as
                `[(KLINE, {"symbol": "HK.00700"})]`. A record is identified by the field that the
                endpoint's paging names as `unique`, otherwise by all of its values.
            start: How far back to read fills, like `start` of `fills_history`; by default
                the first update reads the last 90 days. Not in the future.
            overlap: How long before the newest stored fill an update starts, to find fills that
                arrived late.
            max_age: Skip lists that were read completely within this time, by the service's clock.
                By default, all lists are read.
            windows: Read each range of fills in this many windows, 1 to 64, like `windows` of
                `fills_history`; by default, by one cursor.
            on_error: `"raise"` an `ArchiveUpdateError` with the report after all lists were tried,
                or `"collect"` the errors, also those of keys that are not valid, in the report,
                which is then false.
            progress: Show a bar (tqdm, if it is installed).

        Returns:
            A report with the result for each list.

        Raises:
            ArchiveUpdateError: Lists could not be read, and `on_error` is `"raise"`; the others
                are stored.
            ConfigError: An argument is not valid, or a list in the archive is of another service;
                nothing was sent.
            StoreError: The archive cannot be written, or another process updates the same list for
                longer than `wait`; what was stored before is kept.
        """
        if on_error not in ("raise", "collect"):
            raise ConfigError(f"on_error is {on_error!r}; expected 'raise' or 'collect'")
        keys = {
            "crypto_orders": crypto_orders,
            "sim_orders": sim_orders,
            "sim_positions": sim_positions,
            "ipos": ipos,
            "dividends": dividends,
            "futures": futures,
            "plates": plates,
        }
        refused = Refused(on_error == "collect")
        series = series_of(fills, refused)
        checked = [one for name, given in keys.items() for one in lists_of(name, given, refused)]
        checked += custom_lists(lists, refused)
        bar = Bar("archive", "rows", None, shown=progress)
        work = self._update(client, series, checked, start, overlap, bar.add, max_age)
        for one in series:
            # Checked before anything is sent.
            core = work.client._boardlot_core
            core.pages(work.client, "fills_history", one.arguments, windows, None)
        work = replace(work, refused=refused.errors, windows=windows)

        def run() -> UpdateReport:
            with bar:
                report = update(work)
            if on_error == "raise":
                report._raise()
            return report

        return in_thread(run, "Archive.update") if isinstance(client, AsyncClient) else run()

    @overload
    def verify(self, client: Client, **options: Unpack[VerifyOptions]) -> UpdateReport: ...

    @overload
    def verify(
        self, client: AsyncClient, **options: Unpack[VerifyOptions]
    ) -> Awaitable[UpdateReport]: ...

    def verify(
        self,
        client: Client | AsyncClient,
        *,
        fills: Iterable[Account] = (),
        start: Time | None = None,
        accept_gone: bool = False,
        on_error: Literal["raise", "collect"] = "raise",
        progress: bool = False,
    ) -> UpdateReport | Awaitable[UpdateReport]:
        """Read again all fills that the archive covers, and store the differences. Awaited with an
        `AsyncClient`.

        Fills that the archive lacks are added, and others are corrected, also to an older version.
        A fill is gone if three reads do not list it: a complete read, a read of its own
        `updated_time`, and a read of everything that was updated since the call began. A fill that
        is gone leaves `fills`, its view, frames and exports, and stays in `changes` and the view
        `fills_history`. Fills that are older than the oldest one listed are kept, since the service
        does not document how long it lists fills, and are counted as `unlisted`.

        About 2,000 fills are read and compared at a time, oldest first; updates and followers may
        write in between. If the call is killed, run it again: it starts from the beginning.

        Args:
            client: A client; it is not closed.
            fills: Pairs of an `acc_id` and a `trd_market`, such as `[("281756", "HK")]`.
            start: Verify fills from this time on; fills that are not listed are then gone, however
                old they are. By default, all fills that were ever read are verified.
            accept_gone: Accept that no fill is listed, or that more than 10 fills and more than 1 %
                of them are gone. Otherwise, either is an error with the number of fills, and none
                is gone.
            on_error: As for `update`.
            progress: As for `update`.

        Returns:
            A report with the result for each account: `new`, `changed`, `gone`, `back` (fills that
            were gone and are listed again), `unlisted` and `unchanged`.

        Raises:
            ArchiveUpdateError: Fills of an account could not be read, or too many are gone, and
                `on_error` is `"raise"`.
            ConfigError: An argument is not valid, or no update has read these fills.
            StoreError: As for `update`.

        Example:
            >>> archive = bl.Archive(folder / "trades.db")
            >>> _ = archive.update(client, fills=[(account, "HK")])
            >>> report = archive.verify(client, fills=[(account, "HK")])
            >>> report.gone, report.unchanged == len(archive.fills(account, "HK"))
            (0, True)
            >>> archive.close()
        """
        if on_error not in ("raise", "collect"):
            raise ConfigError(f"on_error is {on_error!r}; expected 'raise' or 'collect'")
        if not isinstance(accept_gone, bool):
            raise ConfigError(f"accept_gone is {accept_gone!r}; expected True or False")
        refused = Refused(on_error == "collect")
        bar = Bar("archive", "rows", None, shown=progress)
        work = self._update(client, series_of(fills, refused), [], start, on_rows=bar.add)
        work = replace(work, refused=refused.errors)

        def run() -> UpdateReport:
            with bar:
                report = verify(work, accept_gone)
            if on_error == "raise":
                report._raise()
            return report

        return in_thread(run, "Archive.verify") if isinstance(client, AsyncClient) else run()

    def _update(
        self,
        client: Client | AsyncClient,
        fills: list[Series],
        lists: list[Any],
        start: Time | None = None,
        overlap: timedelta = OVERLAP,
        on_rows: Callable[[int], None] = lambda _: None,
        max_age: timedelta | None = None,
    ) -> Update:
        if not isinstance(client, (Client, AsyncClient)):
            raise ConfigError(f"client is of type {type(client).__name__}; expected a Client")
        return Update(
            self._database,
            blocking(client),
            fills,
            lists,
            start=None if start is None else _core._micros("start", start),
            overlap=micros("overlap", overlap),
            wait=self._wait,
            max_age=None if max_age is None else micros("max_age", max_age),
            on_rows=on_rows,
        )

    @overload
    def get(
        self, client: Client, list: AnyListName | Endpoint, key: Any, *, max_age: timedelta
    ) -> Records[Any]: ...

    @overload
    def get(
        self, client: AsyncClient, list: AnyListName | Endpoint, key: Any, *, max_age: timedelta
    ) -> Awaitable[Records[Any]]: ...

    def get(
        self,
        client: Client | AsyncClient,
        list: AnyListName | Endpoint,
        key: Any,
        *,
        max_age: timedelta,
    ) -> Records[Any] | Awaitable[Records[Any]]:
        """A list of the archive, which is updated first if it is older than `max_age`. Awaited with
        an `AsyncClient`.

        If several threads or processes ask at once, one of them reads the list. A list is complete,
        or an error is raised. `.meta["seen_at"]` is the time of the read, in microseconds since
        1970.

        Args:
            client: A client; it is not closed.
            list: `fills`, one of the other lists by its name, or a custom endpoint.
            key: As for `seen`; of `fills`, an account and a market, such as `("281756", "HK")`.
            max_age: How long ago, by the service's clock, the last complete read may be.

        Raises:
            ConfigError: An argument is not valid, or the list in the archive is of another service;
                nothing was sent.
            BoardlotError: The list could not be read.

        Example:
            >>> archive = bl.Archive(folder / "trades.db")
            >>> hour = timedelta(hours=1)
            >>> dividends = archive.get(client, "dividends", "HK.00700", max_age=hour)
            >>> len(dividends), dividends.meta["seen_at"] > 0
            (21, True)
            >>> archive.close()
        """
        if list == "fills":
            series, spec, checked = [Series.checked(key)], None, ""
        else:
            series, spec = [], list_named(list, "fills")
            spec, checked = custom_list((list, key)) if spec.endpoint else (spec, spec.key_of(key))
        micros("max_age", max_age)
        lists = [] if spec is None else [(spec, checked)]
        work = self._update(client, series, lists, max_age=max_age)

        def run() -> Records[Any]:
            return records_of(read_through(work))

        return in_thread(run, "Archive.get") if isinstance(client, AsyncClient) else run()

    @overload
    def follow(
        self, client: Client, **options: Unpack[FollowOptions]
    ) -> Generator[Fill, None, None]: ...

    @overload
    def follow(
        self, client: AsyncClient, **options: Unpack[FollowOptions]
    ) -> AsyncGenerator[Fill, None]: ...

    def follow(
        self,
        client: Client | AsyncClient,
        *,
        fills: Account,
        every: float = 5.0,
        name: str = "default",
        overlap: timedelta = OVERLAP,
        start: Time | None = None,
        changes: bool = False,
    ) -> Generator[Fill, None, None] | AsyncGenerator[Fill, None]:
        """Each new or changed fill exactly once, also across restarts; never ends by itself.

        Fills that the archive already has come first, then new ones, in the order of update time. A
        fill counts as delivered when the next one is requested, so a fill that was being handled
        when the process died is delivered again. The first read, and one read an hour, covers all
        of `overlap`. The others cover the latest 39 fills and the ten minutes before the newest
        fill, usually in one request. Errors that may pass are retried after a growing wait.

        Args:
            client: A client, for `for`; an `AsyncClient`, for `async for`. It is not closed.
            fills: An `acc_id` and a `trd_market`, such as `("281756", "HK")`.
            every: Seconds between two requests.
            name: The name of this follower; each name has its own position. Only one follower of
                a name may run at a time.
            overlap: As for `update`.
            start: As for `update`.
            changes: Yield every change, as `changes` returns them, with `seen_at` and `change`:
                also fills that `verify` found gone, or back.

        Raises:
            ConfigError: An argument is not valid, or the fills in the archive are of another
                service; nothing was sent.
            StoreError: The archive cannot be written, or another follower of these fills has the
                same name. A lost connection to a server is made again.
            BoardlotError: An error that a later request cannot resolve.
        """
        name = follower_name(name)
        series = Series.checked(fills)
        every = seconds("every", every, EVERY_MIN)
        update = self._update(client, [series], [], start, overlap)

        if not isinstance(changes, bool):
            raise ConfigError(f"changes is {changes!r}; expected True or False")
        items = follow(update, series, every, name, changes)
        return each_async(items) if isinstance(client, AsyncClient) else each(items)
