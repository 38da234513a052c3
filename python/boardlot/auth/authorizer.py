"""The headers that authorize the requests of another HTTP client."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, urlsplit

from boardlot import ApiKey, AsyncClient, BearerToken, Client, ConfigError, OAuth

STREAMED = (
    "the body is streamed, but a signature covers the whole body, which must be known before the "
    "first byte is sent; expected bytes, text, a form or JSON"
)
PORTS = {"https": 443, "http": 80}


class Authorizer:
    """Credentials, and the clients that refresh them if they are tokens."""

    def __init__(
        self, credentials: ApiKey | OAuth | BearerToken, client: Client | AsyncClient | None
    ) -> None:
        if not isinstance(credentials, (ApiKey, OAuth, BearerToken)):
            raise ConfigError(
                f"credentials are of type {type(credentials).__name__}; expected an ApiKey, an "
                "OAuth or a BearerToken"
            )
        if client is not None and not isinstance(client, (Client, AsyncClient)):
            raise ConfigError(
                f"client is of type {type(client).__name__}; expected a Client or an AsyncClient"
            )
        self.credentials: ApiKey | OAuth | BearerToken = credentials
        self.client: Client | AsyncClient | None = client
        # The clients by their class, if none was passed.
        self._clients: dict[type, Any] = {}

    def __repr__(self) -> str:
        return repr(self.credentials)

    def __reduce__(self) -> Any:
        return Authorizer, (self.credentials, self.client)

    def __deepcopy__(self, _: Any) -> Authorizer:
        # A copy of a prepared request has the same credentials, which may not be copied.
        return self

    @property
    def has_key(self) -> bool:
        return isinstance(self.credentials, ApiKey)

    def sign(self, request: Any, url: str, body: bytes) -> None:
        """Sets the headers of a key for one attempt.

        Raises:
            ConfigError: The URL is not in the form in which it is sent.
        """
        assert isinstance(self.credentials, ApiKey)
        headers = self.credentials.headers(request.method, url, body, clock=self.client)
        request.headers.update(headers)

    def set_token(self, request: Any, url: str, *, is_rejected: bool = False) -> bool:
        """Sets the header of a login or a token; true if it changed.

        No variable has the token while this may raise, as a crash report shows variables.

        Args:
            request: A request of the other client, with a mapping of headers.
            url: The URL of the request.
            is_rejected: The service has rejected the token that the request has.

        Raises:
            ConfigError: The URL is of another service.
            LoginRequired: The user has to log in again.
        """
        core = self._client(url, Client)._boardlot_core
        return _set(request, core.token_header(_sent(request) if is_rejected else None))

    async def async_set_token(self, request: Any, url: str, *, is_rejected: bool = False) -> bool:
        """Sets the header of a login or a token, awaited; true if it changed."""
        core = self._client(url, AsyncClient)._boardlot_core
        return _set(request, await core.token_header(_sent(request) if is_rejected else None))

    def _client(self, url: str, kind: type[Client] | type[AsyncClient]) -> Any:
        """The client that has the token."""
        client: Any = self.client
        if client is None:
            if kind not in self._clients:
                base_url = getattr(self.credentials, "base_url", None) or _origin(urlsplit(url))
                self._clients[kind] = kind(base_url, auth=self.credentials)
            client = self._clients[kind]
        if not isinstance(client, kind):
            raise ConfigError(
                f"client is of type {type(client).__name__}; expected {kind.__name__} here"
            )
        own = urlsplit(client.base_url)
        if _address(own) != _address(urlsplit(url)):
            raise ConfigError(
                f"this token is for {_origin(own)}, and the request is for "
                f"{_origin(urlsplit(url))}, so nothing was sent. A token goes to one service: make "
                "an adapter for each"
            )
        return client


def _sent(request: Any) -> str | None:
    value: str | None = request.headers.get("Authorization")
    return value


def _set(request: Any, header: str) -> bool:
    changed = _sent(request) != header
    request.headers["Authorization"] = header
    return changed


def _origin(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _address(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)
