"""What is awaited is an `async def` function, as other libraries find out by asking Python."""

import asyncio
import inspect
import sys
from unittest import mock

import boardlot as bl
import pytest
from boardlot._endpoints import ENDPOINTS


def awaited_methods():
    pagers = ("all", "to_pandas", "to_polars", "to_arrow")
    yield from ((bl.AsyncPager, name) for name in pagers)
    yield from ((bl.AsyncOAuthApp, name) for name in ("auth", "fetch_token"))
    calls = ("call", "fetch_many", "ipo_calendar", "request", "close")
    yield from ((bl.AsyncClient, name) for name in calls)
    yield from ((bl.AsyncClient, one.method) for one in ENDPOINTS if not one.paged)


@pytest.mark.parametrize(("owner", "name"), [*awaited_methods()])
def test_it_is_a_coroutine_function_for_whoever_asks(owner, name):
    assert inspect.iscoroutinefunction(getattr(owner, name))
    # Deprecated since 3.14.
    if sys.version_info < (3, 14):
        assert asyncio.iscoroutinefunction(getattr(owner, name))
    assert isinstance(getattr(mock.create_autospec(owner), name), mock.AsyncMock)
    assert type(getattr(owner, name)).__name__ == "function"


def test_a_forgotten_await_is_pythons_own_warning():
    async def forget(client):
        client.dividends("HK.00700")

    client = bl.AsyncClient("https://api.example.com")
    with pytest.warns(
        RuntimeWarning, match=r"coroutine 'AsyncClient\.dividends' was never awaited"
    ):
        asyncio.run(forget(client))


def test_tenacity_tries_a_method_again(sandbox):
    tenacity = pytest.importorskip("tenacity")
    again = tenacity.retry(stop=tenacity.stop_after_attempt(3))

    async def main():
        async with sandbox.async_client(max_retries=0) as client:
            sandbox.fail_next("dividends", status=503)
            assert len(await again(client.dividends)("HK.00700")) > 0
            sandbox.fail_next("fills_history", status=503)
            pager = client.fills_history(sandbox.accounts["trade"][0], "HK")
            assert len(await again(pager.all)()) > 0

    asyncio.run(main())
