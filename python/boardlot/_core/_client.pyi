"""The base class of the two clients."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from typing_extensions import Self, disjoint_base

from ._endpoint import DateRange, Endpoint
from ._http import RequestEvent, ResponseEvent
from ._pages import Pages

@disjoint_base
class ClientBase:
    """The base class of `Client` and `AsyncClient`."""

    _call_mode: str
    def __new__(cls, base_url: str | None = None, **options: Any) -> Self: ...
    @property
    def base_url(self) -> str:
        """The base URL of the service."""
    @property
    def ws_quote_url(self) -> str | None:
        """The address of the quote WebSocket, if it was passed."""
    @property
    def ws_trade_url(self) -> str | None:
        """The address of the trade WebSocket, if it was passed."""
    @property
    def clock_offset(self) -> float:
        """How many seconds the service's clock is ahead of this machine's, by which the timestamps of
        signed requests are corrected. It is 0.0 until the service rejects a timestamp.
        """
    # Each returns its result, or an awaitable of it in `AsyncClient`: typed in `_api.py`.
    def _close(self) -> None: ...
    def _instrument(
        self,
        on_request: Callable[[RequestEvent], Mapping[str, str] | None] | None,
        on_response: Callable[[ResponseEvent], object] | None,
    ) -> None: ...
    def _server_time(self) -> Any: ...
    def _service_now(self) -> Any: ...
    def _call(self, endpoint: str | Endpoint[Any], arguments: list[tuple[str, Any]]) -> Any: ...
    def _pages(
        self,
        endpoint: str | Endpoint[Any],
        arguments: list[tuple[str, Any]],
        windows: int | None,
        resume: str | None,
    ) -> Pages: ...
    def _part_of_pages(
        self, endpoint: str | Endpoint[Any], arguments: list[tuple[str, Any]], part: tuple[int, int]
    ) -> Pages: ...
    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None,
        body: dict[str, Any] | list[Any] | bytes | None,
        headers: Mapping[str, str] | None,
    ) -> Any: ...
    def _paginate(
        self,
        method: str,
        path: str,
        paging: str | DateRange,
        rows: str,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None,
        body: dict[str, Any] | None,
        resume: str | None,
    ) -> Pages: ...
    def _explain(
        self,
        method: str | Endpoint[Any],
        path: str | None,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None,
        body: dict[str, Any] | list[Any] | bytes | None,
        arguments: list[tuple[str, Any]],
    ) -> Any: ...
    def _ipo_calendar(self, markets: Iterable[str], on_error: str) -> Any: ...
    def _pages_many(
        self,
        endpoint: str | Endpoint[Any],
        keys: Iterable[str | int],
        concurrency: int,
        on_error: str,
        resume: str | None,
        arguments: list[tuple[str, Any]],
    ) -> Pages: ...
    def _fetch_many(
        self,
        endpoint: str | Endpoint[Any],
        keys: Iterable[str | int],
        concurrency: int,
        on_error: str,
        progress: bool,
        arguments: list[tuple[str, Any]],
    ) -> Any: ...
