"""More of everything at once than a pool has threads: nothing waits for a thread that it holds."""

import asyncio
import logging
import threading
from contextlib import AsyncExitStack

import boardlot as bl
import pytest

from ..support.certificates import authority
from ..support.proxy import Proxy
from ..support.sandbox_process import SandboxProcess

# The runtime's own pool has 512 threads.
MANY = [520, pytest.param(1_000, marks=pytest.mark.slow)]
FILLS = 10


@pytest.fixture(scope="module")
def service():
    with SandboxProcess(seed=7, fills=FILLS) as running:
        yield running


@pytest.fixture(scope="module")
def relay(service):
    with Proxy(int(service.base_url.rpartition(":")[2]), authority().context()) as relay:
        yield relay


@pytest.fixture
def options(service, relay, request):
    """The clients' shared options; a test may ask for a name, which a thread has to look up."""
    options = {"auth": bl.ApiKey(*service.new_key()), "timeout": 60.0, "max_retries": 0}
    if getattr(request, "param", None) == "by name":
        address = {"base_url": f"https://localhost:{relay.port}", "ca_file": authority().ca_file}
    else:
        address = {"base_url": service.base_url}
    return options | address


async def frames(options, count):
    """So many frames at once, on clients with these options in turn."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(bl.AsyncClient(**one)) for one in options]
        pagers = [clients[n % len(clients)].fills_history("281756", "HK") for n in range(count)]
        made = await asyncio.gather(*(pager.to_polars() for pager in pagers))
    return [len(frame) for frame in made]


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize(
    ("how", "options"),
    [
        # Each loads the certificates that it trusts, if it needs any.
        ("a client each", "by address"),
        ("with hooks and log records", "by name"),
    ],
    indirect=["options"],
)
def test_security_50_many_frames_at_once(options, count, how, caplog):
    seen, clients = [], count
    if how != "a client each":
        options |= {"on_request": lambda _event: None, "on_response": seen.append}
        caplog.set_level(logging.DEBUG, "boardlot.http")
        clients = 1
    made = asyncio.run(frames([options] * clients, count))
    assert made == [FILLS] * count
    assert len(seen) >= (count if clients == 1 else 0)


@pytest.mark.parametrize("count", MANY)
def test_security_50_many_hooks_at_once_that_call_clients_with_hooks(options, count):
    calls, together = [], threading.Barrier(count, timeout=120)
    inner = bl.Client(**options, on_response=calls.append)

    def call(_event):
        together.wait()
        inner.server_time()

    async def main():
        async with bl.AsyncClient(**options, on_request=call) as client:
            return await asyncio.gather(*(client.server_time() for _ in range(count)))

    with inner:
        assert len(asyncio.run(main())) == count
    assert len(calls) == count


@pytest.mark.parametrize("count", MANY)
def test_security_50_many_token_stores_at_once_that_wait_for_each_other(options, count):
    together = threading.Barrier(count, timeout=120)

    class Store:
        def load(self, key):
            together.wait()

        def save(self, key, value): ...

        def delete(self, key): ...

    async def refused(number):
        auth = bl.OAuth("client", store=Store(), user=str(number))
        async with bl.AsyncClient(**options | {"auth": auth}) as client:
            with pytest.raises(bl.LoginRequired):
                await client.dividends("HK.00700")

    async def main():
        await asyncio.gather(*map(refused, range(count)))

    asyncio.run(main())
