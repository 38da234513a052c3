"""The identity of a record, however it is spelled, and the content of lists over time."""

import json
import random
from datetime import datetime, timezone

import boardlot as bl
import pytest

from ..support.service import Response
from .service import HK, HOUR, PLATE, fill, fills_path, followed, path_of

PATH = path_of("plates", PLATE)


def stock(number, **more):
    return {"code": f"HK.{number:05}", "stock_name": f"No. {number}", **more}


def now():
    return datetime.now(timezone.utc)


def test_each_state_of_a_list_can_be_seen_again(archive, book, client):
    states, times = [], []
    for rows in (
        [stock(1), stock(2), stock(3)],
        [stock(3), stock(1), stock(2, stock_name="renamed")],
        [stock(1)],
        [],
        [stock(2), stock(1)],
    ):
        times.append(now())
        book.lists[PATH] = rows
        archive.update(client, plates=[PLATE])
        states.append(rows)
    with pytest.warns(UserWarning, match="was first read at .*: nothing is known of it before"):
        assert archive.seen("plates", PLATE, at=times[0]) == []
    for rows, after in zip(states, [*times[1:], None], strict=True):
        assert archive.seen("plates", PLATE, at=after) == rows
    changes = archive.changes("plates", PLATE)
    assert [f"{one['change']} {one['code']}" for one in changes] == [
        *("new HK.00001", "new HK.00002", "new HK.00003"),
        *("changed HK.00002", "gone HK.00003"),
        *("gone HK.00002", "gone HK.00001"),
        *("new HK.00002", "new HK.00001"),
    ]
    assert changes[5]["stock_name"] == "renamed"
    moments = [one["seen_at"] for one in changes]
    assert moments == sorted(moments)
    assert str(changes.to_pandas()["seen_at"].dtype) == "datetime64[us, UTC]"


def test_a_dividend_beyond_the_hundredth_is_kept(archive, book, client):
    path = path_of("dividends", "HK.00700")
    book.lists[path] = [
        {"ex_date": f"{2100 - n}/01/02", "pub_date": "--", "process": "Plan"} for n in range(100)
    ]
    archive.update(client, dividends=["HK.00700"])
    oldest = book.lists[path][-1]
    book.lists[path] = [
        {"ex_date": "2101/01/02", "pub_date": "--", "process": "Plan"},
        *book.lists[path][:-1],
    ]
    book.totals[path] = 101
    counts = archive.update(client, dividends=["HK.00700"]).lists["dividends", "HK.00700"]
    assert (counts.new, counts.gone) == (1, 0)
    assert archive.seen("dividends", "HK.00700") == [*book.lists[path], oldest]
    # A record can be gone from a list that is complete.
    book.lists[path] = book.lists[path][:5]
    book.totals[path] = 5
    counts = archive.update(client, dividends=["HK.00700"]).lists["dividends", "HK.00700"]
    assert (counts.unchanged, counts.gone) == (5, 96)


def test_a_countdown_is_not_a_change(archive, book, client):
    path = path_of("ipos", "hk")
    ipo = {"code": "HK.02799", "name": "A"}
    ipo |= {"apply_countdown_secs": 100, "placing_countdown_secs": 7}
    book.lists[path] = [ipo]
    archive.update(client, ipos=["hk"])
    book.lists[path] = [{**ipo, "apply_countdown_secs": 90, "placing_countdown_secs": 0}]
    counts = archive.update(client, ipos=["hk"]).lists["ipos", "hk"]
    assert (counts.unchanged, counts.changed) == (1, 0)
    book.lists[path] = [{**ipo, "apply_countdown_secs": 80, "name": "B"}]
    assert archive.update(client, ipos=["hk"]).changed == 1
    assert archive.seen("ipos", "hk") == book.lists[path]


def test_records_with_the_same_code_or_with_none_are_all_kept(archive, book, client):
    rows = [stock(1), stock(1, lot_size=2), *[{"name": "no code"}] * 2, {"code": None}, {}]
    book.lists[PATH] = rows
    archive.update(client, plates=[PLATE])
    assert archive.seen("plates", PLATE) == rows
    assert archive.update(client, plates=[PLATE]).unchanged == 6
    assert len(archive.changes("plates", PLATE)) == 6


def test_records_with_the_same_code_are_matched_by_their_contents(archive, book, client):
    rows = [stock(1, lot_size=size) for size in (100, 200, 300)]
    for turn in range(3):
        book.lists[PATH] = rows[turn:] + rows[:turn]
        report = archive.update(client, plates=[PLATE])
        assert (report.new, report.changed) == ((3, 0) if turn == 0 else (0, 0))
        assert archive.seen("plates", PLATE) == book.lists[PATH]
    book.lists[PATH] = rows[1:]
    report = archive.update(client, plates=[PLATE])
    assert (report.unchanged, report.changed, report.gone) == (2, 0, 1)
    assert archive.changes("plates", PLATE)[-1]["lot_size"] == 100


def test_every_list_is_stored_under_its_own_key(archive, book, client):
    keys = {
        "crypto_orders": "1001001",
        "sim_orders": "5001",
        "sim_positions": "5001",
        "ipos": "sg",
        "dividends": "US.AAPL",
        "futures": "HK.HSImain",
        "plates": PLATE,
    }
    for number, (name, key) in enumerate(keys.items()):
        book.lists[path_of(name, key)] = [
            {"code": f"{name}", "order_id": "7", "pstn_id": "7", "n": number}
        ]
    report = archive.update(client, **{name: [key] for name, key in keys.items()})
    assert not report.errors
    for name, key in keys.items():
        assert archive.seen(name, key) == book.lists[path_of(name, key)]
        with pytest.warns(UserWarning, match=r"at is 2000-01-01T00:00:00Z, but"):
            assert archive.seen(name, key, at="2000-01-01") == []
    assert {row["list"]: row["records"] for row in archive.status()} == dict.fromkeys(keys, 1)


def test_unknown_lists_and_keys_are_rejected_and_unread_ones_are_empty(archive):
    for name in ("stocks", [], None, 5):
        with pytest.raises(bl.ConfigError, match=r"list is .*expected one of crypto_orders"):
            archive.seen(name, "hk")
    with pytest.raises(bl.ConfigError, match="did you mean 'plates'"):
        archive.seen("plate", PLATE)
    with pytest.raises(bl.ConfigError, match=r"use archive\.fills"):
        archive.seen("fills", "281756")
    with pytest.raises(bl.ConfigError):
        archive.seen("ipos", "xx")
    with pytest.raises(bl.ConfigError, match="naive"):
        archive.seen("ipos", "hk", at=datetime(2026, 1, 1))
    with pytest.warns(UserWarning, match="has no update of") as warned:
        assert archive.seen("ipos", "hk") == []
        assert len(archive.changes("plates", PLATE).schema) == 2
        assert list(archive.seen("ipos", "hk").to_pandas().columns)[:2] == ["code", "name"]
        assert archive.gaps(*HK) == []
    assert {one.filename for one in warned} == {__file__}


TREE = bl.Endpoint("tree", "GET", "/api/v1.0/tree", rows="data.list")
NESTED = {"é": "ü\n/", "a": {"x": [1.50, 2, None], "y": {"p": True, "q": "1.50"}}, "z": 1e5}


def spelled(value, chosen):
    """JSON in another order of members, with other spaces and escapes; numbers as they are."""
    if isinstance(value, dict):
        members = list(value.items())
        chosen.shuffle(members)
        parts = [
            f"{spelled(name, chosen)}{space(chosen)}:{spelled(v, chosen)}" for name, v in members
        ]
        return "{" + space(chosen) + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(spelled(one, chosen) + space(chosen) for one in value) + "]"
    if isinstance(value, str):
        escaped = json.dumps(value, ensure_ascii=chosen.random() < 0.5)
        return escaped.replace("/", chosen.choice(["/", "\\/"]))
    return json.dumps(value)


def space(chosen):
    return chosen.choice(["", " ", "\n  "])


def responded(before, rows, after, chosen):
    body = before + ",".join(spelled(row, chosen) for row in rows) + after
    return Response(body=body.encode())


class Spelling:
    """Responses with the same rows, each time in another spelling."""

    def __init__(self, book):
        self.book, self.chosen = book, random.Random(5)

    def fills(self, rows):
        after = '],"page_flag":"","completed":true}}'
        page = responded('{"s":"ok","d":{"order_fills":[', rows, after, self.chosen)
        self.book.failures.setdefault(fills_path(), []).append(page)

    def rows(self, path, rows):
        self.book.failures[path] = [
            responded('{"ret_code":0,"data":{"list":[', rows, "]}}", self.chosen)
        ]

    def stocks(self, rows):
        after = ']},"pagination":{"has_more":false,"next_key":"-1"}}'
        page = responded('{"code":0,"data":{"stock_list":[', rows, after, self.chosen)
        self.book.failures[path_of("plates", PLATE)] = [page]


@pytest.fixture
def spelling(book):
    return Spelling(book)


def test_another_spelling_is_no_change(archive, book, client, spelling):
    at = book.now() - HOUR
    # One fill with an id, and one without.
    fills = [fill(1, at, more=NESTED), {**fill(2, at - 1, more=NESTED), "deal_id": ""}]
    ipos = [
        {"code": "HK.1", "name": "é/", "apply_countdown_secs": n, "more": NESTED} for n in (1, 2)
    ]
    stocks = [{"code": "HK.1", "more": NESTED}, {"name": "é", "more": NESTED}]
    for turn in range(5):
        spelling.fills(fills)
        spelling.rows(path_of("ipos", "hk"), [{**ipos[0], "apply_countdown_secs": turn}])
        spelling.rows(TREE.path, [NESTED])
        spelling.stocks(stocks)
        lists = {"fills": [HK], "ipos": ["hk"], "plates": [PLATE], "lists": [(TREE, {})]}
        report = archive.update(client, **lists)
        counts = (report.new, report.changed, report.gone, report.unchanged)
        assert counts == ((6, 0, 0, 0) if turn == 0 else (0, 0, 0, 6))
    assert archive.fills(*HK).all() == fills
    assert archive.check() == []


@pytest.mark.parametrize("place", range(6))
def test_another_value_of_any_kind_is_a_change(archive, book, client, spelling, place):
    """The changes are other digits, a text for a number, another order of a list, and one more
    member."""
    other = [
        {"a": 1.5}, {"a": 1.0}, {"a": "1"}, {"a": [2, 1]}, {"a": True}, {"a": 1, "b": None},
    ][place]  # fmt: skip
    for row in ({"a": [1, 2]} if place == 3 else {"a": 1}, other):
        spelling.stocks([{"code": "HK.1", **row}])
        report = archive.update(client, plates=[PLATE])
    assert (report.changed, report.unchanged) == (1, 0)


def test_a_follower_receives_a_fill_once_however_it_is_spelled(archive, book, client, spelling):
    at = book.now() - HOUR
    for count in (1, 1, 1, 2, 2, 3):
        spelling.fills([fill(n, at + n, more=NESTED) for n in range(count)])
    assert followed(archive, client, 3) == ["0", "1", "2"]


def test_one_record_twice_in_a_read_is_no_finding_unless_its_contents_differ(
    archive, book, client, spelling
):
    path = path_of("dividends", "HK.00700")
    one = {"ex_date": "2026-01-01", "pub_date": "2025-12-01", "statement": "é"}

    def dividends(*rows):
        after = f'],"total_dividend_count":{len(rows)},"total_dividend_money":1}}}}'
        before = '{"ret_code":0,"data":{"dividend_list":['
        book.failures[path] = [responded(before, rows, after, random.Random(len(rows)))]
        archive.update(client, dividends=["HK.00700"])

    dividends(one, dict(reversed(one.items())), one)
    assert archive.check() == []
    dividends(one, {**one, "dividend_per_share": 2})
    assert {found.kind for found in archive.check()} == {"twice", "restated"}


def test_a_list_in_another_order_is_seen_so_and_stores_its_order(archive, book, client):
    path = path_of("plates", PLATE)
    rows = [{"code": f"HK.{number:05}"} for number in range(40)]
    for first in range(5):
        book.lists[path] = rows[first:] + rows[:first]
        archive.update(client, plates=[PLATE])
        assert archive.seen("plates", PLATE) == book.lists[path]
    assert archive._database.read("select count(*) from snapshot_records") == [(40,)]
    assert archive._database.read("select count(*) from snapshots") == [(5,)]
    assert archive._database.read("select count(*) from versions") == [(40,)]
    assert len(archive.changes("plates", PLATE)) == 40
