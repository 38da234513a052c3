"""The service's signature and logins for other HTTP clients: requests, httpx, httpx2 and aiohttp.

Credentials are an `ApiKey`, an `OAuth` or a `BearerToken`. A signature covers the method, the final
URL and the bytes of the body, as the client sends them, and is good once. An adapter sets plain
headers when its library asks for authorization; proxies, redirects, retries and caches are the
library's.
"""

from __future__ import annotations

from typing import Any

from boardlot import ApiKey, AsyncClient, BearerToken, Client, OAuth
from boardlot._calls import explained

from .authorizer import Authorizer

__all__ = ["aiohttp", "httpx", "requests"]


@explained
def requests(credentials: ApiKey | OAuth | BearerToken, *, client: Client | None = None) -> Any:
    """The `auth` of a `requests` session or request.

    requests asks for authorization when it prepares a request; with a key, the URL and the body are
    then brought into the form in which urllib3 sends them. If the service rejects a request with
    HTTP 401, the request is signed again, or gets a refreshed token, and is sent once more, as with
    `requests.auth.HTTPDigestAuth`.

    Args:
        credentials: The key, the login or the token. A token is for the service of `client`, of the
            login or of the first request.
        client: A client whose `clock_offset` corrects the time of signatures, and which refreshes
            the login; by default the local clock, and a client with the default options.

    Returns:
        A `requests.auth.AuthBase`, which pickles if the credentials do. A request raises
        `ConfigError` for a body that is streamed, with a key (the signature covers all of it), and
        for another service, with a token; and `LoginRequired` if the user has to log in again.

    Raises:
        ConfigError: `credentials` are of another kind.

    Example:
        >>> import requests
        >>> import boardlot.auth
        >>> session = requests.Session()
        >>> session.auth = boardlot.auth.requests(sandbox.api_key())
        >>> response = session.get(f"{sandbox.base_url}/api/v1.0/sim-trade/5001/positions")
        >>> response.json()["ret_code"]
        0
    """
    from .requests_auth import adapter

    return adapter(Authorizer(credentials, client))


@explained
def httpx(
    credentials: ApiKey | OAuth | BearerToken, *, client: Client | AsyncClient | None = None
) -> Any:
    """The `auth` of a client or request of `httpx` or `httpx2`, sync or async.

    The client asks for authorization once for a call. If the service rejects the request with HTTP
    401, the request is signed again, or gets a refreshed token, and is sent once more.

    Args:
        credentials: The key, the login or the token, as for `requests`.
        client: A client whose `clock_offset` corrects the time of signatures, and which refreshes
            the login: a `Client` for a sync client, an `AsyncClient` for an async one.

    Returns:
        An `httpx.Auth`, which is an `httpx2.Auth` too, and pickles if the credentials do. A request
        raises the same errors as with `requests`.

    Raises:
        ConfigError: `credentials` are of another kind, or neither library is installed.

    Example:
        >>> import boardlot.auth
        >>> import httpx
        >>> with httpx.Client(auth=boardlot.auth.httpx(sandbox.api_key())) as http:
        ...     response = http.get(f"{sandbox.base_url}/api/v1.0/sim-trade/5001/positions")
        >>> response.json()["ret_code"]
        0
    """
    from .httpx_auth import adapter

    return adapter(Authorizer(credentials, client))


@explained
def aiohttp(credentials: ApiKey | OAuth | BearerToken, *, client: AsyncClient | None = None) -> Any:
    """A middleware of an `aiohttp` session or request; needs aiohttp 3.12 or newer.

    aiohttp asks for authorization for each redirect and retry, so each is signed. With a token, a
    response with HTTP 401 is followed by one refresh and one more attempt. Like aiohttp's
    `DigestAuthMiddleware`, the middleware is for the origin of its first request: requests to other
    origins pass unchanged.

    Args:
        credentials: The key, the login or the token, as for `requests`.
        client: A client whose `clock_offset` corrects the time of signatures, and which refreshes
            the login.

    Returns:
        A middleware, for `aiohttp.ClientSession(middlewares=[...])`. A request raises the same
        errors as with `requests`.

    Raises:
        ConfigError: `credentials` are of another kind.

    Example:
        >>> import aiohttp
        >>> import boardlot.auth
        >>> signed = boardlot.auth.aiohttp(sandbox.api_key())
        >>> async with aiohttp.ClientSession(middlewares=[signed]) as session:
        ...     url = f"{sandbox.base_url}/api/v1.0/sim-trade/5001/positions"
        ...     async with session.get(url) as response:
        ...         print((await response.json())["ret_code"])
        0
    """
    from .aiohttp_auth import middleware

    return middleware(Authorizer(credentials, client))
