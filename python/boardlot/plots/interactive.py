"""The charts of `boardlot.plots`, drawn with altair: zoom, pan, and a tooltip at every mark.

Each takes the same records or frame as its namesake and returns an `altair` chart, which a notebook
shows; `chart.save("chart.html")` writes a page. Panels and labels are those of `boardlot.plots`.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Literal

from boardlot._support.extras import needs

with needs("altair", "interactive", "plots.interactive"):
    import altair

from boardlot._calls import explained
from boardlot.errors import ConfigError
from boardlot.plots import style
from boardlot.plots.dividends import dividends_title, payments
from boardlot.plots.fills import SIDES, FillPoint, by_code, fill_points, fills_title
from boardlot.plots.ipos import DAY, MARKERS, SUBSCRIPTION, drawn_lines
from boardlot.plots.positions import NAMES, axis_title, position_bars

__all__ = ["dividends", "fills", "ipos", "positions"]

WIDTH = 640
# Of a panel of fills, and of a label in it.
HEIGHT, LABEL_HEIGHT, LABEL_WIDTH = 220, 14, 80
SUBSCRIBED = "Subscription"
# Legible on a light and on a dark page: the chart has no background of its own.
TEXT, RULE = "#7f7f7f", "#7f7f7f55"
THEME: dict[str, Any] = {
    "axis": {"labelColor": TEXT, "titleColor": TEXT, "gridColor": RULE, "domainColor": TEXT,
             "tickColor": TEXT},
    "legend": {"labelColor": TEXT, "titleColor": TEXT},
    "header": {"labelColor": TEXT, "titleColor": TEXT},
    "title": {"color": TEXT},
    "view": {"stroke": RULE},
}  # fmt: skip
COLORS = [color if color != "#000000" else TEXT for color in style.PALETTE]
SHAPES = {
    SUBSCRIBED: "square",
    "Retail ballot": "cross",
    "Ballot announced": "diamond",
    "Grey market": "circle",
    "Listing": "triangle-up",
}


@explained
def fills(records_or_frame: Any) -> altair.FacetChart:
    """Prices of fills over time: a line for each code, a mark for each fill by its side.

    Args:
        records_or_frame: As for `boardlot.plots.fills`.

    Returns:
        The chart, with a panel for each market, and a label at the end of each line that has room
        for it. Times are in UTC; prices are in each code's trading currency.

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
    apart = style.far_apart_within((point.market, point.price) for point in points)
    labeled = _labeled(points, apart)
    values = [
        {
            **point._asdict(),
            "market": point.market,
            "time": point.time.isoformat(),
            "shown_time": f"{point.time:%Y-%m-%d %H:%M:%S}",
            "label": point.code if point in labeled else None,
        }
        for point in points
    ]
    times = altair.Scale(type="utc", padding=10)
    if points:
        times.domainMax = _with_room_for_labels([point.time.timestamp() for point in points])
    base = altair.Chart().encode(
        x=altair.X("time:T", title="Time of the fill (UTC)", scale=times),
        y=_amount("price", "Price (trading currency)", log=apart),
    )
    # As text: a browser formats a time in its own time zone.
    time = altair.Tooltip("shown_time:N", title="time (UTC)")
    line = base.mark_line(color="#999999", strokeWidth=0.7).encode(detail="code:N")
    sides = sorted({point.side for point in points})
    names = [_inert(side) for side in sides]
    colors = [SIDES.get(side, (style.GREY, ""))[0] for side in sides]
    marks = base.mark_point(filled=True, opacity=0.75).encode(
        color=altair.Color("side:N", title="Side", scale=altair.Scale(domain=names, range=colors)),
        shape=altair.Shape("side:N", title="Side", scale=altair.Scale(domain=names)),
        tooltip=["code:N", "side:N", "price:Q", time],
    )
    # Within the panel, so that a zoomed one shows the labels of the ends that are in it.
    ends = base.transform_filter("datum.label !== null").mark_text(
        align="left", dx=8, clip=True, color=TEXT
    )
    labels = ends.encode(text="label:N", tooltip=["code:N"])
    chart = (line + labels + marks).properties(width=WIDTH, height=HEIGHT)
    return _facet(chart, values, "market", fills_title(found), share_x=True)


def _with_room_for_labels(times: Sequence[float]) -> float:
    """Where the axis of these seconds ends, in milliseconds."""
    last = max(times)
    return (last + (last - min(times) or 1.0) * LABEL_WIDTH / WIDTH) * 1000


def _labeled(points: Sequence[FillPoint], log: bool) -> set[FillPoint]:
    """The last fill of each code, but for those whose labels would cover one of more turnover."""
    # On a logarithmic axis, others have no place.
    drawn = [point for point in points if point.price > 0 or not log]
    prices: dict[str, list[float]] = defaultdict(list)
    for point in drawn:
        prices[point.market].append(point.price)
    scale = math.log if log else float
    found: set[FillPoint] = set()
    for _, own in by_code(drawn):
        end = own[-1]
        low, high = min(prices[end.market]), max(prices[end.market])
        label_height = (scale(high) - scale(low)) * LABEL_HEIGHT / HEIGHT
        others = [other for other in found if other.market == end.market]
        if all(abs(scale(end.price) - scale(other.price)) >= label_height for other in others):
            found.add(end)
    return found


@explained
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
    if value not in NAMES:
        raise ConfigError(f"value is {value!r}; expected one of {', '.join(NAMES)}")
    bars, found = position_bars(records_or_frame, value)
    sign = altair.condition("datum.value < 0", altair.value(style.ORANGE), altair.value(style.BLUE))
    chart = (
        altair.Chart()
        .mark_bar()
        .encode(
            x=altair.X("value:Q", title=axis_title(value)),
            y=altair.Y("label:N", title=None, sort="-x"),
            color=sign,
            opacity=altair.condition("datum.short", altair.value(0.55), altair.value(1.0)),
            tooltip=["label:N", altair.Tooltip("value:Q", format=",.2f"), "short:N"],
        )
        .properties(width=WIDTH)
    )
    # Bars of the same label would be stacked.
    times = Counter[tuple[str, str]]()
    for index, bar in enumerate(bars):
        times[bar.market, bar.label] += 1
        if (time := times[bar.market, bar.label]) > 1:
            bars[index] = bar._replace(label=f"{bar.label} ({time})")
    title = f"{NAMES[value]} of {style.of_all(len(bars), found, 'position')}"
    return _facet(chart, [bar._asdict() for bar in bars], "market", title, share_x=False)


@explained
def dividends(records_or_frame: Any) -> altair.FacetChart:
    """Cash dividends per share that were paid, summed over each year of the ex-dividend date.

    Args:
        records_or_frame: As for `boardlot.plots.dividends`.

    Returns:
        The chart, with a panel for each currency of payment and a line for each security. Amounts
        are in each company's reporting currency, as in `boardlot.plots.dividends`.

    Raises:
        ConfigError: A column is missing, or a date is not valid.

    Example:
        >>> from boardlot.plots import interactive
        >>> interactive.dividends(client.dividends("HK.00700")).to_dict()["title"]
        '21 cash dividends'
    """
    paid, found, securities = payments(records_or_frame, plans=False)
    years: dict[tuple[str, str, int], float] = {}
    for payment in paid:
        key = (payment.symbol, payment.currency or "unknown", payment.year)
        years[key] = years.get(key, 0.0) + payment.amount
    apart = style.far_apart_within((currency, paid) for (_, currency, _), paid in years.items())
    spans: dict[tuple[str, str], list[int]] = {}
    for symbol, currency, year in sorted(years):
        spans.setdefault((symbol, currency), []).append(year)
    # A line has a gap at a year without a dividend.
    values: list[dict[str, Any]] = [
        {"symbol": symbol, "paid in": currency, "year": year,
         "amount": years.get((symbol, currency, year))}
        for (symbol, currency), own in spans.items()
        for year in range(own[0], own[-1] + 1)
    ]  # fmt: skip
    symbols = list(dict.fromkeys(payment.symbol for payment in paid))
    scale = altair.Scale(domain=[_inert(symbol) for symbol in symbols], range=COLORS)
    amount = altair.Tooltip("amount:Q", format=",.6~g")
    legend = altair.Legend(title="Symbol") if any(symbols) else None
    chart = (
        altair.Chart()
        .mark_line(point=True)
        .encode(
            x=altair.X("year:O", title="Year of the ex-dividend date (market's own time zone)"),
            y=_amount("amount", "Cash dividend per share (reporting currency)", log=apart),
            color=altair.Color("symbol:N", scale=scale, legend=legend),
            tooltip=["symbol:N", "year:O", amount, "paid in:N"],
        )
        .properties(width=WIDTH, height=180)
    )
    return _facet(
        chart, values, "paid in", dividends_title(paid, found, symbols, securities), share_x=True
    )


@explained
def ipos(records_or_frame: Any) -> altair.FacetChart:
    """A line for each IPO: a bar for its subscription, a mark for each other date.

    Args:
        records_or_frame: As for `boardlot.plots.ipos`.

    Returns:
        The chart, with a panel for each market. The x axis has the days of each market's own time
        zone.

    Raises:
        ConfigError: A column is missing.

    Example:
        >>> from boardlot.plots import interactive
        >>> interactive.ipos(client.ipo_calendar(["hk", "us"])).to_dict()["title"]
        '10 IPOs of 2 markets'
    """
    lines, title = drawn_lines(records_or_frame)
    values = [value for line in lines for value in _events(line)]
    names = [SUBSCRIBED, *(name for _, _, name in MARKERS.values())]
    shown = [name for name in names if any(value["event"] == name for value in values)]
    colors = dict(zip(names, (SUBSCRIPTION, *(look[0] for look in MARKERS.values())), strict=True))
    color = altair.Scale(domain=shown, range=[colors[name] for name in shown])
    shape = altair.Scale(domain=shown, range=[SHAPES[name] for name in shown])
    base = altair.Chart().encode(
        y=altair.Y("ipo:N", title=None, sort=None, axis=altair.Axis(labelLimit=260)),
        color=altair.Color("event:N", title="Event", scale=color),
        tooltip=["ipo:N", "event:N", altair.Tooltip("days:N", title="date")],
    )
    bars = base.mark_bar(height=10).encode(x=_days("from"), x2="to:T")
    shapes = altair.Shape("event:N", title="Event", scale=shape)
    marks = base.mark_point(filled=True, size=60, opacity=1).encode(x=_days("at"), shape=shapes)
    chart = (bars + marks).properties(width=WIDTH)
    return _facet(chart, values, "market", title, share_x=True, zoom_y=False)


def _events(line: Any) -> list[dict[str, Any]]:
    """The subscription, as a span between midnights, and a position for each other event."""
    common = {"market": line.market, "ipo": f"{line.name}  {line.code}".strip()}
    found: list[dict[str, Any]] = []
    if line.subscription:
        first, last = line.subscription
        days = {"from": str(first), "to": str(last + DAY), "days": f"{first} – {last}"}
        found.append({**common, "event": SUBSCRIBED, **days})
    for event, place in line.marks.items():
        at = place.isoformat(timespec="minutes")
        found.append({**common, "event": MARKERS[event][2], "at": f"{at}Z", "days": at[:10]})
    return found


# A page has the specification within a script, which these would end or lengthen.
_ends_script = re.compile("</|<!").search


def _escaped(text: str) -> str:
    return text.replace("<", r"\u003c")


def _inert(text: str) -> Any:
    """A text outside the data: as an expression if the page would not take it for a text."""
    return altair.ExprRef(_escaped(json.dumps(text))) if _ends_script(text) else text


def _days(field: str) -> altair.X:
    title = "Date (each market's own time zone)"
    return altair.X(f"{field}:T", title=title, scale=altair.Scale(type="utc", padding=10))


def _amount(field: str, title: str, *, log: bool) -> altair.Y:
    scale = (
        altair.Scale(type="log", nice=False, padding=10)
        if log
        else altair.Scale(zero=False, padding=10)
    )
    return altair.Y(f"{field}:Q", title=title, scale=scale)


def _facet(
    chart: Any,
    values: list[dict[str, Any]],
    by: str,
    title: str,
    *,
    share_x: bool,
    zoom_y: bool = True,
) -> altair.FacetChart:
    """A panel for each value of `by`, each with a y axis of its own, which zoom and pan.

    Vega cannot zoom into the names on the y axis of layers: it fails to draw them.
    """
    name = by.capitalize() if len({row[by] for row in values}) > 1 else None
    header = altair.Header(labels=name is not None)
    data: Any = altair.InlineData(values)
    if _ends_script(text := json.dumps(values)):
        data = altair.InlineData(_escaped(text), format=altair.JsonDataFormat(type="json"))
    faceted: altair.FacetChart = (
        chart.interactive(bind_y=zoom_y)
        .facet(row=altair.Row(f"{by}:N", title=name, header=header), data=data)
        .resolve_scale(x="shared" if share_x else "independent", y="independent")
        .properties(title=title.replace("<", "‹"))
        .configure(background="transparent", **THEME)
    )
    return faceted
