"""How fast windows are that are chosen as pages come: `python -m benches.windows`.

A service some milliseconds away, with fills that are spread over 90 days in several ways. Each list
is read into pandas by one cursor, by each fixed number of windows, and by default. The requests are
counted.

`--accounts FILE` reads ten accounts side by side instead, and draws when each was waited for.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from urllib.request import urlopen

from . import data, server

DAY = 86_400_000_000
DAYS = 90
END = 1_790_000_000_000_000
START = END - DAYS * DAY
NUMBERS = (1, 2, 4, 8, 16, 32, 64)
COUNTS = (100, 2_000, 100_000)
LATENCIES = (5, 50, 200)
SPREADS: dict[str, Callable[[random.Random, int, int], int]] = {
    "evenly": lambda rng, index, count: START + DAYS * DAY * index // count + 1,
    "at random": lambda rng, index, count: START + rng.randrange(DAYS * DAY),
    "in ten bursts of an hour": lambda rng, index, count: (
        START + (index % 10 * 9 + 4) * DAY + rng.randrange(DAY // 24)
    ),
    "in one day": lambda rng, index, count: START + 45 * DAY + rng.randrange(DAY),
}
LIST = re.compile(rb"/accounts/(\d+)x(\d+)/")
NUMBER = re.compile(rb"[?&](start|end|page_flag)=(\d+)")
# A list of which the slowest window alone would take longer is not read: its time is at least that.
LONGEST = 20.0


def times_of(spread: int, count: int) -> list[int]:
    """The times of the fills of a list, the latest first."""
    rng = random.Random(count)
    at = list(SPREADS.values())[spread]
    return sorted((at(rng, index, count) for index in range(count)), reverse=True)


class Ranged(server.Connected):
    """Responds after `latency` seconds, as the service document says."""

    lists: ClassVar[dict[bytes, tuple[list[int], list[bytes]]]] = {}
    requests: ClassVar[int] = 0
    # Of each request for a page: its list, when it was received, and when its response was sent.
    times: ClassVar[list[tuple[str, float, float]]] = []
    latency = 0.0

    def data_received(self, received: bytes) -> None:
        for target in self.targets(received):
            self.loop.call_later(self.latency, self.respond, target, time.perf_counter())

    def respond(self, target: bytes, received: float) -> None:
        if target == b"/requests":
            body, Ranged.requests = json.dumps(Ranged.requests).encode(), 0
        elif target == b"/times":
            body, Ranged.times = json.dumps(Ranged.times).encode(), []
        elif (found := LIST.search(target)) is None:
            self.transport.write(self.pages.response(target))
            return
        else:
            Ranged.requests += 1
            body = self.page(found, {name: int(value) for name, value in NUMBER.findall(target)})
            Ranged.times.append((found[2].decode(), received, time.perf_counter()))
        self.transport.write(server.RESPONSE % len(body) + body)

    def page(self, found: re.Match[bytes], asked: dict[bytes, int]) -> bytes:
        if found[0] not in self.lists:
            times = times_of(int(found[1]), int(found[2]))
            row = self.pages.fills[0][1:].split(b"},", 1)[0] + b"}"
            rows = [
                re.sub(rb'"(create|updated)_time":\d+', rb'"\1_time":%d' % at, row) for at in times
            ]
            self.lists[found[0]] = times, rows
        times, rows = self.lists[found[0]]
        first = bisect.bisect_left(times, -asked[b"end"], key=int.__neg__)
        last = bisect.bisect_right(times, -asked[b"start"], key=int.__neg__)
        at = first + asked.get(b"page_flag", 0)
        until = min(at + data.PAGE_ROWS, last)
        following = until - first if until < last else None
        return data.fills_page(b"[" + b",".join(rows[at:until]) + b"]", following)


def serve(ready: Connection, latency: float) -> None:
    loop = asyncio.new_event_loop()
    pages = server.Pages()
    Ranged.latency, Ranged.loop = latency, loop
    listening = loop.create_server(lambda: Ranged(pages), "127.0.0.1", 0, backlog=1024)
    ready.send(f"http://127.0.0.1:{loop.run_until_complete(listening).sockets[0].getsockname()[1]}")
    loop.run_forever()


def requests(base: str) -> int:
    """The requests for pages since this was last called."""
    with urlopen(base + "/requests") as response:
        return int(json.load(response))


@contextmanager
def client_of(base: str) -> Iterator[Any]:
    import boardlot as bl

    with bl.Client(base, auth=bl.ApiKey("0" * 32, bl.generate_key().private_pem)) as client:
        yield client


def read(base: str, spread: int, count: int, windows: int | str | None) -> tuple[float, int]:
    """The seconds until a list is a frame, and the requests that it took."""
    requests(base)
    with client_of(base) as client:
        began = time.perf_counter()
        pager = client.fills_history(
            f"{spread}x{count}", "HK", start=START, end=END, windows=windows
        )
        rows = len(pager.to_pandas())
        seconds = time.perf_counter() - began
    if rows != count:
        raise RuntimeError(f"{rows} rows of {count}")
    return seconds, requests(base)


def least(spread: int, count: int, windows: int, latency: float) -> float:
    """The seconds that the slowest of so many windows takes at least."""
    length = (END - START) / windows
    rows = [0] * windows
    for at in times_of(spread, count):
        rows[min(int((at - START) / length), windows - 1)] += 1
    return max(-(-number // data.PAGE_ROWS) for number in rows) * latency


def table(latencies: list[int], counts: list[int], rounds: int) -> None:
    heads = ["ms", "fills", "spread", "one cursor", "best number", "default", "ratio"]
    heads += ["best number of so few requests", "ratio", "requests", "more than one cursor"]
    print("|", " | ".join(heads), "|")
    print("|" + "---|" * len(heads))
    for latency in latencies:
        with server._process(serve, latency / 1000) as base:
            # Imports pandas.
            read(base, 0, 100, 1)
            for count in counts:
                for spread, name in enumerate(SPREADS):
                    print(
                        "|", " | ".join([str(latency), f"{count:,}", name]), end=" | ", flush=True
                    )
                    print(" | ".join(row(base, latency / 1000, count, spread, rounds)), "|")


def row(base: str, latency: float, count: int, spread: int, rounds: int) -> list[str]:
    pages = -(-count // data.PAGE_ROWS)
    took: dict[int | None, list[float]] = {}
    sent: dict[int | None, int] = {}
    short = [number for number in NUMBERS if least(spread, count, number, latency) < LONGEST]
    # The service makes the list.
    with client_of(base) as client:
        client.fills_history(f"{spread}x{count}", "HK", start=START, end=END).all(max_items=1)
    for _ in range(rounds):
        for windows in [None, *short]:
            seconds, sent[windows] = read(base, spread, count, windows)
            took.setdefault(windows, []).append(seconds)
    seconds = {windows: statistics.median(times) for windows, times in took.items()}
    default = seconds.pop(None)
    bounds = {number: least(spread, count, number, latency) for number in NUMBERS}

    def of(numbers: list[int]) -> tuple[str, str]:
        """The best of these numbers; one that was not read takes at least its bound."""
        best = min(numbers, key=lambda number: seconds.get(number, bounds[number]))
        known = seconds.get(best)
        shown = f"{known:.3f} s" if known is not None else f"> {bounds[best]:.0f} s"
        return f"{shown} ({best})", f"{default / (known or bounds[best]):.2f}"

    frugal = [number for number in NUMBERS if sent.get(number, pages + number) <= 1.1 * pages]
    one = f"{seconds[1]:.3f} s" if 1 in seconds else f"> {bounds[1]:.0f} s"
    more = f"{100 * (sent[None] / pages - 1):.0f} %"
    return [
        one,
        of(list(NUMBERS))[0],
        f"{default:.3f} s",
        of(list(NUMBERS))[1],
        *of(frugal),
        f"{sent[None]:,}",
        more,
    ]


def accounts(path: Path, latency: float, rate: float) -> None:
    """Ten accounts of different sizes, side by side within a rate limit; and without one, next to
    the largest of them alone.
    """
    import boardlot as bl
    import matplotlib.pyplot as plt

    keys = [f"1x{count}" for count in range(1_000, 3_000, 200)]
    span = {"start": START, "end": END}

    def update(client: bl.Client, keys: list[str], folder: str) -> None:
        with bl.Archive(Path(folder) / "fills.db") as archive:
            archive.update(client, fills=[(key, "HK") for key in keys], start=START)

    works: dict[str, Callable[[bl.Client, list[str], str], object]] = {
        "fetch_many": lambda client, keys, _: client.fetch_many(
            "fills_history", keys, trd_market="HK", **span, concurrency=10
        ),
        "pages_many, to pandas": lambda client, keys, _: client.pages_many(
            "fills_history", keys, trd_market="HK", **span, concurrency=10
        ).to_pandas(),
        "Archive.update": update,
    }
    figure, axes = plt.subplots(len(works), 1, figsize=(10, 8), layout="constrained")
    with server._process(serve, latency) as base:

        def timed(work: Callable[..., object], keys: list[str], limit: float | None) -> float:
            auth = bl.ApiKey("0" * 32, bl.generate_key().private_pem)
            opened = bl.Client(base, auth=auth, rate_limit=limit)
            with TemporaryDirectory() as folder, opened as client:
                client.server_time()
                began = time.perf_counter()
                work(client, keys, folder)
                return time.perf_counter() - began

        for axis, (name, work) in zip(axes, works.items(), strict=True):
            timed(work, keys, None)
            alone, together = timed(work, keys[-1:], None), timed(work, keys, None)
            with urlopen(base + "/times"):
                timed(work, keys, rate)
            with urlopen(base + "/times") as response:
                times = json.load(response)
            first = min(received for _, received, _ in times)
            last = max(received for _, received, _ in times)
            idle = 1 - (len(times) - 1) / (rate * (last - first))
            print(
                f"{name}: {len(times)} requests, {100 * idle:.1f} % of the limit idle; without a "
                f"limit {together:.2f} s, and the largest account alone {alone:.2f} s"
            )
            for row, key in enumerate(sorted({key for key, _, _ in times}, key=int)):
                bars = [(at - first, sent - at) for one, at, sent in times if one == key]
                axis.broken_barh(bars, (row - 0.4, 0.8), alpha=0.5)
            axis.set_title(f"{name}: {100 * idle:.1f} % idle at {rate:g} requests a second")
            axis.set_ylabel("account")
        axes[-1].set_xlabel("s")
        figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=int, nargs="*", default=list(LATENCIES), help="ms")
    parser.add_argument("--fills", type=int, nargs="*", default=list(COUNTS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--accounts", type=Path)
    asked = parser.parse_args()
    if asked.accounts is not None:
        accounts(asked.accounts, 0.05, 25.0)
        return
    table(asked.latency, asked.fills, asked.rounds)


if __name__ == "__main__":
    main()
