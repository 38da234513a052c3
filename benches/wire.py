"""Requests over loopback, signed and decoded: one after another, 32 tasks, 32 threads.

Each response is a page of 50 orders, from the server of fixed pages and from nginx: they check no
signature, so that two cores are enough for server and client. Before anything is measured, every
client's signature is shown to the sandbox, which checks it.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import orjson
import uvloop

from . import peers, server
from .harness import Row, Settings, kept, take_turns
from .signer import Signer

SIDE_BY_SIDE = 32
NATIVE: dict[str, type[peers.Sync]] = {
    "pyreqwest": peers.Pyreqwest,
    "rnet": peers.Rnet,
    "primp": peers.Primp,
    "httpr": peers.Httpr,
}
NATIVE_ASYNC = ("pyreqwest", "pyreqwest, uvloop", "rnet, uvloop", "primp, uvloop")
ASYNC: dict[str, type[peers.Async]] = {
    "httpx": peers.AsyncHttpx,
    "httpx2": peers.AsyncHttpx2,
    "aiohttp": peers.Aiohttp,
    "aiohttp, uvloop": peers.Aiohttp,
    "pyreqwest": peers.AsyncPyreqwest,
    "pyreqwest, uvloop": peers.AsyncPyreqwest,
    "rnet, uvloop": peers.AsyncRnet,
    "primp, uvloop": peers.AsyncPrimp,
}
if not peers.HAS_PYREQWEST:
    del NATIVE["pyreqwest"], ASYNC["pyreqwest"], ASYNC["pyreqwest, uvloop"]
THREADED = {
    "requests": peers.Requests,
    "httpx": peers.Httpx,
    "httpx2": peers.Httpx2,
    "urllib3": peers.Urllib3,
    **NATIVE,
}


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
    for peer in set(ASYNC.values()):
        async with peer(signer) as client:
            dicts(await client.get(url))


def orders_of(base: str, account: str = "1") -> str:
    return f"{base}/api/v1.0/sim-trade/{account}/orders"


def dicts(body: bytes | memoryview) -> list[dict]:
    return orjson.loads(body)["data"]["orders"]


def rows(settings: Settings) -> list[Row]:
    with lines() as (base, key_id, pem):
        own = [
            one_after_another(settings, base, key_id, pem),
            tasks(settings, base, key_id, pem),
            threads(settings, base, key_id, pem),
        ]
        if shutil.which("nginx") is None:
            own[0].notes.append("nginx is not installed, so the rows over it are missing.")
            return own
        with server.nginx() as other:
            return own + [
                over_nginx(row(settings, other, key_id, pem))
                for row in (one_after_another, tasks, threads)
            ]


def over_nginx(row: Row) -> Row:
    """Measures with another server: a result with both servers is a result of the client."""
    return replace(row, title=f"{row.title}, over nginx")


def turns(settings: Settings) -> tuple[float, int]:
    """The seconds of a turn, and the number of turns: turns are so short that all contenders meet
    each state of the machine."""
    return 0.1, int(settings.pick(50, 8))


def one_after_another(settings: Settings, base: str, key_id: str, pem: str) -> Row:
    import boardlot as bl

    seconds, rounds = turns(settings)
    url = orders_of(base)
    with ExitStack() as stack:
        client = stack.enter_context(bl.Client(base, auth=bl.ApiKey(key_id, pem)))
        contenders: dict[str, Callable[[], int]] = {
            "boardlot": timed(lambda: client.sim_orders("1"), seconds),
        }
        for name, peer in {**THREADED, "http.client": peers.HttpClient}.items():
            get = stack.enter_context(peer(Signer(key_id, pem))).get
            contenders[name] = timed(lambda get=get: dicts(get(url)), seconds)
        taken = take_turns(contenders, rounds)
    return Row(
        "One request after another",
        "signed, sent, decoded to 50 dicts; CPU is the client's",
        "/s",
        taken,
        [
            kept("boardlot", "requests", 3.63),
            kept("boardlot", tuple(NATIVE), 1.30),
            kept("boardlot", tuple(NATIVE), 1.44, "cpu"),
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

    seconds, rounds = turns(settings)
    url = orders_of(base)

    def pooled(work: Callable[[], object]) -> Callable[[], int]:
        run = timed(work, seconds)
        return lambda: sum(pool.map(lambda _: run(), range(SIDE_BY_SIDE)))

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(SIDE_BY_SIDE))
        client = stack.enter_context(bl.Client(base, auth=bl.ApiKey(key_id, pem)))
        contenders = {
            "boardlot": pooled(lambda: client.sim_orders("1")),
        }
        for name, peer in THREADED.items():
            get = stack.enter_context(peer(Signer(key_id, pem))).get
            contenders[name] = pooled(lambda get=get: dicts(get(url)))
        taken = take_turns(contenders, rounds)
    return Row(
        f"{SIDE_BY_SIDE} threads",
        "one client for all, each thread one request after another; signed and decoded",
        "/s",
        taken,
        [
            kept("boardlot", "requests", 9.43),
            kept("boardlot", tuple(NATIVE), 1.95),
            kept("boardlot", tuple(NATIVE), 1.81, "cpu"),
        ],
    )


def tasks(settings: Settings, base: str, key_id: str, pem: str) -> Row:
    import boardlot as bl

    seconds, rounds = turns(settings)
    url = orders_of(base)
    with ExitStack() as stack:
        contenders = {}

        def add(name: str, loop: asyncio.AbstractEventLoop, work: Callable) -> None:
            def run() -> int:
                return loop.run_until_complete(side_by_side(work, SIDE_BY_SIDE, seconds))

            contenders[name] = run

        def opened(peer, loop: asyncio.AbstractEventLoop):
            """The client, which its loop closes at the end."""
            stack.callback(lambda: loop.run_until_complete(peer.__aexit__(None, None, None)))
            return loop.run_until_complete(peer.__aenter__())

        loops = {"": asyncio.new_event_loop(), ", uvloop": uvloop.new_event_loop()}
        for loop in loops.values():
            stack.callback(loop.close)
        for suffix, loop in loops.items():
            client = opened(bl.AsyncClient(base, auth=bl.ApiKey(key_id, pem)), loop)
            add(f"boardlot{suffix}", loop, lambda client=client: client.sim_orders("1"))
        for name, peer in ASYNC.items():
            loop = loops[", uvloop" if name.endswith("uvloop") else ""]
            get = opened(peer(Signer(key_id, pem)), loop).get
            add(name, loop, lambda get=get: decoded(get(url)))
        taken = take_turns(contenders, rounds)
    return Row(
        f"{SIDE_BY_SIDE} tasks, asyncio",
        "one client for all, each task one request after another; signed and decoded",
        "/s",
        taken,
        [
            kept("boardlot", ("aiohttp", "aiohttp, uvloop"), 3.13),
            kept("boardlot", NATIVE_ASYNC, 1.73),
            kept("boardlot", NATIVE_ASYNC, 1.74, "cpu"),
        ],
    )


async def decoded(body) -> list[dict]:
    return dicts(await body)


async def side_by_side(work: Callable, count: int, seconds: float) -> int:
    """The number of times that this many tasks together did the work in that time."""
    end = time.perf_counter() + seconds

    async def task() -> int:
        done = 0
        while time.perf_counter() < end:
            await work()
            done += 1
        return done

    return sum(await asyncio.gather(*(task() for _ in range(count))))
