"""Promise 60 over HTTP: by whatever way a list is read, each row that did not change comes once.

The services are random: their order, the bounds and the exactness of their ranges, their cursors,
rows without a time, rows that come and change, and what they do with several requests at a time.
`crates/client/tests/core/default_windows.rs` has many more of them, and the number of requests.
"""

import json
import random
import threading
import time
from collections import Counter
from urllib.parse import parse_qsl

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.paged_service import page
from ..support.service import StandInService, response

MICROS, DAY = 10**6, 86_400 * 10**6
# 18 pages: the client chooses as many windows as it ever does.
ROWS, SIZE, DAYS = 180, 10, 90


class AnyService:
    """A service whose fills are those of the last 90 days."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.end = int(time.time()) * MICROS - 3_600 * MICROS
        self.start = self.end - DAYS * DAY
        self.order = rng.choice(["updated", "updated", "created", "ascending", "unsorted"])
        self.unit = rng.choice([1, 1_000, MICROS, 60 * MICROS])
        self.excludes_start, self.excludes_end = rng.random() < 0.5, rng.random() < 0.5
        self.by_last_row = rng.random() < 0.5
        self.ignores_ranges = rng.random() < 0.1
        # 429, 503 or a closed connection for more requests at a time than it bears.
        self.bears = rng.choice([1, 2, 4, None, None])
        self.refusal = rng.choice(["429", "503", "closed"])
        self.fills = [self.fill(number) for number in range(ROWS)]
        # The true times, of which the service does not show all.
        self.times = {fill["deal_id"]: fill["updated_time"] for fill in self.fills}
        if rng.random() < 0.2:
            rng.choice(self.fills)["updated_time"] = 0
        self.lock, self.in_flight, self.received = threading.Lock(), 0, 0
        self.arriving = []
        if self.by_last_row and rng.random() < 0.4:
            self.arriving = rng.sample(self.fills, 3)
        self.changing = {fill["deal_id"] for fill in self.arriving}

    def fill(self, number):
        """At the exchange: on weekdays, with lunch."""
        day = self.start - self.start % DAY + self.rng.randrange(1, DAYS - 1) * DAY
        hour = self.rng.choice([1.5, 5.0]) + 2.5 * self.rng.random()
        updated = day + int(hour * 3_600 * MICROS)
        created = updated - (0 if self.rng.random() > 0.02 else self.rng.randrange(5 * DAY))
        return {
            "deal_id": str(number),
            "code": "HK.00700",
            "create_time": created,
            "updated_time": updated,
        }

    def key(self, fill):
        time_of = self.times[fill["deal_id"]]
        return {
            "updated": (-time_of, fill["deal_id"]),
            "created": (-fill["create_time"], fill["deal_id"]),
            "ascending": (time_of, fill["deal_id"]),
            "unsorted": (random.Random(fill["deal_id"]).random(), fill["deal_id"]),
        }[self.order]

    def listed(self, start, end):
        start, end = (bound // self.unit * self.unit for bound in (start, end))

        def is_asked(fill):
            at = self.times[fill["deal_id"]]
            return self.ignores_ranges or (
                start + self.excludes_start <= at <= end - self.excludes_end
            )

        return sorted(filter(is_asked, self.fills), key=self.key)

    def __call__(self, received):
        with self.lock:
            self.in_flight += 1
            is_too_many = self.bears is not None and self.in_flight > self.bears
        try:
            # time: requests that are sent side by side meet
            time.sleep(0.002)
            if is_too_many:
                return self.refused()
            with self.lock:
                return self.page(dict(parse_qsl(received.query)))
        finally:
            with self.lock:
                self.in_flight -= 1

    def refused(self):
        if self.refusal == "closed":
            return response({}, drop=True)
        return response({}, status=int(self.refusal))

    def page(self, query):
        found = self.listed(int(query["start"]), int(query["end"]))
        flag = query.get("page_flag")
        first = 0
        if flag and self.by_last_row:
            last = tuple(json.loads(flag))
            first = sum(self.key(fill) <= last for fill in found)
        elif flag:
            first = int(flag)
        rows = found[first : first + SIZE]
        following = None
        if first + SIZE < len(found):
            following = json.dumps(self.key(rows[-1])) if self.by_last_row else str(first + SIZE)
        self.received += 1
        if self.arriving and self.received % 7 == 0:
            # A fill changes, now, and moves beyond the range.
            changed = self.arriving.pop()
            self.times[changed["deal_id"]] = changed["updated_time"] = self.end + DAY
        return page("fills_history", rows, following)


def ids(rows):
    return [row["deal_id"] for row in rows]


def archived(client, account, span, **options):
    with bl.Archive(":memory:") as archive:
        archive.update(client, fills=[(account, "HK")], start=span["start"], **options)
        return ids(archive.fills(account, "HK").all())


# Each way to read a list: the ids of its rows.
WAYS = {
    "all": lambda client, span: ids(client.fills_history("1", "HK", **span).all()),
    "arrow": lambda client, span: (
        client.fills_history("1", "HK", **span).to_arrow()["deal_id"].to_pylist()
    ),
    "batches": lambda client, span: [
        deal_id
        for batch in client.fills_history("1", "HK", **span).record_batches()
        for deal_id in batch.column("deal_id").to_pylist()
    ],
    "iteration": lambda client, span: ids(client.fills_history("1", "HK", **span)),
    "fetch_many": lambda client, span: ids(
        client.fetch_many("fills_history", ["1"], trd_market="HK", **span)
    ),
    "pages_many": lambda client, span: ids(
        client.pages_many("fills_history", ["1"], trd_market="HK", **span)
    ),
}
# Those that were asked for windows: they say so where a row fits none.
WINDOWED = {
    "windows": lambda client, span: ids(client.fills_history("1", "HK", windows=5, **span)),
    "all windows": lambda client, span: ids(
        client.fills_history("1", "HK", windows=3, **span).all()
    ),
    "windows of pages_many": lambda client, span: ids(
        client.pages_many("fills_history", ["1"], windows=3, trd_market="HK", **span).all()
    ),
    "windows of fetch_many": lambda client, span: ids(
        client.fetch_many("fills_history", ["1"], windows=3, trd_market="HK", **span)
    ),
}


def check(seed, way, read):
    service = AnyService(seed)
    span = {"start": service.start, "end": service.end, "page_size": SIZE}
    if way in WINDOWED:
        service.bears = None
    expected = {
        fill["deal_id"]
        for fill in service.listed(service.start, service.end)
        if fill["deal_id"] not in service.changing
    }
    with StandInService(service) as server, client_of(server, max_retries=2) as client:
        try:
            read_ids = read(client, span)
        except bl.ProtocolError as error:
            undated = any(fill["updated_time"] == 0 for fill in service.fills)
            assert way in WINDOWED and (undated or service.ignores_ranges or service.changing)
            assert "windows=1" in error.hint
            return
    times = Counter(read_ids)
    assert all(times[deal_id] == 1 for deal_id in expected), (seed, way, len(times), len(expected))


@pytest.mark.parametrize(
    ("seed", "way"),
    # Each service is read by every second way, each way reads every second service.
    [
        (seed, way)
        for seed in range(6)
        for number, way in enumerate([*WAYS, *WINDOWED])
        if (seed + number) % 2 == 0
    ],
)
def test_security_60_each_row_comes_once_from_any_service(seed, way):
    check(seed, way, (WAYS | WINDOWED)[way])


@pytest.mark.slow
@pytest.mark.parametrize("way", [*WAYS, *WINDOWED])
def test_security_60_each_row_comes_once_from_hundreds_of_services(way):
    for seed in range(100, 300):
        check(seed, way, (WAYS | WINDOWED)[way])


@pytest.mark.parametrize("windows", [None, 3])
@pytest.mark.parametrize("seed", range(3))
def test_security_60_an_archive_has_each_row_once(seed, windows):
    service = AnyService(seed)
    service.ignores_ranges, service.arriving, service.changing = False, [], set()
    service.bears = None if windows else service.bears
    for fill in service.fills:
        fill["updated_time"] = service.times[fill["deal_id"]]
    span = {"start": service.start - DAY}
    with StandInService(service, clock=0) as server, client_of(server, max_retries=2) as client:
        stored = archived(client, "1", span, windows=windows)
    assert sorted(stored, key=int) == [str(number) for number in range(ROWS)]


@pytest.mark.parametrize("windows", [[], ["--windows", "4"]])
def test_security_60_a_download_that_is_resumed_has_each_row_once(tmp_path, windows):
    from boardlot.cli import main

    service = AnyService(3)
    service.ignores_ranges, service.bears, service.arriving = False, None, []
    for fill in service.fills:
        fill["updated_time"] = service.times[fill["deal_id"]]
    with StandInService(service, clock=0) as server:
        key = tmp_path / "key.pem"
        key.write_text(bl.generate_key().private_pem)
        key.chmod(0o600)
        out, checkpoint = tmp_path / "fills.jsonl", tmp_path / "checkpoint"
        command = ["--base-url", server.base_url, "--key-id", "1", "--key-file", str(key), "fills"]
        command += ["1", "HK", f"--start={service.start}", f"--end={service.end}"]
        command += ["--page-size=10", "--out", str(out), "--resume", str(checkpoint), *windows]
        serve, left = service.page, 9

        def fails_later(query):
            nonlocal left
            left -= 1
            if left == 0:
                return response({}, status=400)
            return serve(query)

        service.page = fails_later
        assert main(command) == 3
        received = out.with_name(f"{out.name}.boardlot-part").read_text().count("\n")
        assert main(command) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert 0 < received < len(rows)
    expected = ids(service.listed(service.start, service.end))
    assert sorted(ids(rows)) == sorted(expected)
