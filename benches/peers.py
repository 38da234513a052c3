"""HTTP clients as their own users would write them at their best.

Each has one session for all requests, which pyca/cryptography signs and orjson decodes. Each class
below is used as a context manager; `get(url)` returns the body, or an awaitable for asynchronous
clients.
"""

from __future__ import annotations

import http.client
from contextlib import AsyncExitStack, ExitStack
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import urlsplit

from .signer import Signer

# pyreqwest does not exist for Python 3.10.
HAS_PYREQWEST = find_spec("pyreqwest") is not None
# Maximum number of connections of a client: enough for all tasks or threads that use it.
CONNECTIONS = 256


class Sync:
    def __init__(self, signer: Signer) -> None:
        self.signer = signer
        self.stack = ExitStack()
        self.open()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def open(self) -> None:
        raise NotImplementedError

    def get(self, url: str) -> bytes | memoryview:
        raise NotImplementedError


class Async:
    def __init__(self, signer: Signer) -> None:
        self.signer = signer
        self.stack = AsyncExitStack()

    async def __aenter__(self):
        await self.open()
        return self

    async def __aexit__(self, *_):
        await self.stack.aclose()

    async def open(self) -> None:
        raise NotImplementedError

    async def get(self, url: str) -> bytes | memoryview:
        raise NotImplementedError


class Requests(Sync):
    def open(self) -> None:
        import requests
        from requests.adapters import HTTPAdapter

        self.session = self.stack.enter_context(requests.Session())
        # Neither proxies nor .netrc are looked up for each request.
        self.session.trust_env = False
        self.session.mount("http://", HTTPAdapter(pool_maxsize=CONNECTIONS))

    def get(self, url: str) -> bytes:
        response = self.session.get(url, headers=self.signer.of(url))
        response.raise_for_status()
        return response.content


class Httpx(Sync):
    # httpx2 continues httpx, with the same names.
    library = "httpx"

    def open(self) -> None:
        httpx = import_module(self.library)
        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        self.client = self.stack.enter_context(httpx.Client(limits=limits, trust_env=False))

    def get(self, url: str) -> bytes:
        response = self.client.get(url, headers=self.signer.of(url)).raise_for_status()
        content: bytes = response.content
        return content


class Httpx2(Httpx):
    library = "httpx2"


class Urllib3(Sync):
    def open(self) -> None:
        import urllib3

        self.pool = self.stack.enter_context(urllib3.PoolManager(maxsize=CONNECTIONS))

    def get(self, url: str) -> bytes:
        response = self.pool.request("GET", url, headers=self.signer.of(url))
        if response.status != 200:
            raise RuntimeError(f"HTTP {response.status}")
        return response.data


class HttpClient(Sync):
    """The client of the standard library, with one connection, so for one thread."""

    connection: http.client.HTTPConnection | None = None

    def open(self) -> None:
        pass

    def get(self, url: str) -> bytes:
        parts = urlsplit(url)
        if self.connection is None:
            self.connection = http.client.HTTPConnection(parts.netloc)
            self.stack.callback(self.connection.close)
        target = url[len(f"{parts.scheme}://{parts.netloc}") :]
        self.connection.request("GET", target, headers=self.signer.of(url))
        response = self.connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"HTTP {response.status}")
        return response.read()


class Pyreqwest(Sync):
    def open(self) -> None:
        from pyreqwest.client import SyncClientBuilder

        builder = SyncClientBuilder().error_for_status().timeout(timedelta(seconds=30))
        builder = builder.pool_max_idle_per_host(CONNECTIONS).no_proxy()
        self.client = self.stack.enter_context(builder.build())

    def get(self, url: str) -> memoryview:
        response = self.client.get(url).headers(self.signer.of(url)).build().send()
        return memoryview(response.bytes())


class Rnet(Sync):
    def open(self) -> None:
        from rnet.blocking import BlockingClient

        self.client = BlockingClient(no_proxy=True, pool_max_idle_per_host=CONNECTIONS)

    def get(self, url: str) -> bytes:
        response = self.client.get(url, headers=self.signer.of(url))
        if not response.ok:
            raise RuntimeError(f"HTTP {response.status}")
        return response.bytes()


class Primp(Sync):
    def open(self) -> None:
        import primp

        self.client = primp.Client()

    def get(self, url: str) -> bytes:
        response = self.client.get(url, headers=self.signer.of(url))
        response.raise_for_status()
        return response.content


class Httpr(Sync):
    def open(self) -> None:
        import httpr

        self.client = self.stack.enter_context(httpr.Client())

    def get(self, url: str) -> bytes:
        response = self.client.get(url, headers=self.signer.of(url))
        response.raise_for_status()
        return response.content


class AsyncHttpx(Async):
    library = "httpx"

    async def open(self) -> None:
        httpx = import_module(self.library)
        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        client = httpx.AsyncClient(limits=limits, trust_env=False)
        self.client = await self.stack.enter_async_context(client)

    async def get(self, url: str) -> bytes:
        response = await self.client.get(url, headers=self.signer.of(url))
        content: bytes = response.raise_for_status().content
        return content


class AsyncHttpx2(AsyncHttpx):
    library = "httpx2"


class Aiohttp(Async):
    async def open(self) -> None:
        import aiohttp

        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS),
            raise_for_status=True,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self.session = await self.stack.enter_async_context(session)

    async def get(self, url: str) -> bytes:
        async with self.session.get(url, headers=self.signer.of(url)) as response:
            return await response.read()


class AsyncPyreqwest(Async):
    async def open(self) -> None:
        from pyreqwest.client import ClientBuilder

        builder = ClientBuilder().error_for_status().timeout(timedelta(seconds=30))
        builder = builder.pool_max_idle_per_host(CONNECTIONS).no_proxy()
        self.client = await self.stack.enter_async_context(builder.build())

    async def get(self, url: str) -> memoryview:
        response = await self.client.get(url).headers(self.signer.of(url)).build().send()
        return memoryview(await response.bytes())


class AsyncRnet(Async):
    async def open(self) -> None:
        import rnet

        self.client = rnet.Client(no_proxy=True, pool_max_idle_per_host=CONNECTIONS)

    async def get(self, url: str) -> bytes:
        response = await self.client.get(url, headers=self.signer.of(url))
        if not response.ok:
            raise RuntimeError(f"HTTP {response.status}")
        return await response.bytes()


class AsyncPrimp(Async):
    async def open(self) -> None:
        import primp

        self.client = primp.AsyncClient()

    async def get(self, url: str) -> bytes:
        response = await self.client.get(url, headers=self.signer.of(url))
        response.raise_for_status()
        return response.content
