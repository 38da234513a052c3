"""`--where`, `--sort` and `--limit`: which rows are written, with the service's own values."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="a terminal of POSIX")
from boardlot.cli import main

from ..support.command_line import ACCOUNT, Service

FILLS = ["fills", ACCOUNT, "HK"]


SANDBOX = {"fills": 300}


@pytest.fixture
def rows(service: Service, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Any:
    """Runs a command in this process and returns its rows."""
    monkeypatch.setenv("XDG_CONFIG_HOME", service.environment["XDG_CONFIG_HOME"])

    def run(*arguments: str) -> list[dict[str, Any]]:
        assert main(["--profile", "live", "--format", "json", *arguments]) == 0
        return json.loads(capfdbinary.readouterr().out)  # type: ignore[no-any-return]

    return run


def test_limit_ends_the_download_with_the_last_row(service: Service, rows: Any) -> None:
    everything = rows(*FILLS)
    assert len(everything) == 300
    for number in (1, 50, 51, 299, 300, 1000):
        assert rows(*FILLS, "--limit", str(number)) == everything[:number]
    service.sandbox.reset()
    before = len(service.sandbox.requests)
    assert len(rows(*FILLS, "--limit", "3")) == 3
    # The first page, and perhaps the one that is fetched ahead: not all six.
    pages = [x for x in service.sandbox.requests[before:] if "fills_history" in x.path]
    assert len(pages) <= 2


def test_where_compares_numbers_as_numbers_and_times_as_times(rows: Any) -> None:
    everything = rows(*FILLS)
    for condition, holds in (
        ("qty>=1000", lambda row: Decimal(row["qty"]) >= 1000),
        ("qty < 1000", lambda row: Decimal(row["qty"]) < 1000),
        ("trd_side=buy", lambda row: row["trd_side"] == "BUY"),
        ("trd_side!=BUY", lambda row: row["trd_side"] != "BUY"),
        ("code=HK.00700", lambda row: row["code"] == "HK.00700"),
        ("stock_name~TENC", lambda row: "tenc" in row["stock_name"].lower()),
    ):
        expected = [row for row in everything if holds(row)]
        assert rows(*FILLS, "--where", condition) == expected, condition
        assert 0 < len(expected) < len(everything), condition
    middle = everything[150]["create_time"]
    text = datetime.fromtimestamp(middle / 1e6, timezone.utc).strftime("%Y-%m-%d")
    day = datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1e6
    later = [row for row in everything if row["create_time"] >= day]
    assert rows(*FILLS, "--where", f"create_time>={text}") == later
    assert 0 < len(later) < 300


def test_conditions_are_combined_and_the_limit_counts_what_is_left(rows: Any) -> None:
    everything = rows(*FILLS)
    expected = [x for x in everything if x["trd_side"] == "BUY" and Decimal(x["qty"]) > 500]
    where = ["--where", "trd_side=BUY", "--where", "qty>500"]
    assert rows(*FILLS, *where) == expected
    assert rows(*FILLS, *where, "--limit", "2") == expected[:2]
    assert rows(*FILLS, "--where", "qty<0") == []


def test_no_value_is_null_empty_or_missing(rows: Any) -> None:
    everything = rows("crypto-orders", "1001001")
    without = [x for x in everything if x["trigger_price"] == ""]
    assert 0 < len(without) < len(everything)
    assert rows("crypto-orders", "1001001", "--where", "trigger_price=") == without
    rest = [x for x in everything if x["trigger_price"] != ""]
    assert rows("crypto-orders", "1001001", "--where", "trigger_price!=") == rest
    # A comparison with a number holds for no row without one.
    assert rows("crypto-orders", "1001001", "--where", "trigger_price>0") == rest


def test_sort_orders_all_rows_by_typed_values(rows: Any) -> None:
    everything = rows(*FILLS)
    by_price = sorted(everything, key=lambda row: Decimal(row["price"]))
    assert rows(*FILLS, "--sort", "price") == by_price
    by_both = sorted(everything, key=lambda row: (row["code"], -Decimal(row["qty"])))
    assert rows(*FILLS, "--sort", "code,-qty") == by_both
    assert (
        rows(*FILLS, "--sort", "-price", "--limit", "5")
        == sorted(everything, key=lambda row: -Decimal(row["price"]))[:5]
    )
    # Rows without a value come last in either direction.
    for order in ("trigger_price", "-trigger_price"):
        prices = [x["trigger_price"] for x in rows("crypto-orders", "1001001", "--sort", order)]
        assert "" in prices and all(prices[: prices.index("")])


@pytest.mark.parametrize("format_", ["csv", "jsonl", "table"])
def test_every_format_keeps_the_services_own_text(format_: str, service: Service) -> None:
    arguments = [*FILLS, "--where", "qty>=1000", "--sort", "-qty", "--limit", "4"]
    expected = json.loads(service.rows(*arguments, "--format", "json"))
    text = service.rows(*arguments, "--columns", "code,qty", "--format", format_).decode()
    if format_ == "csv":
        assert list(csv.DictReader(io.StringIO(text))) == [
            {"code": x["code"], "qty": x["qty"]} for x in expected
        ]
    else:
        assert [line for line in text.splitlines() if expected[0]["code"] in line]
        assert sum(row["code"] in text for row in expected) == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--where", "qtyy>1"], "did you mean 'qty'?"),
        (["--sort", "pric"], "did you mean 'price'?"),
        (["--where", "qty>many"], "qty is a number, not 'many'"),
        (["--where", "create_time>yesterday"], "a date such as 2026-01-31"),
        (["--where", "create_time>2026-01-31T09:30:00"], "+08:00"),
        (["--where", "qty"], "'qty>=100'"),
        (["--where", ""], "empty"),
        (["--sort", "qty,,price"], "empty name"),
        (["--limit", "0"], "--limit"),
        (["--limit", "-3"], "--limit"),
        (["--limit", "2", "--out", "f.csv", "--resume", "f.checkpoint"], "leave out --where"),
    ],
)
def test_what_cannot_be_chosen_is_an_error(
    arguments: list[str], said: str, service: Service, tmp_path: Any
) -> None:
    done = service.run(*FILLS, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert not list(tmp_path.iterdir())


def test_a_request_is_printed_unchanged(service: Service) -> None:
    done = service.run("request", "GET", "/api/v1.0/server-time", "--limit", "1")
    assert done.returncode == 2 and b"--limit" in done.stderr


def test_the_page_size_of_a_plate_is_not_its_limit(service: Service, rows: Any) -> None:
    before = len(service.sandbox.requests)
    assert len(rows("plate", "HK.BK1001", "--page-size", "7", "--limit", "10")) == 10
    assert 2 <= len(service.sandbox.requests) - before <= 3
