"""Pagers and their iterators."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any, Generic, Literal, final, overload

import pandas
import polars
from typing_extensions import CapsuleType, Self, disjoint_base

from ._records import Records
from ._types import _T, _Decimals, _Invalid, _RecordBatch, _Row_co, _Table

@disjoint_base
class PagerBase(Generic[_Row_co]):
    """The base class of `Pager` and `AsyncPager`."""

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    @property
    def total(self) -> int | None:
        """The total number of items, or `None` if the service does not report it."""
    @property
    def range(self) -> tuple[datetime, datetime] | None:
        """The time range that is read, as aware UTC datetimes of its start and its end.

        A range that was passed is known at once. One that ends now is fixed by the service's clock when
        the first page is requested: until then it is `None`, as it is for a list without a time range.
        """
    @property
    def requests(self) -> int:
        """How many pages were requested."""
    def checkpoint(self) -> str:
        """The exact position of the iteration as a small JSON string without secrets. Pass it to the
        same method with the same arguments as `resume=`, in another process too.
        """
    def select(self, *names: str, undeclared: bool = False) -> Any:
        """The same iteration restricted to these fields, in this order: rows, pages, `all` and frames
        contain nothing else. It shares the position with this pager.

        A name that the endpoint does not declare raises `ConfigError`. With `undeclared=True`, or if the
        endpoint declares no fields, it is looked up in the first page that has records, and rejected then.
        """
    def as_type(self, cls: type[Any]) -> Any:
        """An iterator over the rows as instances of `cls`, each field converted to its annotation; see
        `Records.as_type`, also for the errors. It shares the position with this pager.
        """
    # Each returns its result, or an awaitable of it in `AsyncPager`: typed in the subclasses.
    def pages(self) -> Any:
        """An iterator over the pages, each as `Records`."""
    def all(
        self, max_items: int | None = None, max_pages: int | None = None, *, progress: bool = False
    ) -> Any:
        """The remaining rows as `Records`, limited to `max_items` rows and `max_pages` pages. If it
        fails midway, the pager's position does not change.

        An empty result means the end of the list only if `max_items` (at least 1) is the only limit.
        """
    def to_pandas(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> Any:
        """The remaining rows as a pandas DataFrame; see `boardlot.frames.to_pandas`."""
    def to_polars(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> Any:
        """The remaining rows as a polars DataFrame; see `boardlot.frames.to_polars`."""
    def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: bool = False,
    ) -> Any:
        """The remaining rows as a pyarrow Table; see `boardlot.frames.to_arrow`. With
        `batches=True` an iterator of record batches, one per page, each as soon as it is fetched.

        A field that the endpoint does not declare is a column of the batches that have it, and there it
        is text, as nothing is known of later pages. `pyarrow.concat_tables` joins tables of such batches
        with `promote_options="permissive"`.
        """

@final
class Pager(PagerBase[_Row_co], Iterator[_Row_co]):
    """An iterator over the rows of a paged list. It has one page in memory, and fetches at most one page
    ahead.

    If a page cannot be read, it raises the error of that request, whose `.checkpoint` is the position of
    the last row that you received. Once everything has been read, `all` and the frames raise
    `ConfigError`. `progress=True` shows a bar (tqdm, if it is installed).

    >>> Trade = NamedTuple("Trade", [("code", str), ("qty", float)])
    >>> pager = client.fills_history(account, "HK")
    >>> len(next(pager.select("code", "qty"))), next(pager.as_type(Trade)).qty > 0
    (2, True)
    >>> len(next(pager.pages())), len(pager.all(max_items=10)), pager.total
    (48, 10, None)
    >>> rest = client.fills_history(account, "HK", resume=pager.checkpoint())
    >>> len(pager.to_pandas()), len(rest.to_polars())
    (1940, 1940)
    >>> client.fills_history(account, "HK").to_arrow().num_rows
    2000
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> _Row_co: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType:
        """The remaining pages as an Arrow stream (the PyCapsule interface), one record batch each, fetched as
        the consumer asks. A batch that the consumer took has been received.

        The columns are those of the first page; a later page that does not fit into them is an error.
        """
    def select(self, *names: str, undeclared: bool = False) -> Pager[dict[str, Any]]:
        """The same iteration restricted to these fields, in this order: rows, pages, `all` and frames
        contain nothing else. It shares the position with this pager.

        A name that the endpoint does not declare raises `ConfigError`. With `undeclared=True`, or if the
        endpoint declares no fields, it is looked up in the first page that has records, and rejected then.
        """
    def as_type(self, cls: type[_T]) -> ItemIterator[_T]:
        """An iterator over the rows as instances of `cls`, each field converted to its annotation; see
        `Records.as_type`, also for the errors. It shares the position with this pager.
        """
    def pages(self) -> ItemIterator[Records[_Row_co]]:
        """An iterator over the pages, each as `Records`."""
    def all(
        self, max_items: int | None = None, max_pages: int | None = None, *, progress: bool = False
    ) -> Records[_Row_co]:
        """The remaining rows as `Records`, limited to `max_items` rows and `max_pages` pages. If it
        fails midway, the pager's position does not change.

        An empty result means the end of the list only if `max_items` (at least 1) is the only limit.
        """
    def to_pandas(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> pandas.DataFrame:
        """The remaining rows as a pandas DataFrame; see `boardlot.frames.to_pandas`."""
    def to_polars(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> polars.DataFrame:
        """The remaining rows as a polars DataFrame; see `boardlot.frames.to_polars`."""
    @overload  # type: ignore[override]
    def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: Literal[False] = False,
    ) -> _Table:
        """The remaining rows as a pyarrow Table; see `boardlot.frames.to_arrow`. With
        `batches=True` an iterator of record batches, one per page, each as soon as it is fetched.

        A field that the endpoint does not declare is a column of the batches that have it, and there it
        is text, as nothing is known of later pages. `pyarrow.concat_tables` joins tables of such batches
        with `promote_options="permissive"`.
        """
    @overload
    def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: Literal[True],
    ) -> Iterator[_RecordBatch]: ...

@final
class AsyncPager(PagerBase[_Row_co], AsyncIterator[_Row_co]):
    """An async iterator over the rows of a paged list. It has one page in memory, and fetches at most one
    page ahead. It raises the errors of `Pager`; `progress=True` is as there.

    >>> Trade = NamedTuple("Trade", [("code", str), ("qty", float)])
    >>> pager = client.fills_history(account, "HK")
    >>> len(await anext(pager.select("code", "qty"))), (await anext(pager.as_type(Trade))).qty > 0
    (2, True)
    >>> len(await anext(pager.pages())), len(await pager.all(max_items=10)), pager.total
    (48, 10, None)
    >>> rest = client.fills_history(account, "HK", resume=pager.checkpoint())
    >>> len(await pager.to_pandas()), len(await rest.to_polars())
    (1940, 1940)
    >>> (await client.fills_history(account, "HK").to_arrow()).num_rows
    2000
    """

    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> _Row_co: ...
    def select(self, *names: str, undeclared: bool = False) -> AsyncPager[dict[str, Any]]:
        """The same iteration restricted to these fields, in this order: rows, pages, `all` and frames
        contain nothing else. It shares the position with this pager.

        A name that the endpoint does not declare raises `ConfigError`. With `undeclared=True`, or if the
        endpoint declares no fields, it is looked up in the first page that has records, and rejected then.
        """
    def as_type(self, cls: type[_T]) -> AsyncItemIterator[_T]:
        """An iterator over the rows as instances of `cls`, each field converted to its annotation; see
        `Records.as_type`, also for the errors. It shares the position with this pager.
        """
    def pages(self) -> AsyncItemIterator[Records[_Row_co]]:
        """An iterator over the pages, each as `Records`."""
    async def all(
        self, max_items: int | None = None, max_pages: int | None = None, *, progress: bool = False
    ) -> Records[_Row_co]:
        """The remaining rows as `Records`, limited to `max_items` rows and `max_pages` pages. If it
        fails midway, the pager's position does not change.

        An empty result means the end of the list only if `max_items` (at least 1) is the only limit.
        """
    async def to_pandas(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> pandas.DataFrame:
        """The remaining rows as a pandas DataFrame; see `boardlot.frames.to_pandas`."""
    async def to_polars(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> polars.DataFrame:
        """The remaining rows as a polars DataFrame; see `boardlot.frames.to_polars`."""
    @overload  # type: ignore[override]
    async def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: Literal[False] = False,
    ) -> _Table:
        """The remaining rows as a pyarrow Table; see `boardlot.frames.to_arrow`. With
        `batches=True` an iterator of record batches, one per page, each as soon as it is fetched.

        A field that the endpoint does not declare is a column of the batches that have it, and there it
        is text, as nothing is known of later pages. `pyarrow.concat_tables` joins tables of such batches
        with `promote_options="permissive"`.
        """
    @overload
    def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: Literal[True],
    ) -> AsyncIterator[_RecordBatch]: ...

@disjoint_base
class ItemIteratorBase(Generic[_Row_co]):
    """The base class of `ItemIterator` and `AsyncItemIterator`."""

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def checkpoint(self) -> str:
        """The exact position of the pager; see `Pager.checkpoint`."""
    @property
    def total(self) -> int | None:
        """The total number of items, or `None` if the service does not report it."""
    @property
    def range(self) -> tuple[datetime, datetime] | None:
        """The time range that is read; see `Pager.range`."""
    @property
    def requests(self) -> int:
        """How many pages were requested."""

@final
class ItemIterator(ItemIteratorBase[_Row_co], Iterator[_Row_co]):
    """An iterator over the pages of a pager, or over its rows as instances of a class, from the pager's
    current position. It moves the position of the pager.
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> _Row_co: ...

@final
class AsyncItemIterator(ItemIteratorBase[_Row_co], AsyncIterator[_Row_co]):
    """An async iterator over the pages of a pager, or over its rows as instances of a class, from the
    pager's current position. It moves the position of the pager.
    """

    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> _Row_co: ...
