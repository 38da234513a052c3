"""The compiled core. stubtest checks this against the module, whose docstrings it repeats."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from os import PathLike
from typing import Any, Literal, final, overload

from typing_extensions import CapsuleType, Self, TypeVar, disjoint_base

from ._api import AsyncClient, Client
from .endpoint import DateRange, Endpoint, FieldKind
from .errors import BoardlotError
from .sandbox import Faults
from .token_store import TokenStore

__version__: str
_CLIENT_OPTIONS: list[str]
_CONNECT_OPTIONS: list[str]

_Row_co = TypeVar("_Row_co", covariant=True)
# The rows of an endpoint, which are dicts unless its record says more.
_Declared_co = TypeVar("_Declared_co", covariant=True, default=dict[str, Any])
_T = TypeVar("_T")
_Decimals = Literal["float64", "decimal", "string"]
_Invalid = Literal["raise", "null"]
_Algorithm = Literal["Ed25519", "RSA-SHA256"]
# pyarrow has no types.
_Table = Any
_RecordBatch = Any

@final
class _Recorder:
    """The core of a `Recorder`."""

    def __new__(cls, path: str | PathLike[str], secrets: Sequence[str]) -> Self: ...
    @property
    def path(self) -> str: ...
    def close(self) -> None: ...

@final
class _Replay:
    """The core of a `Replay`."""

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def path(self) -> str: ...
    @property
    def absolute_path(self) -> str: ...

@final
class _RateLimit:
    """The core of a `RateLimit`."""

    def __new__(
        cls, rate: float, burst: int | None, name: str | None, database: str | None
    ) -> Self: ...
    @property
    def rate(self) -> float: ...
    @property
    def burst(self) -> int: ...
    @property
    def name(self) -> str | None: ...
    @property
    def used(self) -> float | None: ...
    @property
    def free(self) -> float | None: ...
    def shown(self) -> str: ...
    def is_same(self, other: _RateLimit) -> bool: ...
    def arguments(self) -> tuple[tuple[float], dict[str, Any]]: ...

@final
class RequestEvent:
    """A request that is about to be sent: the argument of `Client(on_request=...)`."""

    @property
    def id(self) -> int:
        """A number that identifies the attempt in this process: its two events have the same
        number.
        """
    @property
    def endpoint(self) -> str:
        """The endpoint's name, as in errors: `"dividends"`. It is `"GET /path"` for a request
        of your own.
        """
    @property
    def route(self) -> str | None:
        """The endpoint's path with its placeholders, of which there are few:
        `"/api/v1.0/quote/{symbol}/corporate-actions/dividends"`. None for a request of your
        own.
        """
    @property
    def method(self) -> str:
        """The HTTP method."""
    @property
    def host(self) -> str:
        """The host, with the port if it is not 443 (80 for `http`)."""
    @property
    def path(self) -> str:
        """The path, without the query."""
    @property
    def attempt(self) -> int:
        """1 when a call is first sent, and one more for each retry."""

@final
class ResponseEvent:
    """A request that has ended: the argument of `Client(on_response=...)`."""

    @property
    def id(self) -> int:
        """A number that identifies the attempt in this process: its two events have the same
        number.
        """
    @property
    def endpoint(self) -> str:
        """The endpoint's name, as in errors: `"dividends"`. It is `"GET /path"` for a request
        of your own.
        """
    @property
    def route(self) -> str | None:
        """The endpoint's path with its placeholders, of which there are few:
        `"/api/v1.0/quote/{symbol}/corporate-actions/dividends"`. None for a request of your
        own.
        """
    @property
    def method(self) -> str:
        """The HTTP method."""
    @property
    def host(self) -> str:
        """The host, with the port if it is not 443 (80 for `http`)."""
    @property
    def path(self) -> str:
        """The path, without the query."""
    @property
    def attempt(self) -> int:
        """1 when a call is first sent, and one more for each retry."""
    @property
    def status(self) -> int | None:
        """The HTTP status; None if there was no response."""
    @property
    def duration(self) -> float:
        """Seconds from sending the first byte to receiving the last."""
    @property
    def rate_limit_wait(self) -> float:
        """Seconds that the request waited for `rate_limit` before it was sent."""
    @property
    def error(self) -> str | None:
        """The reason why there was no response; None if there was a response, whatever its status."""
    @property
    def error_type(self) -> str | None:
        """The class of `error`: `"TransportError"`, `"RequestTimeout"` or `"ProtocolError"`, or
        `"cancelled"` if the call ended before the request.
        """

@final
class Response:
    """A response as it was received; the envelope is not checked.

    >>> path = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
    >>> response = client.request("GET", path)
    >>> response.status, response.headers["content-type"], response.json()["ret_code"]
    (200, 'application/json', 0)
    """

    @property
    def status(self) -> int:
        """The HTTP status."""
    @property
    def headers(self) -> dict[str, str]:
        """The headers by their names in any case, listed in lower case; the values of a repeated
        header are joined by commas.
        """
    @property
    def content(self) -> bytes:
        """The body as bytes, decompressed."""
    def json(self) -> Any:
        """The body parsed as JSON. Raises `ProtocolError` if it is not valid."""

@final
class Explanation:
    """A request as it would be sent: signed, but without secrets."""

    @property
    def method(self) -> str:
        """The HTTP method."""
    @property
    def url(self) -> str:
        """The whole URL, encoded as it is sent."""
    @property
    def payload_lines(self) -> list[str]:
        """The five lines of the canonical request; empty if the client has no `ApiKey`."""
    @property
    def payload(self) -> bytes:
        """The signed bytes."""
    @property
    def body_hash(self) -> str:
        """The lowercase hex SHA-256 of the body; empty without a body."""
    @property
    def headers(self) -> dict[str, str]:
        """The headers that authorize and describe the request; tokens are redacted."""
    @property
    def rate_limit(self) -> str | None:
        """The rate limit that applies to the request, and how much of it is free now; None without a
        limit.
        """

@final
class _DateRange:
    """The core of a `DateRange`."""

    def __new__(
        cls, end: str | None, next: str | None, before: str | None, unique: str | None
    ) -> Self: ...
    def arguments(self) -> tuple[tuple[str], dict[str, str]]: ...

@final
class _BuiltInEndpoint:
    """An endpoint of the table, which its generated method passes."""

_BUILT_IN_ENDPOINTS: tuple[_BuiltInEndpoint, ...]

@final
class _Endpoint:
    """The core of an `Endpoint`."""

    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        rows: str | None,
        paging: str | DateRange | None,
        record: Mapping[str, FieldKind] | type[Any] | None,
        arguments: Mapping[str, FieldKind | Literal["symbol"]] | None,
        doc: str | None,
    ) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def rows(self) -> str | None: ...
    @property
    def paging(self) -> Literal["next_key", "page_flag"] | _DateRange | None: ...
    @property
    def record(self) -> dict[str, str] | type[Any] | None: ...
    @property
    def arguments(self) -> dict[str, str]: ...
    @property
    def doc(self) -> str: ...

def _load_endpoints(path: str | PathLike[str]) -> dict[str, _Endpoint]: ...

@final
class ApiKey:
    """An API key: its id, and the private key that signs the requests.

    `key_id` is the id that the service assigned to the key. `private_key` is a path, PEM text or
    bytes, in PKCS#8 (encrypted, if `password` is given) or PKCS#1. The algorithm is read from the
    key. Raises `ConfigError` for a key that cannot be used; the error contains no part of the key.

    >>> auth = bl.ApiKey("my-app-key", bl.generate_key().private_pem)
    >>> auth.algorithm, len(auth.sign(b"any bytes"))
    ('Ed25519', 88)
    >>> auth.public_key_pem().splitlines()[0]
    '-----BEGIN PUBLIC KEY-----'
    """

    def __new__(
        cls,
        key_id: str,
        private_key: str | bytes | PathLike[str],
        *,
        password: str | bytes | None = None,
    ) -> Self: ...
    @property
    def key_id(self) -> str:
        """The id that the service assigned to the key: the value of `X-Api-Key`."""
    @property
    def algorithm(self) -> _Algorithm:
        """`"Ed25519"` or `"RSA-SHA256"`."""
    def public_key_pem(self) -> str:
        """The public key as PEM, to be uploaded to the dashboard."""
    def sign(self, payload: bytes) -> str:
        """Signs the bytes of `payload` and returns the signature in Base64."""
    def headers(
        self,
        method: str,
        url: str,
        body: bytes = b"",
        *,
        clock: Client | AsyncClient | None = None,
    ) -> dict[str, str]:
        """The four headers that sign a request of another HTTP client: `X-Api-Key`, `X-Timestamp`,
        `X-Nonce` and `Authorization`. Each call signs with the current time and a new nonce, so
        call it for each attempt.

        `method`, `url` and `body` are those of the request as it is sent: the final,
        percent-encoded URL with its query, and the raw bytes. `clock` is a client whose
        `clock_offset` corrects the time. Raises `ConfigError` for a URL that an HTTP client would
        change before it sends it. `boardlot.auth` calls this for requests, httpx and aiohttp.

        >>> auth = bl.ApiKey("my-app-key", bl.generate_key().private_pem)
        >>> headers = auth.headers("GET", "https://api.example.com/api/v1.0/server-time")
        >>> sorted(headers)
        ['Authorization', 'X-Api-Key', 'X-Nonce', 'X-Timestamp']
        """
    def __getnewargs__(self) -> tuple[str, Any]: ...

@final
class BearerToken:
    """A bearer token: `token` is sent unchanged, and never refreshed.

    >>> client = bl.Client(sandbox.base_url, auth=bl.BearerToken("a-token"))
    """

    def __new__(cls, token: str) -> Self: ...
    def __getnewargs__(self) -> None: ...

@final
class GeneratedKey:
    """A new key pair."""

    @property
    def private_pem(self) -> str:
        """The private key as PEM (PKCS#8). Store it where nobody else can read it."""
    @property
    def public_pem(self) -> str:
        """The public key as PEM, to be uploaded to the dashboard."""
    def _encrypted_pem(self, password: str) -> str: ...

def generate_key(algorithm: _Algorithm = "Ed25519", *, bits: int = 3072) -> GeneratedKey:
    """Generates a key pair. `algorithm` is `"Ed25519"` or `"RSA-SHA256"`; `bits` is the size of an RSA
    key: 2048, 3072, 4096 or 8192. Raises `ConfigError` for other values.

    >>> bl.generate_key().private_pem.splitlines()[0]
    '-----BEGIN PRIVATE KEY-----'
    """

def signature_payload(
    timestamp_ms: int, method: str, path: str, query: str = "", body: bytes = b""
) -> bytes:
    """The canonical request (five lines) that is signed.

    `timestamp_ms` is the value of `X-Timestamp`, in milliseconds since 1970. `method`, `path`,
    `query` (without the question mark) and `body` are those of the request, exactly as they are
    sent.

    >>> payload = bl.signature_payload(1767571200000, "GET", "/api/v1.0/server-time")
    >>> payload.decode().splitlines()[:3]
    ['1767571200000', 'GET', '/api/v1.0/server-time']
    """

@final
class OAuth:
    """The tokens of a login. They are saved in a store and refreshed automatically, before they expire
    and when the service rejects them: once for all threads, tasks and processes that share the
    store.

    The constructor uses the tokens that an earlier `boardlot.login` saved in `store`; with `user`,
    the tokens that `OAuthApp.fetch_token` saved for this user. `client_id` and `client_secret` come
    from the registration. The tokens belong to one service: `base_url`, or the service of the first
    client that uses them. Users share no tokens, refreshes or logouts.

    `scopes`, `expires_at` and every call of a client raise `LoginRequired` if there are no tokens
    or the service no longer accepts them, and `StoreError` if the store cannot be read or written.

    >>> store = bl.MemoryStore()
    >>> flow = bl.begin_login(sandbox.base_url, store=store)
    >>> client_id = flow.finish(sandbox.authorize_demo_user(flow.url)).client_id
    >>> auth = bl.OAuth(client_id, store=store, base_url=sandbox.base_url)
    >>> sorted(auth.scopes)[:2]
    ['accid:*', 'quote:read']
    >>> auth.logout()
    """

    def __new__(
        cls,
        client_id: str,
        *,
        store: TokenStore,
        client_secret: str | None = None,
        base_url: str | None = None,
        user: str | None = None,
    ) -> Self: ...
    @property
    def client_id(self) -> str:
        """The id that the service assigned to this client when it was registered."""
    @property
    def user(self) -> str | None:
        """The application's user that the tokens belong to; None for a personal login."""
    @property
    def base_url(self) -> str | None:
        """The service that the tokens belong to; None until a client has used them."""
    def __getnewargs_ex__(self) -> Any: ...
    def _set_profile(self, name: str) -> None: ...
    @property
    def scopes(self) -> frozenset[str]:
        """The scopes that the user granted, such as `frozenset({"quote:read", "accid:*"})`."""
    @property
    def expires_at(self) -> datetime | None:
        """The time at which the access token expires, as an aware UTC datetime; the token is refreshed
        before then. None if the service did not send a lifetime: the token is then refreshed when
        the service rejects it.
        """
    def logout(self) -> None:
        """Deletes the tokens from the store, and the client's registration unless there is a `user`.
        If the store has no tokens, nothing is written. Raises `StoreError` if the store cannot be
        read or written.
        """

@disjoint_base
class _TokenStoreBase:
    """The base class of the token stores."""

    def load(self, key: str) -> bytes | None:
        """Returns the bytes stored under `key`, or None."""
    def save(self, key: str, data: bytes) -> None:
        """Stores the bytes of `data` under `key`."""
    def delete(self, key: str) -> None:
        """Deletes `key`, if it exists."""

@final
class KeyringStore(_TokenStoreBase):
    """The keychain of the operating system: Secret Service, Keychain or Credential Manager. For your
    own machine.

    Each method raises `StoreError` if the keychain cannot be used. Tokens are never stored as plain
    text instead. For an example of the methods, see `MemoryStore`.
    """

    def __new__(cls) -> Self: ...
    def __getnewargs__(self) -> tuple[()]: ...

@final
class EncryptedFileStore(_TokenStoreBase):
    """A file that is encrypted with AES-256-GCM. Argon2id derives the key from a passphrase. For
    servers and containers.

    `path` is the file; a missing folder is created, for its owner only. `passphrase` is a string,
    or a callable without arguments that returns one and is called when the passphrase is needed.
    Each method raises `StoreError` for a wrong passphrase, a modified file, or a file that other
    users can access; the file is not changed.

    >>> store = bl.EncryptedFileStore(folder / "tokens", "a passphrase")
    >>> store.save("key", b"a secret")
    >>> store.load("key")
    b'a secret'
    >>> store.delete("key")
    """

    def __new__(cls, path: str | PathLike[str], passphrase: str | Callable[[], str]) -> Self: ...
    @property
    def path(self) -> Any:
        """The path of the file."""
    def __getnewargs__(self) -> Any: ...

@final
class MemoryStore(_TokenStoreBase):
    """Stores tokens in memory, until the process ends. For tests.

    >>> store = bl.MemoryStore()
    >>> store.save("key", b"a secret")
    >>> store.load("key")
    b'a secret'
    >>> store.delete("key")
    """

    def __new__(cls) -> Self: ...
    def __getnewargs__(self) -> Any: ...

@final
class SchemaField:
    """A declared field of records."""

    @property
    def name(self) -> str:
        """The name on the wire, in dicts and of the column."""
    @property
    def kind(self) -> str:
        """`text`, `integer`, `number`, `flag`, `decimal`, `timestamp`, `date` or `object`."""
    @property
    def unit(self) -> str:
        """The unit, if there is one; of a timestamp `s`, `ms` or `us`."""
    @property
    def doc(self) -> str:
        """The meaning of the field, in one line."""
    @property
    def zero_is_null(self) -> bool:
        """True if 0 means that there is no value, so that columns have null in its place: for
        timestamps, and where the service document says so.
        """
    @property
    def values(self) -> str | None:
        """The name of the enum of its values, if the service documents a closed set."""

@final
class _ArrowStream:
    """Typed columns that any library with the Arrow PyCapsule interface can consume once."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...

@final
class _Rows:
    """Rows of pages, with the fields that are declared for them. `boardlot.Records` is made of them; the archive, the
    command line and the engines read them, as they have every number as the service sent it.
    """

    @staticmethod
    def of_dicts(dicts: list[Any], shape: _Shape) -> _Rows: ...
    def __len__(self) -> int: ...
    @property
    def shape(self) -> _Shape: ...
    @property
    def schema(self) -> tuple[SchemaField, ...]: ...
    @property
    def meta(self) -> dict[str, Any]: ...
    def dicts(self) -> list[Any]: ...
    def typed_dicts(self) -> list[dict[str, Any]]: ...
    def instances(self, cls: type[_T]) -> list[_T]: ...
    def select(self, *names: str, undeclared: bool = False) -> _Rows: ...
    def take(self, indices: list[int]) -> _Rows: ...
    def slice(self, start: int, stop: int) -> _Rows: ...
    def names(self) -> list[str]: ...
    def json(self, names: list[str] | None = None) -> list[str]: ...
    def texts(self, names: list[str]) -> list[list[str | None]]: ...
    def _arrow(self, decimals: str, invalid: str, strings: str) -> _ArrowStream: ...

@final
class _Shape:
    """The declared fields of the rows of a list; none of a list of the caller's own."""

    def __new__(
        cls,
        fields: list[tuple[str, str, str, str]] = ...,
        names: list[str] | None = None,
    ) -> Self: ...
    def __reduce__(self) -> Any: ...
    @property
    def schema(self) -> tuple[SchemaField, ...]: ...
    def select(
        self, names: tuple[str, ...], found: list[str] | None, undeclared: bool
    ) -> _Shape: ...

@final
class _Page:
    """A page, with its number of rows."""

    def __len__(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def is_last(self) -> bool: ...
    @property
    def errors(self) -> dict[str, BoardlotError]: ...

@final
class _Pages:
    """The pages of a list, each asked for by the page before it. It has no position."""

    # Each returns its result, or an awaitable of it for an `AsyncClient`.
    def after(self, page: _Page | None, /) -> Any: ...
    def all(
        self,
        view: _RowView,
        page: _Page | None,
        row: int,
        max_items: int | None,
        max_pages: int | None,
        progress: bool,
        /,
    ) -> Any: ...
    def frame(
        self,
        view: _RowView,
        page: _Page | None,
        row: int,
        method: str,
        decimals: str,
        invalid: str,
        progress: bool,
        /,
    ) -> Any: ...
    def check_process(self) -> None: ...
    def checkpoint(self, page: _Page | None, row: int, /) -> str: ...
    @property
    def total(self) -> int | None: ...
    @property
    def range(self) -> tuple[datetime, datetime] | None: ...
    @property
    def requests(self) -> int: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def description(self) -> str: ...
    def view(self) -> _RowView: ...

@final
class _RowView:
    """A view of a list's rows, of which pagers make what they return. Each method returns a list of what the rows of a
    page from an index on become.
    """

    def select(self, names: tuple[str, ...], undeclared: bool) -> _RowView: ...
    def as_type(self, class_: type[Any]) -> _RowView: ...
    def rows(self, page: _Page, start: int, /) -> list[Any]: ...
    def pages(self, page: _Page, start: int, /) -> list[Any]: ...

@final
class _RecordBatches:
    """Makes a record batch of each page."""

    def __new__(cls, view: _RowView, decimals: str, invalid: str) -> Self: ...
    def pages(self, page: _Page, start: int, /) -> list[_RecordBatch]: ...

@final
class _PageStream:
    """The columns of an Arrow stream, which are those of its first page."""

    def __new__(cls, view: _RowView, page: _Page | None, start: int) -> Self: ...
    def pages(self, page: _Page, start: int, /) -> list[_Batch]: ...
    def capsule(self, batches: Iterator[_Batch]) -> CapsuleType: ...

@final
class _Batch:
    """A page as a batch of a stream."""

@final
class Registration:
    """A registered client: the record that the service returned, field by field. Its `repr` shows no
    secret.
    """

    @property
    def client_id(self) -> str:
        """The id of the client."""
    @property
    def client_secret(self) -> str | None:
        """The secret of a confidential client; None if the service issued none."""
    @property
    def client_name(self) -> str | None:
        """The name that the consent page shows. Like the other optional attributes, it is None if the
        response does not contain it.
        """
    @property
    def redirect_uris(self) -> list[str]:
        """The redirect URIs, as the service registered them; the requested ones if the response does
        not contain any.
        """
    @property
    def grant_types(self) -> list[str] | None:
        """The grant types, such as authorization_code."""
    @property
    def token_endpoint_auth_method(self) -> str | None:
        """`none` for a public client, `client_secret_post` for a confidential one."""
    @property
    def response_types(self) -> list[str] | None:
        """The response types, such as code."""
    @property
    def registration_access_token(self) -> str | None:
        """A secret; the service document does not show its use."""
    @property
    def registration_client_uri(self) -> str | None:
        """A URL of the client; the service document does not show its use."""
    @property
    def scope(self) -> str | None:
        """The scopes that users can grant, separated by spaces."""
    @property
    def pkce_required(self) -> bool | None:
        """True if a login needs PKCE, which boardlot always uses."""
    @property
    def client_id_issued_at(self) -> int | None:
        """The time at which the client was registered, in Unix seconds."""
    @property
    def issued_at(self) -> datetime | None:
        """`client_id_issued_at` as an aware UTC datetime."""
    def __reduce__(self) -> Any: ...

def _register_client(
    base_url: str,
    redirect_uris: Sequence[str],
    client_name: str | None,
    confidential: bool,
    timeout: float,
    connection: tuple[Any, ...],
) -> Registration: ...

@final
class AuthorizationRequest:
    """The start of a login: send the user to the page at `url`; `state` and `code_verifier` are two
    strings to keep in the user's session until the callback.
    """

    @property
    def url(self) -> str:
        """The page where the user logs in and grants access."""
    @property
    def state(self) -> str:
        """The value that the callback must repeat; 43 random characters."""
    @property
    def code_verifier(self) -> str:
        """The proof, sent with the code, that this application began the login; 43 random characters.
        A secret.
        """
    def __reduce__(self) -> Any: ...

@final
class _OAuthApp:
    """The core of an `OAuthApp` or an `AsyncOAuthApp`."""

    def __new__(
        cls,
        mode: Literal["sync", "async"],
        base_url: str,
        client_id: str,
        redirect_uri: str,
        store: TokenStore | None,
        client_secret: str | None,
        timeout: float,
        connection: tuple[Any, ...],
    ) -> Self: ...
    @property
    def client_id(self) -> str: ...
    @property
    def redirect_uri(self) -> str: ...
    @property
    def base_url(self) -> str: ...
    def authorization_url(self) -> AuthorizationRequest: ...
    # Each returns an `OAuth`, or an awaitable of one for an `AsyncOAuthApp`.
    def fetch_token(
        self, callback_url: str, state: str | None, code_verifier: str | None, user: str
    ) -> Any: ...
    def auth(self, user: str) -> Any: ...
    def arguments(self) -> tuple[tuple[str, str], dict[str, Any]]: ...

@final
class _LoginFlow:
    """The core of a `LoginFlow`."""

    def __new__(
        cls,
        base_url: str,
        store: TokenStore | None,
        client_id: str | None,
        client_name: str | None,
        redirect_port: int,
        open_browser: bool,
        timeout: float,
        confidential: bool,
        connection: tuple[Any, ...],
    ) -> Self: ...
    @property
    def url(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def has_opened_browser(self) -> bool: ...
    def finish(self, callback_url: str) -> OAuth: ...
    def wait(self, poll: Callable[[], object] | None) -> OAuth: ...
    def awaited(self) -> Generator[Any, Any, OAuth]: ...
    def offer(self, callback_url: str) -> None: ...
    def refused(self) -> str | None: ...
    def cancel(self) -> None: ...

@final
class _Faults:
    """The core of a `Faults`."""

    def __new__(
        cls,
        latency: float,
        error_rate: float,
        drop_rate: float,
        truncate_rate: float,
        throttle_rate: float,
        html_rate: float,
        seed: int,
    ) -> Self: ...
    def arguments(self) -> dict[str, float]: ...

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

@final
class _Sandbox:
    """The core of a `Sandbox`."""

    def __new__(
        cls,
        seed: int,
        port: int,
        fills: int,
        orders: int,
        plate_stocks: int,
        token_lifetime: float,
        clock_offset: float,
        faults: Faults | None,
        today: date | None,
        host: str,
    ) -> Self: ...
    @property
    def base_url(self) -> str: ...
    @property
    def accounts(self) -> dict[str, list[str]]: ...
    @property
    def requests(self) -> list[RecordedRequest]: ...
    @property
    def request_count(self) -> int: ...
    @property
    def faults(self) -> _Faults: ...
    def set_faults(self, faults: Faults | None) -> None: ...
    def serve(
        self, endpoint: Endpoint[Any], rows: Iterable[Mapping[str, Any]], arguments: dict[str, Any]
    ) -> None: ...
    def put(
        self,
        name: str,
        rows: Iterable[Mapping[str, Any]],
        account: str | int | None,
        arguments: dict[str, Any],
    ) -> None: ...
    def fail_next(
        self,
        endpoint: str | Endpoint[Any] | None,
        times: int | None,
        status: int | None,
        code: int | None,
        message: str | None,
    ) -> None: ...
    def upload_key(self, public_pem: str) -> str: ...
    def authorize_demo_user(self, authorize_url: str, scopes: Sequence[str] | None) -> str: ...
    def revoke_tokens(self) -> None: ...
    def revoke_grants(self) -> None: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...

@final
class _ClientCore:
    """The core of a `Client` or an `AsyncClient`. What it makes for them keeps the client alive, as `owner`."""

    def __new__(
        cls, mode: Literal["sync", "async"], base_url: str | None, options: tuple[Any, ...]
    ) -> Self: ...
    @property
    def is_async(self) -> bool: ...
    @property
    def base_url(self) -> str: ...
    @property
    def ws_quote_url(self) -> str | None: ...
    @property
    def ws_trade_url(self) -> str | None: ...
    @property
    def clock_offset(self) -> float: ...
    def given(self) -> dict[str, Any]: ...
    # Each returns its result, or an awaitable of it for an `AsyncClient`: typed in `_api.py`.
    def blocking(self) -> _ClientCore: ...
    def with_options(
        self, timeout: float | None, max_retries: int | None, headers: Mapping[str, str] | None
    ) -> _ClientCore: ...
    def close(self) -> None: ...
    def instrument(
        self,
        on_request: Callable[[RequestEvent], Mapping[str, str] | None] | None,
        on_response: Callable[[ResponseEvent], object] | None,
    ) -> None: ...
    def server_time(self) -> Any: ...
    def service_now(self) -> Any: ...
    def token_header(self, rejected: str | None) -> Any: ...
    def call(
        self, endpoint: _BuiltInEndpoint | str | Endpoint[Any], arguments: list[tuple[str, Any]]
    ) -> Any: ...
    def pages(
        self,
        owner: object,
        endpoint: _BuiltInEndpoint | str | Endpoint[Any],
        arguments: list[tuple[str, Any]],
        windows: int | Literal["auto"] | None,
        resume: str | None,
    ) -> _Pages: ...
    def part_of_pages(
        self,
        owner: object,
        endpoint: _BuiltInEndpoint | str | Endpoint[Any],
        arguments: list[tuple[str, Any]],
        part: tuple[int, int],
    ) -> _Pages: ...
    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None,
        body: dict[str, Any] | list[Any] | bytes | None,
        headers: Mapping[str, str] | None,
    ) -> Any: ...
    def paginate(
        self,
        owner: object,
        method: str,
        path: str,
        paging: str | DateRange,
        rows: str,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None,
        body: dict[str, Any] | None,
        resume: str | None,
    ) -> _Pages: ...
    def explain(
        self,
        method: str | Endpoint[Any],
        path: str | None,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None,
        body: dict[str, Any] | list[Any] | bytes | None,
        arguments: list[tuple[str, Any]],
    ) -> Any: ...
    def pages_many(
        self,
        owner: object,
        endpoint: _BuiltInEndpoint | str | Endpoint[Any],
        keys: Iterable[str | int],
        concurrency: int,
        on_error: str,
        windows: int | Literal["auto"] | None,
        resume: str | None,
        arguments: list[tuple[str, Any]],
    ) -> _Pages: ...
    def fetch_many(
        self,
        endpoint: _BuiltInEndpoint | str | Endpoint[Any],
        keys: Iterable[str | int],
        concurrency: int,
        on_error: str,
        windows: int | Literal["auto"] | None,
        progress: bool,
        arguments: list[tuple[str, Any]],
    ) -> Any: ...

@overload
def _profile(name: str) -> dict[str, Any]: ...
@overload
def _profile(name: str, *, may_be_missing: bool) -> dict[str, Any] | None: ...
def _save_profile(name: str, entry: dict[str, Any], *, replace: bool = False) -> Any: ...
def _remove_profile(name: str) -> Any: ...
def _plain_number(value: object) -> int | float | None: ...
def _expand_user(path: str | PathLike[str]) -> str: ...
def _shown_path(path: str | PathLike[str]) -> str: ...
def _remove_file(path: str | PathLike[str]) -> None: ...
def _replace_file(
    new: str | PathLike[str], path: str | PathLike[str], force: bool = True
) -> None: ...
def _polled(function: Callable[[], _T], poll: Callable[[], object]) -> _T: ...
def _authorize_reading(action: int, _first: Any, second: Any, *_others: Any) -> int: ...

@final
class _FileLock:
    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    def is_held(self) -> bool: ...
    def release(self) -> None: ...
    def close(self) -> None: ...

def _set_default_profile(name: str | None) -> Any: ...
def _profiles() -> tuple[list[str], str | None]: ...
def _check_profile_address(of_profile: str, base_url: str) -> None: ...
def _application_limit(rate: float, base_url: str, application: str | None) -> _RateLimit: ...
def _config_file() -> Any: ...
def _openapi_json() -> str: ...
def _environment_proxy(base_url: str) -> tuple[str, str] | None: ...
@overload
def _time_range(
    method: str | Endpoint[Any], arguments: list[tuple[str, Any]], now_micros: None = None
) -> tuple[int, int] | None: ...
@overload
def _time_range(
    method: str | Endpoint[Any], arguments: list[tuple[str, Any]], now_micros: int
) -> tuple[int, int]: ...
def _record_texts(
    rows: _Rows, identity: list[str], ignored: list[str]
) -> list[tuple[str, str, str]]: ...
def _fill_rows(rows: _Rows) -> list[tuple[str, int, str | None, str]]: ...
def _typed_records(
    texts: bytes, fields: list[tuple[str, str, str]]
) -> list[tuple[str | int | float | bool | None, ...]]: ...
def _stored_records(
    method: str | Endpoint[Any],
    arguments: list[tuple[str, Any]],
    texts: Iterable[bytes],
    observed: bool = False,
    seen_at: int | None = None,
) -> _Rows: ...
def _nearest(word: str, known: list[str]) -> str | None: ...
def _typed_dicts(dicts: list[Any], shape: _Shape) -> list[dict[str, Any]]: ...
def _micros(name: str, value: Any) -> int: ...
def _import_frame_library(method: str) -> None: ...
def _to_frame(method: str, records: Any, decimals: str, invalid: str) -> Any: ...
def _response_parser(
    name: str | Endpoint[Any], arguments: list[tuple[str, Any]]
) -> Callable[[bytes], Any]: ...
def _pages_of_bodies(
    name: str | Endpoint[Any],
    arguments: list[tuple[str, Any]],
    bodies: list[bytes],
    copied: bool = False,
    windows: int | None = None,
) -> _Pages: ...
