"""boardlot: a client for market data and trading.

```python
import boardlot as bl

with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
    for fill in client.fills_history(sandbox.accounts["trade"][0], "HK"):
        ...
```

Section numbers in the docstrings are those of the service's own interface document.
"""

from __future__ import annotations

from ._api import AsyncClient, Client
from ._core import (
    ApiKey,
    AsyncOAuthApp,
    AsyncPager,
    AuthorizationRequest,
    BearerToken,
    DateRange,
    EncryptedFileStore,
    Explanation,
    Faults,
    GeneratedKey,
    KeyringStore,
    LoginFlow,
    MemoryStore,
    OAuth,
    OAuthApp,
    Pager,
    Recorder,
    Records,
    Registration,
    Replay,
    RequestEvent,
    Response,
    ResponseEvent,
    Sandbox,
    __version__,
    begin_login,
    generate_key,
    login,
    register_client,
    signature_payload,
)
from .errors import (
    ApiError,
    AuthenticationError,
    BoardlotError,
    ClockSkewError,
    ConfigError,
    InvalidParameter,
    InvalidSymbol,
    LoginRequired,
    OAuthError,
    PaginationError,
    PermissionDenied,
    ProtocolError,
    RateLimited,
    RequestTimeout,
    ServiceError,
    StoreError,
    TransportError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._records import (
        CnIpoRequest,
        CryptoOrderStatus,
        DividendProcess,
        IpoApplyStatus,
        IpoOfferType,
        IpoRequest,
        IpoSecurityType,
        PositionType,
        SimOrderStatus,
        SimOrderType,
        SimSide,
        UsIpoStatus,
    )

__all__ = [
    "ApiError",
    "ApiKey",
    "AsyncClient",
    "AsyncOAuthApp",
    "AsyncPager",
    "AuthenticationError",
    "AuthorizationRequest",
    "BearerToken",
    "BoardlotError",
    "Client",
    "ClockSkewError",
    "CnIpoRequest",
    "ConfigError",
    "CryptoOrderStatus",
    "DateRange",
    "DividendProcess",
    "EncryptedFileStore",
    "Explanation",
    "Faults",
    "GeneratedKey",
    "InvalidParameter",
    "InvalidSymbol",
    "IpoApplyStatus",
    "IpoOfferType",
    "IpoRequest",
    "IpoSecurityType",
    "KeyringStore",
    "LoginFlow",
    "LoginRequired",
    "MemoryStore",
    "OAuth",
    "OAuthApp",
    "OAuthError",
    "Pager",
    "PaginationError",
    "PermissionDenied",
    "PositionType",
    "ProtocolError",
    "RateLimited",
    "Recorder",
    "Records",
    "Registration",
    "Replay",
    "RequestEvent",
    "RequestTimeout",
    "Response",
    "ResponseEvent",
    "Sandbox",
    "ServiceError",
    "SimOrderStatus",
    "SimOrderType",
    "SimSide",
    "StoreError",
    "TransportError",
    "UsIpoStatus",
    "__version__",
    "begin_login",
    "generate_key",
    "login",
    "register_client",
    "signature_payload",
]


def __getattr__(name: str) -> object:
    # The enums load on first use: the `enum` module alone would double the import time.
    if name in __all__:
        from . import _records

        value = getattr(_records, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
