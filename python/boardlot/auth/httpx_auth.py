"""Authorization of `httpx` and `httpx2`, whose classes have the same methods."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from boardlot import ConfigError

from .authorizer import STREAMED, Authorizer

LIBRARIES = [import_module(name) for name in ("httpx", "httpx2") if find_spec(name) is not None]
# The body of a request that is not streamed.
KNOWN = tuple(library.ByteStream for library in LIBRARIES)


def adapter(authorizer: Authorizer) -> Any:
    if not LIBRARIES:
        raise ConfigError("boardlot.auth.httpx needs httpx or httpx2; install one of them")
    return _HttpxAuth(authorizer)


# Each client accepts instances of its own class alone.
class _HttpxAuth(*(library.Auth for library in LIBRARIES)):  # type: ignore[misc]
    """Authorizes requests, and once more if the service rejects them.

    A client asks for authorization once for a request, its redirects and the retries of its
    transport, while a signature is good once and for one request.
    """

    def __init__(self, authorizer: Authorizer) -> None:
        self.authorizer = authorizer

    def __repr__(self) -> str:
        return f"boardlot.auth.httpx({self.authorizer!r})"

    def sync_auth_flow(self, request: Any) -> Generator[Any, Any, None]:
        if self.authorizer.has_key:
            self.sign(request)
        else:
            self.authorizer.set_token(request, url_of(request))
        response = yield request
        request = response.request
        if not is_rejected(response):
            return
        if self.authorizer.has_key:
            self.sign(request)
        elif not self.authorizer.set_token(request, url_of(request), is_rejected=True):
            return
        yield request

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        if self.authorizer.has_key:
            self.sign(request)
        else:
            await self.authorizer.async_set_token(request, url_of(request))
        response = yield request
        request = response.request
        if not is_rejected(response):
            return
        if self.authorizer.has_key:
            self.sign(request)
        elif not await self.authorizer.async_set_token(request, url_of(request), is_rejected=True):
            return
        yield request

    def sign(self, request: Any) -> None:
        if not isinstance(request.stream, KNOWN):
            raise ConfigError(STREAMED)
        self.authorizer.sign(request, url_of(request), request.read())


def is_rejected(response: Any) -> bool:
    """True if the service rejected the authorization of the request that was sent last.

    Without the header, the client has followed a redirect to another service.
    """
    return response.status_code == 401 and "Authorization" in response.request.headers


def url_of(request: Any) -> str:
    """The URL as it is sent: `str(request.url)` shows the host in another form."""
    url = request.url
    sent: bytes = url.raw_scheme + b"://" + url.netloc + url.raw_path
    return sent.decode("ascii")
