"""The statement of a year, of data whose sums are computed by hand in the comments."""

from datetime import date, datetime, timezone
from decimal import Decimal

import boardlot as bl
import pytest

from .test_sums import values

STEM = "11-statement-of-a-year"
A, B = "281756", "281757"
# The user's tables, with nothing in them: all is stated.
NONE = {"COUNTERS": {}, "REPORTING": {}, "FEES": [], "SPLITS": [], "TRANSFERS": []}


class Given:
    """A sandbox that keeps the rows of the test."""

    def __init__(self, sandbox):
        self._sandbox = sandbox

    def __getattr__(self, name):
        return getattr(self._sandbox, name)

    def put(self, *_rows, **_arguments):
        pass


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7, today=date(2026, 11, 20)) as sandbox:
        yield sandbox


@pytest.fixture
def state(sandbox, monkeypatch):
    """The statement of these rows: the amounts that are not 0, and why it is incomplete."""
    monkeypatch.setattr(bl, "Sandbox", lambda **_: Given(sandbox))
    sandbox.reset()

    def state(fills=(), dividends=(), other_fills=(), **tables):
        sandbox.put("fills_history", fills, account=A)
        sandbox.put("fills_history", other_fills, account=B)
        sandbox.put("dividends", dividends)
        names, _ = values(STEM, "reasons =", **{**NONE, **tables})
        rows = names["statement"].to_dict("index")
        amounts = {
            key: {name: amount for name, amount in row.items() if amount}
            for key, row in rows.items()
        }
        assert all(type(x) is Decimal for row in rows.values() for x in row.values())
        return {key: row for key, row in amounts.items() if row}, names["reasons"]

    return state


def at(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()) * 1_000_000


def fill(side, qty, price, time, code="HK.00700", updated=None, status="OK"):
    """A fill made at this time in UTC, by default at noon in Hong Kong."""
    time = time if "T" in time else f"{time}T04:00"
    return {
        **{"trd_side": side, "deal_id": f"{time} {code} {qty}", "order_id": "1", "code": code},
        **{"stock_name": code, "qty": qty, "price": price, "status": status},
        **{"create_time": at(time), "updated_time": at(updated or time)},
        **{"counter_broker_id": 1, "counter_broker_name": "One"},
    }


def newest_first(*fills):
    return sorted(fills, key=lambda fill: fill["updated_time"], reverse=True)


def paid(ex_date, payment, amount, process="Implementation"):
    return {
        **{"fiscal_year": "2024", "statement": "Cash", "dividend_per_share": amount},
        **{"currency": "HKD", "process": process, "ex_date": ex_date, "record_date": ""},
        **{"dividend_payable_date": payment, "pub_date": ex_date},
    }


def row(bought=0, sold=0, fifo=0, average=0, **more):
    found = {"bought": bought, "sold": sold, "gain, FIFO": fifo, "gain, average cost": average}
    return {name: Decimal(str(amount)) for name, amount in {**found, **more}.items() if amount}


def test_gains_are_those_of_the_sales_of_the_year(state):
    """Of 100 at 10 (of 2024) and 100 at 12, 150 are sold at 13, and the rest in 2026.

    First in, first out: 100 x (13 - 10) + 50 x (13 - 12) = 350. At the average of 11: 150 x 2.
    """
    fills = newest_first(
        fill("BUY", "100", "10", "2024-12-02"),
        fill("BUY", "100", "12", "2025-01-02"),
        fill("BUY", "9999", "12", "2025-01-02", status="CANCELLED"),
        fill("SELL", "150", "13", "2025-06-02"),
        fill("SELL", "50", "99", "2026-02-02"),
    )
    amounts, reasons = state(fills)
    assert amounts == {(A, "HKD"): row(1200, 1950, 350, 300)}
    assert reasons == []


def test_a_split_leaves_the_cost_as_it_was(state):
    """100 at 10 become 300 for 1,000 in all: sold at 4, they realize 1,200 - 1,000, without a
    third left over. Of 100 at 30 that become 50, 20 are sold at 70: 1,400 - 20 x 60."""
    fills = newest_first(
        fill("BUY", "100", "10", "2025-01-02"),
        fill("SELL", "300", "4", "2025-03-03"),
        fill("BUY", "100", "30", "2025-01-02", "HK.00005"),
        fill("SELL", "20", "70", "2025-03-03", "HK.00005"),
    )
    splits = [("HK.00700", "2025-03-03", "3", "1"), ("HK.00005", "2025-02-03", "1", "2")]
    amounts, reasons = state(fills, SPLITS=splits)
    assert amounts == {(A, "HKD"): row(1000 + 3000, 1200 + 1400, 200 + 200, 200 + 200)}
    assert reasons == []


def test_a_short_sale_is_realized_when_it_is_closed(state):
    """100 sold at 20: 60 bought at 15 realize 300; of 60 at 18, 40 realize 80, and 20 are held.
    A second sale of 10 at 19 realizes 10 of them."""
    fills = newest_first(
        fill("SELL", "100", "20", "2025-01-02"),
        fill("BUY", "60", "15", "2025-02-03"),
        fill("BUY", "60", "18", "2025-03-03"),
        fill("SELL", "10", "19", "2025-04-02"),
    )
    amounts, _ = state(fills)
    assert amounts == {(A, "HKD"): row(900 + 1080, 2000 + 190, 390, 390)}


def test_each_account_is_by_itself_and_so_is_each_currency(state):
    """Three markets. The other account sells at 25 what it bought at 20; what the first one holds
    of the same code is not sold. Renminbi and Hong Kong dollars of one market are two rows."""
    fills = newest_first(
        fill("BUY", "100", "10", "2025-01-02"),
        fill("BUY", "50", "9", "2025-01-03", "HK.80700"),
        fill("SELL", "50", "11", "2025-01-06", "HK.80700"),
        fill("BUY", "3", "250.10", "2025-01-06T15:00", "US.AAPL"),
        fill("BUY", "100", "1.5", "2025-01-06", "SG.D05"),
        fill("BUY", "100", "2.5", "2025-01-07", "SG.K71U"),
    )
    others = newest_first(
        fill("BUY", "100", "20", "2025-01-02"), fill("SELL", "100", "25", "2025-01-03")
    )
    counters = {"HK.80700": "CNY", "SG.D05": "SGD", "SG.K71U": "USD"}
    amounts, reasons = state(fills, other_fills=others, COUNTERS=counters)
    assert amounts == {
        (A, "HKD"): row(1000),
        (A, "CNY"): row(450, 550, 100, 100),
        (A, "USD"): row("1000.30"),
        (A, "SGD"): row(150),
        (B, "HKD"): row(2000, 2500, 500, 500),
    }
    assert reasons == []
    with pytest.raises(ValueError, match=r"no currency for HK\.80700, SG\.D05, SG\.K71U$"):
        state(fills)


def test_a_year_is_that_of_the_market_and_has_its_corrections(state):
    """In Hong Kong, 20:00 UTC is the next day; in New York, 03:00 UTC is the day before. What was
    made in December and corrected in January has its new quantity."""
    fills = newest_first(
        fill("BUY", "1", "10", "2024-12-31T20:00"),
        fill("BUY", "2", "10", "2025-12-30", updated="2026-01-15T04:00"),
        fill("BUY", "4", "10", "2025-12-31T20:00"),
        fill("BUY", "1", "100", "2025-01-01T03:00", "US.AAPL"),
        fill("BUY", "2", "100", "2026-01-01T03:00", "US.AAPL"),
    )
    amounts, _ = state(fills)
    assert amounts == {(A, "HKD"): row(10 + 20), (A, "USD"): row(200)}


def test_dividends_are_of_the_payment_date_and_of_what_was_held_before_the_ex_date(state):
    """100 are held before the first ex-date, 150 before the second: 100 x 0.5 + 150 x 0.123. What
    is bought on an ex-date has no part in it; a payment in 2026 is of that year."""
    fills = newest_first(
        fill("BUY", "100", "10", "2024-12-02"),
        fill("BUY", "50", "10", "2024-12-20"),
        fill("SELL", "100", "10", "2025-06-02"),
    )
    dividends = [
        paid("2025/12/15", "2026/01/15", 7),
        paid("2025/06/02", "2025/06/20", 0.123),
        paid("2024/12/20", "2025/01/15", 0.5),
        paid("2024/12/02", "2025/01/02", 9),
    ]
    amounts, reasons = state(fills, dividends, REPORTING={"HK.00700": "CNY"})
    # 0 is realized: what was sold at 10 was bought at 10.
    assert amounts[A, "CNY"] == row(dividends="68.45")
    assert amounts[A, "HKD"] == row(0, 1000)
    assert reasons == []
    # Nothing is added across what is not stated.
    amounts, reasons = state(fills, dividends)
    assert amounts[A, "reporting currency of HK.00700"] == row(dividends="68.45")
    assert reasons == ["the reporting currency of HK.00700 is not stated"]


def test_a_dividend_that_is_not_certain_is_a_reason_and_no_amount(state):
    fills = [fill("BUY", "100", "10", "2024-12-02")]
    dividends = [
        paid("2025/06/02", "2025/06/20", 1, "Plan"),
        paid("2025/03/03", "", 1),
        paid("2025/02/03", "2025/02/20", 1),
    ]
    # The dividend of 200 shares after the split, and of 100 x 2 before it: the second is a doubt.
    splits = [("HK.00700", "2025-03-03", "2", "1")]
    amounts, reasons = state(fills, dividends, REPORTING={"HK.00700": "HKD"}, SPLITS=splits)
    assert amounts == {(A, "HKD"): row(dividends=100)}
    assert reasons == [
        "the dividend of HK.00700 of 2025-02-03 was before a split: check the amount of a share",
        "the dividend of HK.00700 of 2025-03-03 has no payment date",
        "the dividend of HK.00700 of 2025-06-02 is not more than planned",
    ]


def test_a_short_position_owes_the_dividend(state):
    fills = [fill("SELL", "100", "10", "2025-01-02")]
    dividends = [paid("2025/06/02", "2025/06/20", 0.25)]
    amounts, _ = state(fills, dividends, REPORTING={"HK.00700": "HKD"})
    assert amounts == {(A, "HKD"): row(0, 1000, dividends=-25)}


def test_transfers_and_fees_are_as_stated(state):
    """100 came in at 8, and 50 went to the other account, at the same cost: 50 sold at 10 realize
    100 in each. Of the fees, those of the year: 1.10 + 2.05."""
    sold = [fill("SELL", "50", "10", "2025-06-02")]
    transfers = [
        (A, "HK.00700", "2024-11-20", "100", "8"),
        (A, "HK.00700", "2025-03-03", "-50", None),
        (B, "HK.00700", "2025-03-03", "50", "8"),
    ]
    fees = [
        (A, "2025-06-02", "HKD", "1.10"),
        (A, "2025-06-03", "HKD", "2.05"),
        (A, "2024-06-03", "HKD", "99"),
        (A, "2025-06-03", "USD", "0.35"),
    ]
    amounts, reasons = state(sold, other_fills=sold, TRANSFERS=transfers, FEES=fees)
    assert amounts == {
        (A, "HKD"): row(0, 500, 100, 100, fees="3.15"),
        (A, "USD"): row(fees="0.35"),
        (B, "HKD"): row(0, 500, 100, 100),
    }
    assert reasons == []
    with pytest.raises(ValueError, match="transfer without a cost"):
        state(TRANSFERS=[(A, "HK.00700", "2025-03-03", "-1", None)])


def test_an_account_that_only_bought_realizes_nothing(state):
    amounts, reasons = state([fill("BUY", "100", "0.075", "2025-06-02")])
    assert amounts == {(A, "HKD"): row("7.50")}
    assert reasons == []


def test_a_statement_of_nothing_is_empty(state):
    assert state() == ({}, [])


def test_what_is_not_stated_or_out_of_reach_makes_it_incomplete(state):
    fills = [fill("BUY", "100", "10", "2020-06-02")]
    _, reasons = state(fills, FEES=None, SPLITS=None, TRANSFERS=None)
    assert reasons == [
        "fees are not stated",
        "splits are not stated",
        "transfers are not stated",
        "281756 has fills of HK before FIRST",
    ]
    _, reasons = state(YEAR=2026)
    assert reasons == ["the year is not over"]
    every = [paid(f"2025/{1 + n // 25:02}/{1 + n % 25:02}", "", 1) for n in range(100)]
    _, reasons = state([fill("BUY", "1", "10", "2025-12-01")], every)
    assert reasons == ["the dividends of HK.00700 do not reach back to 2024"]


def test_a_status_or_a_side_that_is_not_known_is_refused(state):
    for wrong in ({"status": "HALTED"}, {"trd_side": "SHORT_SELL"}):
        with pytest.raises(ValueError, match="is not known here"):
            state([{**fill("BUY", "1", "10", "2025-06-02"), **wrong}])
