"""The compiled core. Held against the built module by stubtest; see the docstrings there."""

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from datetime import date, datetime
from os import PathLike
from types import TracebackType
from typing import Any, Generic, Literal, Protocol, TypeVar, final, overload

import pandas
import polars
from typing_extensions import CapsuleType, Self, Unpack, disjoint_base

from ._api import AsyncClient, Client, ClientOptions
from .errors import BoardlotError

_Row_co = TypeVar("_Row_co", covariant=True)
_T = TypeVar("_T")
_Decimals = Literal["float64", "decimal", "string"]
_Invalid = Literal["raise", "null"]
_Algorithm = Literal["Ed25519", "RSA-SHA256"]
# pyarrow has no types.
_Table = Any
_RecordBatch = Any

__all__ = [
    "ApiKey",
    "ArrowStream",
    "AsyncOAuthApp",
    "AsyncPageIterator",
    "AsyncPager",
    "AsyncRowIterator",
    "AuthorizationRequest",
    "BearerToken",
    "ClientBase",
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
    "PageIterator",
    "Pager",
    "PagerBase",
    "RecordedRequest",
    "Recorder",
    "Records",
    "RecordsIterator",
    "Registration",
    "Replay",
    "RequestEvent",
    "Response",
    "ResponseEvent",
    "RowIterator",
    "Sandbox",
    "SchemaField",
    "__version__",
    "_check_profile_address",
    "_config_file",
    "_fill_rows",
    "_import_frame_library",
    "_micros",
    "_pager_of",
    "_profile",
    "_profiles",
    "_reader_of",
    "_record_texts",
    "_remove_profile",
    "_rename_over",
    "_save_profile",
    "_set_default_profile",
    "_stored_records",
    "_time_range",
    "_to_frame",
    "begin_login",
    "generate_key",
    "load_endpoints",
    "login",
    "register_client",
    "signature_payload",
]
__version__: str

@final
class ApiKey:
    """An API key: its id, and the private key that signs the requests.

    `private_key` is a path, PEM text or bytes, in PKCS#8 (encrypted, if `password` is given) or
    PKCS#1. The algorithm is read from the key. Raises `ConfigError` for a key that cannot be used.
    Service document, section 5.2.
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
        """Signs a payload and returns the signature in Base64."""
    def __getnewargs__(self) -> tuple[str, Any]: ...

@final
class BearerToken:
    """A bearer token, sent unchanged."""

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

def generate_key(algorithm: _Algorithm = "Ed25519", *, bits: int = 3072) -> GeneratedKey:
    """Generates a key pair. `algorithm` is `"Ed25519"` or `"RSA-SHA256"`; `bits` is the size of an RSA
    key.
    """

def signature_payload(
    timestamp_ms: int, method: str, path: str, query: str = "", body: bytes = b""
) -> bytes:
    """The canonical request (five lines) that is signed. Service document, section 5.2."""

class _Store(Protocol):
    """What keeps tokens: the three stores, or an object of your own."""

    def load(self, key: str, /) -> bytes | None: ...
    def save(self, key: str, data: bytes, /) -> None: ...
    def delete(self, key: str, /) -> None: ...

@final
class KeyringStore:
    """The keychain of the operating system: Secret Service, Keychain or Credential Manager.

    Raises `StoreError` if the keychain cannot be used. Tokens are never stored as plain text instead.
    """

    def __new__(cls) -> Self: ...
    def load(self, key: str) -> bytes | None:
        """Returns the bytes stored under a key, or None."""
    def save(self, key: str, data: bytes) -> None:
        """Stores bytes under a key."""
    def delete(self, key: str) -> None:
        """Deletes a key, if it exists."""
    def __getnewargs__(self) -> tuple[()]: ...

@final
class EncryptedFileStore:
    """A file that is encrypted with AES-256-GCM. Argon2id derives the key from a passphrase.

    `path` is the file; a missing folder is created, for its owner only. `passphrase` is a string, or a
    callable without arguments that returns one and is called when it is needed. Raises `StoreError`
    for a wrong passphrase, a modified file, or a file that other users can access; the file is not
    changed.
    """

    def __new__(cls, path: str | PathLike[str], passphrase: str | Callable[[], str]) -> Self: ...
    @property
    def path(self) -> Any:
        """The file."""
    def load(self, key: str) -> bytes | None:
        """Returns the bytes stored under a key, or None."""
    def save(self, key: str, data: bytes) -> None:
        """Stores bytes under a key."""
    def delete(self, key: str) -> None:
        """Deletes a key, if it exists."""
    def __getnewargs__(self) -> Any: ...

@final
class MemoryStore:
    """Keeps tokens in memory, until the process ends."""

    def __new__(cls) -> Self: ...
    def load(self, key: str) -> bytes | None:
        """Returns the bytes stored under a key, or None."""
    def save(self, key: str, data: bytes) -> None:
        """Stores bytes under a key."""
    def delete(self, key: str) -> None:
        """Deletes a key, if it exists."""
    def __getnewargs__(self) -> Any: ...

@final
class OAuth:
    """The tokens of a login. They are kept in a store and refreshed automatically, before they expire and
    when the service rejects them: once for all threads, tasks and processes that share the store.

    The constructor uses the tokens that an earlier `boardlot.login` saved in `store`; with `user`, those
    that `OAuthApp.fetch_token` saved for this user. They belong to one service: `base_url`, or that of the
    first client which uses them. Users share no tokens, refreshes or logouts. Service document, section
    5.1.
    """

    def __new__(
        cls,
        client_id: str,
        *,
        store: _Store,
        client_secret: str | None = None,
        base_url: str | None = None,
        user: str | None = None,
    ) -> Self: ...
    @property
    def client_id(self) -> str:
        """The id that the service assigned to this client when it was registered."""
    @property
    def user(self) -> str | None:
        """The application's user that the tokens belong to; None for a login of one's own."""
    @property
    def base_url(self) -> str | None:
        """The service that the tokens belong to; None until a client has used them."""
    def __getnewargs_ex__(self) -> Any: ...
    @property
    def scopes(self) -> frozenset[str]:
        """The scopes that the user granted, such as `frozenset({"quote:read", "accid:*"})`."""
    @property
    def expires_at(self) -> datetime:
        """When the access token expires, as an aware UTC datetime. It is refreshed before that."""
    def logout(self) -> None:
        """Deletes the tokens from the store, and the client's registration unless there is a `user`. If there
        are none, it writes nothing. Raises `StoreError` if the store cannot be read or written.
        """

@final
class Registration:
    """A registered client."""

    @property
    def client_id(self) -> str:
        """The id of the client."""
    @property
    def client_secret(self) -> str | None:
        """The secret of a confidential client; None if the service issued none."""
    @property
    def redirect_uris(self) -> list[str]:
        """The redirect URIs, as the service registered them."""
    @property
    def scope(self) -> str | None:
        """The scopes that users can grant, separated by spaces; None if the response has none."""
    @property
    def issued_at(self) -> datetime | None:
        """When the client was registered, as an aware UTC datetime; None if the response does not say it."""
    def __reduce__(self) -> Any: ...

def register_client(
    base_url: str,
    *,
    redirect_uris: Sequence[str],
    client_name: str = "boardlot",
    confidential: bool = False,
    timeout: float = 30.0,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
) -> Registration:
    """Registers a web application, once, and returns its `Registration`. Store the client id and the secret:
    the service does not show them again.

    `redirect_uris` are the callback URLs of the application: https, or http to a loopback address such as
    `http://127.0.0.1:8000/callback`. The service matches them exactly. `confidential=True` registers a
    client with a secret (`client_secret_post`); a response without one is not an error. `timeout` is in
    seconds. Raises `OAuthError` if the service rejects the registration. Service document, sections 2.1 and
    4.1.
    """

@final
class AuthorizationRequest:
    """A login that begins: `url` is the page to send the user to; `state` and `code_verifier` are two strings
    to keep in the user's session until the callback.
    """

    @property
    def url(self) -> str:
        """The page where the user logs in and grants access."""
    @property
    def state(self) -> str:
        """What the callback has to repeat; 43 random characters."""
    @property
    def code_verifier(self) -> str:
        """What proves at the exchange that this application began the login; 43 random characters. A secret."""
    def __reduce__(self) -> Any: ...

@disjoint_base
class OAuthAppBase:
    """What the two classes have in common."""

    @property
    def client_id(self) -> str:
        """The id from the registration."""
    @property
    def redirect_uri(self) -> str:
        """Where users return to, as it is registered."""
    @property
    def base_url(self) -> str:
        """The address of the service."""
    def authorization_url(self) -> AuthorizationRequest:
        """Begins a login and returns an `AuthorizationRequest`: redirect the browser to `.url`, and keep
        `.state` and `.code_verifier` in the user's session on the server. Sends nothing.
        """
    def auth(self, *, user: str) -> OAuth:
        """The credentials of a user who has logged in, in any process that has the store. Reads the store,
        so that a logout or a new login in another process takes effect. Raises `LoginRequired` if the
        store has no tokens of this user, and `StoreError` if it cannot be read.
        """
    def __getnewargs_ex__(self) -> Any: ...

@final
class OAuthApp(OAuthAppBase):
    """A web application with its own users: it sends them to the service's page, receives the callback at
    its own address, and calls the service for each of them.

    `client_id` and `client_secret` come from `register_client`, or from wherever the application was
    registered; `redirect_uri` is where users return to, exactly as it is registered. `store` (None: the
    keychain) holds the tokens of all users, in every process. `timeout` (default 30.0) is that of one
    request, in seconds. Opens no port and no browser; can be shared by threads. Service document,
    sections 4.1 and 5.1.
    """

    def __new__(
        cls,
        base_url: str,
        client_id: str,
        *,
        redirect_uri: str,
        store: _Store | None = None,
        client_secret: str | None = None,
        timeout: float = 30.0,
        proxy: str | None = None,
        ca_file: str | PathLike[str] | None = None,
    ) -> Self: ...
    def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> OAuth:
        """Completes a login: checks the callback, exchanges its code, saves the tokens of `user`, and
        returns the user's `OAuth`.

        `callback_url` is the URL that the browser requested, or its path and query. `state` and
        `code_verifier` are those of `authorization_url`, from the session of the user who sends
        the callback; None if it holds none. They are good for one exchange. Raises `OAuthError`
        and sends nothing if the state differs, a parameter occurs twice, or the service reports
        an error; `OAuthError` if the code has expired or was used; `LoginRequired` if the code
        was sent and the tokens were lost. After each of them, start a new login.
        """

@final
class AsyncOAuthApp(OAuthAppBase):
    """Like `OAuthApp`, with a `fetch_token` that is awaited. `auth` waits for the store: if that takes
    long, call it as `await asyncio.to_thread(app.auth, user=user)`.
    """

    def __new__(
        cls,
        base_url: str,
        client_id: str,
        *,
        redirect_uri: str,
        store: _Store | None = None,
        client_secret: str | None = None,
        timeout: float = 30.0,
        proxy: str | None = None,
        ca_file: str | PathLike[str] | None = None,
    ) -> Self: ...
    def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> Awaitable[OAuth]:
        """Completes a login: checks the callback, exchanges its code, saves the tokens of `user`, and
        returns the user's `OAuth`.

        `callback_url` is the URL that the browser requested, or its path and query. `state` and
        `code_verifier` are those of `authorization_url`, from the session of the user who sends
        the callback; None if it holds none. They are good for one exchange. Raises `OAuthError`
        and sends nothing if the state differs, a parameter occurs twice, or the service reports
        an error; `OAuthError` if the code has expired or was used; `LoginRequired` if the code
        was sent and the tokens were lost. After each of them, start a new login.
        """

@final
class LoginFlow:
    """A login in progress: the user opens `url`, and a port of this machine listens for the callback."""

    @property
    def url(self) -> str:
        """The page where the user logs in and grants access."""
    def finish(self, callback_url: str) -> OAuth:
        """Completes the login with the URL to which the browser was redirected, copied from its address
        bar, and returns the `OAuth`. The URL of another login raises `OAuthError`; this login can still
        be completed then.
        """
    def wait(self) -> OAuth:
        """Waits for the browser's callback and returns the `OAuth`. Ctrl-C cancels the login."""
    def cancel(self) -> None:
        """Cancels the login and closes its port."""
    def __await__(self) -> Generator[Any, None, OAuth]: ...

def login(
    base_url: str,
    *,
    store: _Store | None = None,
    client_id: str | None = None,
    client_name: str = "boardlot",
    redirect_port: int = 0,
    open_browser: bool = True,
    timeout: float = 300.0,
    confidential: bool = False,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
) -> OAuth:
    """Logs in with the browser and returns the credentials for a client.

    Registers a client if the store has none, opens the browser, waits for its callback, and saves the
    tokens in `store` (None: the keychain). Without a browser, the URL is printed to stderr, with the
    ways to complete the login from another machine. Service document, section 5.1.
    """

def begin_login(
    base_url: str,
    *,
    store: _Store | None = None,
    client_id: str | None = None,
    client_name: str = "boardlot",
    redirect_port: int = 0,
    timeout: float = 300.0,
    confidential: bool = False,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
) -> LoginFlow:
    """Begins a login and returns a `LoginFlow` at once. It prints nothing and opens no browser.

    Send the user to `flow.url`. Then `flow.wait()` (or `await flow`) waits for the callback of a browser
    on this machine, and `flow.finish(callback_url)` takes the callback URL of a browser elsewhere.
    """

@final
class DateRange:
    """Pages backward by moving the end of a date range (service document, section 2.4).

    `end` is the name of the parameter to move. Its next value is read from `next`, a dotted path in the
    response such as `"extra.next_time"`, or it is the day before the earliest date in the records' field
    `before`, such as `"data_date"`. Pass exactly one of the two. `unique` is the name of the field that
    identifies a row, so that rows repeated on the next page can be dropped. The iteration ends if
    `pagination.has_more` is false, or if the next end is before the `start` of the query or body.
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
class Endpoint:
    """An endpoint of the service that boardlot does not know: a row like those of its own methods.

    `name` is how errors and checkpoints call it. `method` is `"GET"` or `"POST"`. A `{name}` in `path`
    stands for a required argument. `rows` is the dotted place of the records in a response; by default
    the only list in `data`. `paging` is `None`, `"next_key"`, `"page_flag"` or a `DateRange`. `record`
    declares the fields: a dict of their kinds (`text`, `integer`, `number`, `flag`, `decimal`,
    `percent`, `seconds`, `millis`, `micros`, `date`, `object`), or a `TypedDict`; other fields become
    columns whose types are inferred. `arguments` declares the kinds of arguments, which are then
    checked; `"symbol"` is a kind of them too. Other arguments are sent as they are. What is not in the
    path goes into the query or, for POST, into the JSON body, in the order given.

    Raises `ConfigError` for a declaration that cannot be used.

    >>> flow = bl.Endpoint(
    ...     "capital_flow",
    ...     "GET",
    ...     "/api/v1.0/quote/{symbol}/capital-flow/history",
    ...     rows="data.capital_flow_list",
    ...     record={"data_date": "date", "in_flow": "number"},
    ... )
    >>> client.call(flow, symbol="HK.00700", limit=3).to_polars().columns[:2]
    ['data_date', 'in_flow']
    """

    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        *,
        rows: str | None = None,
        paging: Literal["next_key", "page_flag"] | DateRange | None = None,
        record: Mapping[str, _FieldKind] | type[Any] | None = None,
        arguments: Mapping[str, _FieldKind | Literal["symbol"]] | None = None,
        doc: str = "",
    ) -> Self: ...
    @property
    def name(self) -> str:
        """Its name, in errors and checkpoints."""
    @property
    def method(self) -> str:
        """`"GET"` or `"POST"`."""
    @property
    def path(self) -> str:
        """The path below the base URL; `{name}` stands for an argument."""
    @property
    def rows(self) -> str | None:
        """The dotted place of the records in a response."""
    @property
    def paging(self) -> str | DateRange | None:
        """`None`, `"next_key"`, `"page_flag"` or a `DateRange`."""
    @property
    def record(self) -> dict[str, str] | type[Any] | None:
        """The declared fields: a dict of their kinds, or the `TypedDict`; `None` if there are none."""
    @property
    def arguments(self) -> dict[str, str]:
        """The declared kinds of arguments."""
    @property
    def doc(self) -> str:
        """What it returns, in the user's words."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str, str, str], dict[str, Any]]: ...

def load_endpoints(path: str | PathLike[str], /) -> dict[str, Endpoint]:
    """The endpoints of a TOML file, by name: a table for each, with the arguments of `Endpoint` as keys.

    ```toml
    [kline]
    method = "GET"
    path = "/api/v1.0/quote/{symbol}/history-kline"
    rows = "data.kline_list"
    paging = { end = "end", next = "extra.next_time", unique = "time" }
    record = { time = "seconds", open = "decimal", close = "decimal" }
    ```

    Raises `ConfigError` if the file cannot be read, and for a mistake in it, with the line, the table
    and the key.
    """

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
        """What the field means, in one line."""
    @property
    def values(self) -> str | None:
        """The name of the enum of its values, if the service documents a closed set."""

@final
class ArrowStream:
    """Typed columns that any library with the Arrow PyCapsule interface can take over once."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...

# A `Sequence` by registration: it inherits nothing.
@final
class Records(Sequence[_Row_co]):
    """An immutable sequence of records.

    `records[i]` and iteration return dicts with the service's own values, unchanged. Slices are
    `Records`. It equals a list of the same dicts. `to_pandas()`, `to_polars()`, `to_arrow()` and
    the Arrow PyCapsule interface return typed columns of the declared schema.
    """

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> _Row_co: ...
    @overload
    def __getitem__(self, key: slice, /) -> Records[_Row_co]: ...
    def __iter__(self) -> RecordsIterator[_Row_co]: ...
    def __reversed__(self) -> RecordsIterator[_Row_co]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def count(self, value: Any) -> int:
        """The number of records that equal `value`."""
    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The index of the first record that equals `value`; raises `ValueError` if there is none."""
    @property
    def meta(self) -> dict[str, Any]:
        """The members next to the list and in the `pagination` object; of `fetch_many`, for each key."""
    @property
    def errors(self) -> dict[str, BoardlotError]:
        """The keys that failed in `fetch_many(on_error="collect")`, each with its error."""
    @property
    def schema(self) -> tuple[SchemaField, ...]:
        """Name, kind, unit and description of each declared field."""
    def select(self, *names: str, undeclared: bool = False) -> Records[dict[str, Any]]:
        """The records restricted to these fields, in this order: dicts, frames, `schema` and iteration
        have nothing else. A name is unknown if it is neither declared nor in any record; while there
        are no records, `undeclared=True` permits any names.
        """
    def as_type(self, cls: type[_T]) -> list[_T]:
        """The records as a list of instances of a class: a dataclass, a `NamedTuple`, a
        `msgspec.Struct` or another class with annotated fields that accepts them as keywords.

        Each field is converted to its annotation: `str` (as sent), `int`, `float`, `bool`, `Decimal`,
        `datetime` (aware, UTC), `date`, an `Enum`, `dict`, `list`, `Any`, or one of these with `| None`.
        Fields that the class lacks are skipped; a field that a record lacks takes its default.

        Raises a `ConfigError` if an annotation is not supported or a required field is unknown, and a
        `ProtocolError` that names record, field, value and type if a value cannot be converted.
        """
    def to_dicts(self, *, typed: bool = False) -> list[dict[str, Any]]:
        """The records as a list of dicts; with `typed=True`, with `Decimal`, `datetime` (UTC), `date`
        and `None` as the schema declares.
        """
    def to_pandas(
        self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise"
    ) -> pandas.DataFrame:
        """The records as a pandas DataFrame; see `boardlot.frames.to_pandas`."""
    def to_polars(
        self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise"
    ) -> polars.DataFrame:
        """The records as a polars DataFrame; see `boardlot.frames.to_polars`."""
    def to_arrow(self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise") -> _Table:
        """The records as a pyarrow Table; see `boardlot.frames.to_arrow`."""
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: dict[int, Any]) -> Self: ...
    def _arrow(self, decimals: str, invalid: str, strings: str) -> ArrowStream: ...
    def _json(self, names: list[str] | None = None) -> list[str]: ...
    def _names(self) -> list[str]: ...
    def _take(self, indices: list[int]) -> Records[_Row_co]: ...
    def _texts(self, names: list[str]) -> list[list[str | None]]: ...
    def _repr_html_(self) -> str: ...

@final
class RecordsIterator(Iterator[_Row_co]):
    """An iterator over records, which creates each dict on demand."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> _Row_co: ...
    def __length_hint__(self) -> int: ...

@final
class Recorder:
    """Records the traffic of clients in a new file, for tests and bug reports.

    Pass it as `Client(..., cassette=Recorder(path))`. Any number of clients of one service can share it.
    The file has one JSON object per line, written when each request ends, and only its owner can read
    it. It contains no key, signature, token or client secret, but it does contain account ids, symbols
    and responses. Use it in a `with` block, or call `close()`. Raises `ConfigError` if the file exists
    or cannot be written.
    """

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    def close(self) -> None:
        """Ends the recording. Clients that still use it raise `ConfigError`."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def __getnewargs__(self) -> None: ...

@final
class Replay:
    """Replays recorded traffic from a file, without a network or credentials.

    Pass it as `Client(cassette=Replay(path))`. A request gets the response that was recorded for the
    same method, path, query and body. If there are several, they are returned in order, and then the
    last one repeatedly. Retries do not wait. Any other request raises `ConfigError`, and so does a file
    that is not a recording; an empty file is one, of a recorder that was not used.
    """

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    @property
    def base_url(self) -> str | None:
        """The base URL of the recorded service; `None` if nothing was recorded."""
    def __getnewargs__(self) -> tuple[str]: ...

@final
class RequestEvent:
    """A request that is about to be sent: the argument of `Client(on_request=...)`."""

    @property
    def id(self) -> int:
        """A number that identifies the attempt in this process: its two events have the same."""
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
        """A number that identifies the attempt in this process: its two events have the same."""
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
    def error(self) -> str | None:
        """Why there was no response; None if there was one, whatever its status."""
    @property
    def error_type(self) -> str | None:
        """The class of `error`: `"TransportError"`, `"RequestTimeout"` or `"ProtocolError"`, or
        `"cancelled"` if the call ended before the request.
        """

@disjoint_base
class PagerBase(Generic[_Row_co]):
    """What `Pager` and `AsyncPager` have in common."""

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    @property
    def total(self) -> int | None:
        """The total number of items, or `None` if the service does not report it."""
    @property
    def range(self) -> tuple[datetime, datetime] | None:
        """The time range that is read, as aware UTC datetimes of its start and its end.

        A range that was given is known at once. One that ends now is fixed by the service's clock when
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
        have nothing else. It shares the position with this pager.

        A name that the endpoint does not declare is refused. With `undeclared=True`, or if the endpoint
        declares no fields, it is looked for in the first page that has records, and refused then.
        """
    def as_type(self, cls: type[Any]) -> Any:
        """An iterator over the rows as instances of a class, each field converted to its annotation; see
        `Records.as_type`. It shares the position with this pager.
        """
    # Each gives its result, or an awaitable of it in `AsyncPager`: typed in the subclasses.
    def pages(self) -> Any:
        """An iterator over the pages, each as `Records`."""
    def all(
        self,
        max_items: int | None = None,
        max_pages: int | None = None,
        *,
        progress: bool = False,
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
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> _Row_co: ...
    def select(self, *names: str, undeclared: bool = False) -> Pager[dict[str, Any]]:
        """The same iteration restricted to these fields, in this order: rows, pages, `all` and frames
        have nothing else. It shares the position with this pager.

        A name that the endpoint does not declare is refused. With `undeclared=True`, or if the endpoint
        declares no fields, it is looked for in the first page that has records, and refused then.
        """
    def as_type(self, cls: type[_T]) -> RowIterator[_T]:
        """An iterator over the rows as instances of a class, each field converted to its annotation; see
        `Records.as_type`. It shares the position with this pager.
        """
    def pages(self) -> PageIterator[_Row_co]:
        """An iterator over the pages, each as `Records`."""
    def all(
        self,
        max_items: int | None = None,
        max_pages: int | None = None,
        *,
        progress: bool = False,
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
    page ahead.
    """

    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> _Row_co: ...
    def select(self, *names: str, undeclared: bool = False) -> AsyncPager[dict[str, Any]]:
        """The same iteration restricted to these fields, in this order: rows, pages, `all` and frames
        have nothing else. It shares the position with this pager.

        A name that the endpoint does not declare is refused. With `undeclared=True`, or if the endpoint
        declares no fields, it is looked for in the first page that has records, and refused then.
        """
    def as_type(self, cls: type[_T]) -> AsyncRowIterator[_T]:
        """An iterator over the rows as instances of a class, each field converted to its annotation; see
        `Records.as_type`. It shares the position with this pager.
        """
    def pages(self) -> AsyncPageIterator[_Row_co]:
        """An iterator over the pages, each as `Records`."""
    async def all(
        self,
        max_items: int | None = None,
        max_pages: int | None = None,
        *,
        progress: bool = False,
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

@final
class PageIterator(Iterator[Records[_Row_co]]):
    """An iterator over the pages of a pager, from its current position."""

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Records[_Row_co]: ...

@final
class AsyncPageIterator(AsyncIterator[Records[_Row_co]]):
    """An async iterator over the pages of a pager, from its current position."""

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> Records[_Row_co]: ...

@final
class RowIterator(Iterator[_Row_co]):
    """An iterator over the rows of a pager as instances of a class, from the pager's current position.
    It moves the position of the pager.
    """

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> _Row_co: ...
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
class AsyncRowIterator(AsyncIterator[_Row_co]):
    """An async iterator over the rows of a pager as instances of a class, from the pager's current
    position. It moves the position of the pager.
    """

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> _Row_co: ...
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
class Response:
    """A response as it was received; the envelope is not checked."""

    @property
    def status(self) -> int:
        """The HTTP status."""
    @property
    def headers(self) -> dict[str, str]:
        """The headers, with names in lower case; the values of a repeated header are joined by commas."""
    @property
    def content(self) -> bytes:
        """The body as bytes, decompressed."""
    def json(self) -> Any:
        """The body parsed as JSON; raises `ProtocolError` if it is not valid."""

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
    # Each gives its result, or an awaitable of it in `AsyncClient`: typed in `_api.py`.
    def _close(self) -> None: ...
    def _instrument(
        self,
        on_request: Callable[[RequestEvent], Mapping[str, str] | None] | None,
        on_response: Callable[[ResponseEvent], object] | None,
    ) -> None: ...
    def _server_time(self) -> Any: ...
    def _service_now(self) -> Any: ...
    def _call(self, endpoint: str | Endpoint, arguments: list[tuple[str, Any]]) -> Any: ...
    def _pages(
        self,
        endpoint: str | Endpoint,
        arguments: list[tuple[str, Any]],
        windows: int | None,
        resume: str | None,
    ) -> Any: ...
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
    ) -> Any: ...
    def _explain(
        self,
        method: str | Endpoint,
        path: str | None,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None,
        body: dict[str, Any] | list[Any] | bytes | None,
        arguments: list[tuple[str, Any]],
    ) -> Any: ...
    def _ipo_calendar(self, markets: Iterable[str], on_error: str) -> Any: ...
    def _fetch_many(
        self,
        endpoint: str | Endpoint,
        keys: Iterable[str | int],
        concurrency: int,
        on_error: str,
        progress: bool,
    ) -> Any: ...

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
    def faults(self) -> Faults:
        """The faults that it injects. Can be set while it runs; `None` for no faults."""
    @faults.setter
    def faults(self, value: Faults | None) -> None: ...
    def serve(
        self, endpoint: Endpoint, rows: Iterable[Mapping[str, Any]], **arguments: Any
    ) -> None:
        """Answers the requests of an `Endpoint` with these rows, a list of dicts, checked and paged like
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
        """Replaces the rows of a built-in method, such as `"fills_history"`, by your own: of all accounts
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

@overload
def _profile(name: str) -> dict[str, Any]: ...
@overload
def _profile(name: str, *, may_be_missing: bool) -> dict[str, Any] | None: ...
def _save_profile(name: str, entry: dict[str, Any], *, replace: bool = False) -> Any: ...
def _remove_profile(name: str) -> Any: ...
def _rename_over(new: str | PathLike[str], path: str | PathLike[str]) -> None: ...
def _set_default_profile(name: str | None) -> Any: ...
def _profiles() -> tuple[list[str], str | None]: ...
def _check_profile_address(of_profile: str, base_url: str) -> None: ...
def _config_file() -> Any: ...
@overload
def _time_range(
    method: str | Endpoint, arguments: list[tuple[str, Any]], now_micros: None = None
) -> tuple[int, int] | None: ...
@overload
def _time_range(
    method: str | Endpoint, arguments: list[tuple[str, Any]], now_micros: int
) -> tuple[int, int]: ...
def _record_texts(
    records: Records[Any], identity: list[str], ignored: list[str]
) -> list[tuple[str, str, str]]: ...
def _fill_rows(records: Records[Any]) -> list[tuple[str, int, str | None, str]]: ...
def _stored_records(
    method: str, arguments: list[tuple[str, Any]], texts: Iterable[bytes], observed: bool = False
) -> Records[Any]: ...
def _micros(name: str, value: Any) -> int: ...
def _import_frame_library(method: str) -> None: ...
def _to_frame(method: str, records: Any, decimals: str, invalid: str) -> Any: ...
def _reader_of(
    name: str | Endpoint, arguments: list[tuple[str, Any]]
) -> Callable[[bytes], Any]: ...
def _pager_of(
    name: str | Endpoint,
    arguments: list[tuple[str, Any]],
    bodies: list[bytes],
    copied: bool = False,
) -> Any: ...
