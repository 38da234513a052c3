"""`Records.to_dicts(typed=True)`: made of the dicts, and equal to what is made of them as JSON."""

import random
from datetime import date, datetime, timezone
from decimal import Decimal

import boardlot as bl
import pytest
from boardlot._core import _Rows as Rows

# Values of every kind, and what a caller may have put in their place.
VALUES = {
    "text": ["HK.00700", "", "騰訊", 'a "quoted" \\ text', "\u0000", "0", 7, None],
    "integer": [0, -1, 2**53 + 1, 2**63 - 1, "12", None],
    "number": [1.5, 2, -0.0, "3.25", "", None],
    "flag": [True, False, None],
    "decimal": ["1.50", "0", "-3.25", "1e3", 7, "", None],
    "percent": [1.23, "4.5", None],
    "seconds": [0, 1_790_000_000, "1790000000", None],
    "millis": [0, 1_790_000_000_123, None],
    "micros": ["1790000000123456", 1_790_000_000_123_456, "", None],
    "date": ["2026-01-05", "", None],
    "object": [{"a": 1, "b": [1, {"c": None}]}, None],
}
ODD = [2**70, float("inf"), Decimal("1.5"), [1], datetime(2026, 1, 5, tzinfo=timezone.utc)]
ENDPOINT = bl.Endpoint("any", "GET", "/rows", record={kind: kind for kind in VALUES})


def shown(value):
    """A value with the types of all that is in it, in its order."""
    if isinstance(value, dict):
        return {name: shown(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shown(member) for member in value]
    return type(value), repr(value)


def outcome(make):
    try:
        return [(list(row), shown(row)) for row in make()]
    except bl.BoardlotError as error:
        return type(error), str(error)


def both(records):
    """The typed dicts, and those by the way through JSON."""
    straight = outcome(lambda: records.to_dicts(typed=True))
    return straight, outcome(lambda: Rows.of_dicts(records, records._shape).typed_dicts())


@pytest.fixture(scope="module")
def declared(sandbox):
    """No rows, which have a field of every kind."""
    sandbox.serve(ENDPOINT, [])
    with sandbox.client() as client:
        return client.call(ENDPOINT)


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7, fills=60) as sandbox:
        yield sandbox


@pytest.mark.parametrize("oddness", [0.0, 0.02])
def test_they_equal_those_made_of_json_for_values_of_every_kind(declared, oddness):
    rng = random.Random(7)
    kinds = list(VALUES)
    for _ in range(300):
        names = rng.sample([*kinds, "more"], rng.randrange(1, len(kinds) + 2))
        rows = []
        for _ in range(rng.randrange(6)):
            row = {name: rng.choice(VALUES.get(name, VALUES["text"])) for name in names}
            if rng.random() < oddness * 10:
                row[rng.choice(names)] = rng.choice(ODD)
            if rng.random() < 0.2:
                row.pop(rng.choice(names))
            rows.append(row)
        straight, by_json = both(declared._with(rows))
        assert straight == by_json, rows


def test_they_equal_those_made_of_json_for_all_lists_of_the_service(sandbox):
    accounts = sandbox.accounts
    with sandbox.client() as client:
        lists = [
            client.fills_history(accounts["trade"][0], "HK").all(),
            client.crypto_orders(accounts["crypto"][0]).all(),
            client.sim_orders(accounts["sim"][0]),
            client.sim_positions(accounts["sim"][0]),
            client.plate_stocks("HK.BK1001").all(),
            client.fetch_many("dividends", ["HK.00700", "US.AAPL"]),
            client.dividends("HK.00700").select("ex_date", "dividend_per_share"),
            *(client.ipo_list(market) for market in ("hk", "us", "cn", "sg", "my")),
        ]
    for records in lists:
        straight, by_json = both(records)
        assert len(records) > 0 and straight == by_json


def test_the_dicts_of_the_list_stay_as_they_are(declared):
    records = declared._with([{"decimal": "1.50", "date": "2026-01-05", "text": "a"}])
    assert records.to_dicts(typed=True) == [
        {"decimal": Decimal("1.50"), "date": date(2026, 1, 5), "text": "a"}
    ]
    assert records == [{"decimal": "1.50", "date": "2026-01-05", "text": "a"}]
