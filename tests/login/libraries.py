"""The HTTP clients of other authors, each called in the way of its users."""

import asyncio
import functools
import ssl

import aiohttp
import boardlot.auth
import httpx
import httpx2
import requests


class Reply:
    """A response: its status and body, and everything of the client that can be shown."""

    def __init__(self, status, body, auth, *shown):
        self.status, self.body, self.auth = status, body, repr(auth)
        self.shown = "\n".join(map(repr, (auth, *shown)))


@functools.cache
def tls():
    """What httpx would make for each client, from a file of all authorities."""
    return ssl.create_default_context()


def by_requests(credentials, method, url, *, redirects=True, **body):
    auth = boardlot.auth.requests(credentials)
    with requests.Session() as session:
        session.trust_env = False
        session.auth = auth
        got = session.request(method, url, allow_redirects=redirects, timeout=60, **body)
        request = got.request
        shown = (auth, session, got, request, request.headers, session.auth, vars(request))
        return Reply(got.status_code, got.content, *shown)


def _by_httpx(library):
    def send(credentials, method, url, *, redirects=True, **body):
        auth = boardlot.auth.httpx(credentials)
        options = {"auth": auth, "verify": tls(), "trust_env": False, "follow_redirects": redirects}
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
            options["verify"] = tls()
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


def send(name, credentials, calls, *, proxy=None, environment=False, ca_file=None):
    """The status of each call, or the error that it raises, all by one client."""
    if name == "requests":
        return _send_by_requests(credentials, calls, proxy, environment, ca_file)
    if name == "aiohttp":
        return asyncio.run(_send_by_aiohttp(credentials, calls, proxy, environment, ca_file))
    library = httpx2 if name.endswith("2") else httpx
    options = {"auth": boardlot.auth.httpx(credentials), "proxy": proxy, "trust_env": environment}
    options["verify"] = ssl.create_default_context(cafile=ca_file)
    named = [(method, url, _content(body)) for method, url, body in calls]
    if not name.startswith("async"):
        with library.Client(**options) as client:
            return [_result(functools.partial(client.request, m, u, **b)) for m, u, b in named]
    return asyncio.run(_send_by_async_httpx(library, options, named))


def _content(body):
    return {"content" if name == "data" else name: value for name, value in body.items()}


def _result(request):
    try:
        return request().status_code
    except Exception as error:
        return error


def _send_by_requests(credentials, calls, proxy, environment, ca_file):
    with requests.Session() as session:
        session.trust_env = environment
        session.auth = boardlot.auth.requests(credentials)
        session.proxies = {"http": proxy, "https": proxy} if proxy else {}
        session.verify = ca_file or True
        request = functools.partial(session.request, timeout=60)
        return [_result(functools.partial(request, m, url, **body)) for m, url, body in calls]


async def _send_by_async_httpx(library, options, calls):
    results = []
    async with library.AsyncClient(**options) as client:
        for method, url, body in calls:
            try:
                results.append((await client.request(method, url, **body)).status_code)
            except Exception as error:
                results.append(error)
    return results


async def _send_by_aiohttp(credentials, calls, proxy, environment, ca_file):
    results, auth = [], boardlot.auth.aiohttp(credentials)
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca_file))
    options = {"connector": connector, "proxy": proxy, "trust_env": environment}
    async with aiohttp.ClientSession(middlewares=[auth], **options) as session:
        for method, url, body in calls:
            try:
                async with session.request(method, url, **body) as got:
                    # The end of TLS to a response that is not read outlives the loop.
                    await got.read()
                    results.append(got.status)
            except Exception as error:
                results.append(error)
    return results
