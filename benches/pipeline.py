"""Where the time goes while a million fills are fetched into pandas: `python -m benches.pipeline`.

A service that notes when it has received each request and sent each response. What lies between a
response and the next request of the same window is the client's part and the kernel's: it reads the
response, finds the next cursor, and signs and sends the request that follows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import statistics
import time
from collections import defaultdict
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import ClassVar
from urllib.request import urlopen

from . import data, server

RANGE = re.compile(rb"[?&](start|end)=(\d+)")
DAY_MICROS = 86_400_000_000
# For each window, the times at which requests were received and responses were sent.
Times = dict[int, list[tuple[int, int]]]


class Noted(server.Connected):
    """Responds after `latency` seconds with fills of the requested window."""

    windows: ClassVar[dict[tuple[int, int], list[bytes]]] = {}
    times: ClassVar[Times] = defaultdict(list)
    latency = 0.0

    def data_received(self, received: bytes) -> None:
        for target in self.targets(received):
            at = time.perf_counter_ns()
            if self.latency:
                self.loop.call_later(self.latency, self.respond, target, at)
            else:
                self.respond(target, at)

    def respond(self, target: bytes, at: int) -> None:
        found = server.FILLS.search(target)
        if target == b"/times":
            body = json.dumps([list(self.times.values()), time.process_time()]).encode()
            self.times.clear()
            self.transport.write(server.RESPONSE % len(body) + body)
            return
        if found is None:
            self.transport.write(self.pages.response(target))
            return
        pages, page = int(found[1]), int(found[2] or 0)
        ends = {name: int(value) for name, value in RANGE.findall(target)}
        window = (ends[b"start"], ends[b"end"])
        if window not in self.windows:
            middle = b'"updated_time":%d' % (sum(window) // 2)
            self.windows[window] = [data.UPDATED.sub(middle, rows) for rows in self.pages.fills]
        rows = self.windows[window][page % len(self.pages.fills)]
        body = data.fills_page(rows, page + 1 if page + 1 < pages else None)
        self.transport.write(server.RESPONSE % len(body) + body)
        self.times[window[0]].append((at, time.perf_counter_ns()))


def serve(ready: Connection, latency: float) -> None:
    import uvloop

    loop = uvloop.new_event_loop()
    pages = server.Pages()
    Noted.latency, Noted.loop = latency, loop
    listening = loop.create_server(lambda: Noted(pages), "127.0.0.1", 0)
    ready.send(f"http://127.0.0.1:{loop.run_until_complete(listening).sockets[0].getsockname()[1]}")
    loop.run_forever()


def noted(base: str) -> tuple[list[list[tuple[int, int]]], float]:
    """The times of each window since the last call, and the service's CPU time until now."""
    with urlopen(base + "/times") as response:
        return json.load(response)


def measure(fills: int, windows: int, latency: float, tls: str | None) -> dict[str, float]:
    import boardlot as bl

    account = fills // data.PAGE_ROWS // windows
    end = int(time.time()) * 1_000_000 - DAY_MICROS
    with ExitStack() as opened:
        base = url = opened.enter_context(server._process(serve, latency))
        ca_file = None
        if tls is not None:
            url, ca_file = opened.enter_context(server.behind_tls(base, tls))
        key = bl.ApiKey("0" * 32, bl.generate_key().private_pem)
        client = opened.enter_context(bl.Client(url, auth=key, ca_file=ca_file))

        def fetch() -> int:
            pager = client.fills_history(
                str(account), "HK", start=end - 64 * DAY_MICROS, end=end, windows=windows
            )
            return len(pager.to_pandas())

        fetch()
        _, server_cpu = noted(base)
        began, cpu = time.perf_counter_ns(), time.process_time()
        if fetch() != account * windows * data.PAGE_ROWS:
            raise RuntimeError("rows are missing")
        ended, cpu = time.perf_counter_ns(), time.process_time() - cpu
        times, server_after = noted(base)
    gaps, service = [], 0
    for stream in times:
        service += sum(sent - received for received, sent in stream)
        gaps += [after[0] - before[1] for before, after in itertools.pairwise(stream)]
    first = min(stream[0][0] for stream in times)
    last = max(stream[-1][1] for stream in times)
    total = ended - began
    return {
        "s": total / 1e9,
        "first request, ms": (first - began) / 1e6,
        "frame after the last response, ms": (ended - last) / 1e6,
        "between response and request, median µs": statistics.median(gaps) / 1e3,
        "99 of 100, µs": statistics.quantiles(gaps, n=100)[98] / 1e3,
        "their share of a window's time": sum(gaps) / len(times) / total,
        "the service's share": service / len(times) / total,
        "CPU of the client, s": cpu,
        "CPU of the service, s": server_after - server_cpu,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fills", type=int, default=1_000_000)
    fills = parser.parse_args().fills
    plain = [(1, 0.0, None), (8, 0.0, None), (8, 0.005, None)]
    ways = plain + [(n, s, tls) for n, s in ((8, 0.0), (8, 0.005)) for tls in ("", "http2")]
    columns = [measure(fills, *way) for way in ways]
    names = {None: "", "": ", TLS", "http2": ", TLS, HTTP/2"}
    titles = [
        f"windows={n}" + (f", {s * 1000:.0f} ms" if s else "") + names[tls] for n, s, tls in ways
    ]
    print("| |", " | ".join(titles), "|")
    print("|---|" + "---:|" * len(ways))
    for name in columns[0]:
        print(f"| {name} |", " | ".join(f"{column[name]:.4g}" for column in columns), "|")


if __name__ == "__main__":
    main()
