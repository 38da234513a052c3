"""The numbers of the examples by hand: of fills that are corrected, late, cancelled or unknown, and
where a token has expired and a page fails.
"""

import ast
import re
from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

import boardlot as bl
import nbformat
import numpy
import pytest
from run_notebooks import NOTEBOOKS

from ..support import unusual_fills as unusual
from ..support.printed import printed_by
from .test_pages import DOCS, ROOT, blocks

ACCOUNT = "281756"


# Numbers that are right where requests fail are right where none does.
@pytest.fixture(params=[pytest.param(False, marks=pytest.mark.slow), True], ids=["", "failing"])
def sandbox(request, monkeypatch):
    with bl.Sandbox(seed=7) as sandbox:
        sandbox.put("fills_history", unusual.AFTER)
        used = Failing(sandbox) if request.param else sandbox
        # For examples that start one.
        monkeypatch.setattr(bl, "Sandbox", lambda **_: used)
        yield used


class Failing:
    """A sandbox whose clients find their token expired, and then a page that fails once."""

    def __init__(self, sandbox):
        self._sandbox = sandbox

    def __getattr__(self, name):
        return getattr(self._sandbox, name)

    def client(self, auth="oauth", **options):
        client = self._sandbox.client(auth=auth, **options)
        self.revoke_tokens()
        self.fail_next("fills_history", status=503)
        return client


@pytest.fixture
def client(sandbox):
    with sandbox.client() as client:
        yield client


def source(page, part):
    (found,) = [block.source for block in blocks(page) if part in block.source]
    return found


def run(page, part, **names):
    """The names of the block of the page that has this part, and what it prints."""
    return names, printed_by(source(page, part), str(page), "exec", names)


def test_readme(sandbox):
    names, _ = run(ROOT / "README.md", "nlargest")
    with closing(names["client"]):
        assert names["by_status"].qty.sum().to_dict() == unusual.SHARES


def test_duckdb_reads_records(client):
    pytest.importorskip("duckdb")
    fills = client.fills_history(ACCOUNT, "HK").all()
    _, printed = run(DOCS / "frames.md", "duckdb.sql", fills=fills)
    rows = [line.replace("│", " ").split() for line in printed.splitlines()]
    assert ["CANCELLED", "HK.00700", "2500.0"] in rows
    assert ["OK", "HK.00005", "1600.0"] in rows


def test_duckdb_reads_a_pager(client):
    pytest.importorskip("duckdb")
    names = {"client": client, "account": ACCOUNT, "start": None, "now": None}
    _, printed = run(DOCS / "scale-out.md", "duckdb.execute", **names)
    assert ast.literal_eval(printed) == [("CANCELLED", 1, 1000), ("HALTED", 1, 7), ("OK", 4, 370)]


def test_narwhals(client):
    pytest.importorskip("narwhals")
    names = {"client": client, "sandbox": bl.Sandbox()}
    names, printed = run(DOCS / "cookbook.md", "IntoDataFrameT", **names)
    assert printed == "True\n"
    for frame in (names["fills"].to_pandas(), names["fills"].to_polars().to_pandas()):
        table = names["turnover_of"](frame).set_index(["status", "code"])
        assert table["turnover"].to_dict() == unusual.TURNOVER


def test_an_archive(client, tmp_path):
    with bl.Archive(tmp_path / "fills.db") as archive:
        for fills in (unusual.BEFORE, unusual.AFTER):
            bl.Sandbox().put("fills_history", fills)
            archive.update(client, fills=[(ACCOUNT, "HK")])
        names, _ = run(DOCS / "archive.md", "frame = archive.sql", archive=archive)
        statuses = eval(cells("7-archive", "archive.sql(")[-1], {"archive": archive})
    assert {row[:2]: row[2] for row in names["frame"].rows()} == unusual.SHARES
    assert statuses.set_index(["status", "code"])["turnover"].to_dict() == unusual.TURNOVER


def test_the_cookbook(sandbox, client):
    names = {"bl": bl, "client": client, "account": ACCOUNT}
    with pytest.raises(ValueError, match="HALTED"):
        run(DOCS / "cookbook.md", "def turnover(", **names)
    sandbox.put("fills_history", unusual.USUAL)
    names, _ = run(DOCS / "cookbook.md", "def turnover(", **names)
    assert names["turnover"](names["fills"]) == {"HK.00005": 600, "HK.00700": 870}
    names, _ = run(DOCS / "cookbook.md", "def with_prices(", **names)
    days = names["joined"].groupby("day")["deal_id"].agg(list)
    assert {str(day): fills for day, fills in days.items()} == {
        day: fills for day, fills in unusual.BY_DAY.items() if fills not in (["4"], ["5"])
    }


def test_a_loop_over_fills(client):
    names = {"bl": bl, "BASE_URL": client.base_url, "ACCOUNT": ACCOUNT}
    names["auth"] = bl.Sandbox().api_key()
    with pytest.raises(AssertionError):  # of the number of requests
        run(DOCS / "coming-from.md", "amount =", **names)
    exec(source(DOCS / "coming-from.md", "amount =").partition("assert")[0], names)
    assert names["total"] == unusual.TURNOVER_BY_STATUS


def test_a_turnover_has_completed_fills_only_and_refuses_what_it_does_not_know(sandbox, client):
    turnover = run(DOCS / "test-your-own-code.md", "def turnover(client")[0]["turnover"]
    with pytest.raises(ValueError, match="HALTED"):
        turnover(client, ACCOUNT)
    sandbox.put("fills_history", unusual.USUAL)
    assert turnover(client, ACCOUNT) == 1470


# Notebooks: the cells up to the number, run against these fills instead of the sandbox's own.


def cells(stem, until):
    (path,) = [path for path in NOTEBOOKS if path.stem == stem]
    sources = [
        cell.source
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code" and not re.search(r"plt|plots\.", cell.source)
    ]
    (last,) = [number for number, text in enumerate(sources) if until in text]
    return sources[: last + 1]


def values(stem, until, **stated):
    """The names after these cells, and the value of the last one; `stated` are a user's tables."""
    names = {}
    *first, last = (with_tables(text, stated) for text in cells(stem, until))
    for text in first:
        exec(compile(text, stem, "exec"), names)
    *statements, value = ast.parse(last).body
    exec(compile(ast.Module(statements, []), stem, "exec"), names)
    return names, eval(compile(ast.Expression(value.value), stem, "eval"), names)


def with_tables(text, stated):
    """The cell with these values in place of its own."""
    for name, value in stated.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value!r}", text, flags=re.MULTILINE)
    return text


UNKNOWN = [
    [*unusual.USUAL, next(fill for fill in unusual.AFTER if fill["deal_id"] == number)]
    for number in ("4", "5")
]
ABSENT = [
    [{name: value for name, value in fill.items() if name != field} for fill in unusual.USUAL]
    for field in ("status", "trd_side")
]
NUMBERS = [("4-fills", "exact ="), ("8-profit-and-loss", "cash ="), ("9-exposure", "bought =")]
# Of Hong Kong, in US dollars and in renminbi.
COUNTERS = ["HK.09834", "HK.80700", "HK.90001"]
# This cell needs prices, and no sides.
PRICES = ("10-dividend-yield", "last_prices")


@pytest.mark.parametrize(("stem", "until"), NUMBERS)
def test_a_notebook_refuses_sides_and_statuses_that_it_does_not_know(sandbox, stem, until):
    for fills in (*UNKNOWN, *ABSENT):
        sandbox.put("fills_history", fills)
        with pytest.raises((AssertionError, KeyError)):
            values(stem, until)


def test_a_notebook_refuses_prices_of_a_status_that_it_does_not_know(sandbox):
    sandbox.put("fills_history", UNKNOWN[0])
    with pytest.raises(AssertionError, match="another status"):
        values(*PRICES)
    sandbox.put("fills_history", unusual.USUAL)
    prices = values(*PRICES)[0]["prices"]
    # The day of trading is that of Hong Kong.
    traded = {code: str(day) for code, day in prices["traded"].items()}
    days = {number: day for day, (number,) in unusual.BY_DAY.items()}
    assert traded == {"HK.00005": days["6"], "HK.00700": days["2"]}
    assert prices["price"].to_dict() == {"HK.00005": 60.0, "HK.00700": 3.0}


def test_notebooks_sum_up_completed_fills(sandbox):
    sandbox.put("fills_history", unusual.USUAL)
    assert values("4-fills", "exact =")[1] == ["1,470.00 HKD in 3 fills"]
    profit, is_whole = values("8-profit-and-loss", "cash =")
    assert is_whole
    # 40 of the 300 at 2.50 are sold at 3.00.
    assert profit["realized"].to_dict() == {"HK.00005": 0, "HK.00700": 20}
    exposure, is_whole = values("9-exposure", "bought =")
    assert is_whole
    assert exposure["bought"].to_dict() == {"HK.00005": 10, "HK.00700": 260}


def made(number, side, code, qty, price, days_before, **more):
    """A completed fill, made so many days before today."""
    fill = unusual.fill(number, "OK", side, code, qty, price, 10 - days_before, 10 - days_before)
    return {**fill, **more}


@pytest.mark.parametrize("until", [("8-profit-and-loss", "cash ="), ("9-exposure", "bought =")])
def test_what_was_bought_before_the_range_is_noticed(sandbox, until):
    """100 at 10 in the range's past: of a sale at 25, 15 a share are realized, not 5."""
    fills = [
        made(3, "SELL", "HK.00700", "100", "25", 20),
        made(2, "BUY", "HK.00700", "100", "20", 90),
        made(1, "BUY", "HK.00700", "100", "10", 3_000),
    ]
    sandbox.put("fills_history", fills)
    with pytest.raises(AssertionError, match="there are fills before START"):
        values(*until)
    sandbox.put("fills_history", fills[:2])
    assert values(*until)[1]


def test_a_counter_in_renminbi_is_not_added_to_hong_kong_dollars(sandbox):
    """Gains of 200 HKD and 1,000 CNY; positions of 10 at 12 HKD and of 20 at 510 CNY."""
    fills = [
        made(6, "BUY", "HK.80700", "20", "510", 1),
        made(5, "BUY", "HK.00700", "10", "12", 1),
        made(4, "SELL", "HK.80700", "100", "510", 2),
        made(3, "SELL", "HK.00700", "100", "12", 2),
        made(2, "BUY", "HK.80700", "100", "500", 3),
        made(1, "BUY", "HK.00700", "100", "10", 3),
    ]
    sandbox.put("fills_history", fills)
    stated = {"COUNTERS": {"HK.80700": "CNY"}}
    sums = values("8-profit-and-loss", "sums =", **stated)[0]["sums"]
    assert sums["total"].to_dict() == {"CNY": 1_000, "HKD": 200}
    exposure = values("9-exposure", "last_traded =", **stated)[0]["exposure"]
    assert {name: table["gross"].iloc[-1] for name, table in exposure.items()} == {
        "CNY": 10_200,
        "HKD": 120,
    }
    assert values("4-fills", "exact =", **stated)[1] == [
        "111,200.00 CNY in 3 fills",
        "2,320.00 HKD in 3 fills",
    ]


@pytest.mark.parametrize(("stem", "until"), [*NUMBERS, PRICES])
def test_a_counter_whose_code_tells_no_currency_is_asked_for(sandbox, stem, until):
    fills = [made(number, "BUY", code, "1", "5", 3) for number, code in enumerate(COUNTERS)]
    sandbox.put("fills_history", [*fills, made(99, "BUY", "HK.00700", "1", "5", 3)])
    with pytest.raises(ValueError, match=rf"no currency for {', '.join(COUNTERS)}$"):
        values(stem, until)
    names, _ = values(stem, until, COUNTERS=dict.fromkeys(COUNTERS, "USD"))
    assert names["currencies"]([*COUNTERS, "HK.09988"])["HK.09988"] == "HKD"


def test_of_fills_of_one_moment_the_first_in_the_list_is_the_last(sandbox):
    """The service lists the newest first. A fraction that is bought and sold leaves nothing."""
    fills = [
        made(5, "BUY", "HK.00700", "100", "11", 30),
        made(4, "BUY", "HK.00700", "100", "10", 30),
        made(3, "SELL", "HK.00005", "0.2", "60", 40),
        made(2, "SELL", "HK.00005", "0.1", "60", 41),
        made(1, "BUY", "HK.00005", "0.3", "60", 42),
    ]
    sandbox.put("fills_history", fills)
    names = values("9-exposure", "last_traded =")[0]
    assert names["latest"]["value"].to_dict() == {"HK.00005": 0, "HK.00700": 2_200}
    assert set(names["kinds"]) == {"exact, splits aside"}
    assert names["age"].to_dict() == {"HK.00005": 40, "HK.00700": 30}
    sandbox.put("dividends", [paid("2026/06/01", 0.55, "HKD")], symbol="HK.00700")
    assert values(*PRICES)[0]["prices"]["price"].to_dict() == {"HK.00005": 60, "HK.00700": 11}


def test_a_sale_before_the_purchase_of_the_same_day_was_short(sandbox):
    later = made(2, "BUY", "HK.00700", "100", "10", 3)
    later["create_time"] += 1
    sandbox.put("fills_history", [later, made(1, "SELL", "HK.00700", "100", "10", 3)])
    for notebook, until in (("8-profit-and-loss", "sums ="), ("9-exposure", "last_traded =")):
        assert set(values(notebook, until)[0]["kinds"]) == {"estimate: was short"}


def test_holdings_from_before_the_range_may_have_no_fill_in_it(sandbox):
    """40 of 100 at 10 are sold at 12; 400 at 50 are left as they were."""
    sandbox.put("fills_history", [made(1, "SELL", "HK.00700", "40", "12", 3)])
    texts = cells("8-profit-and-loss", "cash =")
    held = "{'HK.00700': [(Decimal(100), Decimal(10))], 'HK.00005': [(Decimal(400), Decimal(50))]}"
    held = f"from decimal import Decimal\nHELD_BEFORE = {held}"
    texts[0] = texts[0].replace("HELD_BEFORE = {}", held)
    names = {}
    for text in texts:
        exec(compile(text, "8-profit-and-loss", "exec"), names)
    assert eval(texts[-1].splitlines()[-1], names) is True
    assert names["realized"].to_dict() == {"HK.00700": 80}
    assert {code: list(lots) for code, lots in names["open_lots"].items()} == {
        "HK.00700": [(60, 10)],
        "HK.00005": [(400, 50)],
    }


def test_brokers_are_compared_with_the_average_of_the_shares(sandbox):
    """3 at 100 from one, 9,997 at 110 from another: the average is 109.997."""
    fills = [
        made(2, "BUY", "HK.00700", "9997", "110", 3, counter_broker_id=2, counter_broker_name="B"),
        made(1, "BUY", "HK.00700", "3", "100", 3, counter_broker_id=None, counter_broker_name=None),
    ]
    sandbox.put("fills_history", fills)
    brokers = values("4-fills", "average =")[0]["brokers"]
    assert brokers["fills"].tolist() == [1, 1]
    # 0.003 of 110, and 9.997 less of 100.
    assert brokers["cost"].tolist() == [0.3, -999.7]


def shares(fills):
    """For each share by itself, the time of its fill, and its price in ten-thousandths."""
    counts = [int(fill["qty"]) for fill in fills]
    prices = [int(Decimal(fill["price"]) * 10_000) for fill in fills]
    times = [fill["create_time"] for fill in fills]
    return numpy.repeat(times, counts), numpy.repeat(prices, counts)


def test_profit_and_loss_over_two_years_is_that_of_a_computation_of_its_own():
    """The oldest share is closed first: the nth that is bought and the nth that is sold are a pair,
    whose gain is of the later month."""
    names, _ = values("8-profit-and-loss", "sums =")
    profit, shorts = Counter(), set()
    for market, zone in (("HK", "Asia/Hong_Kong"), ("US", "America/New_York")):
        fills = names["client"].fills_history(
            ACCOUNT, market, start="2024-11-01T00:00:00Z", end="2026-11-21T00:00:00Z"
        )
        by_code = {}
        for fill in sorted(fills.all(), key=lambda fill: fill["create_time"]):
            if fill["status"] == "OK":
                by_code.setdefault(fill["code"], []).append(fill)
        for code, own in by_code.items():
            (bought, paid), (sold, received) = (
                shares([fill for fill in own if fill["trd_side"] == side])
                for side in ("BUY", "SELL")
            )
            pairs = min(len(sold), len(bought))
            if len(sold) > len(bought) or (sold[:pairs] < bought[:pairs]).any():
                shorts.add(code)
            closed = numpy.maximum(bought[:pairs], sold[:pairs])
            gains = received[:pairs] - paid[:pairs]
            for time in numpy.unique(closed):
                when = datetime.fromtimestamp(time / 1e6, ZoneInfo(zone))
                profit[market, f"{when:%Y-%m}"] += int(gains[closed == time].sum())
    currencies = {"HK": "HKD", "US": "USD"}
    for (market, month), amount in profit.items():
        assert names["by_month"].groupby("currency").sum()[month][currencies[market]] == (
            pytest.approx(amount / 10_000, abs=0.01)
        )
    estimates = {code for code, kind in names["kinds"].items() if kind.startswith("estimate")}
    assert estimates == shorts
    names["sandbox"].close()


def test_notebooks_show_each_status_by_itself(sandbox):
    assert values("1-quickstart", "nlargest")[1].to_dict() == {
        key: shares for key, shares in unusual.SHARES.items() if shares > 7
    }
    top = {key: money for key, money in unusual.TURNOVER.items() if money > 70}
    assert values("3-frames", "by_status[")[1].to_dict() == top
    rows = values("3-frames", "polars_frame =")[1].rows()
    assert {row[:2]: row[2] for row in rows} == top
    assert all(one[2] >= next_one[2] for one, next_one in pairwise(rows))


def paid(day, amount, currency, process="Implementation"):
    """A dividend of section 2.11 whose amount is in the company's own currency."""
    return {
        "fiscal_year": "2025",
        "statement": f"Cash dividend in {currency}",
        "ex_date": day,
        "dividend_per_share": amount,
        "currency": currency,
        "process": process,
        "pub_date": day,
    }


def test_a_yield_is_of_one_currency_and_of_what_was_paid(sandbox):
    """0.12 of the 3.00 of the last fill, if both are stated to be in one currency."""
    sandbox.put("fills_history", unusual.USUAL)
    hong_kong = [paid("2026/06/01", 0.12, "HKD"), paid("2026/12/10", 0.5, "HKD", "Plan")]
    sandbox.put("dividends", hong_kong, symbol="HK.00700")
    sandbox.put("dividends", [paid("2026/06/01", 0.6, "HKD")], symbol="HK.00005")
    for reporting, yields in [
        ({"HK.00700": "HKD", "HK.00005": "USD"}, {"HK.00700": 4.0}),
        ({"HK.00700": "CNY"}, {}),
        ({}, {}),
    ]:
        stated = {"REPORTING": reporting}
        table = values("10-dividend-yield", "last_prices", **stated)[0]["table"]
        assert table["price"][["HK.00005", "HK.00700"]].tolist() == [60.0, 3.0]
        assert table["last 12 months"][["HK.00005", "HK.00700"]].tolist() == [0.6, 0.12]
        assert table["yield %"].dropna().to_dict() == yields


def test_dividends_of_a_symbol_that_are_paid_in_two_currencies_are_not_added_up(sandbox):
    sandbox.put("fills_history", [])
    rows = [paid("2026/06/01", 0.12, "HKD"), paid("2026/05/01", 0.5, "USD")]
    sandbox.put("dividends", rows, symbol="HK.00700")
    table = values("10-dividend-yield", "growth =")[0]["table"]
    assert numpy.isnan(table["last 12 months"]["HK.00700"])


def test_growth_needs_the_dividends_of_four_years(sandbox):
    """A list of 100 records that begins later tells none; nor is a year without one unknown."""
    sandbox.put("fills_history", unusual.USUAL)
    today = unusual.NOW.date()
    every = [paid(f"{today - timedelta(days=9 * n):%Y/%m/%d}", 1.0, "HKD") for n in range(1, 101)]
    sandbox.put("dividends", every, symbol="HK.00700")
    sandbox.put("dividends", [paid("2015/06/01", 1.0, "HKD")], symbol="HK.00005")
    sandbox.put("dividends", [], symbol="HK.00939")
    table = values("10-dividend-yield", "growth =")[0]["table"]
    assert table["last 12 months"][["HK.00700", "HK.00005", "HK.00939"]].tolist() == [40, 0, 0]
    assert table["growth, % a year"][["HK.00700", "HK.00005", "HK.00939"]].isna().all()


def test_exposure_over_two_years_is_that_of_a_computation_of_its_own():
    """In each currency, the shares of each code at the end times the price of its last fill."""
    names, _ = values("9-exposure", "last_traded =")
    for market, currency in (("HK", "HKD"), ("US", "USD")):
        fills = names["client"].fills_history(
            ACCOUNT, market, start="2024-11-01T00:00:00Z", end="2026-11-21T00:00:00Z"
        )
        held, price = Counter(), {}
        for fill in sorted(fills.all(), key=lambda fill: fill["create_time"]):
            if fill["status"] == "OK":
                side = {"BUY": 1, "SELL": -1}[fill["trd_side"]]
                held[fill["code"]] += side * Decimal(fill["qty"])
                price[fill["code"]] = Decimal(fill["price"])
        worth = {code: shares * price[code] for code, shares in held.items()}
        last = names["exposure"][currency].iloc[-1]
        assert last["long"] == pytest.approx(float(sum(x for x in worth.values() if x > 0)))
        assert last["short"] == pytest.approx(float(sum(x for x in worth.values() if x < 0)))
        assert last["net"] == pytest.approx(float(sum(worth.values())))
        shown = names["latest"]["value"][names["currency_of"] == currency]
        assert shown.to_dict() == pytest.approx({code: float(x) for code, x in worth.items()})
    names["sandbox"].close()
