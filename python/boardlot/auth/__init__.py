"""The service's signature and logins for other HTTP clients: requests, httpx, httpx2 and aiohttp.

Credentials are an `ApiKey`, an `OAuth` or a `BearerToken`. A signature covers the final URL and the
bytes of the body, as the client sends them. Each attempt has its own signature, time and nonce.
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

    The URL and the body of the prepared request are brought into the form in which urllib3 sends
    them, and signed whenever they are sent, so that urllib3's own retries are signed again. A
    redirect that would be followed is refused with a `ProtocolError` before anything is sent: a
    signature is for one URL.

    Args:
        credentials: The key, the login or the token. They are for the service of the first request.
        client: A client whose `clock_offset` corrects the time of signatures, and which refreshes
            the login; by default the local clock, and a client with the default options.

    Returns:
        A `requests.auth.AuthBase`. A request raises `ConfigError` for a body that is streamed (the
        signature covers all of it) and for another service, and `LoginRequired` if the user has to
        log in again.

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

    A redirect that would be followed is refused with a `ProtocolError` before anything is sent: a
    signature is for one URL.

    Args:
        credentials: The key, the login or the token. They are for the service of the first request.
        client: A client whose `clock_offset` corrects the time of signatures, and which refreshes
            the login: a `Client` for a sync client, an `AsyncClient` for an async one.

    Returns:
        An `httpx.Auth`, which is an `httpx2.Auth` too. A request raises what `requests` raises.

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

    Redirects and retries of aiohttp are separate requests, and signed again. A redirect to
    another service is refused with a `ConfigError` before anything is sent.

    Args:
        credentials: The key, the login or the token. They are for the service of the first request.
        client: A client whose `clock_offset` corrects the time of signatures, and which refreshes
            the login.

    Returns:
        A middleware, for `aiohttp.ClientSession(middlewares=[...])`. A request raises what
        `requests` raises.

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
