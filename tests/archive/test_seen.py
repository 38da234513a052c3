"""A list stays as it was seen, with contents and order, for every kind of list.

The model keeps each read whole.
"""

import random

import boardlot as bl
import pytest

from .service import PLATE, path_of, unavailable

TREE = bl.Endpoint(
    "tree",
    "GET",
    "/api/v1.0/tree/{symbol}",
    rows="data.list",
    record={"code": "text", "weight": "decimal"},
)
# The fields that identify a record of each list, and the list's path.
IDENTITIES = {
    "crypto_orders": ("order_id",),
    "sim_orders": ("order_id",),
    "sim_positions": ("pstn_id",),
    "ipos": ("code",),
    "dividends": ("ex_date", "pub_date"),
    "futures": ("code",),
    "plates": ("code",),
    "tree": (),
}
MARKETS = ("hk", "us", "cn", "sg", "my")


class History:
    """One list with its key, and every read of it."""

    def __init__(self, seed, book):
        self.chosen, self.book = random.Random(seed), book
        self.name = [*IDENTITIES][seed % len(IDENTITIES)]
        symbols = self.name in ("dividends", "futures", "tree")
        self.key = f"HK.{seed:05}" if symbols else f"HK.BK{seed}" if self.name == "plates" else seed
        if self.name == "ipos":
            self.key = MARKETS[seed // len(IDENTITIES) % len(MARKETS)]
        if self.name == "tree":
            self.path, self.list = f"/api/v1.0/tree/{self.key}", TREE
            self.key = {"symbol": self.key}
            self.update = {"lists": [(TREE, self.key)]}
        else:
            self.path, self.list = path_of(self.name, self.key), self.name
            self.update = {self.name: [self.key]}
        self.reads = []

    def record(self, number):
        names = IDENTITIES[self.name]
        values = dict.fromkeys(names, f"2026/01/{number + 1:02}")
        return {**values, "statement": self.chosen.choice("ab"), "n": self.chosen.randrange(3)}

    def change(self):
        """Changes the records, or the order of the same records."""
        rows = self.book.lists.setdefault(self.path, [])
        for kind in self.chosen.sample(["add", "remove", "edit", "turn", "shuffle", "again"], 2):
            if kind == "add":
                # Some new records have the identity of another one.
                new = [self.record(self.chosen.randrange(9)) for _ in range(3)]
                place = self.chosen.randrange(len(rows) + 1)
                rows[place:place] = new
            elif kind == "remove":
                rows[:] = [row for row in rows if self.chosen.random() < 0.7]
            elif kind == "edit" and rows:
                place = self.chosen.randrange(len(rows))
                rows[place] = {**rows[place], "n": self.chosen.randrange(3)}
            elif kind == "turn" and rows:
                rows.append(rows.pop(0))
            elif kind == "shuffle":
                self.chosen.shuffle(rows)
            elif kind == "again" and self.reads:
                rows[:] = self.chosen.choice(self.reads)[1]

    def read(self, archive, client):
        if self.chosen.random() < 0.2:
            self.book.failures[self.path] = [unavailable()]
            archive.update(client, **self.update, on_error="collect")
            assert not self.book.failures[self.path]
            return
        archive.update(client, **self.update)
        times = {(row["list"], row["key"]): row["read_at"] for row in archive.status()}
        name, key = self.name, str(self.key).replace("'", '"')
        self.reads.append((times[name, key], list(self.book.lists[self.path])))

    def check(self, archive):
        for at, rows in self.reads:
            assert archive.seen(self.list, self.key, at=at) == rows, (self.name, at)
        if self.reads:
            assert archive.seen(self.list, self.key) == self.reads[-1][1]


def check(count, target, book, client):
    archive = bl.Archive(target)
    last = {}
    for seed in range(count):
        history = History(seed, book)
        # There are five lists of IPOs: later histories continue those of earlier ones.
        before = last.setdefault(history.path, history)
        history.reads = before.reads
        for _ in range(8):
            history.change()
            history.read(archive, client)
            if history.chosen.random() < 0.1:
                archive.close()
                archive = bl.Archive(target)
        history.check(archive)
    for history in last.values():
        history.check(archive)
    # An order is stored as one value; only the last one has rows.
    rows = "select count(*) from snapshot_records r join lists l on l.id = r.list"
    assert archive._database.read(f"{rows} where r.snapshot <> l.snapshot") == [(0,)]
    archive.close()


@pytest.mark.parametrize("histories", [8, pytest.param(48, marks=pytest.mark.slow)])
def test_what_was_seen_is_seen_again_whatever_was_read_later(target, book, client, histories):
    check(histories, target, book, client)


def test_an_order_of_five_hundred_records_takes_two_kilobytes(file, book, client):
    rows = [{"code": f"HK.{number:05}", "stock_name": "x" * 200} for number in range(500)]
    chosen, path = random.Random(1), path_of("plates", PLATE)
    with bl.Archive(file) as archive:
        for _ in range(20):
            chosen.shuffle(rows)
            book.lists[path] = list(rows)
            archive.update(client, plates=[PLATE])
        ((longest,),) = archive._database.read("select max(length(versions)) from snapshots")
        assert longest < 2_000
        assert archive._database.read("select count(*) from snapshot_records") == [(500,)]
        assert archive._database.read("select count(*) from versions") == [(500,)]


DAY = {"ex_date": "2026/05/15", "pub_date": "2026/03/18", "currency": "HKD"}
FINAL = {**DAY, "fiscal_year": "2025", "statement": "final", "dividend_per_share": 1.5}
SPECIAL = {**DAY, "fiscal_year": "2025", "statement": "special", "dividend_per_share": 3.0}


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ([SPECIAL, FINAL], []),
        ([FINAL], ["gone special"]),
        ([SPECIAL], ["gone final"]),
        # Restated, and in the other order.
        ([SPECIAL, {**FINAL, "dividend_per_share": 1.6}], ["changed final"]),
        ([{**SPECIAL, "dividend_per_share": 3.1}], ["changed special", "gone final"]),
        ([{**SPECIAL, "statement": "extra"}, FINAL], ["changed extra"]),
        ([FINAL, SPECIAL, FINAL], ["new final"]),
    ],
)
def test_two_dividends_of_a_day_are_kept_apart(archive, book, client, later, expected):
    path = path_of("dividends", "HK.00005")
    for rows in ([FINAL, SPECIAL], later):
        book.lists[path] = rows
        archive.update(client, dividends=["HK.00005"])
        assert archive.seen("dividends", "HK.00005") == rows
    changes = archive.changes("dividends", "HK.00005")[2:]
    assert [f"{one['change']} {one['statement']}" for one in changes] == expected
    # Two dividends of a day are not a finding; a dividend that was restated is.
    restated = [one for one in expected if one.startswith("changed")]
    assert [found.kind for found in archive.check()] == ["restated"] * len(restated)
