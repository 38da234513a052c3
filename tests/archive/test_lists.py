"""The content of lists over time: records that appear, change, disappear and reappear."""

from datetime import datetime, timezone

import boardlot as bl
import pytest

from .service import HK, PLATE, path_of

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
    # A list that is all there is can lose one.
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
        assert archive.seen(name, key, at="2000-01-01") == []
    assert {row["list"]: row["records"] for row in archive.status()} == dict.fromkeys(keys, 1)


def test_unknown_lists_and_keys_are_rejected_and_unread_ones_are_empty(archive):
    for name in ("stocks", [], None, 5):
        with pytest.raises(bl.ConfigError, match=r"list is .*expected one of crypto_orders"):
            archive.seen(name, "hk")
    with pytest.raises(bl.ConfigError, match="did you mean 'plates'"):
        archive.seen("plate", PLATE)
    with pytest.raises(bl.ConfigError, match=r"use archive\.fills"):
        archive.changes("fills", "281756")
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
