"""The charts of `boardlot.plots`, drawn with altair: zoom, pan, and a tooltip at every mark.

Each takes the same records or frame as its namesake and returns an `altair` chart, which a notebook
shows; `chart.save("chart.html")` writes a page. Panels and labels are those of `boardlot.plots`.
"""

from __future__ import annotations

from typing import Any, Literal

try:
    import altair
except ImportError as missing:
    raise ImportError(
        "plots.interactive needs altair: pip install 'boardlot[interactive]'", name=missing.name
    ) from missing

from boardlot.errors import ConfigError
from boardlot.plots import style
from boardlot.plots.dividends import dividends_title, payments
from boardlot.plots.fills import SIDES, fill_points, fills_title
from boardlot.plots.positions import NAMES, VALUES, position_bars

__all__ = ["dividends", "fills", "positions"]

WIDTH = 640


def fills(records_or_frame: Any) -> altair.FacetChart:
    """Prices of fills over time: a line for each code, a mark for each fill by its side.

    Args:
        records_or_frame: As for `boardlot.plots.fills`.

    Returns:
        The chart, with a panel for each market. Times are in UTC; prices are in each code's trading
        currency.

    Raises:
        ConfigError: A column is missing.

    Example:
        >>> from boardlot.plots import interactive
        >>> pager = client.fills_history(sandbox.accounts["trade"][0], "HK", code="HK.00700")
        >>> interactive.fills(pager.all()).to_dict()["title"].startswith("Prices of")
        True
    """
    found = fill_points(records_or_frame)
    points = [point for point in found if point.done]
    values = [
        {**point._asdict(), "market": point.market, "time": point.time.isoformat()}
        for point in points
    ]
    apart = any(
        style.far_apart(point.price for point in points if point.market == market)
        for market in {point.market for point in points}
    )
    base = altair.Chart().encode(
        x=altair.X(
            "time:T", title="Time of the fill (UTC)", scale=altair.Scale(type="utc", padding=10)
        ),
        y=_amount("price", "Price (trading currency)", log=apart),
    )
    tooltip = ["code:N", "side:N", "price:Q", altair.Tooltip("time:T", format="%Y-%m-%d %H:%M:%S")]
    line = base.mark_line(color="#999999", strokeWidth=0.7).encode(detail="code:N")
    sides = sorted({point.side for point in points})
    colours = [SIDES.get(side, (style.GREY, ""))[0] for side in sides]
    marks = base.mark_point(filled=True, opacity=0.75).encode(
        color=altair.Color("side:N", title="Side", scale=altair.Scale(domain=sides, range=colours)),
        shape=altair.Shape("side:N", title="Side", scale=altair.Scale(domain=sides)),
        tooltip=tooltip,
    )
    chart = (line + marks).properties(width=WIDTH, height=220)
    return _facet(chart, values, "market", fills_title(found), share_x=True)


def positions(
    records_or_frame: Any, *, value: Literal["profit_ratio", "profit", "mv"] = "profit_ratio"
) -> altair.FacetChart:
    """A bar for each position, the largest value at the top.

    Args:
        records_or_frame: As for `boardlot.plots.positions`.
        value: The column to show, as there.

    Returns:
        The chart, with a panel for each market if `value` is an amount of money.

    Raises:
        ConfigError: A column is missing, or `value` is not one of the three.

    Example:
        >>> from boardlot.plots import interactive
        >>> positions = client.sim_positions(sandbox.accounts["sim"][0])
        >>> interactive.positions(positions).to_dict()["title"]
        'P&L ratio of 18 positions'
    """
    if value not in VALUES:
        raise ConfigError(f"value is {value!r}; expected one of {', '.join(VALUES)}")
    bars = position_bars(records_or_frame, value)
    values = [
        {**bar._asdict(), "market": "" if value == "profit_ratio" else bar.market} for bar in bars
    ]
    sign = altair.condition("datum.value < 0", altair.value(style.ORANGE), altair.value(style.BLUE))
    chart = (
        altair.Chart()
        .mark_bar()
        .encode(
            x=altair.X("value:Q", title=VALUES[value][0]),
            y=altair.Y("label:N", title=None, sort="-x"),
            color=sign,
            opacity=altair.condition("datum.short", altair.value(0.55), altair.value(1.0)),
            tooltip=["label:N", altair.Tooltip("value:Q", format=",.2f"), "short:N"],
        )
        .properties(width=WIDTH)
    )
    count = f"{len(bars):,} position{'' if len(bars) == 1 else 's'}"
    return _facet(chart, values, "market", f"{NAMES[value]} of {count}", share_x=False)


def dividends(records_or_frame: Any) -> altair.FacetChart:
    """Cash dividends per share, summed over each year of the ex-dividend date.

    Args:
        records_or_frame: As for `boardlot.plots.dividends`.

    Returns:
        The chart, with a panel for each currency and a line for each security.

    Raises:
        ConfigError: A column is missing, or a date is not valid.

    Example:
        >>> from boardlot.plots import interactive
        >>> interactive.dividends(client.dividends("HK.00700")).to_dict()["title"]
        '21 cash dividends'
    """
    paid = payments(records_or_frame)
    years: dict[tuple[str, str, int], float] = {}
    for payment in paid:
        key = (payment.symbol, payment.currency or "unknown", payment.year)
        years[key] = years.get(key, 0.0) + payment.amount
    values: list[dict[str, Any]] = [
        {"symbol": symbol, "currency": currency, "year": year, "amount": amount}
        for (symbol, currency, year), amount in sorted(years.items())
    ]
    apart = any(
        style.far_apart(row["amount"] for row in values if row["currency"] == currency)
        for currency in {row["currency"] for row in values}
    )
    symbols = list(dict.fromkeys(payment.symbol for payment in paid))
    scale = altair.Scale(domain=symbols, range=list(style.PALETTE))
    legend = altair.Legend(title="Symbol") if any(symbols) else None
    chart = (
        altair.Chart()
        .mark_line(point=True)
        .encode(
            x=altair.X("year:O", title="Year of the ex-dividend date (market's own time zone)"),
            y=_amount("amount", "Cash dividend per share", log=apart),
            color=altair.Color("symbol:N", scale=scale, legend=legend),
            tooltip=[
                "symbol:N",
                "year:O",
                altair.Tooltip("amount:Q", format=",.6~g"),
                "currency:N",
            ],
        )
        .properties(width=WIDTH, height=180)
    )
    return _facet(chart, values, "currency", dividends_title(paid, symbols), share_x=True)


def _amount(field: str, title: str, *, log: bool) -> altair.Y:
    scale = altair.Scale(type="log", nice=False, padding=10) if log else altair.Scale(zero=False)
    return altair.Y(f"{field}:Q", title=title, scale=scale)


def _facet(
    chart: Any, values: list[dict[str, Any]], by: str, title: str, *, share_x: bool
) -> altair.FacetChart:
    """A panel for each value of `by`, each with a y axis of its own, which zoom and pan."""
    name = by.capitalize() if len({row[by] for row in values}) > 1 else None
    header = altair.Header(labels=name is not None)
    data = altair.InlineData(values)
    faceted: altair.FacetChart = (
        chart.interactive()
        .facet(row=altair.Row(f"{by}:N", title=name, header=header), data=data)
        .resolve_scale(x="shared" if share_x else "independent", y="independent")
        .properties(title=title)
    )
    return faceted
