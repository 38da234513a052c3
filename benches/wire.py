"""Requests over loopback, signed and decoded: one after another, 32 tasks, 32 threads.

Each response is a page of 50 orders, from the server of fixed pages: it checks no signature, so
that two cores are enough for it and a client. Before anything is measured, every client's signature
is shown to the sandbox, which checks it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import orjson
import uvloop

from . import peers, server
from .harness import Row, Settings, Taken, Target, take_turns
from .signer import Signer

SIDE_BY_SIDE = 32
NATIVE: dict[str, type[peers.Sync]] = {
    "pyreqwest": peers.Pyreqwest,
    "rnet": peers.Rnet,
    "primp": peers.Primp,
    "httpr": peers.Httpr,
}
NATIVE_ASYNC: dict[str, tuple[type[peers.Async], Callable]] = {
    "pyreqwest": (peers.AsyncPyreqwest, asyncio.run),
    "pyreqwest, uvloop": (peers.AsyncPyreqwest, uvloop.run),
    "rnet, uvloop": (peers.AsyncRnet, uvloop.run),
    "primp, uvloop": (peers.AsyncPrimp, uvloop.run),
}
if not peers.HAS_PYREQWEST:
    del NATIVE["pyreqwest"], NATIVE_ASYNC["pyreqwest"], NATIVE_ASYNC["pyreqwest, uvloop"]
THREADED = {"requests": peers.Requests, "httpx": peers.Httpx, "urllib3": peers.Urllib3, **NATIVE}
LAZY = "boardlot, rows not yet read"


@contextmanager
def lines() -> Iterator[tuple[str, str, str]]:
    """The address of the fixed pages, and a key; all clients have shown that they can sign."""
    import boardlot as bl

    with server.sandbox(seed=7) as (base, key_id, pem, accounts):
        signer = Signer(key_id, pem)
        account = accounts["sim"][0]
        for peer in {**THREADED, "http.client": peers.HttpClient}.values():
            with peer(signer) as client:
                dicts(client.get(orders_of(base, account)))
        asyncio.run(shown(signer, orders_of(base, account)))
        with bl.Client(base, auth=bl.ApiKey(key_id, pem)) as client:
            client.sim_orders(account)
    with server.fixed_pages() as base:
        yield base, key_id, pem


async def shown(signer: Signer, url: str) -> None:
    asynchronous = {peer for peer, _ in NATIVE_ASYNC.values()}
    for peer in (peers.AsyncHttpx, peers.Aiohttp, *asynchronous):
        async with peer(signer) as client:
            dicts(await client.get(url))


def orders_of(base: str, account: str = "1") -> str:
    return f"{base}/api/v1.0/sim-trade/{account}/orders"


def dicts(body: bytes | memoryview) -> list[dict]:
    return orjson.loads(body)["data"]["orders"]


def rows(settings: Settings) -> list[Row]:
    with lines() as (base, key_id, pem):
        return [
            one_after_another(settings, base, key_id, pem),
            tasks(settings, base, key_id, pem),
            threads(settings, base, key_id, pem),
        ]


def one_after_another(settings: Settings, base: str, key_id: str, pem: str) -> Row:
    import boardlot as bl

    seconds = settings.pick(1.0, 0.15)
    url = orders_of(base)
    with ExitStack() as stack:
        client = stack.enter_context(bl.Client(base, auth=bl.ApiKey(key_id, pem)))
        contenders: dict[str, Callable[[], int]] = {
            "boardlot": timed(lambda: client.sim_orders("1").to_dicts(), seconds),
            LAZY: timed(lambda: client.sim_orders("1"), seconds),
        }
        for name, peer in {**THREADED, "http.client": peers.HttpClient}.items():
            get = stack.enter_context(peer(Signer(key_id, pem))).get
            contenders[name] = timed(lambda get=get: dicts(get(url)), seconds)
        taken = take_turns(contenders, settings.rounds)
    return Row(
        "One request after another",
        "signed, sent, decoded to 50 dicts; CPU is the client's",
        "/s",
        taken,
        [
            Target("boardlot", ("requests",), 6.5),
            Target("boardlot", tuple(NATIVE), 1.5),
            Target(LAZY, tuple(NATIVE), 2.3),
        ],
    )


def timed(work: Callable[[], object], seconds: float) -> Callable[[], int]:
    def run() -> int:
        end = time.perf_counter() + seconds
        count = 0
        while time.perf_counter() < end:
            work()
            count += 1
        return count

    return run


def threads(settings: Settings, base: str, key_id: str, pem: str) -> Row:
    import boardlot as bl

    seconds = settings.pick(1.0, 0.2)
    url = orders_of(base)

    def pooled(work: Callable[[], object]) -> Callable[[], int]:
        run = timed(work, seconds)
        return lambda: sum(pool.map(lambda _: run(), range(SIDE_BY_SIDE)))

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(SIDE_BY_SIDE))
        client = stack.enter_context(bl.Client(base, auth=bl.ApiKey(key_id, pem)))
        contenders = {
            "boardlot": pooled(lambda: client.sim_orders("1").to_dicts()),
            LAZY: pooled(lambda: client.sim_orders("1")),
        }
        for name, peer in THREADED.items():
            get = stack.enter_context(peer(Signer(key_id, pem))).get
            contenders[name] = pooled(lambda get=get: dicts(get(url)))
        taken = take_turns(contenders, settings.rounds)
    return Row(
        f"{SIDE_BY_SIDE} threads",
        "one client for all, each thread one request after another; signed and decoded",
        "/s",
        taken,
        [
            Target("boardlot", ("requests",), 11.0),
            Target("boardlot", tuple(NATIVE), 1.8),
            Target(LAZY, tuple(NATIVE), 3.9),
        ],
    )


def tasks(settings: Settings, base: str, key_id: str, pem: str) -> Row:
    seconds = settings.pick(1.0, 0.2)
    url = orders_of(base)

    def peer_of(peer: type[peers.Async], run: Callable) -> Callable[[], int]:
        async def work() -> int:
            async with peer(Signer(key_id, pem)) as client:
                return await side_by_side(lambda: decoded(client.get(url)), SIDE_BY_SIDE, seconds)

        return lambda: run(work())

    def ours(run: Callable, *, lazy: bool = False) -> Callable[[], int]:
        return boardlot_tasks(base, key_id, pem, run, SIDE_BY_SIDE, seconds, lazy=lazy)

    contenders = {
        "boardlot": ours(asyncio.run),
        "boardlot, uvloop": ours(uvloop.run),
        LAZY: ours(asyncio.run, lazy=True),
        f"{LAZY}, uvloop": ours(uvloop.run, lazy=True),
        "httpx": peer_of(peers.AsyncHttpx, asyncio.run),
        "aiohttp": peer_of(peers.Aiohttp, asyncio.run),
        "aiohttp, uvloop": peer_of(peers.Aiohttp, uvloop.run),
    }
    for name, (peer, run) in NATIVE_ASYNC.items():
        contenders[name] = peer_of(peer, run)
    taken: dict[str, Taken] = take_turns(contenders, settings.rounds)
    return Row(
        f"{SIDE_BY_SIDE} tasks, asyncio",
        "one client for all, each task one request after another; signed and decoded",
        "/s",
        taken,
        [
            Target("boardlot", ("aiohttp", "aiohttp, uvloop"), 3.4),
            Target("boardlot", tuple(NATIVE_ASYNC), 2.1),
            Target(LAZY, ("aiohttp", "aiohttp, uvloop"), 4.8),
            Target(LAZY, tuple(NATIVE_ASYNC), 2.9),
        ],
    )


async def decoded(body) -> list[dict]:
    return dicts(await body)


def boardlot_tasks(
    base: str,
    key_id: str,
    pem: str,
    run: Callable,
    count: int,
    seconds: float,
    *,
    lazy: bool = False,
) -> Callable[[], int]:
    import boardlot as bl

    async def orders(client: bl.AsyncClient) -> bl.Records | list[dict]:
        records = await client.sim_orders("1")
        return records if lazy else records.to_dicts()

    async def work() -> int:
        options = {"max_connections": max(64, count)}
        async with bl.AsyncClient(base, auth=bl.ApiKey(key_id, pem), **options) as client:
            return await side_by_side(lambda: orders(client), count, seconds)

    return lambda: run(work())


async def side_by_side(work: Callable, count: int, seconds: float) -> int:
    """How often that many tasks together did it in that time."""
    end = time.perf_counter() + seconds

    async def task() -> int:
        done = 0
        while time.perf_counter() < end:
            await work()
            done += 1
        return done

    return sum(await asyncio.gather(*(task() for _ in range(count))))
