"""The exceptions of boardlot.

One tree under `BoardlotError`. Each class also subclasses the matching built-in exception
(`ValueError`, `LookupError`, `ConnectionError`, `TimeoutError`), so that code which does not know
boardlot handles its errors sensibly.

Every error is built as `Class(text, *, endpoint=..., retryable=..., hint=..., checkpoint=...)`;
`str(error)` is the text. All of them pickle and copy with every attribute.
"""

from typing import Any

__all__ = [
    "ApiError",
    "ArchiveUpdateError",
    "AuthenticationError",
    "BoardlotError",
    "ClockSkewError",
    "ConfigError",
    "InternalError",
    "InvalidParameter",
    "InvalidSymbol",
    "LoginRequired",
    "OAuthError",
    "PaginationError",
    "PermissionDenied",
    "ProtocolError",
    "RateLimited",
    "RequestTimeout",
    "ServiceError",
    "StoreError",
    "TransportError",
]


class BoardlotError(Exception):
    """The base class of all boardlot exceptions.

    Attributes:
        endpoint: Name of the endpoint (`"dividends"`), or `"METHOD /path"` for `request` and
            `paginate`; `None` if no endpoint was involved.
        retryable: True if the same call may succeed later.
        hint: What to do, as a sentence; empty if the message says so. The default is the hint of
            the class. A traceback shows it below the message (Python 3.11 and newer).
        checkpoint: The position of an interrupted iteration: pass it as `resume=` to the same
            call. `None` for everything but pagers.
    """

    endpoint: str | None
    retryable: bool
    hint: str
    checkpoint: str | None

    def __init__(
        self,
        text: str = "",
        /,
        *,
        endpoint: str | None = None,
        retryable: bool = False,
        hint: str | None = None,
        checkpoint: str | None = None,
    ) -> None:
        super().__init__(text)
        self.endpoint = endpoint
        self.retryable = retryable
        self.hint = _default_hint(type(self)) if hint is None else hint
        self.checkpoint = checkpoint
        # `add_note` is new in Python 3.11; on 3.10 the hint is an attribute only.
        add_note = getattr(self, "add_note", None)
        if add_note is not None and self.hint:
            add_note(f"hint: {self.hint}")

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call the class with its positional arguments only.
        return _restore, (type(self), self.args, dict(self.__dict__))


class ConfigError(BoardlotError, ValueError):
    """An argument or setting is invalid; nothing was sent."""


class InternalError(BoardlotError, RuntimeError):
    """A bug in boardlot itself."""


class TransportError(BoardlotError, ConnectionError):
    """No response: DNS, TLS, or a refused or reset connection."""


class RequestTimeout(TransportError, TimeoutError):
    """No response within `timeout` or `connect_timeout`, or the whole call took too long."""


class ProtocolError(BoardlotError):
    """An undocumented response format: bad HTTP or JSON, no success mark, a redirect, too large."""


class PaginationError(ProtocolError):
    """A page that cannot be followed, or a single response that says that there is more."""


class ApiError(BoardlotError):
    """The service rejected the request.

    Attributes:
        http_status: HTTP status of the response; 0 if unknown. The service documents none, so the
            same error may come with 200 or with 4xx.
        code: The service's code (`ret_code`, `code` or `errcode`), or `None` if the response has
            none.
        error_code: The service's `error.code`, such as `"invalid_symbol"`, or `None`.
        message: The service's message as sent, which `str(error)` escapes for a terminal; may be
            `""`.
        headers: Headers of the response by their names in any case, secrets redacted.
        body: The first 2 KiB of the response, secrets redacted.
    """

    http_status: int
    code: int | None
    error_code: str | None
    message: str
    headers: dict[str, str]
    body: str

    def __init__(
        self,
        text: str = "",
        /,
        *,
        http_status: int = 0,
        code: int | None = None,
        error_code: str | None = None,
        message: str | None = None,
        headers: dict[str, str] | None = None,
        body: str = "",
        **more: Any,
    ) -> None:
        super().__init__(text, **more)
        self.http_status = http_status
        self.code = code
        self.error_code = error_code
        self.message = text if message is None else message
        from boardlot._headers import Headers

        self.headers = Headers({} if headers is None else headers)
        self.body = body


class InvalidParameter(ApiError, ValueError):
    """The service rejected a parameter: code -3, `invalid_parameter`."""


class InvalidSymbol(ApiError, LookupError):
    """The service does not know the symbol: code -7, `invalid_symbol`."""


class ServiceError(ApiError):
    """The service failed: a code documented as `internal_error`, or HTTP 5xx."""


class AuthenticationError(ApiError):
    """The key, its signature or the token was rejected: HTTP 401, or a response that says so."""


class ClockSkewError(AuthenticationError):
    """The service rejected the signed time, even after the clock was corrected: code -12006."""


class PermissionDenied(ApiError):
    """The key or the granted scope does not cover this endpoint or account: HTTP 403."""


class RateLimited(ApiError):
    """Too many requests: HTTP 429, or the error code `rate_limited`.

    Attributes:
        retry_after: Seconds to wait, as the service asked; `None` if it did not say.
    """

    retry_after: float | None

    def __init__(self, text: str = "", /, *, retry_after: float | None = None, **more: Any) -> None:
        super().__init__(text, **more)
        self.retry_after = retry_after


class OAuthError(BoardlotError):
    """An OAuth endpoint, or the user on the consent page, declined.

    Attributes:
        error: The OAuth error code, such as `"invalid_grant"` or `"access_denied"`.
        description: Its description; may be `""`.
    """

    error: str
    description: str

    def __init__(
        self, text: str = "", /, *, error: str = "", description: str = "", **more: Any
    ) -> None:
        super().__init__(text, **more)
        self.error = error
        self.description = description


class LoginRequired(OAuthError):
    """There is no usable token: log in, or log in again."""


class StoreError(BoardlotError):
    """A token store, an archive or a limit's file cannot be read or written; it is unchanged."""


class ArchiveUpdateError(BoardlotError):
    """Some lists of an archive's update could not be read; the other lists are stored.

    Attributes:
        report: The `archive.UpdateReport`; its `errors` has the error of each list that failed.
    """

    report: "Any"

    def __init__(self, text: str = "", /, *, report: "Any" = None, **more: Any) -> None:
        super().__init__(text, **more)
        self.report = report


def _default_hint(kind: type[BoardlotError]) -> str:
    """The hint of the class, or of the nearest base class that has one."""
    from boardlot._hints import HINTS

    return next(HINTS[base.__name__] for base in kind.__mro__ if base.__name__ in HINTS)


def _restore(
    kind: type[BoardlotError], args: tuple[object, ...], state: dict[str, object]
) -> BoardlotError:
    """Rebuild a pickled or copied error without calling its `__init__`."""
    error = kind.__new__(kind, *args)
    error.args = args
    for name, value in state.items():
        # The notes are a list: a copy must not write into its original's.
        error.__dict__[name] = list(value) if name == "__notes__" else value  # type: ignore[call-overload]
    return error
