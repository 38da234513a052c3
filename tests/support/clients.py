"""Both clients for a server, behind one interface."""

import asyncio
import inspect

import boardlot as bl
from boardlot._endpoints import ENDPOINTS

from .keys import api_key
from .paged_service import CALLS
from .service import StandInService

PAGERS = {endpoint.method for endpoint in ENDPOINTS if endpoint.paged}
MODES = ["sync", "async"]


def client_of(server, auth=None, **options):
    """A client for a test's server: signs with the test key by default, and does not retry.

    A `StandInService` closes the client at its end; a client for another address is closed by the
    test.
    """
    options = {"auth": auth or api_key(), "max_retries": 0, "timeout": 20.0, **options}
    client = bl.Client(getattr(server, "base_url", server), **options)
    if hasattr(server, "stack"):
        server.stack.callback(client.close)
    return client


def run(mode, server, use, **options):
    """Runs `use(client)`, a coroutine function, with a client of the given mode.

    `use` takes the client as an `AnyClient`, whose methods are the same for both kinds: each
    behavior is written once and tested with both. `server` is a server, or the script of one.
    """
    if callable(server) or isinstance(server, list):
        with StandInService(server) as service:
            return run(mode, service, use, **options)
    options = {"auth": api_key(), "max_retries": 0, "timeout": 10.0, **options}
    base_url = getattr(server, "base_url", server)

    async def with_async():
        async with bl.AsyncClient(base_url, **options) as client:
            return await use(AnyClient(client))

    if mode == "async":
        return asyncio.run(with_async())
    with bl.Client(base_url, **options) as client:
        # No loop is needed: with a sync client nothing in `use` ever waits.
        coroutine = use(AnyClient(client))
        try:
            coroutine.send(None)
        except StopIteration as done:
            return done.value
        raise AssertionError("a sync client gave something that has to be awaited")


class AnyClient:
    """A client of either kind, with the calls written as for the asynchronous one."""

    def __init__(self, client):
        self.client = client

    def pager(self, method, *args, **kwargs):
        return getattr(self.client, method)(*args, **kwargs)

    def listing(self, method, resume=None):
        """A pager of a `PagedList`."""
        args, kwargs = CALLS[method]
        return self.pager(method, *args, **kwargs, resume=resume)

    async def call(self, method, *args, **kwargs):
        return await result_of(getattr(self.client, method)(*args, **kwargs))

    async def rows(self, pager, limit=None):
        """The rows of a pager from its position on, at most `limit`."""
        taken = []
        if limit == 0:
            return taken
        async for row in stream(pager):
            taken.append(row)
            if len(taken) == limit:
                break
        return taken

    async def pages(self, pager):
        return [page async for page in stream(pager.pages())]

    async def everything(self, method, *args, **kwargs):
        """The result of any method as plain rows (or the value of `server_time`)."""
        if method in PAGERS:
            return await self.rows(self.pager(method, *args, **kwargs))
        result = await self.call(method, *args, **kwargs)
        return result if method == "server_time" else list(result)


async def stream(iterable):
    """Yields the items of a pager of either kind."""
    if hasattr(iterable, "__aiter__"):
        async for each in iterable:
            yield each
    else:
        for each in iterable:
            yield each


async def settled(value):
    return await value if inspect.isawaitable(value) else value


async def result_of(result):
    """Awaits a call of `AsyncClient`; a pager is left as it is."""
    return result if hasattr(result, "__aiter__") else await settled(result)


def same(left, right):
    """True if two values are equal, where 1, 1.0 and True differ, and 0.0 and -0.0, too."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and repr(left) == repr(right)
