"""The sandbox."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from types import TracebackType
from typing import Any, Literal, final

from typing_extensions import Self, Unpack

from .._api import AsyncClient, Client, ClientOptions
from ._credentials import ApiKey, BearerToken, OAuth
from ._endpoint import Endpoint
from ._types import _Algorithm

@final
class Faults:
    """The faults that a sandbox injects: `latency` in seconds, rates from 0 to 1."""

    def __new__(
        cls,
        latency: float = 0.0,
        error_rate: float = 0.0,
        drop_rate: float = 0.0,
        truncate_rate: float = 0.0,
        throttle_rate: float = 0.0,
        html_rate: float = 0.0,
        seed: int = 0,
    ) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class RecordedRequest:
    """A request that the sandbox received."""

    @property
    def method(self) -> str:
        """The HTTP method, in capitals."""
    @property
    def path(self) -> str:
        """The path as it was sent, percent-encoded."""
    @property
    def query(self) -> str:
        """The query string as it was sent, without the question mark."""
    @property
    def status(self) -> int:
        """The HTTP status of the response; 0 if there was none."""

_SandboxAuth = Literal["Ed25519", "RSA-SHA256", "oauth"] | ApiKey | BearerToken | OAuth

@final
class Sandbox:
    """A simulation of the whole service in this process, for experiments and tests.

    It listens on `host` and `port` (0: any free port) as soon as it is constructed. The same `seed`
    generates the same data. `today`, a `date`, fixes the day on which the data end and the service's
    clock starts, at noon UTC; by default it is the current one. Use it in a `with` block, or call
    `close()`.
    """

    def __new__(
        cls,
        seed: int = 0,
        port: int = 0,
        fills: int = 2_000,
        orders: int = 120,
        plate_stocks: int = 500,
        token_lifetime: float = 7200.0,
        clock_offset: float = 0.0,
        faults: Faults | None = None,
        *,
        today: date | None = None,
        host: str = "127.0.0.1",
    ) -> Self: ...
    @property
    def base_url(self) -> str:
        """The base URL, such as `http://127.0.0.1:40123`."""
    @property
    def accounts(self) -> dict[str, list[str]]:
        """The account ids by kind: `"crypto"`, `"sim"`, `"trade"`."""
    @property
    def requests(self) -> list[RecordedRequest]:
        """The last 10,000 requests, oldest first."""

    @property
    def _request_count(self) -> int:
        """How many requests it has received, also those that are no longer kept."""
    @property
    def faults(self) -> Faults:
        """The faults that it injects. Can be set while it runs; `None` for no faults."""
    @faults.setter
    def faults(self, value: Faults | None) -> None: ...
    def serve(
        self, endpoint: Endpoint, rows: Iterable[Mapping[str, Any]], **arguments: Any
    ) -> None:
        """Serves requests of an `Endpoint` with these rows, a list of dicts, checked and paged like
        those of the service. With further arguments, only requests that have them get the rows:
        `serve(KLINE, rows, symbol="HK.00700")`. For an endpoint that pages by a range of dates, the
        rows are sorted by their first declared date or time, or else by its `unique` field. Rows for
        the same requests are replaced. Raises `ConfigError` for what cannot be served.
        """
    def put(
        self,
        name: str,
        rows: Iterable[Mapping[str, Any]],
        *,
        account: str | int | None = None,
        **arguments: Any,
    ) -> None:
        """Replaces the rows of a built-in method, such as `"fills_history"`, with your own: of all accounts
        or symbols, or with `account` and further arguments only of these:
        `put("dividends", rows, symbol="HK.00700")`. They keep their order. The filters of the request
        apply; fills of the default range are returned whatever their times are. Raises `ConfigError`
        for an unknown name.
        """
    def fail_next(
        self,
        endpoint: str | Endpoint | None = None,
        *,
        times: int | None = ...,
        status: int | None = None,
        code: int | None = None,
        message: str | None = None,
    ) -> None:
        """Fails the next requests: `times` of them (1), or with None all until `reset()`. `endpoint` is the
        name of a method, an `Endpoint` or a path; by default any request fails. The response has the
        HTTP `status`, by default 503; 0 closes the connection without one. With a `code`, it is the
        endpoint's own failure with that code, by default with HTTP 200. Raises `ConfigError` for an
        unknown name and for a failure that would be a success.
        """
    def upload_key(self, public_pem: str) -> str:
        """Registers a public key (PEM), as the developer dashboard does, and returns its key id."""
    def api_key(self, algorithm: _Algorithm = "Ed25519") -> ApiKey:
        """Generates and registers a key, for `Client(auth=...)`."""
    def client(
        self,
        auth: _Algorithm | Literal["oauth"] | ApiKey | BearerToken | OAuth | None = None,
        **options: Unpack[ClientOptions],
    ) -> Client:
        """A `Client` of this sandbox. `auth` is `"Ed25519"`, `"RSA-SHA256"`, `"oauth"` or credentials; the
        other arguments are those of `Client`.
        """
    def async_client(
        self,
        auth: _Algorithm | Literal["oauth"] | ApiKey | BearerToken | OAuth | None = None,
        **options: Unpack[ClientOptions],
    ) -> AsyncClient:
        """An `AsyncClient` of this sandbox; see `client`."""
    def authorize_demo_user(self, authorize_url: str, scopes: Sequence[str] | None = None) -> str:
        """Signs the demo user in and grants these scopes (by default those that are preselected), as a
        person would on the consent page. Returns the callback URL that a browser would open.
        """
    def revoke_tokens(self) -> None:
        """Revokes all access tokens. Refresh tokens stay valid."""
    def revoke_grants(self) -> None:
        """Revokes all access and refresh tokens, so that users have to log in again."""
    def reset(self) -> None:
        """Restores the initial state: forgets rows of `serve` and `put`, planned failures, requests, nonces, clients and logins, but not keys."""
    def close(self) -> None:
        """Stops listening and closes all connections."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None: ...
