"""The HTTP clients of other authors, each called in the way of its users."""

import asyncio

import aiohttp
import boardlot.auth
import httpx
import httpx2
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry


class Reply:
    """A response: its status and body, and everything of the client that can be shown."""

    def __init__(self, status, body, *shown):
        self.status, self.body, self.shown = status, body, "\n".join(map(repr, shown))


def by_requests(credentials, method, url, *, redirects=True, retries=0, **body):
    auth = boardlot.auth.requests(credentials)
    with requests.Session() as session:
        session.trust_env = False
        session.auth = auth
        retry = Retry(retries, allowed_methods=None, status_forcelist=[503], backoff_factor=0)
        session.mount("http://", HTTPAdapter(max_retries=retry))
        got = session.request(method, url, allow_redirects=redirects, timeout=60, **body)
        request = got.request
        shown = (auth, session, got, request, request.headers, session.auth, vars(request))
        return Reply(got.status_code, got.content, *shown)


def _by_httpx(library):
    def send(credentials, method, url, *, redirects=True, **body):
        auth = boardlot.auth.httpx(credentials)
        options = {"auth": auth, "trust_env": False, "follow_redirects": redirects}
        body = {"content" if name == "data" else name: value for name, value in body.items()}
        with library.Client(**options) as client:
            got = client.request(method, url, **body)
            shown = (auth, client, got, got.request, got.request.headers)
            return Reply(got.status_code, got.content, *shown)

    return send


def _by_async_httpx(library):
    def send(credentials, method, url, *, redirects=True, **body):
        async def main():
            auth = boardlot.auth.httpx(credentials)
            options = {"auth": auth, "trust_env": False, "follow_redirects": redirects}
            named = {"content" if name == "data" else name: value for name, value in body.items()}
            async with library.AsyncClient(**options) as client:
                got = await client.request(method, url, **named)
                shown = (auth, client, got, got.request, got.request.headers)
                return Reply(got.status_code, got.content, *shown)

        return asyncio.run(main())

    return send


def by_aiohttp(credentials, method, url, *, redirects=True, **body):
    async def main():
        auth = boardlot.auth.aiohttp(credentials)
        async with (
            aiohttp.ClientSession(middlewares=[auth]) as session,
            session.request(method, url, allow_redirects=redirects, **body) as got,
        ):
            shown = (auth, session, got, got.request_info)
            return Reply(got.status, await got.read(), *shown)

    return asyncio.run(main())


LIBRARIES = {
    "requests": by_requests,
    "httpx": _by_httpx(httpx),
    "async httpx": _by_async_httpx(httpx),
    "httpx2": _by_httpx(httpx2),
    "async httpx2": _by_async_httpx(httpx2),
    "aiohttp": by_aiohttp,
}
