"""Rows are received when the caller has them: not before, whatever interrupts."""

import asyncio
import contextlib
import random
import signal
import threading

import boardlot as bl
import pytest

ACCOUNT = "281756"


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=3, fills=120) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def fills(sandbox):
    return [fill["deal_id"] for fill in sandbox.client().fills_history(ACCOUNT, "HK")]


@pytest.fixture
def slow(sandbox):
    sandbox.faults = bl.Faults(latency=0.02)
    yield sandbox
    sandbox.faults = None


def test_a_step_that_times_out_loses_no_row(slow, fills):
    draw = random.Random(20)

    async def read_list():
        pager, seen = slow.async_client().fills_history(ACCOUNT, "HK", page_size=10), []
        # Before, with and after the response. A step that always ends before it gets no row, so
        # the limit grows until one does, on a machine however busy.
        slower = 1.0
        while True:
            try:
                fill = await asyncio.wait_for(anext(pager), draw.uniform(0.018, 0.024) * slower)
                seen.append(fill["deal_id"])
                slower = 1.0
            except asyncio.TimeoutError:
                slower *= 1.05
            except StopAsyncIteration:
                return seen

    for _ in range(10):
        assert asyncio.run(read_list()) == fills


def test_a_cancelled_page_and_a_cancelled_whole_lose_nothing(slow, fills):
    async def read_list(delay):
        pager, seen = slow.async_client().fills_history(ACCOUNT, "HK", page_size=10), []
        pages = pager.pages()
        for step in (lambda: anext(pages), pager.all, lambda: anext(pages)):

            async def one(step=step):
                return await step()

            task = asyncio.create_task(one())
            await asyncio.sleep(delay)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                seen.extend(row["deal_id"] for row in await task)
        seen.extend(row["deal_id"] for row in await pager.all())
        return seen

    for delay in (0.0, 0.01, 0.02, 0.021, 0.022, 0.025, 0.05):
        assert asyncio.run(read_list(delay)) == fills


@pytest.mark.parametrize(
    "step",
    [lambda pager: next(pager), lambda pager: next(pager.pages()), lambda pager: pager.all()],
    ids=["row", "page", "all"],
)
@pytest.mark.parametrize("delay", [0.005, 0.015, 0.019])
def test_ctrl_c_loses_no_row(slow, fills, step, delay):
    pager = slow.client().fills_history(ACCOUNT, "HK", page_size=50)
    timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])
    seen = []
    # Whether it comes in time or too late, what was not received is still to come.
    try:
        timer.start()  # It waits for its thread, and may be interrupted as well.
        rows = step(pager)
        seen = [row["deal_id"] for row in ([rows] if isinstance(rows, dict) else rows)]
        timer.join()
        raise_pending()
    except KeyboardInterrupt:
        pass
    assert seen + [row["deal_id"] for row in pager.all()] == fills


def raise_pending():
    """Gives a signal that was noted a place to be raised."""
    for _ in range(100):
        pass


def test_a_conversion_that_fails_leaves_the_pager_where_it_was(sandbox, fills):
    pager = sandbox.client().fills_history(ACCOUNT, "HK")
    with pytest.raises(bl.ConfigError, match="decimals"):
        pager.to_pandas(decimals="typo")
    assert pager.requests == 0
    assert len(pager.to_pandas()) == len(fills)


def test_requests_can_be_read_while_a_page_is_under_way(slow):
    async def main():
        client = slow.async_client()
        await client.server_time()  # Known from here on, so that the page is asked for at once.
        pager = client.fills_history(ACCOUNT, "HK", start="2026-01-01", end="2028-01-01")
        task = asyncio.ensure_future(pager.all())
        while pager.requests == 0:
            await asyncio.sleep(0.01)
        assert not task.done()
        await task

    asyncio.run(main())


def test_arguments_of_other_kinds_are_distinguished(sandbox):
    client = sandbox.client()
    pager = client.fills_history(ACCOUNT, "HK")
    refused = [
        lambda: pager.all(max_items=-1),
        lambda: client.fetch_many("dividends", ["HK.00700"], concurrency=-1),
        lambda: client.fetch_many("dividends", "HK.00700"),
        lambda: bl.generate_key("RSA-SHA256", bits=-1),
        lambda: bl.Client("https://api.example.com", proxy="ftp://127.0.0.1"),
        lambda: bl.Client("https://api.example.com", proxy=5),
        lambda: bl.Client("https://api.example.com", ws_quote_url="https://wss://"),
        lambda: client.paginate("DELETE", "/x", paging="next_key", rows="data"),
    ]
    for call in refused:
        with pytest.raises(bl.ConfigError):
            call()


def test_whole_numbers_of_numpy_are_whole_numbers(sandbox):
    numpy = pytest.importorskip("numpy")
    pager = sandbox.client().fills_history(numpy.int64(ACCOUNT), "HK", page_size=numpy.int64(20))
    assert len(next(iter(pager.pages()))) == 20


def test_the_error_of_one_key_of_many_names_it(sandbox):
    with pytest.raises(bl.InvalidSymbol, match=r"HK\.99999"):
        sandbox.client().fetch_many("dividends", ["HK.00700", "HK.99999"])
