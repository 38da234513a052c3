"""The headers that authorize the requests of another HTTP client."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from boardlot import ApiKey, AsyncClient, BearerToken, Client, ConfigError, OAuth, ProtocolError
from boardlot._support.hidden import HiddenHeader

STREAMED = (
    "the body is streamed, but a signature covers the whole body, which must be known before the "
    "first byte is sent; expected bytes, text, a form or JSON"
)


class Authorizer:
    """Credentials, for the service of the first request that they authorize."""

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
        self.origin: str | None = None
        # Of a token alone: the clients that refresh it, by their class.
        self._clients: dict[type, Any] = {}

    def __repr__(self) -> str:
        return repr(self.credentials)

    @property
    def has_key(self) -> bool:
        return isinstance(self.credentials, ApiKey)

    def signed(self, method: str, url: str, body: bytes) -> dict[str, HiddenHeader]:
        """The headers of a key for one attempt.

        Raises:
            ConfigError: The URL is of another service, or not as it is sent.
        """
        self.bind(url)
        assert isinstance(self.credentials, ApiKey)
        headers = self.credentials.headers(method, url, body, clock=self.client)
        return {name: HiddenHeader(value) for name, value in headers.items()}

    def token(self, url: str, rejected: str | None = None) -> HiddenHeader:
        """The value of `Authorization` of a login or a token.

        Raises:
            ConfigError: The URL is of another service.
            LoginRequired: The user has to log in again.
        """
        return HiddenHeader(self._client(url, Client)._boardlot_core.token_header(rejected))

    async def async_token(self, url: str, rejected: str | None = None) -> HiddenHeader:
        """The same, awaited."""
        return HiddenHeader(
            await self._client(url, AsyncClient)._boardlot_core.token_header(rejected)
        )

    def bind(self, url: str) -> None:
        """Reject a URL of another service than the first request's."""
        parts = urlsplit(url)
        ports = {"https": 443, "http": 80}
        origin = f"{parts.scheme}://{parts.hostname}:{parts.port or ports.get(parts.scheme)}"
        if self.origin is None:
            self.origin = origin
        elif self.origin != origin:
            raise ConfigError(
                f"these credentials are for {self.origin}, and the request is for {origin}, so "
                "nothing was sent. Credentials go to one service: make an adapter for each"
            )

    def _client(self, url: str, kind: type) -> Any:
        """The client that has the token."""
        self.bind(url)
        if self.client is not None:
            if not isinstance(self.client, kind):
                raise ConfigError(
                    f"client is of type {type(self.client).__name__}; expected {kind.__name__} here"
                )
            return self.client
        if kind not in self._clients:
            self._clients[kind] = kind(self.origin, auth=self.credentials)
        return self._clients[kind]


def redirected(url: str) -> ProtocolError:
    """The error for a redirect, whose target has not been signed."""
    return ProtocolError(
        f"the service redirected {url}; a signature is for one URL, so it was not followed"
    )
