"""The interactive charts: what their specifications say, which altair has validated."""

from typing import Any

import boardlot as bl
import pytest
from boardlot import errors

interactive = pytest.importorskip("boardlot.plots.interactive")


def of(chart: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The specification, and the data in it."""
    spec = chart.to_dict()
    return spec, spec["datasets"][spec["data"]["name"]]


def channels(spec: dict[str, Any]) -> dict[str, Any]:
    inner = spec["spec"]
    return dict((inner["layer"][-1] if "layer" in inner else inner)["encoding"])


FILLS = [
    {"trd_side": "BUY", "code": "HK.00700", "price": "600", "create_time": 10**15},
    {"trd_side": "SELL", "code": "US.AAPL", "price": "30", "create_time": 10**15 + 1_500_000},
    {"trd_side": "SELL", "code": "US.AAPL", "price": "31", "create_time": 10**15, "status": "GONE"},
]


def test_fills_have_a_panel_for_each_market_and_times_in_utc() -> None:
    spec, rows = of(interactive.fills(FILLS))
    assert spec["title"] == "Prices of 2 fills of 2 codes; not drawn: 1 GONE"
    assert [(row["market"], row["price"]) for row in rows] == [("HK", 600.0), ("US", 30.0)]
    assert rows[1]["time"] == "2001-09-09T01:46:41.500000+00:00"
    assert spec["facet"]["row"]["field"] == "market"
    assert spec["resolve"]["scale"]["y"] == "independent"
    assert channels(spec)["x"]["scale"]["type"] == "utc"
    assert channels(spec)["color"]["scale"]["domain"] == ["BUY", "SELL"]


def test_amounts_of_positions_have_panels_and_ratios_do_not() -> None:
    rows = [{"symbol": f"S{m}", "market": m, "mv": "5", "profit_ratio": "2"} for m in (1, 2)]
    spec, values = of(interactive.positions(rows, value="mv"))
    assert {row["market"] for row in values} == {"1", "2"}
    assert spec["title"] == "Market value of 2 positions"
    assert spec["resolve"]["scale"] == {"x": "independent", "y": "independent"}
    assert {row["market"] for row in of(interactive.positions(rows))[1]} == {""}


def test_dividends_are_summed_by_year_and_currency() -> None:
    rows = [
        {"symbol": symbol, "currency": currency, "dividend_per_share": amount, "ex_date": day}
        for symbol, currency, amount, day in [
            ("HK.1", "HKD", "0.5", "2025-01-31"),
            ("HK.1", "HKD", "0.25", "2025/06/30"),
            ("US.A", "USD", "20", "2025-06-30"),
            ("SH.1", "", "20", "2025-06-30"),
        ]
    ]
    spec, values = of(interactive.dividends(rows))
    found = {(row["symbol"], row["currency"]): row["amount"] for row in values}
    assert found == {("HK.1", "HKD"): 0.75, ("US.A", "USD"): 20.0, ("SH.1", "unknown"): 20.0}
    assert spec["title"] == "4 cash dividends of 3 securities"


@pytest.mark.parametrize("chart", ["fills", "positions", "dividends"])
def test_nothing_to_show_is_a_chart_too(chart: str) -> None:
    assert of(getattr(interactive, chart)([]))[1] == []


@pytest.mark.parametrize("name", ["<script>", "a.b[0]", "datum.x", "a\\'b", "腾讯", "x:Q"])
def test_texts_of_the_service_are_data_and_never_part_of_the_specification(name: str) -> None:
    rows = [{**FILLS[0], "code": name, "trd_side": name}]
    spec, values = of(interactive.fills(rows))
    assert values[0]["code"] == name
    encoding = channels(spec)
    assert {encoding[channel]["field"] for channel in ("x", "y", "color")} == {
        "time",
        "price",
        "side",
    }


def test_records_and_frames_draw_the_same() -> None:
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        records = client.dividends("HK.00700")
    assert of(interactive.dividends(records)) == of(interactive.dividends(records.to_pandas()))


def test_an_unknown_value_and_a_missing_column_are_named() -> None:
    with pytest.raises(errors.ConfigError, match="profit_ratio, profit, mv"):
        interactive.positions([], value="price")
    with pytest.raises(errors.ConfigError, match="'code'"):
        interactive.fills([{"price": 1}])
