"""The exceptions of boardlot.

One tree under `BoardlotError`. Each class also is the built-in exception that a caller would
catch anyway (`ValueError`, `LookupError`, `ConnectionError`, `TimeoutError`), so that code which
knows nothing of boardlot handles its errors sensibly.

Every error is built as `Class(text, *, endpoint=..., retryable=..., hint=..., checkpoint=...)`;
`str(error)` is the text. All of them pickle and copy with every attribute.
"""

# Imported by `import boardlot`: nothing may be imported here.

__all__ = [
    "ApiError",
    "AuthenticationError",
    "BoardlotError",
    "ClockSkewError",
    "ConfigError",
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
        endpoint: Name of the endpoint (`"dividends"`), or `"METHOD /path"` of a request of the
            caller's own; `None` where no endpoint was involved.
        retryable: Whether the same call may well succeed later.
        hint: What to do about it, a sentence: the one given, else that of the class. A traceback
            shows it below the message (Python 3.11 and newer).
        checkpoint: Where a broken iteration can go on: give it as `resume=` to the same call.
            `None` for everything but pagers.
    """

    endpoint: str | None
    retryable: bool
    hint: str
    checkpoint: str | None

    _usual_hint = "Read the message; if it does not help, report it."

    def __init__(
        self,
        text: str = "",
        /,
        *,
        endpoint: str | None = None,
        retryable: bool = False,
        hint: str = "",
        checkpoint: str | None = None,
    ) -> None:
        super().__init__(text)
        self.endpoint = endpoint
        self.retryable = retryable
        self.hint = hint or self._usual_hint
        self.checkpoint = checkpoint
        # `add_note` is new in Python 3.11; on 3.10 the hint stays an attribute only.
        add_note = getattr(self, "add_note", None)
        if add_note is not None:
            add_note(f"hint: {self.hint}")

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call the class with its positional arguments alone.
        return _restore, (type(self), self.args, dict(self.__dict__))


class ConfigError(BoardlotError, ValueError):
    """An argument or setting is invalid; nothing was sent."""

    _usual_hint = "Correct the argument; nothing was sent."


class TransportError(BoardlotError, ConnectionError):
    """No response: DNS, TLS, or a refused or reset connection."""

    _usual_hint = "Check the base URL, the network and the proxy, then call again."


class RequestTimeout(TransportError, TimeoutError):
    """No response within `timeout` or `connect_timeout`, or the whole call took too long."""

    _usual_hint = "Call again, or give the client a larger `timeout`."


class ProtocolError(BoardlotError):
    """An undocumented response format: bad JSON, no success mark, a redirect, too large."""

    _usual_hint = (
        "Check that the base URL is the API's own and that no login page stands in between."
    )


class PaginationError(ProtocolError):
    """A page that cannot be followed, such as one with a cursor that was already used."""

    _usual_hint = "Go on from `.checkpoint` later; report it if it comes again."


class ApiError(BoardlotError):
    """The service rejected the request.

    Attributes:
        http_status: HTTP status of the answer. The service document states none, so the same
            refusal may come with 200 or with 4xx; 0 where it is not known.
        code: The service's code (`ret_code`, `code` or `errcode`), or `None` where the answer
            carried none.
        error_code: The service's `error.code`, such as `"invalid_symbol"`, or `None`.
        message: The service's own words as sent, which `str(error)` escapes for a terminal; may be
            `""`.
        headers: Headers of the answer, names in lower case, secrets struck out.
        body: The first 2 KiB of the answer, secrets struck out.
    """

    http_status: int
    code: int | None
    error_code: str | None
    message: str
    headers: dict[str, str]
    body: str

    _usual_hint = "See the service's message."

    def __init__(
        self,
        text: str = "",
        /,
        *,
        endpoint: str | None = None,
        retryable: bool = False,
        hint: str = "",
        checkpoint: str | None = None,
        http_status: int = 0,
        code: int | None = None,
        error_code: str | None = None,
        message: str | None = None,
        headers: dict[str, str] | None = None,
        body: str = "",
    ) -> None:
        super().__init__(
            text, endpoint=endpoint, retryable=retryable, hint=hint, checkpoint=checkpoint
        )
        self.http_status = http_status
        self.code = code
        self.error_code = error_code
        self.message = text if message is None else message
        self.headers = {} if headers is None else dict(headers)
        self.body = body


class InvalidParameter(ApiError, ValueError):
    """The service rejected a parameter: code -3, `invalid_parameter`."""

    _usual_hint = "Correct the argument that the message names."


class InvalidSymbol(ApiError, LookupError):
    """The service does not know the symbol: code -7, `invalid_symbol`."""

    _usual_hint = "Verify that the code exists and is written as {market}.{code}."


class ServiceError(ApiError):
    """The service failed: a code documented as `internal_error`, or HTTP 5xx."""

    _usual_hint = "Call again later; report it if it persists."


class AuthenticationError(ApiError):
    """The key, its signature or the token was rejected: HTTP 401, or a response that says so."""

    _usual_hint = "Check the key id, that the public key was uploaded, or the token."


class ClockSkewError(AuthenticationError):
    """The service rejected the signed time, even after the clock was corrected: code -12006."""

    _usual_hint = "Check this machine's clock, and that the uploaded key is the one that signs."


class PermissionDenied(ApiError):
    """The key or the granted scope does not cover this endpoint or account: HTTP 403."""

    _usual_hint = "Log in again and allow more, or use another account or key."


class RateLimited(ApiError):
    """Too many requests: HTTP 429.

    Attributes:
        retry_after: Seconds to wait, as the service asked; `None` where it did not say.
    """

    retry_after: float | None

    _usual_hint = "Send fewer requests: set `rate_limit`."

    def __init__(
        self,
        text: str = "",
        /,
        *,
        endpoint: str | None = None,
        retryable: bool = False,
        hint: str = "",
        checkpoint: str | None = None,
        http_status: int = 0,
        code: int | None = None,
        error_code: str | None = None,
        message: str | None = None,
        headers: dict[str, str] | None = None,
        body: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(
            text,
            endpoint=endpoint,
            retryable=retryable,
            hint=hint,
            checkpoint=checkpoint,
            http_status=http_status,
            code=code,
            error_code=error_code,
            message=message,
            headers=headers,
            body=body,
        )
        self.retry_after = retry_after


class OAuthError(BoardlotError):
    """An OAuth endpoint, or the user on the consent page, declined.

    Attributes:
        error: Short code of OAuth, such as `"invalid_grant"` or `"access_denied"`.
        description: The words that came with it; may be `""`.
    """

    error: str
    description: str

    _usual_hint = "Start the login again."

    def __init__(
        self,
        text: str = "",
        /,
        *,
        endpoint: str | None = None,
        retryable: bool = False,
        hint: str = "",
        checkpoint: str | None = None,
        error: str = "",
        description: str = "",
    ) -> None:
        super().__init__(
            text, endpoint=endpoint, retryable=retryable, hint=hint, checkpoint=checkpoint
        )
        self.error = error
        self.description = description


class LoginRequired(OAuthError):
    """There is no usable token: log in, or log in again."""

    _usual_hint = "Log in again: run `boardlot login`, or call `boardlot.login(base_url)`."


class StoreError(BoardlotError):
    """A token store cannot be read or written; its file is unchanged."""

    _usual_hint = "Check the token store; it was left as it is."


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
