"""`Sandbox`, a simulation of the whole service, and the `Faults` that it injects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from . import _core
from ._api import AsyncClient, Client, ClientOptions
from ._built import Built, Self, Value, refuse_copy
from ._calls import explained
from ._core import ApiKey, BearerToken, OAuth, RecordedRequest
from ._support.messages.nearest import did_you_mean
from .endpoint import Endpoint
from .errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    # `typing` has it since CPython 3.11.
    Unpack = type

Algorithm = Literal["Ed25519", "RSA-SHA256"]


@explained
class Sandbox(Built):
    """A simulation of the whole service in this process, for experiments and tests.

    It listens on `host` and `port` (0: any free port) as soon as it is constructed. The same
    `seed` generates the same data. `fills` is the number of fills in the last 90 days; as many
    again reach back two years. `orders` is the number of open crypto orders of each account; a
    simulated account has as many, up to 40. `plate_stocks` is the number of stocks in a plate.
    `today`, a `date`, fixes the day on which the data end and the service's clock starts, at
    noon UTC; by default it is the current one. The clock is `clock_offset` seconds ahead. Access
    tokens are valid for `token_lifetime` seconds. `faults` is a `Faults`. Whoever reaches its
    address can drive it over HTTP, below `/_sandbox/`. Use it in a `with` block, or call
    `close()`. Raises `ConfigError` for an argument that is not valid, also in its methods, and
    for a port that is in use.

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

    _boardlot_core: _core._Sandbox

    def __init__(
        self,
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
    ) -> None:
        self._boardlot_core = _core._Sandbox(
            seed,
            port,
            fills,
            orders,
            plate_stocks,
            token_lifetime,
            clock_offset,
            faults,
            today,
            host,
        )

    @property
    def base_url(self) -> str:
        """The base URL, such as `http://127.0.0.1:40123`."""
        return self._boardlot_core.base_url

    @property
    def accounts(self) -> dict[str, list[str]]:
        """The account ids by kind: `"crypto"`, `"sim"`, `"trade"`."""
        return self._boardlot_core.accounts

    @property
    def requests(self) -> list[RecordedRequest]:
        """The last 10,000 requests, oldest first."""
        return self._boardlot_core.requests

    @property
    def _request_count(self) -> int:
        """The number of requests that it has received, with those that are no longer kept."""
        return self._boardlot_core.request_count

    @property
    def faults(self) -> Faults:
        """The faults that the sandbox injects. Can be set while it runs; `None` for no faults."""
        return Faults._of_core(self._boardlot_core.faults)

    @faults.setter
    def faults(self, value: Faults | None) -> None:
        self._boardlot_core.set_faults(value)

    def serve(
        self, endpoint: Endpoint[Any], rows: Iterable[Mapping[str, Any]], **arguments: Any
    ) -> None:
        """Serves requests of `endpoint`, an `Endpoint`, with `rows`, a list of dicts, checked
        and paged like those of the service. With further arguments, only requests that have them
        get the rows: `serve(KLINE, rows, symbol="HK.00700")`. For an endpoint that pages by a
        range of dates, the rows are sorted by their first declared date or time, or else by its
        `unique` field. Rows for the same requests are replaced. Raises `ConfigError` for rows
        that cannot be served.
        """
        self._boardlot_core.serve(endpoint, rows, arguments)

    def put(
        self,
        name: str,
        rows: Iterable[Mapping[str, Any]],
        *,
        account: str | int | None = None,
        **arguments: Any,
    ) -> None:
        """Replaces the rows of the method `name`, such as `"fills_history"`, with your `rows`:
        for all accounts or symbols or, with `account` and further arguments, only for these:
        `put("dividends", rows, symbol="HK.00700")`. The rows keep their order. The filters of
        the request apply; fills of the default range are returned whatever their times are.
        Raises `ConfigError` for an unknown name, and for a number where the service sends a
        text, such as a quantity.
        """
        self._boardlot_core.put(name, rows, account, arguments)

    def fail_next(
        self,
        endpoint: str | Endpoint[Any] | None = None,
        *,
        times: int | None = 1,
        status: int | None = None,
        code: int | None = None,
        message: str | None = None,
    ) -> None:
        """Fails the next `times` requests (1 by default), or with None all requests until
        `reset()`. `endpoint` is the name of a method, an `Endpoint` or a path; by default any
        request fails. The response has the HTTP `status`, by default 503; 0 closes the
        connection without a response. With a `code`, it is the endpoint's own failure with that
        code and `message`, by default with HTTP 200. Raises `ConfigError` for an unknown name
        and for a failure that would be a success.
        """
        self._boardlot_core.fail_next(endpoint, times, status, code, message)

    def upload_key(self, public_pem: str) -> str:
        """Registers the public key `public_pem`, as the developer dashboard does, and returns
        its key id.
        """
        return self._boardlot_core.upload_key(public_pem)

    def api_key(self, algorithm: Algorithm = "Ed25519") -> ApiKey:
        """Generates and registers a key, for `Client(auth=...)`; `algorithm` is `"Ed25519"` or
        `"RSA-SHA256"`.
        """
        key = _core.generate_key(algorithm, bits=2048)
        return ApiKey(self.upload_key(key.public_pem), key.private_pem)

    def client(
        self,
        auth: Algorithm | Literal["oauth"] | ApiKey | BearerToken | OAuth | None = None,
        **options: Unpack[ClientOptions],
    ) -> Client:
        """A `Client` of this sandbox. `auth` is `"Ed25519"`, `"RSA-SHA256"`, `"oauth"` or
        credentials; the other arguments are those of `Client`.
        """
        client = Client(self.base_url, **{**options, "auth": self._credentials(auth)})
        client._boardlot_sandbox = self
        return client

    def async_client(
        self,
        auth: Algorithm | Literal["oauth"] | ApiKey | BearerToken | OAuth | None = None,
        **options: Unpack[ClientOptions],
    ) -> AsyncClient:
        """An `AsyncClient` of this sandbox; for the arguments, see `Sandbox.client`."""
        client = AsyncClient(self.base_url, **{**options, "auth": self._credentials(auth)})
        client._boardlot_sandbox = self
        return client

    def authorize_demo_user(self, authorize_url: str, scopes: Sequence[str] | None = None) -> str:
        """Allows these `scopes` (by default those that are preselected) at `authorize_url`, as a
        person would on the page. Returns the callback URL that a browser would open.
        """
        return self._boardlot_core.authorize_demo_user(authorize_url, scopes)

    def revoke_tokens(self) -> None:
        """Revokes all access tokens. Refresh tokens stay valid."""
        self._boardlot_core.revoke_tokens()

    def revoke_grants(self) -> None:
        """Revokes all access and refresh tokens, so that users have to log in again."""
        self._boardlot_core.revoke_grants()

    def reset(self) -> None:
        """Restores the initial state: forgets rows of `serve` and `put`, planned failures,
        requests, nonces, clients and logins, but not keys.
        """
        self._boardlot_core.reset()

    def close(self) -> None:
        """Stops listening and closes all connections."""
        self._boardlot_core.close()

    def _credentials(self, auth: Any) -> Any:
        if auth is None:
            return self.api_key()
        if not isinstance(auth, str):
            return auth
        if auth == "oauth":
            return self._login()
        if auth not in get_args(Algorithm):
            nearest = did_you_mean(auth, [*get_args(Algorithm), "oauth"])
            expected = f"'Ed25519', 'RSA-SHA256', 'oauth' or credentials{nearest}"
            raise ConfigError(f"auth is {auth!r}; expected {expected}")
        return self.api_key(cast(Algorithm, auth))

    def _login(self) -> OAuth:
        """Logs the demo user in; the tokens are kept in memory."""
        from .login_flow import begin_login

        flow = begin_login(self.base_url, store=_core.MemoryStore())
        return flow.finish(self.authorize_demo_user(flow.url))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None:
        self.close()

    def _boardlot_shown(self) -> str:
        return f"<{type(self).__name__} at {self.base_url}>"

    def __reduce__(self) -> tuple[Any, ...]:
        refuse_copy("a Sandbox", "create one for each process, or pass its base_url")


@explained
class Faults(Value):
    """The faults that a sandbox injects.

    `latency` is in seconds, before each response. The others are rates from 0 to 1: `error_rate`
    of service errors, `drop_rate` of dropped connections, `truncate_rate` of responses that end
    in the middle, `throttle_rate` of HTTP 429, `html_rate` of HTML pages. The same `seed`
    produces the same faults. Raises `ConfigError` for a number that is not valid.

    >>> sandbox.faults = bl.Faults(error_rate=0.1, seed=3)
    >>> sandbox.faults == bl.Faults(error_rate=0.1, seed=3)
    True
    >>> sandbox.faults = None
    """

    __slots__ = ()
    _boardlot_core: _core._Faults

    def __new__(
        cls,
        latency: float = 0.0,
        error_rate: float = 0.0,
        drop_rate: float = 0.0,
        truncate_rate: float = 0.0,
        throttle_rate: float = 0.0,
        html_rate: float = 0.0,
        seed: int = 0,
    ) -> Self:
        numbers = (latency, error_rate, drop_rate, truncate_rate, throttle_rate, html_rate, seed)
        return cls._of_core(_core._Faults(*numbers))

    def _boardlot_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), self._boardlot_core.arguments()

    def __hash__(self) -> int:
        return hash(tuple(self._boardlot_core.arguments().values()))

    if not TYPE_CHECKING:

        def __setattr__(self, name, value):
            if name == "_boardlot_core":
                return super().__setattr__(name, value)
            example = f"sandbox.faults = Faults({name}=...)"
            raise AttributeError(f"faults do not change: assign new ones, {example}")
