"""Authorization of `httpx` and `httpx2`, whose classes have the same methods."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from boardlot import ConfigError
from boardlot._support.hidden import HiddenHeader

from .authorizer import STREAMED, Authorizer, redirected


def adapter(authorizer: Authorizer) -> Any:
    installed = [name for name in ("httpx", "httpx2") if find_spec(name) is not None]
    if not installed:
        raise ConfigError("boardlot.auth.httpx needs httpx or httpx2; install one of them")
    bases = tuple(import_module(name).Auth for name in installed)
    # Each client accepts instances of its own class alone.
    return type("HttpxAuth", (HttpxAuth, *bases), {})(authorizer)


class HttpxAuth:
    """Authorizes requests, sync and async."""

    requires_request_body = False
    requires_response_body = False

    def __init__(self, authorizer: Authorizer) -> None:
        self.authorizer = authorizer

    def __repr__(self) -> str:
        return f"boardlot.auth.httpx({self.authorizer!r})"

    def sync_auth_flow(self, request: Any) -> Generator[Any, Any, None]:
        url, observed = str(request.url), request.extensions.get("trace")
        if self.authorizer.has_key:
            self._sign(request, url)
        else:
            request.headers["Authorization"] = self.authorizer.token(url)
        request.extensions["trace"] = once(url, observed)
        response = yield request
        if response.status_code == 401 and not self.authorizer.has_key:
            sent = HiddenHeader(request.headers["Authorization"])
            header = self.authorizer.token(url, sent)
            if header != sent:
                request.headers["Authorization"] = header
                request.extensions["trace"] = once(url, observed)
                yield request

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        url, observed = str(request.url), request.extensions.get("trace")
        if self.authorizer.has_key:
            self._sign(request, url)
        else:
            request.headers["Authorization"] = await self.authorizer.async_token(url)
        request.extensions["trace"] = async_once(url, observed)
        response = yield request
        if response.status_code == 401 and not self.authorizer.has_key:
            sent = HiddenHeader(request.headers["Authorization"])
            header = await self.authorizer.async_token(url, sent)
            if header != sent:
                request.headers["Authorization"] = header
                request.extensions["trace"] = async_once(url, observed)
                yield request

    def _sign(self, request: Any, url: str) -> None:
        try:
            body = request.content
        except Exception as error:
            # `RequestNotRead` of either library.
            raise ConfigError(STREAMED) from error
        # The target as it is sent: `str(url)` shows the host in another form.
        target = request.url.raw_path.decode("ascii")
        request.headers.update(self.authorizer.signed(request.method, origin(url) + target, body))


def origin(url: str) -> str:
    """The URL up to its path."""
    scheme, _, rest = url.partition("://")
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    return f"{scheme}://{rest}"


def once(url: str, observed: Callable[[str, Any], Any] | None) -> Callable[[str, Any], Any]:
    """A trace of httpcore that lets a request's headers be sent once: the second time, the client
    follows a redirect with them."""
    is_sent = False

    def trace(name: str, info: Any) -> Any:
        nonlocal is_sent
        if name.endswith(".send_request_headers.started"):
            if is_sent:
                raise redirected(url)
            is_sent = True
        return observed(name, info) if observed is not None else None

    return trace


def async_once(url: str, observed: Callable[[str, Any], Any] | None) -> Callable[[str, Any], Any]:
    """The same for an async client."""
    check = once(url, None)

    async def trace(name: str, info: Any) -> Any:
        check(name, info)
        return await observed(name, info) if observed is not None else None

    return trace
