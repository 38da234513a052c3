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
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Generic, Literal, Protocol, TypeVar, final, overload

import pandas
import polars
import pyarrow
from typing_extensions import CapsuleType, Self, disjoint_base

from ._api import AsyncClient, Client
from .errors import BoardlotError

_Row_co = TypeVar("_Row_co", covariant=True)
_Decimals = Literal["float64", "decimal", "string"]
_Invalid = Literal["raise", "null"]
_Algorithm = Literal["Ed25519", "RSA-SHA256"]

__all__ = [
    "ApiKey",
    "ArrowStream",
    "AsyncOAuthApp",
    "AsyncPageIterator",
    "AsyncPager",
    "AuthorizationRequest",
    "BearerToken",
    "ClientBase",
    "DateRange",
    "EncryptedFileStore",
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
    "Sandbox",
    "SchemaField",
    "__version__",
    "_config_file",
    "_import_frame_library",
    "_pager_of",
    "_profile",
    "_reader_of",
    "_save_profile",
    "_shut_down",
    "_time_range",
    "_to_frame",
    "begin_login",
    "generate_key",
    "login",
    "register_client",
    "signature_payload",
]
__version__: str

@final
class ApiKey:
    def __new__(
        cls,
        key_id: str,
        private_key: str | bytes | PathLike[str],
        *,
        password: str | bytes | None = None,
    ) -> Self: ...
    @property
    def key_id(self) -> str: ...
    @property
    def algorithm(self) -> _Algorithm: ...
    def public_key_pem(self) -> str: ...
    def sign(self, payload: bytes) -> str: ...
    def __getnewargs__(self) -> tuple[str, Any]: ...

@final
class BearerToken:
    def __new__(cls, token: str) -> Self: ...
    def __getnewargs__(self) -> None: ...

@final
class GeneratedKey:
    @property
    def private_pem(self) -> str: ...
    @property
    def public_pem(self) -> str: ...

def generate_key(algorithm: _Algorithm = "Ed25519", *, bits: int = 3072) -> GeneratedKey: ...
def signature_payload(
    timestamp_ms: int, method: str, path: str, query: str = "", body: bytes = b""
) -> bytes: ...

class _Store(Protocol):
    """What keeps tokens: the three stores, or an object of your own."""

    def load(self, key: str, /) -> bytes | None: ...
    def save(self, key: str, data: bytes, /) -> None: ...
    def delete(self, key: str, /) -> None: ...

@final
class KeyringStore:
    def __new__(cls) -> Self: ...
    def load(self, key: str) -> bytes | None: ...
    def save(self, key: str, data: bytes) -> None: ...
    def delete(self, key: str) -> None: ...
    def __getnewargs__(self) -> tuple[()]: ...

@final
class EncryptedFileStore:
    def __new__(cls, path: str | PathLike[str], passphrase: str | Callable[[], str]) -> Self: ...
    @property
    def path(self) -> Any: ...
    def load(self, key: str) -> bytes | None: ...
    def save(self, key: str, data: bytes) -> None: ...
    def delete(self, key: str) -> None: ...
    def __getnewargs__(self) -> Any: ...

@final
class MemoryStore:
    def __new__(cls) -> Self: ...
    def load(self, key: str) -> bytes | None: ...
    def save(self, key: str, data: bytes) -> None: ...
    def delete(self, key: str) -> None: ...
    def __getnewargs__(self) -> Any: ...

@final
class OAuth:
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
    def client_id(self) -> str: ...
    @property
    def user(self) -> str | None: ...
    @property
    def base_url(self) -> str | None: ...
    def __getnewargs_ex__(self) -> Any: ...
    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def expires_at(self) -> datetime: ...
    def logout(self) -> None: ...

@final
class Registration:
    @property
    def client_id(self) -> str: ...
    @property
    def client_secret(self) -> str | None: ...
    @property
    def redirect_uris(self) -> list[str]: ...
    @property
    def scope(self) -> str | None: ...
    @property
    def issued_at(self) -> datetime | None: ...
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
) -> Registration: ...

@final
class AuthorizationRequest:
    @property
    def url(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def code_verifier(self) -> str: ...
    def __reduce__(self) -> Any: ...

@disjoint_base
class OAuthAppBase:
    @property
    def client_id(self) -> str: ...
    @property
    def redirect_uri(self) -> str: ...
    @property
    def base_url(self) -> str: ...
    def authorization_url(self) -> AuthorizationRequest: ...
    def auth(self, *, user: str) -> OAuth: ...
    def __getnewargs_ex__(self) -> Any: ...

@final
class OAuthApp(OAuthAppBase):
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
    ) -> OAuth: ...

@final
class AsyncOAuthApp(OAuthAppBase):
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
    ) -> Awaitable[OAuth]: ...

@final
class LoginFlow:
    @property
    def url(self) -> str: ...
    def finish(self, callback_url: str) -> OAuth: ...
    def wait(self) -> OAuth: ...
    def cancel(self) -> None: ...
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
) -> OAuth: ...
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
) -> LoginFlow: ...

@final
class DateRange:
    def __new__(
        cls,
        end: str = "end",
        *,
        next: str | None = None,
        before: str | None = None,
        unique: str | None = None,
    ) -> Self: ...

@final
class SchemaField:
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def values(self) -> str | None: ...

@final
class ArrowStream:
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...

# A `Sequence` by registration: it inherits nothing.
@final
class Records(Sequence[_Row_co]):
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
    def count(self, value: Any) -> int: ...
    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int: ...
    @property
    def meta(self) -> dict[str, Any]: ...
    @property
    def errors(self) -> dict[str, BoardlotError]: ...
    @property
    def schema(self) -> tuple[SchemaField, ...]: ...
    def to_dicts(self, *, typed: bool = False) -> list[dict[str, Any]]: ...
    def to_pandas(
        self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise"
    ) -> pandas.DataFrame: ...
    def to_polars(
        self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise"
    ) -> polars.DataFrame: ...
    def to_arrow(
        self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise"
    ) -> pyarrow.Table: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: dict[int, Any]) -> Self: ...
    def _arrow(self, decimals: str, invalid: str, strings: str) -> ArrowStream: ...
    def _json(self, names: list[str] | None = None) -> list[str]: ...
    def _names(self) -> list[str]: ...
    def _texts(self, names: list[str]) -> list[list[str | None]]: ...
    def _repr_html_(self) -> str: ...

@final
class RecordsIterator(Iterator[_Row_co]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> _Row_co: ...
    def __length_hint__(self) -> int: ...

@final
class Recorder:
    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def __getnewargs__(self) -> None: ...

@final
class Replay:
    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    @property
    def base_url(self) -> str | None: ...
    def __getnewargs__(self) -> tuple[str]: ...

@final
class RequestEvent:
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def attempt(self) -> int: ...

@final
class ResponseEvent:
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def status(self) -> int | None: ...
    @property
    def duration(self) -> float: ...
    @property
    def error(self) -> str | None: ...

@disjoint_base
class PagerBase(Generic[_Row_co]):
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    @property
    def total(self) -> int | None: ...
    @property
    def requests(self) -> int: ...
    def checkpoint(self) -> str: ...
    # Each gives its result, or an awaitable of it in `AsyncPager`: typed in the subclasses.
    def pages(self) -> Any: ...
    def all(
        self,
        max_items: int | None = None,
        max_pages: int | None = None,
        *,
        progress: bool = False,
    ) -> Any: ...
    def to_pandas(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> Any: ...
    def to_polars(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> Any: ...
    def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: bool = False,
    ) -> Any: ...

@final
class Pager(PagerBase[_Row_co], Iterator[_Row_co]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> _Row_co: ...
    def pages(self) -> PageIterator[_Row_co]: ...
    def all(
        self,
        max_items: int | None = None,
        max_pages: int | None = None,
        *,
        progress: bool = False,
    ) -> Records[_Row_co]: ...
    def to_pandas(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> pandas.DataFrame: ...
    def to_polars(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> polars.DataFrame: ...
    @overload  # type: ignore[override]
    def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: Literal[False] = False,
    ) -> pyarrow.Table: ...
    @overload
    def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: Literal[True],
    ) -> Iterator[pyarrow.RecordBatch]: ...

@final
class AsyncPager(PagerBase[_Row_co], AsyncIterator[_Row_co]):
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> _Row_co: ...
    def pages(self) -> AsyncPageIterator[_Row_co]: ...
    async def all(
        self,
        max_items: int | None = None,
        max_pages: int | None = None,
        *,
        progress: bool = False,
    ) -> Records[_Row_co]: ...
    async def to_pandas(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> pandas.DataFrame: ...
    async def to_polars(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
    ) -> polars.DataFrame: ...
    @overload  # type: ignore[override]
    async def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: Literal[False] = False,
    ) -> pyarrow.Table: ...
    @overload
    def to_arrow(
        self,
        *,
        decimals: _Decimals = "float64",
        invalid: _Invalid = "raise",
        progress: bool = False,
        batches: Literal[True],
    ) -> AsyncIterator[pyarrow.RecordBatch]: ...

@final
class PageIterator(Iterator[Records[_Row_co]]):
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Records[_Row_co]: ...

@final
class AsyncPageIterator(AsyncIterator[Records[_Row_co]]):
    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> Records[_Row_co]: ...

@final
class Response:
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> dict[str, str]: ...
    @property
    def content(self) -> bytes: ...
    def json(self) -> Any: ...

@final
class Explanation:
    @property
    def method(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def payload_lines(self) -> list[str]: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def body_hash(self) -> str: ...
    @property
    def headers(self) -> dict[str, str]: ...

@disjoint_base
class ClientBase:
    _call_mode: str
    def __new__(cls, base_url: str | None = None, **options: Any) -> Self: ...
    @property
    def base_url(self) -> str: ...
    @property
    def ws_quote_url(self) -> str | None: ...
    @property
    def ws_trade_url(self) -> str | None: ...
    @property
    def clock_offset(self) -> float: ...
    # Each gives its result, or an awaitable of it in `AsyncClient`: typed in `_api.py`.
    def _close(self) -> None: ...
    def _server_time(self) -> Any: ...
    def _call(self, name: str, arguments: list[tuple[str, Any]]) -> Any: ...
    def _pages(
        self,
        name: str,
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
        method: str,
        path: str,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None,
        body: dict[str, Any] | list[Any] | bytes | None,
    ) -> Any: ...
    def _ipo_calendar(self, markets: Iterable[str], on_error: str) -> Any: ...
    def _fetch_many(
        self,
        name: str,
        keys: Iterable[str | int],
        concurrency: int,
        on_error: str,
        progress: bool,
    ) -> Any: ...

@final
@final
class Faults:
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
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def query(self) -> str: ...
    @property
    def status(self) -> int: ...

_SandboxAuth = Literal["Ed25519", "RSA-SHA256", "oauth"] | ApiKey | BearerToken | OAuth

@final
class Sandbox:
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
        host: str = "127.0.0.1",
    ) -> Self: ...
    @property
    def base_url(self) -> str: ...
    @property
    def accounts(self) -> dict[str, list[str]]: ...
    @property
    def requests(self) -> list[RecordedRequest]: ...
    @property
    def faults(self) -> Faults: ...
    @faults.setter
    def faults(self, value: Faults | None) -> None: ...
    def upload_key(self, public_pem: str) -> str: ...
    def api_key(self, algorithm: _Algorithm = "Ed25519") -> ApiKey: ...
    def client(
        self,
        auth: _Algorithm | Literal["oauth"] | ApiKey | BearerToken | OAuth | None = None,
        **options: Any,
    ) -> Client: ...
    def async_client(
        self,
        auth: _Algorithm | Literal["oauth"] | ApiKey | BearerToken | OAuth | None = None,
        **options: Any,
    ) -> AsyncClient: ...
    def authorize_demo_user(
        self, authorize_url: str, scopes: Sequence[str] | None = None
    ) -> str: ...
    def revoke_tokens(self) -> None: ...
    def revoke_grants(self) -> None: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None: ...

def _shut_down() -> None: ...
@overload
def _profile(name: str) -> dict[str, Any]: ...
@overload
def _profile(name: str, *, may_be_missing: bool) -> dict[str, Any] | None: ...
def _save_profile(
    name: str, base_url: str, client_id: str, store: Any, *, replace: bool = False
) -> Any: ...
def _config_file() -> Any: ...
@overload
def _time_range(
    method: str, arguments: list[tuple[str, Any]], now_micros: None = None
) -> tuple[int, int] | None: ...
@overload
def _time_range(
    method: str, arguments: list[tuple[str, Any]], now_micros: int
) -> tuple[int, int]: ...
def _import_frame_library(method: str) -> None: ...
def _to_frame(method: str, records: Any, decimals: str, invalid: str) -> Any: ...
def _reader_of(name: str, arguments: list[tuple[str, Any]]) -> Callable[[bytes], Any]: ...
def _pager_of(name: str, arguments: list[tuple[str, Any]], bodies: list[bytes]) -> Any: ...
