"""The compiled core. stubtest checks this against the module, whose docstrings it repeats.

The other files of this folder are parts of the stub: the module has no submodules.
"""

from . import _stores
from ._client import ClientBase
from ._credentials import (
    ApiKey,
    BearerToken,
    GeneratedKey,
    OAuth,
    generate_key,
    signature_payload,
)
from ._endpoint import DateRange, Endpoint, load_endpoints
from ._http import (
    Explanation,
    RateLimit,
    Recorder,
    Replay,
    RequestEvent,
    Response,
    ResponseEvent,
)
from ._login import (
    AsyncOAuthApp,
    AuthorizationRequest,
    LoginFlow,
    OAuthApp,
    OAuthAppBase,
    Registration,
    begin_login,
    login,
    register_client,
)
from ._pages import Batch, Page, Pages, PageStream, RecordBatches, RowView
from ._private import (
    _application_limit,
    _authorize_reading,
    _check_profile_address,
    _config_file,
    _environment_proxy,
    _expand_user,
    _FileLock,
    _fill_rows,
    _import_frame_library,
    _micros,
    _nearest,
    _pages_of_bodies,
    _plain_number,
    _profile,
    _profiles,
    _record_texts,
    _records_of_pickle,
    _remove_file,
    _remove_profile,
    _replace_file,
    _response_parser,
    _save_profile,
    _set_default_profile,
    _shown_path,
    _stored_records,
    _time_range,
    _to_frame,
)
from ._records import ArrowStream, Records, RecordsIterator, SchemaField
from ._sandbox import Faults, RecordedRequest, Sandbox
from ._stores import *  # noqa: F403
from ._stores import TokenStoreBase

__all__ = [
    "_CLIENT_OPTIONS",
    "_CONNECT_OPTIONS",
    "_STORES",
    "ApiKey",
    "ArrowStream",
    "AsyncOAuthApp",
    "AuthorizationRequest",
    "Batch",
    "BearerToken",
    "ClientBase",
    "DateRange",
    "Endpoint",
    "Explanation",
    "Faults",
    "GeneratedKey",
    "LoginFlow",
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
    "Records",
    "RecordsIterator",
    "Registration",
    "Replay",
    "RequestEvent",
    "Response",
    "ResponseEvent",
    "RowView",
    "Sandbox",
    "SchemaField",
    "TokenStoreBase",
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
    "_pages_of_bodies",
    "_plain_number",
    "_profile",
    "_profiles",
    "_record_texts",
    "_records_of_pickle",
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
    "begin_login",
    "generate_key",
    "load_endpoints",
    "login",
    "register_client",
    "signature_payload",
]
__all__ += _stores.__all__
__version__: str
_CLIENT_OPTIONS: list[str]
_CONNECT_OPTIONS: list[str]
_STORES: dict[str, type[TokenStoreBase]]
