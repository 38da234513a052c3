"""`--where`, `--sort` and `--limit`: which rows are written, with the service's own values."""

from datetime import datetime, timezone
from decimal import Decimal

import pytest

from ..support.command_line import ACCOUNT

FILLS = ["fills", ACCOUNT, "HK"]
ORDERS = ["crypto-orders", "1001001"]
SANDBOX = {"fills": 300}


@pytest.fixture
def rows(live):
    return lambda *arguments: live("--format", "json", *arguments).json


def test_limit_ends_the_download_with_the_last_row(rows, sent):
    everything = rows(*FILLS)
    for number in (3, 51, 1000):
        before = len(sent())
        assert rows(*FILLS, "--limit", number) == everything[:number]
        if number == 3:
            # The first page, and perhaps the one that is fetched ahead: not all six.
            assert sum("fills_history" in request.path for request in sent()[before:]) <= 2


def test_where_compares_numbers_as_numbers_and_times_as_times(rows):
    everything = rows(*FILLS)
    middle = datetime.fromtimestamp(everything[150]["create_time"] / 1e6, timezone.utc)
    day = middle.replace(hour=0, minute=0, second=0, microsecond=0)
    for condition, holds in (
        ("qty>=1000", lambda row: Decimal(row["qty"]) >= 1000),
        ("qty < 1000", lambda row: Decimal(row["qty"]) < 1000),
        ("trd_side=buy", lambda row: row["trd_side"] == "BUY"),
        ("trd_side!=BUY", lambda row: row["trd_side"] != "BUY"),
        ("code=HK.00700", lambda row: row["code"] == "HK.00700"),
        ("stock_name~TENC", lambda row: "tenc" in row["stock_name"].lower()),
        (f"create_time>={day:%Y-%m-%d}", lambda row: row["create_time"] >= day.timestamp() * 1e6),
    ):
        expected = [row for row in everything if holds(row)]
        assert rows(*FILLS, "--where", condition) == expected, condition
        assert 0 < len(expected) < len(everything), condition


def test_conditions_are_combined_and_the_limit_counts_what_is_left(rows):
    expected = [
        row for row in rows(*FILLS) if row["trd_side"] == "BUY" and Decimal(row["qty"]) > 500
    ]
    where = ["--where", "trd_side=BUY", "--where", "qty>500"]
    assert rows(*FILLS, *where) == expected
    assert rows(*FILLS, *where, "--limit", "2") == expected[:2]
    assert rows(*FILLS, "--where", "qty<0") == []


def test_no_value_is_null_empty_or_missing(rows):
    everything = rows(*ORDERS)
    without = [row for row in everything if row["trigger_price"] == ""]
    rest = [row for row in everything if row["trigger_price"] != ""]
    assert without and rest
    assert rows(*ORDERS, "--where", "trigger_price=") == without
    assert rows(*ORDERS, "--where", "trigger_price!=") == rest
    # A comparison with a number holds for no row without one.
    assert rows(*ORDERS, "--where", "trigger_price>0") == rest


def test_sort_orders_all_rows_by_typed_values(rows):
    everything = rows(*FILLS)
    by_price = sorted(everything, key=lambda row: Decimal(row["price"]))
    assert rows(*FILLS, "--sort", "price") == by_price
    by_both = sorted(everything, key=lambda row: (row["code"], -Decimal(row["qty"])))
    assert rows(*FILLS, "--sort", "code,-qty", "--limit", "5") == by_both[:5]
    # Rows without a value come last in either direction.
    for order in ("trigger_price", "-trigger_price"):
        prices = [row["trigger_price"] for row in rows(*ORDERS, "--sort", order)]
        assert "" in prices and all(prices[: prices.index("")])


def test_the_page_size_of_a_plate_is_not_its_limit(rows, sent):
    assert len(rows("plate", "HK.BK1001", "--page-size", "7", "--limit", "10")) == 10
    assert 2 <= len(sent()) <= 3
