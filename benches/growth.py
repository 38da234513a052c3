"""Growth of boardlot's cost with rows, keys, clients, users, tasks, frames at once, and the page.

All data come from the server of fixed pages; each size runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from . import server
from .data import PAGE_ROWS
from .harness import Done, Limit, Row, Settings, Taken, Target, child, in_processes, status
from .wire import side_by_side

ROWS = [1_000, 10_000, 100_000, 1_000_000]
TASKS = [1, 16, 256, 1_000, 10_000]
KEYS = [10, 100, 1_000]
CLIENTS = [10, 100, 1_000]
FRAMES = [1, 10, 100, 1_000]
THREADS = [1, 8, 64]
PAGE_SIZES = [10, 50, 200, 1_000]
FLAT = "flat within 10 %: a thousand cost each what one costs"
ARENAS = "33 MB of it are the start; lever: what each thread's allocators keep"
# Sizes of a quick run.
FEWER_ROWS = [1_000, 10_000, 100_000]
FEWER_TASKS = [1, 256, 10_000]
FEWER_FRAMES = [1, 600]
FEWER_PAGE_SIZES = [10, 50, 1_000]


def rows(settings: Settings) -> list[Row]:
    counts = FEWER_ROWS if settings.quick else ROWS
    concurrency = FEWER_TASKS if settings.quick else TASKS
    page_sizes = FEWER_PAGE_SIZES if settings.quick else PAGE_SIZES
    with server.ready_pages() as (_, common):
        seconds = settings.pick(2.0, 0.3)
        return [
            grown(settings, "to_frame", counts, common, "Rows into pandas, a row", "rows"),
            grown(settings, "iterate", counts, common, "Rows iterated, a row", "rows"),
            grown(
                settings,
                "tasks",
                concurrency,
                {**common, "seconds": seconds},
                "Tasks side by side, a request",
                "tasks",
            ),
            grown(
                settings,
                "frames_at_once",
                FEWER_FRAMES if settings.quick else FRAMES,
                {**common, "seconds": seconds},
                "Frames at once, a frame of 500 rows",
                "at once",
            ),
            grown(settings, "keys", KEYS, common, "Keys of one fetch_many, a key", "keys"),
            *of_one_application(settings, common),
            grown(
                settings,
                "pages",
                page_sizes,
                {**common, "seconds": seconds},
                "Page sizes, a row of a request",
                "rows a page",
            ),
            resident(common),
        ]


def grown(
    settings: Settings, function: str, sizes: list[int], common: dict, title: str, what: str
) -> Row:
    contenders = {f"{size:,} {what}": (function, {**common, "size": size}) for size in sizes}
    taken = in_processes("growth", contenders, int(settings.pick(settings.rounds, 3)))
    least, *_, most = taken
    return Row(
        title,
        "over loopback with signing; the ratio is to the first",
        "µs",
        taken,
        [Target(most, (least,), 1 / 1.1, reason=FLAT)],
        ours=least,
        is_curve=True,
    )


def of_one_application(settings: Settings, common: dict) -> Iterator[Row]:
    """Each user has a token: one that the application stores, or that of a login."""
    for what, work in (
        ("clients", "a client and a token for each user, all of them used"),
        ("users", "a login of each user and a client that uses it, all of them used"),
    ):
        contenders = {f"{size:,} {what}": (what, {**common, "size": size}) for size in CLIENTS}
        taken = in_processes("growth", contenders, int(settings.pick(settings.rounds, 3)))
        yield Row(
            f"{what.capitalize()} of one application, memory of each",
            f"{work}; memory after their requests",
            "kB",
            taken,
            [Limit(f"1,000 {what}", 10e3, "size", "ten thousand of them take 100 MB")],
            ours=f"100 {what}",
            measure="size",
            is_curve=True,
        )


def resident(common: dict) -> Row:
    """The memory of a process whose threads have ended; the start takes about 33 MB of it."""
    taken = {}
    for size in THREADS:
        kept = child("growth", "threads", {**common, "size": size})["resident"]
        name = f"{size} thread{'s' if size > 1 else ''}"
        taken[name] = Taken(size=[] if kept is None else [kept])
    return Row(
        "Threads used once, resident memory afterwards",
        "20 requests of each, all at the same time; of the whole process",
        "MB",
        taken,
        [Limit("64 threads", 64e6, "size", ARENAS)],
        ours="1 thread",
        measure="size",
    )


def client_of(base: str, key_id: str, key_file: str):
    import boardlot as bl

    client = bl.Client(base, auth=bl.ApiKey(key_id, Path(key_file)))
    client.server_time()
    return client


def to_frame(size: int, **line: str):
    client = client_of(**line)
    client.fills_history("1", "HK").to_pandas()

    def work() -> Frame:
        frame = client.fills_history(str(size // PAGE_ROWS), "HK").to_pandas()
        return Frame(len(frame), frame)

    return work


class Frame(Done):
    """The frame is kept, so that its memory counts."""

    def __init__(self, pieces: int, frame: object) -> None:
        super().__init__(pieces)
        object.__setattr__(self, "frame", frame)


def iterate(size: int, **line: str):
    client = client_of(**line)

    def work() -> Done:
        deque(client.fills_history(str(size // PAGE_ROWS), "HK"), maxlen=0)
        return Done(size)

    return work


def tasks(size: int, seconds: float, base: str, key_id: str, key_file: str):
    import boardlot as bl

    async def work() -> Done:
        auth = bl.ApiKey(key_id, Path(key_file))
        async with bl.AsyncClient(base, auth=auth, max_connections=256) as client:

            async def orders() -> list[dict]:
                return await client.sim_orders("1")

            return Done(await side_by_side(orders, size, seconds))

    return lambda: asyncio.run(work())


def frames_at_once(size: int, seconds: float, base: str, key_id: str, key_file: str):
    import boardlot as bl

    async def work() -> Done:
        auth = bl.ApiKey(key_id, Path(key_file))
        async with bl.AsyncClient(base, auth=auth, max_connections=256) as client:

            async def frame() -> int:
                return len(await client.fills_history("10", "HK").to_arrow())

            assert await frame() == 10 * PAGE_ROWS
            return Done(await side_by_side(frame, size, seconds))

    return lambda: asyncio.run(work())


def keys(size: int, **line: str):
    client = client_of(**line)

    def work() -> Done:
        found = client.fetch_many("sim_orders", [str(number) for number in range(1, size + 1)])
        assert len(found) == size * PAGE_ROWS
        return Done(size)

    client.fetch_many("sim_orders", ["1"])
    return work


def clients(size: int, base: str, **_: str):
    import boardlot as bl

    return used_by_each(size, base, lambda user: bl.BearerToken(f"token-of-user-{user}"))


def users(size: int, base: str, **_: str):
    import boardlot as bl

    back = "https://app.example.com/callback"
    app = bl.OAuthApp(
        base, "client-id", redirect_uri=back, client_secret="client-secret", store=Store()
    )
    for user in range(size + 1):
        begun = app.authorization_url()
        callback = f"{back}?code=code-{user}&state={begun.state}"
        session = {"state": begun.state, "code_verifier": begun.code_verifier}
        app.fetch_token(callback, **session, user=f"user-{user}")
    return used_by_each(size, base, lambda user: app.auth(user=f"user-{user}"))


class Store:
    """A store of tokens in a dict."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def load(self, key: str) -> bytes | None:
        return self.kept.get(key)

    def save(self, key: str, data: bytes) -> None:
        self.kept[key] = data

    def delete(self, key: str) -> None:
        self.kept.pop(key, None)


def used_by_each(size: int, base: str, auth_of: Callable[[int], object]):
    """The memory of a client for each of so many users, once all have sent a request."""
    import boardlot as bl

    def used(user: int) -> bl.Client:
        client = bl.Client(base, auth=auth_of(user))
        client.sim_orders(str(user))
        return client

    first = used(0)

    def work() -> Clients:
        files, memory = open_files(), status("VmRSS")
        kept = [used(user) for user in range(1, size + 1)]
        gc.collect()
        # No client opened a file: all use the connection of the first one.
        assert open_files() <= files + 1
        return Clients(size, (status("VmRSS") - memory) / size, [first, *kept])

    return work


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


class Clients(Done):
    """The clients are kept until they have been measured."""

    def __init__(self, pieces: int, size: float, kept: list) -> None:
        super().__init__(pieces, size)
        object.__setattr__(self, "kept", kept)


def pages(size: int, seconds: float, **line: str):
    client = client_of(**line)

    def work() -> Done:
        end = time.perf_counter() + seconds
        done = 0
        while time.perf_counter() < end:
            done += len(client.plate_stocks(f"HK.BK{size}").all())
        return Done(done)

    work()
    return work


def threads(size: int, **line: str):
    client = client_of(**line)
    start = threading.Barrier(size)

    def orders() -> None:
        start.wait()
        for _ in range(20):
            client.sim_orders("1")

    def work() -> Done:
        running = [threading.Thread(target=orders) for _ in range(size)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return Done(size * 20)

    return work
