"""Windows by default, compared with one cursor: `python -m benches.windows`.

A service some milliseconds away has fills that are spread over a time range in nine ways. Each list
is read into pandas by one cursor, by default and by eight windows, and the service counts the
requests. A cursor that takes more than 20 seconds is not waited for: its time is computed from its
pages and the time of a page, and marked with `~`.

`--accounts FILE` reads ten accounts side by side instead, and draws when each was waited for.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple
from urllib.request import urlopen

from . import data, server
from .spreads import DAY, DAYS, SPREADS, START, Fills

# Days of the longer range in which the sessions are read, too.
MORE_DAYS = 700
# One cursor, the default, and windows of a fixed number.
WAYS = (1, None, 8)
LATENCIES = (5, 50, 200)
COUNTS = (100, 2_000, 8_000, 40_000)
# A rate limit in requests a second, and the lists and the latency that are measured within it.
LIMIT, LIMITED, LIMITED_LATENCY = 20.0, (2_000, 8_000), 50
# Seconds: a cursor that takes longer is not waited for, and a read that takes longer is not
# repeated.
LONGEST, REPEATED = 20.0, 2.0
LIST = re.compile(rb"/accounts/(\d+)x(\d+)x(\d+)/")
NUMBER = re.compile(rb"[?&](start|end|page_flag)=(\d+)")


class Ranged(server.Connected):
    """Responds after `latency` seconds, as the service document says."""

    lists: ClassVar[dict[bytes, tuple[list[int], list[bytes]]]] = {}
    requests: ClassVar[int] = 0
    # The list of each request for a page, and the times of its receipt and of its response.
    times: ClassVar[list[tuple[str, float, float]]] = []
    latency: ClassVar[float] = 0.0
    loop: ClassVar[asyncio.AbstractEventLoop]
    transport: asyncio.WriteTransport

    def data_received(self, received: bytes) -> None:
        for target in self.targets(received):
            if target.startswith(b"/latency/"):
                self.send(self.counted())
                Ranged.latency = int(target[len(b"/latency/") :]) / 1000
            else:
                Ranged.requests += 1
                self.loop.call_later(self.latency, self.respond, target, time.perf_counter())

    def counted(self) -> bytes:
        counted = {"requests": Ranged.requests, "times": Ranged.times}
        Ranged.requests, Ranged.times = 0, []
        return json.dumps(counted).encode()

    def respond(self, target: bytes, received: float) -> None:
        if (found := LIST.search(target)) is None:
            self.transport.write(self.pages.response(target))
            return
        self.send(self.page(found, {name: int(value) for name, value in NUMBER.findall(target)}))
        Ranged.times.append((found[2].decode(), received, time.perf_counter()))

    def send(self, body: bytes) -> None:
        self.transport.write(server.RESPONSE % len(body) + body)

    def page(self, found: re.Match[bytes], asked: dict[bytes, int]) -> bytes:
        if found[0] not in self.lists:
            times = Fills(list(SPREADS)[int(found[1])], int(found[2]), int(found[3])).times()
            fill = data.fills(1)[0]
            rows = [
                data.dumps({**fill, "deal_id": str(index), "create_time": at, "updated_time": at})
                for index, at in enumerate(times)
            ]
            self.lists[found[0]] = times, rows
        times, rows = self.lists[found[0]]
        first = bisect.bisect_left(times, -asked[b"end"], key=int.__neg__)
        last = bisect.bisect_right(times, -asked[b"start"], key=int.__neg__)
        at = first + asked.get(b"page_flag", 0)
        until = min(at + data.PAGE_ROWS, last)
        following = until - first if until < last else None
        return data.fills_page(b"[" + b",".join(rows[at:until]) + b"]", following)


def serve(ready: Connection) -> None:
    loop = asyncio.new_event_loop()
    pages = server.Pages()
    Ranged.loop = loop
    listening = loop.create_server(lambda: Ranged(pages), "127.0.0.1", 0, backlog=1024)
    ready.send(f"http://127.0.0.1:{loop.run_until_complete(listening).sockets[0].getsockname()[1]}")
    loop.run_forever()


def set_latency(base: str, milliseconds: int) -> dict[str, Any]:
    """Sets the latency, and returns the counts of the service since the last call."""
    with urlopen(f"{base}/latency/{milliseconds}") as response:
        counted: dict[str, Any] = json.load(response)
        return counted


def read(
    base: str, latency: int, fills: Fills, windows: int | None, limit: float | None = None
) -> tuple[float, int]:
    """The seconds until a list is a frame, and the requests that it took."""
    import boardlot as bl

    span: dict[str, Any] = {"start": START, "end": START + fills.days * DAY}
    chosen: dict[str, Any] = {} if windows is None else {"windows": windows}
    auth = bl.ApiKey("0" * 32, bl.generate_key().private_pem)
    with bl.Client(base, auth=auth, rate_limit=limit) as client:
        set_latency(base, latency)
        began = time.perf_counter()
        rows = len(client.fills_history(fills.account, "HK", **span, **chosen).to_pandas())
        seconds = time.perf_counter() - began
    if rows != fills.rows:
        raise RuntimeError(f"{rows} rows of {fills}")
    return seconds, set_latency(base, 0)["requests"]


class Row(NamedTuple):
    name: str
    requests: dict[int | None, int]
    seconds: dict[int | None, float]
    # The ways whose time is computed.
    computed: set[int | None]

    @property
    def more(self) -> int:
        return self.requests[None] - self.requests[1]

    @property
    def percent(self) -> float:
        return 100 * self.more / self.requests[1]

    @property
    def ratio(self) -> float:
        return self.seconds[None] / self.seconds[1]

    def __str__(self) -> str:
        cells = [self.name, *(f"{self.requests[way]:,}" for way in WAYS)]
        cells[2] += f" ({self.more:+,}, {self.percent:+.0f} %)"
        cells += [f"{'~' * (way in self.computed)}{self.seconds[way]:.2f}" for way in WAYS]
        cells.insert(-1, f"{self.ratio:.2f}")
        return f"| {' | '.join(cells)} |"


def row(
    base: str, latency: int, fills: Fills, rounds: int, page: float, limit: float | None
) -> Row:
    """Reads a list in all ways, in turns; `page` is the time of a page for one cursor, in
    seconds."""
    # Requests of fixed windows do not depend on the latency. The first read makes the list.
    requests: dict[int | None, int] = {way: read(base, 0, fills, way)[1] for way in (1, 8)}
    seconds: dict[int | None, float] = {way: fills.longest(way) * page for way in (1, 8)}
    took: dict[int | None, list[float]] = {
        way: [] for way in WAYS if seconds.get(way, 0) <= LONGEST
    }
    for turn in range(rounds):
        for way, times in took.items():
            if turn == 0 or times[0] <= REPEATED:
                elapsed, sent = read(base, latency, fills, way, limit)
                times.append(elapsed)
                requests[way] = max(sent, requests.get(way, 0))
    name = f"{latency} | {fills.rows:,} | {fills.spread}"
    name += f", {fills.days} days" if fills.days != DAYS else ""
    name += f", {limit:g} requests a second" if limit else ""
    seconds |= {way: statistics.median(times) for way, times in took.items()}
    return Row(name, requests, seconds, set(WAYS) - set(took))


def table(latencies: list[int], counts: list[int], spreads: list[str], rounds: int) -> None:
    heads = ["ms", "fills", "spread", "requests: one cursor", "default", "8 windows"]
    heads += ["seconds: one cursor", "default", "ratio", "8 windows"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|", flush=True)
    lists = [Fills(spread, count) for count in counts for spread in spreads]
    sessions = [fills for fills in lists if fills.spread == "sessions"]
    cases: list[tuple[Fills, float | None]] = [(fills, None) for fills in lists]
    cases += [(fills._replace(days=MORE_DAYS), None) for fills in sessions]
    limited = [(fills, LIMIT) for fills in sessions if fills.rows in LIMITED]
    rows: list[Row] = []
    with server._process(serve) as base:
        # A first read imports pandas.
        read(base, 0, Fills("evenly", 100), 1)
        for latency in latencies:
            page = read(base, latency, Fills("evenly", 1_000), 1)[0] / 20
            for fills, limit in [*cases, *(limited if latency == LIMITED_LATENCY else [])]:
                rows.append(row(base, latency, fills, rounds, page, limit))
                print(rows[-1], flush=True)

    def most(name: str, of: list[Row]) -> str:
        row = max(of, key=attrgetter(name))
        latency, fills, spread = row.name.split(" | ")
        return f"{getattr(row, name):.4g} ({latency} ms, {fills} fills, {spread})"

    over = [row for row in rows if row.more > 12 and row.percent > 12]
    print(
        f"\nRequests of the default beyond one cursor, at most: {most('more', rows)}. Time of the "
        f"default by that of one cursor, at most: {most('ratio', rows)}. Rows with more than 12 "
        f"requests and 12 % beyond one cursor: {len(over)} of {len(rows)}; "
        f"per cent, at most: {most('percent', over or rows)}."
    )


def accounts(path: Path, latency: int, rate: float) -> None:
    """Reads ten accounts of different sizes side by side within a rate limit, and without a limit,
    compared with the largest account alone.
    """
    import boardlot as bl
    import matplotlib.pyplot as plt

    keys = [Fills("at random", count).account for count in range(1_000, 3_000, 200)]
    span: dict[str, Any] = {"start": START, "end": START + DAYS * DAY}

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
    with server._process(serve) as base:
        set_latency(base, latency)

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
            set_latency(base, latency)
            timed(work, keys, rate)
            times = set_latency(base, latency)["times"]
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
    import boardlot as bl

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=int, nargs="*", default=list(LATENCIES), help="ms")
    parser.add_argument("--fills", type=int, nargs="*", default=list(COUNTS))
    parser.add_argument("--spread", nargs="*", default=list(SPREADS), choices=list(SPREADS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--accounts", type=Path)
    asked = parser.parse_args()
    print(f"boardlot {bl.__version__} of {Path(bl.__file__).parent}", file=sys.stderr)
    if asked.accounts is not None:
        accounts(asked.accounts, 50, 25.0)
        return
    table(asked.latency, asked.fills, asked.spread, asked.rounds)


if __name__ == "__main__":
    main()
