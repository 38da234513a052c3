"""Authorization of `aiohttp`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp.payload import BytesPayload

from boardlot import ConfigError

from .authorizer import STREAMED, Authorizer

COMPRESSED = (
    "aiohttp compresses the body when it is sent, so the signature would be for other bytes; pass "
    "compress=None, or compressed bytes with the header Content-Encoding"
)


def middleware(authorizer: Authorizer) -> Any:
    return Middleware(authorizer)


class Middleware:
    """Authorizes requests; aiohttp calls it for each redirect and retry.

    Like aiohttp's `DigestAuthMiddleware`, the middleware is for the origin of its first request.
    aiohttp removes `Authorization` when a redirect leads to another origin, and the middleware does
    not set it there again.
    """

    def __init__(self, authorizer: Authorizer) -> None:
        self.authorizer = authorizer
        self.origin: str | None = None

    def __repr__(self) -> str:
        return f"boardlot.auth.aiohttp({self.authorizer!r})"

    async def __call__(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        origin = str(request.url.origin())
        if self.origin is None:
            self.origin = origin
        elif self.origin != origin:
            return await handler(request)
        url = origin + request.url.raw_path_qs
        if self.authorizer.has_key:
            self.authorizer.sign(request, url, await body_of(request))
            return await handler(request)
        await self.authorizer.async_set_token(request, url)
        response = await handler(request)
        if response.status == 401:
            # The connection returns to its pool, even if the renewal of the token raises.
            await response.read()
            if await self.authorizer.async_set_token(request, url, is_rejected=True):
                response = await handler(request)
        return response


async def body_of(request: Any) -> bytes:
    """The bytes of a request's body.

    Raises:
        ConfigError: The bytes are not known before they are sent.
    """
    body = request.body
    if body is None or isinstance(body, (bytes, bytearray)):
        return bytes(body or b"")
    # A payload of text or JSON is a `BytesPayload`, too.
    if not isinstance(body, BytesPayload):
        raise ConfigError(STREAMED)
    if request.compress:
        raise ConfigError(COMPRESSED)
    return bytes(await body.as_bytes())
