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
    """The faults that a sandbox injects.

    `latency` is in seconds, before each response. The others are rates from 0 to 1: `error_rate` of service
    errors, `drop_rate` of dropped connections, `truncate_rate` of responses that end in the middle,
    `throttle_rate` of HTTP 429, `html_rate` of HTML pages. The same `seed` produces the same faults. Raises
    `ConfigError` for a number that is not valid.

    >>> sandbox.faults = bl.Faults(error_rate=0.1, seed=3)
    >>> sandbox.faults == bl.Faults(error_rate=0.1, seed=3)
    True
    >>> sandbox.faults = None
    """

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
    generates the same data, with as many `fills` of the last 90 days (and again of the two years before),
    crypto and simulated `orders` and `plate_stocks` as given. `today`, a `date`, fixes the day on which the data end and the service's clock starts, at noon
    UTC; by default it is the current one. The clock is `clock_offset` seconds ahead. Access tokens are
    valid for `token_lifetime` seconds. `faults` are a `Faults`. Use it in a `with` block, or call `close()`.
    Raises `ConfigError` for an argument that is not valid, also in its methods, and for a port that is taken.

    >>> sandbox = bl.Sandbox(seed=7)
    >>> client = sandbox.client()
    >>> sandbox.put("dividends", [{"ex_date": "2026/01/05"}], symbol="HK.00700")
    >>> client.dividends("HK.00700")[0]["ex_date"]
    '2026/01/05'
    >>> news = bl.Endpoint("news", "GET", "/api/v1.0/news/{symbol}", rows="data.list")
    >>> sandbox.serve(news, [{"title": "A title"}], symbol="HK.00700")
    >>> client.call(news, symbol="HK.00700")[0]["title"]
    'A title'
    >>> sandbox.fail_next("dividends", status=503)  # the client tries again
    >>> len(client.dividends("HK.00700")), [one.status for one in sandbox.requests[-2:]]
    (1, [503, 200])
    >>> key = bl.generate_key()
    >>> key_id = sandbox.upload_key(key.public_pem)  # or `sandbox.api_key()`, which does both
    >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    >>> login = flow.finish(sandbox.authorize_demo_user(flow.url))
    >>> async_client = sandbox.async_client(auth=login)
    >>> sandbox.revoke_tokens()  # its next call refreshes them
    >>> sandbox.revoke_grants()  # its next call raises LoginRequired
    >>> sandbox.reset()
    >>> sandbox.close()
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
        self, endpoint: Endpoint[Any], rows: Iterable[Mapping[str, Any]], **arguments: Any
    ) -> None:
        """Serves requests of `endpoint`, an `Endpoint`, with `rows`, a list of dicts, checked and paged like
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
        """Replaces the rows of the method `name`, such as `"fills_history"`, with your `rows`: of all accounts
        or symbols, or with `account` and further arguments only of these:
        `put("dividends", rows, symbol="HK.00700")`. They keep their order. The filters of the request
        apply; fills of the default range are returned whatever their times are. Raises `ConfigError`
        for an unknown name.
        """
    def fail_next(
        self,
        endpoint: str | Endpoint[Any] | None = None,
        *,
        times: int | None = ...,
        status: int | None = None,
        code: int | None = None,
        message: str | None = None,
    ) -> None:
        """Fails the next requests: `times` of them (1), or with None all until `reset()`. `endpoint` is the
        name of a method, an `Endpoint` or a path; by default any request fails. The response has the
        HTTP `status`, by default 503; 0 closes the connection without one. With a `code`, it is the
        endpoint's own failure with that code and `message`, by default with HTTP 200. Raises `ConfigError` for an
        unknown name and for a failure that would be a success.
        """
    def upload_key(self, public_pem: str) -> str:
        """Registers the public key `public_pem`, as the developer dashboard does, and returns its key id."""
    def api_key(self, algorithm: _Algorithm = "Ed25519") -> ApiKey:
        """Generates and registers a key, for `Client(auth=...)`; `algorithm` is `"Ed25519"` or `"RSA-SHA256"`."""
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
        """An `AsyncClient` of this sandbox; for the arguments, see `Sandbox.client`."""
    def authorize_demo_user(self, authorize_url: str, scopes: Sequence[str] | None = None) -> str:
        """Allows these `scopes` (by default those that are preselected) at `authorize_url`, as a person would
        on the page. Returns the callback URL that a browser would open.
        """
    def revoke_tokens(self) -> None:
        """Revokes all access tokens. Refresh tokens stay valid."""
    def revoke_grants(self) -> None:
        """Revokes all access and refresh tokens, so that users have to log in again."""
    def reset(self) -> None:
        """Restores the initial state: forgets rows of `serve` and `put`, planned failures, requests, nonces,
        clients and logins, but not keys.
        """
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
