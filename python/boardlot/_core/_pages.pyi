"""What `boardlot.pager` has of the core: pages, and views of their rows."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, final

from typing_extensions import CapsuleType, Self

from ._types import _RecordBatch

@final
class Page:
    """A page, with its number of rows."""

    def __len__(self) -> int: ...
    @property
    def first(self) -> int:
        """The number of its rows that were received before a checkpoint."""
    @property
    def errors(self) -> dict[str, Exception]:
        """The keys that have failed until its end, with their errors."""

@final
class Pages:
    """The pages of a list, each asked for by the page before it. It has no position."""

    # Each returns its result, or an awaitable of it for an `AsyncClient`.
    def after(self, page: Page | None, /) -> Any:
        """The page after this one, or the first one; `None` at the end of the list. Awaited in `AsyncPager`."""
    def all(
        self,
        view: RowView,
        page: Page | None,
        row: int,
        max_items: int | None,
        max_pages: int | None,
        progress: bool,
        /,
    ) -> Any:
        """The rows after a place as `Records` of this view, within the limits; and the place where they end. Awaited in
        `AsyncPager`.
        """
    def frame(
        self,
        view: RowView,
        page: Page | None,
        row: int,
        method: str,
        decimals: str,
        invalid: str,
        progress: bool,
        /,
    ) -> Any:
        """The rows after a place as the frame of a method; and the place where they end. Awaited in `AsyncPager`."""
    def check_process(self) -> None:
        """Refuses a child of the process that made it."""
    def checkpoint(self, page: Page | None, row: int, /) -> str:
        """The position after so many rows of a page, as text."""
    @property
    def total(self) -> int | None:
        """The total number of rows, or `None` if the service does not report it."""
    @property
    def range(self) -> tuple[datetime, datetime] | None:
        """The time range that is read, as aware UTC datetimes of its start and its end."""
    @property
    def requests(self) -> int:
        """How many pages were requested."""
    @property
    def endpoint(self) -> str:
        """The method."""
    @property
    def description(self) -> str:
        """The method and its range, for `repr`."""
    def view(self) -> RowView:
        """All fields of the rows, as dicts of the service's own values."""

@final
class RowView:
    """A view of a list's rows, of which pagers make what they return. Each method returns a list of what the rows of a
    page from an index on become.
    """

    def select(self, names: tuple[str, ...], undeclared: bool) -> RowView:
        """Dicts restricted to these fields of this view."""
    def as_type(self, class_: type[Any]) -> RowView:
        """Instances of a class made of the fields of this view."""
    def rows(self, page: Page, start: int, /) -> list[Any]:
        """The objects of the rows, up to the first one that cannot be made. If making one runs code of the caller's
        class, it is the only one: that code runs when its row is asked for, not before.
        """
    def pages(self, page: Page, start: int, /) -> list[Any]:
        """The rows as one `Records`."""

@final
class RecordBatches:
    """Makes a record batch of each page."""

    def __new__(cls, view: RowView, decimals: str, invalid: str) -> Self: ...
    def pages(self, page: Page, start: int, /) -> list[_RecordBatch]:
        """The rows of a page from an index on as a list of one record batch."""

@final
class PageStream:
    """The columns of an Arrow stream, which are those of its first page."""

    def __new__(cls, view: RowView, page: Page | None, start: int) -> Self: ...
    def pages(self, page: Page, start: int, /) -> list[Batch]:
        """The rows of a page from an index on as a list of one batch."""
    def capsule(self, batches: Iterator[Batch]) -> CapsuleType:
        """The capsule of the stream of these batches. The consumer may call from any thread, attached or not."""

@final
class Batch:
    """A page as a batch of a stream."""
