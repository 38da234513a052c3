"""Values of the service are data: in no database do they become a part of SQL."""

import json
import random
from pathlib import Path

import boardlot as bl

from .service import HK, fill, path_of

HOSTILE = json.loads(Path(__file__).with_name("hostile.json").read_text())
PHRASES = [*HOSTILE["phrases"], "-" * 400, "9" * 400]


def hostile(seed):
    chosen = random.Random(seed)
    if chosen.random() < 0.3:
        return chosen.choice(PHRASES)
    return "".join(chosen.choices(HOSTILE["parts"], k=chosen.randrange(1, 12)))


def test_security_46_ten_thousand_hostile_values_change_no_query(archive, book, client):
    """The values are ids, values of every declared kind, and names of fields."""
    now = book.now()
    names = ["code", "stock_name", "qty", "price", "counter_broker_id", "status", "trd_side"]
    served, values = [], 0
    for number in range(900):
        one = fill(number, now - number)
        one["deal_id"] = hostile(number) + str(number)
        for place, name in enumerate(names):
            one[name] = hostile(10_000 + 10 * number + place)
        one[hostile(90_000 + number) + "x"] = hostile(95_000 + number)
        values += 2 + len(names) + 1
        served.append(one)
    stocks = [{"code": hostile(n) + str(n), hostile(n + 1): hostile(n + 2)} for n in range(400)]
    values += 3 * len(stocks)
    assert values > 10_000
    book.fills[HK], book.order = served, list
    book.lists[path_of("plates", "HK.BK1")] = stocks
    book.page = 50
    report = archive.update(client, fills=[HK], plates=["HK.BK1"])
    assert not report.errors
    assert archive.fills(*HK).all() == served
    assert archive.seen("plates", "HK.BK1") == stocks
    assert archive.update(client, fills=[HK], plates=["HK.BK1"]).unchanged == 1300
    rows = archive.sql("select * from fills").to_dicts()
    assert len(rows) == 900
    # A value that is not of its field's kind is null; the others keep their value.
    assert {type(row["qty"]) for row in rows} <= {type(None), float}
    assert [json.loads(row["record"]) for row in rows if row["price"] is not None]
    for view in ("plates", "plates_history", "ipos", "dividends", "sim_orders", "crypto_orders"):
        archive.sql(f"select * from {view}")
    assert len(archive.sql("select * from plates_history")) == 400


def test_security_46_hostile_accounts_and_keys_are_rejected_or_stored_as_they_are(
    archive, book, client
):
    for account in ["'; drop table series; --", "1/../2", "a\x00b", "%73"]:
        try:
            archive.update(client, fills=[(account, "HK")])
        except bl.ConfigError:
            continue
        assert archive.fills(account, "HK").all() == []
    market = "'; drop table series; --"
    book.fills[("1", market)] = [fill(1, book.now() - 10)]
    archive.update(client, fills=[("1", market)])
    assert len(archive.fills("1", market).all()) == 1
    assert archive.sql("select market from fills").to_dicts() == [{"market": market}]
