"""Prices of fills over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from boardlot._calls import explained
from boardlot._support.tables.cell_format import counted
from boardlot._support.third_party import Axes
from boardlot.plots import style
from boardlot.plots.style import number, rows, text, time_of, units
from boardlot.records import Records

# In print, the markers distinguish the sides.
SIDES = {"BUY": (style.BLUE, "^"), "SELL": (style.ORANGE, "v")}
OTHER_SIDES = (style.GREY, "o")
# The status of a completed fill in the service document.
DONE = "OK"
# In titles, next to other statuses.
FURTHER_MARKETS = "of further markets"
LESS_TURNOVER = "of {} with less turnover"
OTHER = "other sides"


@explained
def fills(records_or_frame: Any, ax: Axes | None = None) -> Axes:
    """Prices of fills over time: a line for each code, a marker for each fill by its side.

    Prices of different markets are not compared: each market has its own panel. The codes of the
    largest turnover are drawn, in each panel as many as there is room for and at most 12, each with
    its label at the height at which its line ends.
    Only fills with status `OK` are drawn and counted; the title counts the other fills: of other
    codes, with another status, of markets beyond the 8 with the most fills, or before 1900 or after
    2199.

    Args:
        records_or_frame: Fills as `Records` (or any sequence of the service's dicts), or as a
            pandas, polars or pyarrow frame of them, with the columns `code`, `trd_side`, `price`
            and `create_time`; without the column `status`, all are drawn, and without `qty` the
            turnover of a code is the number of its fills. Fills without a time or a price are left
            out.
        ax: The Axes to draw into; `None` makes a new figure, as high as the panels need. The
            panels of several markets share its area.

    Returns:
        The Axes; of several panels the topmost, with the others in its figure. The time axis is in
        UTC. The price axes are in each code's trading currency, which the service does not send,
        and are logarithmic if prices of a market are far apart.

    Raises:
        ImportError: matplotlib is not installed.
        ConfigError: A column is missing.

    Example:
        >>> from boardlot import plots
        >>> pager = client.fills_history(sandbox.accounts["trade"][0], "HK", code="HK.00700")
        >>> plots.fills(pager.all()).get_xlabel()
        'Time of the fill (UTC)'
    """
    found = fill_points(records_or_frame, ax)
    points = [point for point in found if point.done]
    markets = sorted({point.market for point in points}) or [""]
    ax = style.axes(ax, "fills", (10, style.figure_height(len(markets))))
    panels = style.panels(ax, len(markets))
    size = 26 if len(points) < 300 else 12
    parts = [[point for point in points if point.market == market] for market in markets]
    for panel, part in zip(panels, parts, strict=True):
        for own, color, dash in _lines(panel, part):
            look = {"color": color, "linestyle": dash, "linewidth": 1.0, "alpha": 0.8}
            _draw(panel.plot, own, zorder=1, label="_", **look)
        for side, count in sorted(Counter(point.side for point in points).items()):
            color, marker = SIDES.get(side, OTHER_SIDES)
            label = f"{style.label(side)} ({count:,})"
            look = {"s": size, "c": color, "marker": marker, "alpha": 0.75, "linewidths": 0}
            own = [point for point in part if point.side == side]
            _draw(panel.scatter, own, label=label, zorder=2, **look)
    style.spread_values(panels, [[point.price for point in part] for part in parts])

    panels[-1].set_xlabel("Time of the fill (UTC)")
    unit = units(records_or_frame).get("price") or "trading currency of each code"
    for panel, market in zip(panels, markets, strict=True):
        name = f"{style.label(market)} price" if len(panels) > 1 else f"Price ({style.label(unit)})"
        panel.set_ylabel(name, **style.PLAIN)
        style.finish(panel, "", empty=not points)
    if points:
        style.legend(ax, loc="upper left", ncols=4, bbox_to_anchor=(0, 1.0))
    for panel in panels:
        # Space for the legend above, and for labels next to the lowest and highest price.
        panel.margins(x=0.02, y=0.08)
    style.make_room_for_legend(ax)
    for panel, part in zip(panels, parts, strict=True):
        ends = [
            style.End(style.label(own[-1].code), own[-1].time, own[-1].price, color)
            for own, color, _ in _lines(panel, part)
        ]
        if ends:
            style.label_ends(panel, ends)
    style.title(ax, fills_title(found))
    if points:
        style.utc_axis(ax)
    return ax


class FillPoint(NamedTuple):
    """A fill of the chart."""

    code: str
    side: str
    time: datetime
    price: float
    status: str
    turnover: float

    @property
    def done(self) -> bool:
        return self.status in (DONE, "")

    @property
    def market(self) -> str:
        """The prefix of the code; the codes of a market are priced alike."""
        market, point, _ = self.code.partition(".")
        return market if point else ""


def fill_points(source: Any, ax: Axes | None = None) -> list[FillPoint]:
    unit = units(source).get("create_time") or "us"
    points = []
    for code, side, time, price, status, qty in rows(
        source, ("code", "trd_side", "create_time", "price"), optional=("status", "qty")
    ):
        when, value = time_of(time, unit), number(price)
        if when is not None and value is not None:
            known = text(status) if when.year in style.YEARS else f"in year {when.year}"
            count = number(qty)
            amount = 1.0 if count is None else abs(value * count)
            points.append(FillPoint(text(code), text(side), when, value, known, amount))
    # Dicts that the caller wrote may leave the status out.
    is_written = isinstance(source, list) and not isinstance(source, Records)
    if not is_written and any(point.status for point in points):
        points = [point._replace(status=point.status or "without a status") for point in points]
    markets = style.largest(point.market for point in points if point.done)
    sides = style.largest(point.side for point in points if point.done)
    points = [
        point._replace(side=point.side if point.side in sides else OTHER)
        if point.market in markets or not point.done
        else point._replace(status=FURTHER_MARKETS)
        for point in points
    ]
    turnover: dict[tuple[str, str], float] = {}
    for point in points:
        if point.done:
            line = (point.market, point.code)
            turnover[line] = turnover.get(line, 0.0) + point.turnover
    drawn = style.drawn_lines(turnover, ax)
    less = LESS_TURNOVER.format(counted(len(turnover) - len(drawn), "code"))
    return [
        point._replace(status=less)
        if point.done and (point.market, point.code) not in drawn
        else point
        for point in points
    ]


def fills_title(found: Sequence[FillPoint]) -> str:
    points = [point for point in found if point.done]
    codes = len({point.code for point in points})
    total = counted(len(points), "fill")
    return f"Prices of {total} of {counted(codes, 'code')}{_not_drawn(found)}"


def _not_drawn(points: Sequence[FillPoint]) -> str:
    """The number of fills with another status, for the title."""
    others = Counter(point.status for point in points if not point.done)
    counts = ", ".join(f"{count:,} {_named(status)}" for status, count in others.items())
    return f"; not drawn: {style.label(counts, 120)}" if counts else ""


def _named(status: str) -> str:
    """A status for the title: one of boardlot's own unchanged, a long one of the service's cut."""
    return status if status.endswith(LESS_TURNOVER[-14:]) else style.label(status, 24)


def _draw(draw: Any, points: Sequence[FillPoint], **look: Any) -> None:
    draw([point.time for point in points], [point.price for point in points], **look)


def by_code(points: list[FillPoint]) -> list[tuple[str, list[FillPoint]]]:
    """The fills of each code in order of time, the code of the largest turnover first."""
    codes: dict[str, list[FillPoint]] = {}
    for point in points:
        codes.setdefault(point.code, []).append(point)
    for part in codes.values():
        part.sort(key=lambda point: point.time)

    def turnover(item: tuple[str, list[FillPoint]]) -> tuple[float, str]:
        return -sum(point.turnover for point in item[1]), item[0]

    return sorted(codes.items(), key=turnover)


def _lines(ax: Axes, points: list[FillPoint]) -> Iterator[tuple[list[FillPoint], str, str]]:
    """The fills of each code, with the color and the dashes of its line."""
    codes = by_code(points)
    # The colors of the sides' markers would mislead.
    colors = [color for color in style.palette(ax) if color not in (style.BLUE, style.ORANGE)]
    for index, (_, own) in enumerate(codes):
        dashes = style.DASHES[index // len(colors) % len(style.DASHES)]
        yield own, colors[index % len(colors)] if len(codes) > 1 else style.GREY, dashes
