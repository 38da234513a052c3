"""The compiled core. stubtest checks this against the module, whose docstrings it repeats."""

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from os import PathLike
from types import TracebackType
from typing import Any, Generic, Literal, final, overload

from typing_extensions import CapsuleType, Self, TypeVar, Unpack, disjoint_base

from ._api import AsyncClient, Client, ClientOptions
from .errors import BoardlotError
from .token_store import TokenStore

__all__ = [
    "_BUILT_IN_ENDPOINTS",
    "_CLIENT_OPTIONS",
    "_CONNECT_OPTIONS",
    "ApiKey",
    "ArrowStream",
    "AsyncOAuthApp",
    "AuthorizationRequest",
    "Batch",
    "BearerToken",
    "BuiltInEndpoint",
    "DateRange",
    "EncryptedFileStore",
    "Endpoint",
    "Explanation",
    "Faults",
    "GeneratedKey",
    "KeyringStore",
    "LoginFlow",
    "MemoryStore",
    "OAuth",
    "OAuthApp",
    "OAuthAppBase",
    "Page",
    "PageStream",
    "Pages",
    "RateLimit",
    "RecordBatches",
    "RecordedRequest",
    "Recorder",
    "Registration",
    "Replay",
    "RequestEvent",
    "Response",
    "ResponseEvent",
    "RowView",
    "Rows",
    "Sandbox",
    "SchemaField",
    "Shape",
    "TokenStoreBase",
    "_ClientCore",
    "_FileLock",
    "__version__",
    "_application_limit",
    "_authorize_reading",
    "_check_profile_address",
    "_config_file",
    "_environment_proxy",
    "_expand_user",
    "_fill_rows",
    "_import_frame_library",
    "_micros",
    "_nearest",
    "_openapi_json",
    "_pages_of_bodies",
    "_plain_number",
    "_polled",
    "_profile",
    "_profiles",
    "_record_texts",
    "_remove_file",
    "_remove_profile",
    "_replace_file",
    "_response_parser",
    "_save_profile",
    "_set_default_profile",
    "_shown_path",
    "_stored_records",
    "_time_range",
    "_to_frame",
    "_typed_dicts",
    "begin_login",
    "generate_key",
    "load_endpoints",
    "login",
    "register_client",
    "signature_payload",
]

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
class Recorder:
    """Records the traffic of clients in a new file at `path`, for tests and bug reports.

    Pass it as `Client(..., cassette=Recorder(path))`. Any number of clients of one service can share it.
    The file has one JSON object per line, written when each request ends, and only its owner can read
    it. It contains no key, signature, token or client secret of its clients. Other secrets are masked by
    their names, in members of JSON, forms, URLs and headers. It does contain account ids, symbols and
    responses. Use it in a `with` block, or call `close()`. Raises `ConfigError` if the file exists
    or cannot be written.

    >>> recorder = bl.Recorder(folder / "traffic.jsonl")
    >>> with sandbox.client(cassette=recorder) as client:
    ...     len(client.dividends("HK.00700"))
    21
    >>> recorder.close()
    >>> with bl.Client(cassette=bl.Replay(folder / "traffic.jsonl")) as client:
    ...     len(client.dividends("HK.00700"))
    21
    """

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    def close(self) -> None:
        """Ends the recording. Clients that still use it raise `ConfigError`. Raises `ConfigError` if the file
        cannot be stored, such as on a full disk.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def __getnewargs__(self) -> None: ...

@final
class Replay:
    """Replays recorded traffic from the file at `path`, without a network or credentials. For an example, see
    `Recorder`.

    Pass it as `Client(cassette=Replay(path))`. A request gets the response that was recorded for the same
    method, path, query and body. If there are several, they are returned in order, and then the last one
    repeatedly. Retries do not wait. Any other request raises `ConfigError`, and so does a file that is not a
    recording. An empty file is a recording without requests.
    """

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    @property
    def base_url(self) -> str | None:
        """The base URL of the recorded service; `None` if nothing was recorded."""
    def __getnewargs__(self) -> tuple[str]: ...

@final
class RateLimit:
    """A rate limit that several clients share.

    Without a name, the clients of this process to which it is passed share it. With a name, all processes of
    this user on this machine share it, through a small file. With a database, all processes that use the
    database share it, by the clock of the database server.

    Requests are evenly spaced, first come, first served within a process, and processes take turns. A
    `Retry-After` of the service to one of them, or a request that it throttles, holds back all. Three
    percent of the rate is not used, so that no second has more requests than the rate plus `burst`, although
    some requests take longer to reach the service than others. If those who share a limit have different
    rates, the lowest one with which a request was made in the last ten seconds holds for all.

    `rate` is in requests per second, from 0.001 to 1,000,000. `burst` is the number of requests that may be
    sent at once after a pause. `name` is any text. `database` is the URL of a PostgreSQL database (extra
    `postgres`), and needs a name; the table `boardlot_rate_limits` is created in it. Raises `ConfigError` if
    an argument is invalid, or the state folder or the driver is missing; a call of a client raises
    `StoreError` if the file cannot be used, and `TransportError` if the database cannot.

    >>> limit = bl.RateLimit(50, burst=5)
    >>> with sandbox.client(rate_limit=limit) as client:
    ...     len(client.dividends("HK.00700"))
    21
    >>> limit.rate, limit.burst, limit.free <= 50
    (50.0, 5, True)
    """

    def __new__(
        cls,
        rate: float,
        *,
        burst: int = 1,
        name: str | None = None,
        database: str | None = None,
    ) -> Self: ...
    @property
    def rate(self) -> float:
        """Requests per second."""
    @property
    def burst(self) -> int:
        """The number of requests that may be sent at once after a pause."""
    @property
    def name(self) -> str | None:
        """The name by which processes share it; None if the clients to which it is passed share it."""
    @property
    def used(self) -> float | None:
        """The approximate number of requests that all who share the limit have sent in the last second; None if
        this process has not used the database yet.
        """
    @property
    def free(self) -> float | None:
        """The approximate number of further requests per second that could be sent now, which is lower while
        the service throttles. None if `used` is None.
        """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]: ...

@final
class RequestEvent:
    """A request that is about to be sent: the argument of `Client(on_request=...)`."""

    @property
    def id(self) -> int:
        """A number that identifies the attempt in this process: its two events have the same number."""
    @property
    def endpoint(self) -> str:
        """The endpoint's name, as in errors: `"dividends"`. It is `"GET /path"` for a request of
        your own.
        """
    @property
    def route(self) -> str | None:
        """The endpoint's path with its placeholders, of which there are few:
        `"/api/v1.0/quote/{symbol}/corporate-actions/dividends"`. None for a request of your own.
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
        """A number that identifies the attempt in this process: its two events have the same number."""
    @property
    def endpoint(self) -> str:
        """The endpoint's name, as in errors: `"dividends"`. It is `"GET /path"` for a request of
        your own.
        """
    @property
    def route(self) -> str | None:
        """The endpoint's path with its placeholders, of which there are few:
        `"/api/v1.0/quote/{symbol}/corporate-actions/dividends"`. None for a request of your own.
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
        """The headers by their names in any case, listed in lower case; the values of a repeated header are
        joined by commas.
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
        """The rate limit that applies to the request, and how much of it is free now; None without a limit."""

@final
class DateRange:
    """Pages backward by moving the end of a date range.

    `end` is the name of the parameter to move. Its next value is read from `next`, a dotted path in the
    response such as `"extra.next_time"`, or it is the day before the earliest date in the records' field
    `before`, such as `"data_date"`. Pass exactly one of the two. With `before`, if a page ends within a day,
    the rest of that day is skipped without an error: use it only for a list that has one row a day, or whose
    pages end with whole days. `unique` is the name of the field that identifies a row, so that rows repeated
    on the next page can be dropped. The iteration ends if `pagination.has_more` is false, or if the next end
    is before the `start` of the query or body. Raises `ConfigError` for a name or path that cannot be used.

    >>> bl.DateRange(next="extra.next_time", unique="time")
    DateRange('end', next='extra.next_time', unique='time')
    """

    def __new__(
        cls,
        end: str = "end",
        *,
        next: str | None = None,
        before: str | None = None,
        unique: str | None = None,
    ) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, str]]: ...

# The kinds of fields. Those of arguments are the same and `symbol`.
_FieldKind = Literal[
    "text",
    "integer",
    "number",
    "flag",
    "decimal",
    "percent",
    "seconds",
    "millis",
    "micros",
    "date",
    "object",
]

@final
class BuiltInEndpoint:
    """An endpoint of the table, which its generated method passes."""

_BUILT_IN_ENDPOINTS: tuple[BuiltInEndpoint, ...]

@final
class Endpoint(Generic[_Declared_co]):
    """A custom endpoint: an endpoint of the service that boardlot has no method for.

    `name` identifies it in errors and checkpoints. `method` is `"GET"` or `"POST"`. A `{name}` in `path`
    stands for a required argument. `rows` is the dotted path of the records in a response; by default the
    only list in `data`. `paging` is `None`, `"next_key"`, `"page_flag"` or a `DateRange`. `record` declares
    the fields: a dict of their kinds (`text`, `integer`, `number`, `flag`, `decimal`, `percent`, `seconds`,
    `millis`, `micros`, `date`, `object`), or a `TypedDict`; other fields become columns whose types are
    inferred. `arguments` declares the kinds of arguments, which are then checked; they may also have the
    kind `"symbol"`. Other arguments are sent as they are. Arguments that are not in the path go into the
    query or, for POST, into the JSON body, in the order given. `doc` is a description.

    Raises `ConfigError` for a declaration that cannot be used.

    >>> flow = bl.Endpoint(
    ...     "capital_flow",
    ...     "GET",
    ...     "/api/v1.0/quote/{symbol}/capital-flow/history",
    ...     rows="data.capital_flow_list",
    ...     paging=bl.DateRange("end", before="data_date"),
    ...     record={"data_date": "date", "in_flow": "number"},
    ... )
    >>> client.call(flow, symbol="HK.00700").to_polars().columns[:2]
    ['data_date', 'in_flow']
    """

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    @overload
    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        *,
        rows: str | None = None,
        paging: Literal["next_key", "page_flag"] | DateRange | None = None,
        record: type[_Declared_co],
        arguments: Mapping[str, _FieldKind | Literal["symbol"]] | None = None,
        doc: str = "",
    ) -> Endpoint[_Declared_co]: ...
    @overload
    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        *,
        rows: str | None = None,
        paging: Literal["next_key", "page_flag"] | DateRange | None = None,
        record: Mapping[str, _FieldKind] | None = None,
        arguments: Mapping[str, _FieldKind | Literal["symbol"]] | None = None,
        doc: str = "",
    ) -> Endpoint[dict[str, Any]]: ...
    @property
    def name(self) -> str:
        """The name of the endpoint, in errors and checkpoints."""
    @property
    def method(self) -> str:
        """`"GET"` or `"POST"`."""
    @property
    def path(self) -> str:
        """The path below the base URL; `{name}` stands for an argument."""
    @property
    def rows(self) -> str | None:
        """The dotted path of the records in a response."""
    @property
    def paging(self) -> Literal["next_key", "page_flag"] | DateRange | None:
        """`None`, `"next_key"`, `"page_flag"` or a `DateRange`."""
    @property
    def record(self) -> dict[str, str] | type[Any] | None:
        """The declared fields: a dict of their kinds, or the `TypedDict`; `None` if there are none."""
    @property
    def arguments(self) -> dict[str, str]:
        """The declared kinds of arguments."""
    @property
    def doc(self) -> str:
        """The description that was passed."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str, str, str], dict[str, Any]]: ...

def load_endpoints(path: str | PathLike[str], /) -> dict[str, Endpoint[dict[str, Any]]]:
    """The endpoints of a TOML file, by name: a table for each, with the arguments of `Endpoint` as keys.

    ```toml
    [kline]
    method = "GET"
    path = "/api/v1.0/quote/{symbol}/history-kline"
    rows = "data.kline_list"
    paging = { end = "end", next = "extra.next_time", unique = "time" }
    record = { time = "seconds", open = "decimal", close = "decimal" }
    ```

    Raises `ConfigError` if the file at `path` cannot be read or has a mistake; the error names the line, the
    table and the key.

    >>> text = 'kline = { method = "GET", path = "/api/v1.0/quote/{symbol}/kline" }'
    >>> size = (folder / "endpoints.toml").write_text(text)
    >>> bl.load_endpoints(folder / "endpoints.toml")["kline"].method
    'GET'
    """

@final
class ApiKey:
    """An API key: its id, and the private key that signs the requests.

    `key_id` is the id that the service assigned to the key. `private_key` is a path, PEM text or bytes,
    in PKCS#8 (encrypted, if `password` is given) or PKCS#1. The algorithm is read from the key. Raises
    `ConfigError` for a key that cannot be used; the error contains no part of the key.

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
        """The four headers that sign a request of another HTTP client: `X-Api-Key`, `X-Timestamp`, `X-Nonce` and
        `Authorization`. Each call signs with the current time and a new nonce, so call it for each attempt.

        `method`, `url` and `body` are those that are sent: the final, percent-encoded URL with its query, and
        the raw bytes. `clock` is a client whose `clock_offset` corrects the time. Raises `ConfigError` for a URL
        that an HTTP client would change before it sends it. `boardlot.auth` calls this for requests, httpx and
        aiohttp.

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

    `timestamp_ms` is the value of `X-Timestamp`, in milliseconds since 1970. `method`, `path`, `query` (without
    the question mark) and `body` are those of the request, exactly as they are sent.

    >>> payload = bl.signature_payload(1767571200000, "GET", "/api/v1.0/server-time")
    >>> payload.decode().splitlines()[:3]
    ['1767571200000', 'GET', '/api/v1.0/server-time']
    """

@final
class OAuth:
    """The tokens of a login. They are saved in a store and refreshed automatically, before they expire and
    when the service rejects them: once for all threads, tasks and processes that share the store.

    The constructor uses the tokens that an earlier `boardlot.login` saved in `store`; with `user`, the
    tokens that `OAuthApp.fetch_token` saved for this user. `client_id` and `client_secret` come from the
    registration. The tokens belong to one service: `base_url`, or the service of the first client that uses
    them. Users share no tokens, refreshes or logouts.

    `scopes`, `expires_at` and every call of a client raise `LoginRequired` if there are no tokens or the
    service no longer accepts them, and `StoreError` if the store cannot be read or written.

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
        """The time at which the access token expires, as an aware UTC datetime; the token is refreshed before
        then. None if the service did not send a lifetime: the token is then refreshed when the service
        rejects it.
        """
    def logout(self) -> None:
        """Deletes the tokens from the store, and the client's registration unless there is a `user`. If the
        store has no tokens, nothing is written. Raises `StoreError` if the store cannot be read or written.
        """

@disjoint_base
class TokenStoreBase:
    """The base class of the token stores."""

    def load(self, key: str) -> bytes | None:
        """Returns the bytes stored under `key`, or None."""
    def save(self, key: str, data: bytes) -> None:
        """Stores the bytes of `data` under `key`."""
    def delete(self, key: str) -> None:
        """Deletes `key`, if it exists."""

@final
class KeyringStore(TokenStoreBase):
    """The keychain of the operating system: Secret Service, Keychain or Credential Manager. For your own machine.

    Each method raises `StoreError` if the keychain cannot be used. Tokens are never stored as plain text
    instead. For an example of the methods, see `MemoryStore`.
    """

    def __new__(cls) -> Self: ...
    def __getnewargs__(self) -> tuple[()]: ...

@final
class EncryptedFileStore(TokenStoreBase):
    """A file that is encrypted with AES-256-GCM. Argon2id derives the key from a passphrase. For servers and
    containers.

    `path` is the file; a missing folder is created, for its owner only. `passphrase` is a string, or a
    callable without arguments that returns one and is called when it is needed. Each method raises
    `StoreError` for a wrong passphrase, a modified file, or a file that other users can access; the file
    is not changed.

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
class MemoryStore(TokenStoreBase):
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
        """True if 0 means that there is no value, so that columns have null in its place: for timestamps, and
        where the service document says so.
        """
    @property
    def values(self) -> str | None:
        """The name of the enum of its values, if the service documents a closed set."""

@final
class ArrowStream:
    """Typed columns that any library with the Arrow PyCapsule interface can consume once."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...

@final
class Rows:
    """Rows of pages, with the fields that are declared for them. `boardlot.Records` is made of them; the archive, the
    command line and the engines read them, as they have every number as the service sent it.
    """

    @staticmethod
    def of_dicts(dicts: list[Any], shape: Shape) -> Rows:
        """The rows that the dicts of a list are now."""
    def __len__(self) -> int: ...
    @property
    def shape(self) -> Shape:
        """The declared fields of the rows."""
    @property
    def schema(self) -> tuple[SchemaField, ...]:
        """Name, kind, unit and description of each declared field."""
    @property
    def meta(self) -> dict[str, Any]:
        """The members next to the list and in the `pagination` object; of many keys, by key."""
    def dicts(self) -> list[Any]:
        """A new list of dicts with the service's own values."""
    def typed_dicts(self) -> list[dict[str, Any]]:
        """A new list of dicts of `Decimal`, `datetime` (UTC), `date` and `None`, as the fields are declared."""
    def instances(self, cls: type[_T]) -> list[_T]:
        """A new list of instances of a class."""
    def select(self, *names: str, undeclared: bool = False) -> Rows:
        """The rows restricted to these fields, in this order."""
    def take(self, indices: list[int]) -> Rows:
        """The rows at these indices, in this order."""
    def slice(self, start: int, stop: int) -> Rows:
        """The rows from `start` to before `stop`."""
    def names(self) -> list[str]:
        """The names of the declared fields, then of all others in the order of their first appearance."""
    def json(self, names: list[str] | None = None) -> list[str]:
        """Each row as compact JSON, every number as the service sent it: all fields, or those with these names."""
    def texts(self, names: list[str]) -> list[list[str | None]]:
        """The fields with these names of each row, as text; None for null and missing ones."""
    def _arrow(self, decimals: str, invalid: str, strings: str) -> ArrowStream: ...

@final
class Shape:
    """The declared fields of the rows of a list; none of a list of the caller's own."""

    def __new__(
        cls,
        fields: list[tuple[str, str, str, str]] = ...,
        names: list[str] | None = None,
    ) -> Self: ...
    def __reduce__(self) -> Any: ...
    @property
    def schema(self) -> tuple[SchemaField, ...]:
        """Name, kind, unit and description of each declared field."""
    def select(self, names: tuple[str, ...], found: list[str] | None, undeclared: bool) -> Shape:
        """The shape restricted to these fields, in this order; `found` are the names in the dicts, of which there
        are none if the list is empty. Raises `ConfigError` for a name that is neither declared nor found.
        """

@final
class Page:
    """A page, with its number of rows."""

    def __len__(self) -> int: ...
    @property
    def first(self) -> int:
        """The number of its rows that were received before a checkpoint."""
    @property
    def is_last(self) -> bool:
        """True if the service says that nothing follows it."""
    @property
    def errors(self) -> dict[str, BoardlotError]:
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
        """The rows of this view after a position, within the limits; and the position where they end. Awaited in
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
        """The rows after a position as the frame of a method; and the position where they end. Awaited in `AsyncPager`."""
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
        """The number of pages that were requested."""
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
        """The rows as one object."""

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

@final
class Registration:
    """A registered client: the record that the service returned, field by field. Its `repr` shows no secret."""

    @property
    def client_id(self) -> str:
        """The id of the client."""
    @property
    def client_secret(self) -> str | None:
        """The secret of a confidential client; None if the service issued none."""
    @property
    def client_name(self) -> str | None:
        """The name that the consent page shows. Like the other optional attributes, it is None if the response
        does not contain it.
        """
    @property
    def redirect_uris(self) -> list[str]:
        """The redirect URIs, as the service registered them; the requested ones if the response does not
        contain any.
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

def register_client(
    base_url: str,
    *,
    redirect_uris: Sequence[str],
    client_name: str = "boardlot",
    confidential: bool = False,
    timeout: float = 30.0,
    connect_timeout: float = 5.0,
    max_connections: int = 64,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
) -> Registration:
    """Registers a web application, once, and returns its `Registration`. Store the client id and the secret:
    the service does not show them again.

    `base_url` is the address of the service. `redirect_uris` are the callback URLs of the application:
    https, or http to a loopback address such as `http://127.0.0.1:8000/callback`. The service matches them
    exactly. `client_name` is what the consent page shows. `confidential=True` registers a client with a
    secret (`client_secret_post`); a response without a secret is not an error. `timeout`, `connect_timeout`,
    `max_connections`, `proxy` and `ca_file` are as for `Client`. Raises `OAuthError` if the service rejects
    the registration.

    >>> callback = "https://app.example.com/callback"
    >>> bl.register_client(sandbox.base_url, redirect_uris=[callback]).redirect_uris
    ['https://app.example.com/callback']
    """

@final
class AuthorizationRequest:
    """The start of a login: send the user to the page at `url`; `state` and `code_verifier` are two strings
    to keep in the user's session until the callback.
    """

    @property
    def url(self) -> str:
        """The page where the user logs in and grants access."""
    @property
    def state(self) -> str:
        """The value that the callback must repeat; 43 random characters."""
    @property
    def code_verifier(self) -> str:
        """The proof, sent with the code, that this application began the login; 43 random characters. A secret."""
    def __reduce__(self) -> Any: ...

@disjoint_base
class OAuthAppBase:
    """The base class of `OAuthApp` and `AsyncOAuthApp`."""

    @property
    def client_id(self) -> str:
        """The id from the registration."""
    @property
    def redirect_uri(self) -> str:
        """The address to which users return, as it is registered."""
    @property
    def base_url(self) -> str:
        """The address of the service."""
    def __getnewargs_ex__(self) -> Any: ...

class OAuthApp(OAuthAppBase):
    """A web application with its own users: it sends them to the service's page, receives the callback at
    its own address, and calls the service for each of them.

    `client_id` and `client_secret` come from `register_client`, or from wherever the application was
    registered; `redirect_uri` is the address to which users return, exactly as it is registered. `store`
    (None: the keychain) holds the tokens of all users, in every process. `base_url` is the address of
    the service. `timeout`, `connect_timeout`, `max_connections`, `proxy` and `ca_file` are as for
    `Client`. Opens no port and no browser; can be shared by threads.

    >>> callback = "https://app.example.com/callback"
    >>> client_id = bl.register_client(sandbox.base_url, redirect_uris=[callback]).client_id
    >>> store = bl.MemoryStore()
    >>> app = bl.OAuthApp(sandbox.base_url, client_id, redirect_uri=callback, store=store)
    >>> request = app.authorization_url()
    >>> returned = sandbox.authorize_demo_user(request.url)  # what the user does in a browser
    >>> session = {"state": request.state, "code_verifier": request.code_verifier}
    >>> auth = app.fetch_token(returned, **session, user="alice")
    >>> app.auth(user="alice").user
    'alice'
    """

    def __new__(
        cls,
        base_url: str,
        client_id: str,
        *,
        redirect_uri: str,
        store: TokenStore | None = None,
        client_secret: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 5.0,
        max_connections: int = 64,
        proxy: str | None = None,
        ca_file: str | PathLike[str] | None = None,
    ) -> Self: ...
    def authorization_url(self) -> AuthorizationRequest:
        """Begins a login and returns an `AuthorizationRequest`: redirect the browser to `.url`, and keep
        `.state` and `.code_verifier` in the user's session on the server. Sends nothing and raises nothing.
        """
    def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> OAuth:
        """Completes a login: checks the callback, exchanges its code, saves the tokens of `user`, and
        returns the user's `OAuth`.

        `callback_url` is the URL that the browser requested, or its path and query. `state` and
        `code_verifier` are those of `authorization_url`, from the session of the user who sends the
        callback; None if the session holds none. They are valid for one exchange. Raises
        `OAuthError` and sends nothing if the state differs, a parameter occurs twice, or the service
        reports an error; `OAuthError` if the code has expired or was used; `LoginRequired` if the
        code was sent and the tokens were lost. After any of these errors, start a new login. If the
        call is cancelled after the code was sent, the tokens are saved anyway.
        """
    def auth(self, *, user: str) -> OAuth:
        """The credentials of `user`, who has logged in, in any process that has the store. Reads the
        store, so that a logout or a new login in another process takes effect. Raises
        `LoginRequired` if the store has no tokens of this user, and `StoreError` if it cannot be
        read.
        """

class AsyncOAuthApp(OAuthAppBase):
    """Like `OAuthApp`, with `fetch_token` and `auth` awaited: the base class of `boardlot.AsyncOAuthApp`."""

    def __new__(
        cls,
        base_url: str,
        client_id: str,
        *,
        redirect_uri: str,
        store: TokenStore | None = None,
        client_secret: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 5.0,
        max_connections: int = 64,
        proxy: str | None = None,
        ca_file: str | PathLike[str] | None = None,
    ) -> Self: ...
    def authorization_url(self) -> AuthorizationRequest:
        """Begins a login and returns an `AuthorizationRequest`: redirect the browser to `.url`, and keep
        `.state` and `.code_verifier` in the user's session on the server. Sends nothing and raises nothing.
        """
    def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> Awaitable[OAuth]:
        """Completes a login: checks the callback, exchanges its code, saves the tokens of `user`, and
        returns the user's `OAuth`.

        `callback_url` is the URL that the browser requested, or its path and query. `state` and
        `code_verifier` are those of `authorization_url`, from the session of the user who sends the
        callback; None if the session holds none. They are valid for one exchange. Raises
        `OAuthError` and sends nothing if the state differs, a parameter occurs twice, or the service
        reports an error; `OAuthError` if the code has expired or was used; `LoginRequired` if the
        code was sent and the tokens were lost. After any of these errors, start a new login. If the
        call is cancelled after the code was sent, the tokens are saved anyway.
        """
    def auth(self, *, user: str) -> Awaitable[OAuth]:
        """The credentials of `user`, who has logged in, in any process that has the store. Reads the
        store, so that a logout or a new login in another process takes effect. Raises
        `LoginRequired` if the store has no tokens of this user, and `StoreError` if it cannot be
        read.
        """

@final
class LoginFlow:
    """A login in progress: the user opens `url`, and a port of this machine listens for the callback.

    `finish` and `wait` raise `OAuthError` if the user or the service refuses the login or it times out, and
    `StoreError` if the tokens cannot be saved.

    >>> from urllib.request import urlopen
    >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    >>> callback_url = sandbox.authorize_demo_user(flow.url)  # what the user does in a browser
    >>> auth = flow.finish(callback_url)  # of a browser on another machine
    >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    >>> page = urlopen(sandbox.authorize_demo_user(flow.url))  # of a browser on this machine
    >>> auth = flow.wait()
    >>> bl.begin_login(sandbox.base_url, store=bl.MemoryStore()).cancel()
    """

    @property
    def url(self) -> str:
        """The page where the user logs in and grants access."""
    def finish(self, callback_url: str) -> OAuth:
        """Completes the login with `callback_url`, the URL to which the browser was redirected, copied from
        its address bar, and returns the `OAuth`. The URL of another login raises `OAuthError`; this login
        can still be completed afterwards.
        """
    def wait(self) -> OAuth:
        """Waits for the browser's callback and returns the `OAuth`. Ctrl-C cancels the login."""
    def cancel(self) -> None:
        """Cancels the login and closes its port. If the code has already been sent, the tokens are saved
        anyway.
        """
    def __await__(self) -> Generator[Any, None, OAuth]: ...

def login(
    base_url: str,
    *,
    store: TokenStore | None = None,
    client_id: str | None = None,
    client_name: str = "boardlot",
    redirect_port: int = 0,
    open_browser: bool = True,
    timeout: float = 300.0,
    confidential: bool = False,
    connect_timeout: float = 5.0,
    max_connections: int = 64,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
) -> OAuth:
    """Logs in with the browser and returns the credentials for a client.

    Registers a client if the store has none, opens the browser, waits for its callback, and saves the
    tokens in `store` (None: the keychain). Without a browser, or with `open_browser=False`, the URL is
    printed to stderr, with the ways to complete the login from another machine.

    For the other arguments and the errors, see `begin_login`. Raises `OAuthError` also if the login is
    refused, or not completed within `timeout`.
    """

def begin_login(
    base_url: str,
    *,
    store: TokenStore | None = None,
    client_id: str | None = None,
    client_name: str = "boardlot",
    redirect_port: int = 0,
    timeout: float = 300.0,
    confidential: bool = False,
    connect_timeout: float = 5.0,
    max_connections: int = 64,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
) -> LoginFlow:
    """Begins a login and returns a `LoginFlow` at once. It prints nothing and opens no browser.

    Send the user to `flow.url`. Then `flow.wait()` (or `await flow`) waits for the callback of a browser
    on this machine, and `flow.finish(callback_url)` takes the callback URL of a browser elsewhere; see
    `LoginFlow` for an example.

    - `base_url`: the address of the service.
    - `store`: where the tokens and the registration are kept; None is the keychain.
    - `client_id`: the id of an earlier registration; by default the one in the store, or else a new one.
    - `client_name`: the name that the consent page shows.
    - `redirect_port`: the port of this machine that listens for the callback; 0 is any free one.
    - `timeout`: the seconds within which the login must be completed.
    - `confidential`: True if a new registration asks for a client secret.
    - `connect_timeout`, `max_connections`, `proxy`, `ca_file`: as for `Client`.

    Raises `OAuthError` if the service refuses the registration, `StoreError` if the store cannot be used,
    and `TransportError` if the service cannot be reached.
    """

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
    generates the same data. `fills` is the number of fills in the last 90 days; as many again reach back two
    years. `orders` is the number of open crypto orders of each account; a simulated account has as many, up
    to 40. `plate_stocks` is the number of stocks in a plate. `today`, a `date`, fixes the day on which the
    data end and the service's clock starts, at noon UTC; by default it is the current one. The clock is
    `clock_offset` seconds ahead. Access tokens are valid for `token_lifetime` seconds. `faults` is a
    `Faults`. Use it in a `with` block, or call `close()`. Raises `ConfigError` for an argument that is not
    valid, also in its methods, and for a port that is in use.

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
        """The number of requests that it has received, with those that are no longer kept."""
    @property
    def faults(self) -> Faults:
        """The faults that the sandbox injects. Can be set while it runs; `None` for no faults."""
    @faults.setter
    def faults(self, value: Faults | None) -> None: ...
    def serve(
        self, endpoint: Endpoint[Any], rows: Iterable[Mapping[str, Any]], **arguments: Any
    ) -> None:
        """Serves requests of `endpoint`, an `Endpoint`, with `rows`, a list of dicts, checked and paged like
        those of the service. With further arguments, only requests that have them get the rows:
        `serve(KLINE, rows, symbol="HK.00700")`. For an endpoint that pages by a range of dates, the rows
        are sorted by their first declared date or time, or else by its `unique` field. Rows for the same
        requests are replaced. Raises `ConfigError` for rows that cannot be served.
        """
    def put(
        self,
        name: str,
        rows: Iterable[Mapping[str, Any]],
        *,
        account: str | int | None = None,
        **arguments: Any,
    ) -> None:
        """Replaces the rows of the method `name`, such as `"fills_history"`, with your `rows`: for all accounts
        or symbols or, with `account` and further arguments, only for these:
        `put("dividends", rows, symbol="HK.00700")`. The rows keep their order. The filters of the request
        apply; fills of the default range are returned whatever their times are. Raises `ConfigError` for an
        unknown name, and for a number where the service sends a text, such as a quantity.
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
        """Fails the next `times` requests (1 by default), or with None all requests until `reset()`. `endpoint`
        is the name of a method, an `Endpoint` or a path; by default any request fails. The response has the
        HTTP `status`, by default 503; 0 closes the connection without a response. With a `code`, it is the
        endpoint's own failure with that code and `message`, by default with HTTP 200. Raises `ConfigError`
        for an unknown name and for a failure that would be a success.
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

@final
class _ClientCore:
    """The core of a `Client` or an `AsyncClient`. What it makes for them keeps the client alive, as `owner`."""

    def __new__(
        cls, mode: Literal["sync", "async"], base_url: str | None, options: tuple[Any, ...]
    ) -> Self: ...
    @property
    def is_async(self) -> bool:
        """True if calls are awaited."""
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
        """The seconds by which the service's clock is ahead of this machine's. The timestamps of signed
        requests are corrected by them. It is 0.0 until the service rejects a timestamp.
        """
    def given(self) -> dict[str, Any]: ...
    # Each returns its result, or an awaitable of it for an `AsyncClient`: typed in `_api.py`.
    def blocking(self) -> _ClientCore: ...
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
        self, endpoint: BuiltInEndpoint | str | Endpoint[Any], arguments: list[tuple[str, Any]]
    ) -> Any: ...
    def pages(
        self,
        owner: object,
        endpoint: BuiltInEndpoint | str | Endpoint[Any],
        arguments: list[tuple[str, Any]],
        windows: int | Literal["auto"] | None,
        resume: str | None,
    ) -> Pages: ...
    def part_of_pages(
        self,
        owner: object,
        endpoint: BuiltInEndpoint | str | Endpoint[Any],
        arguments: list[tuple[str, Any]],
        part: tuple[int, int],
    ) -> Pages: ...
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
    ) -> Pages: ...
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
        endpoint: BuiltInEndpoint | str | Endpoint[Any],
        keys: Iterable[str | int],
        concurrency: int,
        on_error: str,
        windows: int | Literal["auto"] | None,
        resume: str | None,
        arguments: list[tuple[str, Any]],
    ) -> Pages: ...
    def fetch_many(
        self,
        endpoint: BuiltInEndpoint | str | Endpoint[Any],
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
def _application_limit(rate: float, base_url: str, application: str | None) -> RateLimit: ...
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
    rows: Rows, identity: list[str], ignored: list[str]
) -> list[tuple[str, str, str]]: ...
def _fill_rows(rows: Rows) -> list[tuple[str, int, str | None, str]]: ...
def _stored_records(
    method: str | Endpoint[Any],
    arguments: list[tuple[str, Any]],
    texts: Iterable[bytes],
    observed: bool = False,
    seen_at: int | None = None,
) -> Rows: ...
def _nearest(word: str, known: list[str]) -> str | None: ...
def _typed_dicts(dicts: list[Any], shape: Shape) -> list[dict[str, Any]]: ...
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
) -> Pages: ...
