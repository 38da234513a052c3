"""`Pager` and `AsyncPager`: an iteration over the rows of a list that the service returns in pages.

The core has the pages, and requests each with the page before it. The position of an iteration is
one attribute, `_Shared.position`: a page, and an iterator over the list of items that were made of
the page. The last two steps of a method that moves the position store it and return. CPython looks
for signals after calls into C and at the start of loops and functions, never between these two
steps, so an interrupt neither loses nor repeats a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from operator import length_hint
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from ._calls import explained, named
from ._core import (
    _Page as Page,
    _Pages as Pages,
    _PageStream as PageStream,
    _RecordBatches as RecordBatches,
    _Rows as Rows,
    _RowView as RowView,
)
from ._support.clients import warn
from ._support.third_party import ArrowTable, CapsuleType, RecordBatch, Self, pandas, polars
from .errors import BoardlotError, ConfigError
from .records import Decimals, Invalid, Records, records_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_NONE: Iterator[Any] = iter(())

BUSY = (
    "this pager is being read by another thread or task; to share a list, one of them reads the "
    "pager and passes on its rows"
)
EXHAUSTED = (
    "this pager is exhausted: every row has been received; keep the earlier result, or call the "
    "client's method again for a new pager"
)
USED_UP = (
    "this pager is used up, so the loop has no rows: make a new pager, or keep `rows = "
    "pager.all()` and loop over `rows`"
)


class _Position:
    """A position after some rows of a page, or before the first page.

    Items made of the page's further rows are taken from `unread`, which counts them. Each item is
    one row, or all remaining rows of the page.
    """

    __slots__ = ("count", "first", "is_end", "page", "reader", "rows_of_item", "unread")

    def __init__(
        self,
        page: Page | None,
        first: int,
        items: list[Any] | tuple[()] = (),
        rows_of_item: int = 1,
        reader: _View[Any] | None = None,
        is_end: bool = False,
    ) -> None:
        self.page: Page | None = page
        # True if the caller knows that no rows follow.
        self.is_end: bool = is_end
        self.first: int = first
        self.count: int = len(items)
        self.rows_of_item: int = rows_of_item
        self.unread: Iterator[Any] = iter(items)
        self.reader: _View[Any] | None = reader

    @property
    def row(self) -> int:
        """The number of rows before the position."""
        return self.first + self.rows_of_item * (self.count - length_hint(self.unread))


class _Shared:
    """The pages and the position that a pager and its views share."""

    __slots__ = ("iterations", "pages", "position", "reading")

    def __init__(self, pages: Pages) -> None:
        self.pages: Pages = pages
        # The number of times that the pager was asked for an iterator.
        self.iterations: int = 0
        self.position: _Position = _Position(None, 0)
        # The reader that waits for a page or makes items: an event loop, or a bool for any thread;
        # `None` without a reader. Set without a call right before the `try` that clears it, so that
        # no interrupt comes in between.
        self.reading: AbstractEventLoop | bool | None = None

    def take_position(self) -> _Position:
        """Take the position for a new reader and return it: earlier readers get no more items."""
        position = self.position
        if position.reader is not None:
            position.reader._unread = _NONE
        return position

    def refuse(self) -> None:
        """Raise an error for a second reader, unless the first one's event loop was closed."""
        self.pages.check_process()
        reading = self.reading
        if reading is None or reading is True or reading is False or not reading.is_closed():
            endpoint = self.pages.endpoint
            hint = "With a pager of its own, each would read the whole list."
            raise ConfigError(f"{endpoint}: {BUSY}", endpoint=endpoint, hint=hint)
        self.reading = None

    def check_not_exhausted(self) -> None:
        if self.position.is_end:
            hint = "A pager reads its list once: make a new one to read it again."
            text, endpoint = f"{self.pages.endpoint}: {EXHAUSTED}", self.pages.endpoint
            raise ConfigError(text, endpoint=endpoint, hint=hint, checkpoint=self.checkpoint())

    def checkpoint(self) -> str:
        position = self.position
        return self.pages.checkpoint(position.page, position.row)

    def locate(self, error: BoardlotError) -> None:
        """Add the checkpoint to an error, unless the error has one, which may be that of another
        list.
        """
        if error.checkpoint is None:
            with suppress(BoardlotError):  # The service's cursor has a secret.
                error.checkpoint = self.checkpoint()


@named("Pager")
class _View(Generic[T_co]):
    """A view of an iteration: the form in which its rows are returned. All views of a pager share
    its position.
    """

    __slots__ = ("_is_of_pages", "_least", "_make", "_shared", "_unread")

    def __init__(
        self,
        shared: _Shared,
        make: Callable[[Page, int], list[Any]],
        *,
        is_of_pages: bool = False,
        with_empty_pages: bool = False,
    ) -> None:
        self._shared = shared
        self._make = make
        self._is_of_pages = is_of_pages
        self._least = int(with_empty_pages)
        self._unread: Iterator[T_co] = _NONE

    def checkpoint(self) -> str:
        """The exact position of the iteration as a small JSON string without secrets. Pass it to
        the same method with the same arguments as `resume=`, in another process too.
        """
        return self._shared.checkpoint()

    @property
    def total(self) -> int | None:
        """The total number of rows, or `None` if the service does not report it."""
        return self._shared.pages.total

    @property
    def range(self) -> tuple[datetime, datetime] | None:
        """The time range that is read, as aware UTC datetimes of its start and its end.

        A range that was passed is known at once. The end of a range that ends now is fixed by the
        service's clock when the first page is requested: until then the range is `None`, as it is
        for a list without a time range.
        """
        return self._shared.pages.range

    @property
    def requests(self) -> int:
        """The number of pages that were requested."""
        return self._shared.pages.requests

    @property
    def errors(self) -> dict[str, BoardlotError]:
        """The keys of `pages_many` that have failed so far, with their errors."""
        page = self._shared.position.page
        return {} if page is None else page.errors

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._shared.pages.description}>"

    def __reduce__(self) -> Any:
        text = "cannot pickle a pager; pickle its `checkpoint()`"
        raise ConfigError(text, hint="Pass the checkpoint as `resume=` to the same call.")

    def _prepare(self) -> bool:
        """Make items of the page at the position; false if no rows of the page are left."""
        shared = self._shared
        position = shared.take_position()
        page, row = position.page, position.row
        if page is None or row >= max(len(page), self._least):
            return False
        if position.reader is not self or not length_hint(position.unread):
            try:
                items = self._make(page, row)
            except BoardlotError as error:
                shared.locate(error)
                raise
            rows_of_item = max(len(page) - row, 1) if self._is_of_pages else 1
            position = _Position(page, row, items, rows_of_item, self)
            shared.position = position
        self._unread = position.unread
        return True


@named("Pager")
class View(_View[T_co]):
    """An iterator over a pager's rows in another form, or its pages, which moves its position."""

    __slots__ = ()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T_co:
        for item in self._unread:
            return item
        shared = self._shared
        if shared.reading is not None:
            shared.refuse()
        shared.reading = True
        try:
            while not self._prepare():
                page = shared.pages.after(shared.position.page)
                if page is None:
                    shared.position.is_end = True
                    raise StopIteration
                shared.position = _Position(page, page.first)
        finally:
            shared.reading = None
        for item in self._unread:
            return item
        return next(self)  # Another thread has taken over meanwhile.


@named("AsyncPager")
class AsyncView(_View[T_co]):
    """An async iterator over a pager's rows in another form, or its pages; see `View`."""

    __slots__ = ()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T_co:
        for item in self._unread:
            return item
        shared, loop = self._shared, _running_loop()
        if shared.reading is not None:
            shared.refuse()
        shared.reading = loop
        try:
            while not self._prepare():
                page = await shared.pages.after(shared.position.page)
                if page is None:
                    shared.position.is_end = True
                    raise StopAsyncIteration
                shared.position = _Position(page, page.first)
        finally:
            if shared.reading is loop:
                shared.reading = None
        for item in self._unread:
            return item
        return await self.__anext__()


def _running_loop() -> AbstractEventLoop | bool:
    """The running event loop, or True; without a loop, the core raises an error with advice."""
    from asyncio.events import _get_running_loop

    return _get_running_loop() or True


def _records(view: RowView) -> Callable[[Page, int], list[Records[Any]]]:
    """Makes `Records` of pages."""
    return lambda page, row: [records_of(rows) for rows in view.pages(page, row)]


def _is_end(limits: tuple[int | None, int | None] | None, result: Any, page: Page | None) -> bool:
    """True if a result has told the caller that no rows follow, as the service says.

    A loop of limited calls gets an empty result before a call is refused.
    """
    if limits in (None, (None, None)):
        return True
    return 0 not in limits and not len(result) and (page is None or page.is_last)


# Classes that deliver rows are not `explained`: a signal may be handled where a wrapper takes the
# result of the method that it wraps.
@final
class Pager(View[T_co]):
    """An iterator over the rows of a paged list. It has one page in memory, and fetches at most
    one page ahead.

    If a page cannot be read, the pager raises the error of that request, whose `.checkpoint` is the
    position of the last row that you received. Once everything has been read, `all` and the frames
    raise `ConfigError`. `progress=True` shows a bar (tqdm, if it is installed).

    A pager has one consumer at a time: a thread or task that asks for a page while another one
    waits for a page gets a `ConfigError`, and disturbs nothing.

    - `pages`: the pages of the core, which a client's method passes.
    - `view`: the form of the rows; by default dicts of all fields.

    >>> Trade = NamedTuple("Trade", [("code", str), ("qty", float)])
    >>> pager = client.fills_history(account, "HK")
    >>> len(next(pager.select("code", "qty"))), next(pager.as_type(Trade)).qty > 0
    (2, True)
    >>> len(next(pager.pages())), len(pager.all(max_items=10)), pager.total
    (48, 10, None)
    >>> next(pager.record_batches()).num_rows
    40
    >>> rest = client.fills_history(account, "HK", resume=pager.checkpoint())
    >>> len(pager.to_pandas()), len(rest.to_polars())
    (1900, 1900)
    >>> client.fills_history(account, "HK").to_arrow().num_rows
    2000
    """

    __slots__ = ("_view",)

    def __init__(self, pages: Pages | _Shared, view: RowView | None = None) -> None:
        shared = pages if isinstance(pages, _Shared) else _Shared(pages)
        self._view = view or shared.pages.view()
        super().__init__(shared, self._view.rows)

    @explained
    def select(self, *names: str, undeclared: bool = False) -> Pager[dict[str, Any]]:
        """The same iteration restricted to these fields, in this order: rows, pages, `all` and
        frames contain nothing else. It shares the position with this pager.

        A name that the endpoint does not declare raises `ConfigError`. With `undeclared=True`, or
        if the endpoint declares no fields, the name is looked up in the first page that has
        records; if it is not there, the error is raised then.
        """
        return Pager(self._shared, self._view.select(names, undeclared))

    @explained
    def as_type(self, cls: type[T]) -> View[T]:
        """An iterator over the rows as instances of `cls`, each field converted to its
        annotation; see `Records.as_type`, also for the errors. It shares the position with this
        pager.
        """
        return View(self._shared, self._view.as_type(cls).rows)

    def pages(self) -> View[Records[T_co]]:
        """An iterator over the pages, each as `Records`."""
        return View(self._shared, _records(self._view), is_of_pages=True, with_empty_pages=True)

    @explained
    def record_batches(
        self, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
    ) -> View[RecordBatch]:
        """An iterator over the pages, each as a pyarrow RecordBatch as soon as it is fetched; for
        the options, see `boardlot.frames.to_arrow`.

        A field that the endpoint does not declare is a text column of the batches that have it, as
        nothing is known of later pages. `pyarrow.concat_tables` joins tables of such batches with
        `promote_options="permissive"`.
        """
        self._shared.check_not_exhausted()
        batches = RecordBatches(self._view, decimals, invalid)
        return View(self._shared, batches.pages, is_of_pages=True, with_empty_pages=True)

    def all(
        self, max_items: int | None = None, max_pages: int | None = None, *, progress: bool = False
    ) -> Records[T_co]:
        """The remaining rows as `Records`, limited to `max_items` rows and `max_pages` pages. If
        the call fails midway, the pager's position does not change.

        An empty result means the end of the list only if `max_items` (at least 1) is the only
        limit.
        """
        arguments = (max_items, max_pages, progress)
        limits = (max_items, max_pages)
        records, end = self._collected(self._shared.pages.all, arguments, limits, records_of)
        self._shared.position = end
        return records  # type: ignore[no-any-return]

    def to_pandas(
        self,
        *,
        decimals: Decimals = "float64",
        invalid: Invalid = "raise",
        progress: bool = False,
    ) -> pandas.DataFrame:
        """The remaining rows as a pandas DataFrame; see `boardlot.frames.to_pandas`."""
        arguments = ("to_pandas", decimals, invalid, progress)
        frame, end = self._collected(self._shared.pages.frame, arguments, None)
        self._shared.position = end
        return frame  # type: ignore[no-any-return]

    def to_polars(
        self,
        *,
        decimals: Decimals = "float64",
        invalid: Invalid = "raise",
        progress: bool = False,
    ) -> polars.DataFrame:
        """The remaining rows as a polars DataFrame; see `boardlot.frames.to_polars`."""
        arguments = ("to_polars", decimals, invalid, progress)
        frame, end = self._collected(self._shared.pages.frame, arguments, None)
        self._shared.position = end
        return frame  # type: ignore[no-any-return]

    def to_arrow(
        self,
        *,
        decimals: Decimals = "float64",
        invalid: Invalid = "raise",
        progress: bool = False,
    ) -> ArrowTable:
        """The remaining rows as a pyarrow Table; see `boardlot.frames.to_arrow`."""
        arguments = ("to_arrow", decimals, invalid, progress)
        frame, end = self._collected(self._shared.pages.frame, arguments, None)
        self._shared.position = end
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType:
        """The remaining pages as an Arrow stream (the PyCapsule interface), one record batch
        each, fetched as the consumer asks. A batch that the consumer took has been received.

        The columns are those of the first page; a later page that does not fit into them is an
        error.
        """
        shared = self._shared
        shared.check_not_exhausted()
        if shared.reading is not None:
            shared.refuse()
        shared.reading = True
        try:
            page, row = shared.position.page, shared.position.row
            # The columns are those of the first page that has rows; that page is still to be
            # received.
            while page is None or row >= len(page):
                following = shared.pages.after(page)
                if following is None:
                    page = None
                    break
                page, row = following, following.first
                shared.position = _Position(page, row)
            try:
                stream = PageStream(self._view, page, row)
            except BoardlotError as error:
                shared.locate(error)
                raise
        finally:
            shared.reading = None
        return stream.capsule(View(shared, stream.pages, is_of_pages=True))

    # For the archive, the command line and the engines, which need no dicts.

    def _row_pages(self) -> View[Rows]:
        """The same as `pages`, without dicts."""
        return View(self._shared, self._view.pages, is_of_pages=True, with_empty_pages=True)

    def _all_rows(self, max_items: int | None = None) -> Rows:
        """The same as `all`, without dicts."""
        arguments = (max_items, None, False)
        rows, end = self._collected(self._shared.pages.all, arguments, (max_items, None))
        self._shared.position = end
        return rows  # type: ignore[no-any-return]

    def _collected(
        self,
        collect: Callable[..., Any],
        arguments: tuple[Any, ...],
        limits: tuple[int | None, int | None] | None,
        finish: Callable[[Any], Any] | None = None,
    ) -> tuple[Any, _Position]:
        """The collected rows, and the position after them, which is still to be stored."""
        shared = self._shared
        shared.check_not_exhausted()
        if shared.reading is not None:
            shared.refuse()
        shared.reading = True
        try:
            position = shared.take_position()
            result, page, row = collect(self._view, position.page, position.row, *arguments)
            if finish is not None:
                result = finish(result)
            return result, _Position(page, row, is_end=_is_end(limits, result, page))
        except BoardlotError as error:
            shared.locate(error)
            raise
        finally:
            shared.reading = None

    def __iter__(self) -> Self:
        shared = self._shared
        # `islice` asks for an iterator each time that it takes some rows, and again after the last
        # ones.
        if shared.position.is_end and shared.iterations < 2:
            warn(USED_UP)
        shared.iterations += 1
        return self


@explained
@final
class AsyncPager(AsyncView[T_co]):
    """An async iterator over the rows of a paged list. It has one page in memory, and fetches at
    most one page ahead. It has one consumer at a time, and raises the errors of `Pager`.
    `progress=True` shows a bar.

    - `pages`: the pages of the core, which a client's method passes.
    - `view`: the form of the rows; by default dicts of all fields.

    >>> Trade = NamedTuple("Trade", [("code", str), ("qty", float)])
    >>> pager = client.fills_history(account, "HK")
    >>> len(await anext(pager.select("code", "qty"))), (await anext(pager.as_type(Trade))).qty > 0
    (2, True)
    >>> len(await anext(pager.pages())), len(await pager.all(max_items=10)), pager.total
    (48, 10, None)
    >>> (await anext(pager.record_batches())).num_rows
    40
    >>> rest = client.fills_history(account, "HK", resume=pager.checkpoint())
    >>> len(await pager.to_pandas()), len(await rest.to_polars())
    (1900, 1900)
    >>> (await client.fills_history(account, "HK").to_arrow()).num_rows
    2000
    """

    __slots__ = ("_view",)

    def __init__(self, pages: Pages | _Shared, view: RowView | None = None) -> None:
        shared = pages if isinstance(pages, _Shared) else _Shared(pages)
        self._view = view or shared.pages.view()
        super().__init__(shared, self._view.rows)

    def select(self, *names: str, undeclared: bool = False) -> AsyncPager[dict[str, Any]]:
        """The same iteration restricted to these fields, in this order: rows, pages, `all` and
        frames contain nothing else. It shares the position with this pager.

        A name that the endpoint does not declare raises `ConfigError`. With `undeclared=True`, or
        if the endpoint declares no fields, the name is looked up in the first page that has
        records; if it is not there, the error is raised then.
        """
        return AsyncPager(self._shared, self._view.select(names, undeclared))

    def as_type(self, cls: type[T]) -> AsyncView[T]:
        """An async iterator over the rows as instances of `cls`, each field converted to its
        annotation; see `Records.as_type`, also for the errors. It shares the position with this
        pager.
        """
        return AsyncView(self._shared, self._view.as_type(cls).rows)

    def pages(self) -> AsyncView[Records[T_co]]:
        """An async iterator over the pages, each as `Records`."""
        return AsyncView(
            self._shared, _records(self._view), is_of_pages=True, with_empty_pages=True
        )

    def record_batches(
        self, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
    ) -> AsyncView[RecordBatch]:
        """An async iterator over the pages, each as a pyarrow RecordBatch as soon as it is
        fetched; for the options, see `boardlot.frames.to_arrow`. Undeclared fields are as in
        `Pager.record_batches`.
        """
        self._shared.check_not_exhausted()
        batches = RecordBatches(self._view, decimals, invalid)
        return AsyncView(self._shared, batches.pages, is_of_pages=True, with_empty_pages=True)

    async def all(
        self, max_items: int | None = None, max_pages: int | None = None, *, progress: bool = False
    ) -> Records[T_co]:
        """The remaining rows as `Records`, limited to `max_items` rows and `max_pages` pages. If
        the call fails midway, the pager's position does not change.

        An empty result means the end of the list only if `max_items` (at least 1) is the only
        limit.
        """
        limits = (max_items, max_pages)
        collect = self._shared.pages.all
        records: Records[T_co] = await self._collect(
            collect, *limits, progress, limits=limits, finish=records_of
        )
        return records

    async def to_pandas(
        self,
        *,
        decimals: Decimals = "float64",
        invalid: Invalid = "raise",
        progress: bool = False,
    ) -> pandas.DataFrame:
        """The remaining rows as a pandas DataFrame; see `boardlot.frames.to_pandas`."""
        collect = self._shared.pages.frame
        frame: pandas.DataFrame = await self._collect(
            collect, "to_pandas", decimals, invalid, progress
        )
        return frame

    async def to_polars(
        self,
        *,
        decimals: Decimals = "float64",
        invalid: Invalid = "raise",
        progress: bool = False,
    ) -> polars.DataFrame:
        """The remaining rows as a polars DataFrame; see `boardlot.frames.to_polars`."""
        collect = self._shared.pages.frame
        frame: polars.DataFrame = await self._collect(
            collect, "to_polars", decimals, invalid, progress
        )
        return frame

    async def to_arrow(
        self,
        *,
        decimals: Decimals = "float64",
        invalid: Invalid = "raise",
        progress: bool = False,
    ) -> ArrowTable:
        """The remaining rows as a pyarrow Table; see `boardlot.frames.to_arrow`."""
        collect = self._shared.pages.frame
        frame: ArrowTable = await self._collect(collect, "to_arrow", decimals, invalid, progress)
        return frame

    @explained
    async def _collect(
        self,
        collect: Callable[..., Any],
        *arguments: Any,
        limits: tuple[int | None, int | None] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> Any:
        shared, loop = self._shared, _running_loop()
        shared.check_not_exhausted()
        if shared.reading is not None:
            shared.refuse()
        shared.reading = loop
        try:
            position = shared.take_position()
            collected = collect(self._view, position.page, position.row, *arguments)
            result, page, row = await collected
            if finish is not None:
                result = finish(result)
            end = _Position(page, row, is_end=_is_end(limits, result, page))
            shared.position = end
            return result
        except BoardlotError as error:
            shared.locate(error)
            raise
        finally:
            if shared.reading is loop:
                shared.reading = None

    def __aiter__(self) -> Self:
        if self._shared.position.is_end:
            warn(USED_UP)
        return self
