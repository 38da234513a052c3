"""boardlot: a client for the account records and reference data of a broker's HTTP API.

```python
import boardlot as bl

with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
    for fill in client.fills_history(sandbox.accounts["trade"][0], "HK"):
        ...
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

try:
    from . import _core as _core
except ImportError as _error:
    from platform import platform, python_version

    _advice = (
        "install boardlot on the system where it runs, or with "
        "`pip install --platform ... --only-binary :all:`"
    )
    if _archive := getattr(globals()["__loader__"], "archive", None):
        _problem = f"cannot be loaded from within a zip file, {_archive}"
        _advice = (
            "put a folder in its place, by `pip install --target FOLDER boardlot` or as shiv and "
            "pex do"
        )
    elif _error.name == __name__:
        _problem = "is not in the package: it was left out, or was built for another system"
    elif _error.path:
        _problem = f"cannot be loaded ({_error}): it was built for another system, or is damaged"
    else:
        raise
    raise ImportError(
        f"boardlot._core, the compiled module of boardlot, {_problem}; {_advice} "
        f"(this is {platform()}, CPython {python_version()})",
        name="boardlot._core",
    ) from _error

from . import _records, errors as _errors
from ._api import AsyncClient, Client
from ._core import (
    ApiKey,
    AuthorizationRequest,
    BearerToken,
    EncryptedFileStore,
    Explanation,
    GeneratedKey,
    KeyringStore,
    MemoryStore,
    OAuth,
    Registration,
    RequestEvent,
    Response,
    ResponseEvent,
    __version__,
    generate_key,
    signature_payload,
)
from ._records import *  # noqa: F403

# Imported here, since the first `await` may come when no more files can be opened.
from ._support import awaiting as _awaiting  # noqa: F401
from .endpoint import DateRange, Endpoint, load_endpoints
from .errors import *  # noqa: F403
from .pager import AsyncPager, Pager
from .rate_limit import RateLimit
from .recording import Recorder, Replay
from .records import Records

if TYPE_CHECKING:
    from ._support.openapi import openapi
    from .archive import Archive
    from .login_flow import LoginFlow, begin_login, login, register_client
    from .oauth_app import AsyncOAuthApp, OAuthApp
    from .sandbox import Faults, Sandbox
    from .token_store import TokenStore

__all__ = [
    "ApiKey",
    "Archive",
    "AsyncClient",
    "AsyncOAuthApp",
    "AsyncPager",
    "AuthorizationRequest",
    "BearerToken",
    "Client",
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
    "Pager",
    "RateLimit",
    "Recorder",
    "Records",
    "Registration",
    "Replay",
    "RequestEvent",
    "Response",
    "ResponseEvent",
    "Sandbox",
    "TokenStore",
    "__version__",
    "begin_login",
    "generate_key",
    "load_endpoints",
    "login",
    "openapi",
    "register_client",
    "signature_payload",
]
__all__ += _errors.__all__
__all__ += _records.__all__

# Heavy parts, which load on first use.
_LAZY = {
    "Archive": "boardlot.archive",
    "AsyncOAuthApp": "boardlot.oauth_app",
    "Faults": "boardlot.sandbox",
    "LoginFlow": "boardlot.login_flow",
    "OAuthApp": "boardlot.oauth_app",
    "Sandbox": "boardlot.sandbox",
    "TokenStore": "boardlot.token_store",
    "begin_login": "boardlot.login_flow",
    "calendar": "boardlot.calendar",
    "login": "boardlot.login_flow",
    "openapi": "boardlot._support.openapi",
    "register_client": "boardlot.login_flow",
}


if not TYPE_CHECKING:
    # Hidden from type checkers, which would believe that every name exists.

    def __getattr__(name):
        if name not in _LAZY:
            from ._support.messages.nearest import did_you_mean

            nearest = "" if name.startswith("_") else did_you_mean(name, __all__)
            raise AttributeError(f"module 'boardlot' has no attribute {name!r}{nearest}")
        module = import_module(_LAZY[name])
        value = getattr(module, name, module)
        globals()[name] = value
        return value


def _listed_for_freezers() -> None:
    from ._support import freezers  # noqa: F401


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
