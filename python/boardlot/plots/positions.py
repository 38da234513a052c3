"""Profit, loss or market value of simulated positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from boardlot._calls import explained
from boardlot._support.third_party import Axes
from boardlot.errors import ConfigError
from boardlot.plots import style
from boardlot.plots.style import number, rows, text

NAMES = {"profit_ratio": "P&L ratio", "profit": "P&L", "mv": "Market value"}
FORMS = {"profit_ratio": "{:+,.2f} %", "profit": "{:+,.2f}", "mv": "{:,.2f}"}
SHORT = 1
# More bars than these are unreadable.
MAX_BARS = 40


@explained
def positions(
    records_or_frame: Any,
    ax: Axes | None = None,
    *,
    value: Literal["profit_ratio", "profit", "mv"] = "profit_ratio",
) -> Axes:
    """A bar for each position, the largest value at the top; short positions are hatched.

    Amounts of different markets are not compared: each market has its own panel.

    Args:
        records_or_frame: Positions as `Records` (or any sequence of the service's dicts), or as a
            pandas, polars or pyarrow frame of them, with the column `symbol` and that of `value`,
            and optionally `stock_name`, `pstn_type` and `market`. Positions without a value are
            left out.
        ax: The Axes to draw into; `None` makes a new figure, as high as the bars need.
        value: The column to show. `profit` and `mv` are in each position's own currency, which
            the service does not send.

    Returns:
        The Axes, with the unit on its x axis; of several panels the topmost, with the others in its
        figure. Of more than 40 positions, the 40 with the largest absolute values are shown, and
        of amounts the 8 markets with the most positions; the title says so.

    Raises:
        ImportError: matplotlib is not installed.
        ConfigError: A column is missing, or `value` is not one of the three.

    Example:
        >>> from boardlot import plots
        >>> positions = client.sim_positions(sandbox.accounts["sim"][0])
        >>> plots.positions(positions).get_xlabel()
        'P&L ratio (%)'
    """
    if value not in NAMES:
        raise ConfigError(f"value is {value!r}; expected one of {', '.join(NAMES)}")
    bars, found = position_bars(records_or_frame, value)
    shown = sorted(
        sorted(bars, key=lambda bar: -abs(bar.value))[:MAX_BARS], key=lambda bar: bar.value
    )
    groups = sorted({bar.market for bar in shown})
    parts = [[bar for bar in shown if bar.market == group] for group in groups] or [shown]
    height = 1.4 * len(parts) + 0.27 * sum(max(len(part), 3) for part in parts)
    ax = style.axes(ax, "positions", (9, height))
    panels = style.panels(ax, len(parts), [1.5 + max(len(part), 3) for part in parts])
    for panel, part in zip(panels, parts, strict=True):
        _draw(panel, part, value)
        if len(panels) > 1:
            of = f"of market {style.label(part[0].market)}"
            panel.set_xlabel(axis_title(value, of), **style.PLAIN)
    hatched = ", short ones hatched" if any(bar.short for bar in shown) else ""
    count = style.of_all(len(shown), found, "position")
    ax.set_title(f"{NAMES[value]} of {count}{hatched}", **style.PLAIN)
    return ax


def axis_title(value: str, of: str = "of each position") -> str:
    """The name of a value with its unit; the service does not send the currency."""
    unit = "%" if value == "profit_ratio" else f"trading currency {of}"
    return f"{NAMES[value]} ({unit})"


def _draw(ax: Axes, shown: Sequence[_Bar], value: str) -> None:
    drawn = ax.barh(
        range(len(shown)),
        [bar.value for bar in shown],
        height=0.72,
        color=[style.BLUE if bar.value >= 0 else style.ORANGE for bar in shown],
    )
    for patch, bar in zip(drawn, shown, strict=True):
        if bar.short:
            patch.set(hatch="////", edgecolor="white", linewidth=0)
    ax.bar_label(drawn, [FORMS[value].format(bar.value) for bar in shown], padding=4, fontsize=8)
    ax.set_yticks(range(len(shown)), [bar.label for bar in shown], fontsize=9, **style.PLAIN)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_formatter("{x:,.10g}")
    ax.axvline(0, color="black", linewidth=0.8)
    # Space for the numbers next to the longest bars.
    ax.margins(x=0.18, y=0.02)
    ax.set_xlabel(axis_title(value))
    style.finish(ax, "", empty=not shown, grid="x")
    ax.spines["left"].set_visible(False)


class _Bar(NamedTuple):
    label: str
    value: float
    short: bool
    market: str


def position_bars(source: Any, column: str) -> tuple[list[_Bar], int]:
    """The positions to draw, and their number. Ratios can be compared; amounts within a market."""
    found = []
    for symbol, value, name, kind, market in rows(
        source, ("symbol", column), optional=("stock_name", "pstn_type", "market")
    ):
        size = number(value)
        if size is not None:
            label = f"{style.drawable(text(name), 24)}  {style.label(text(symbol))}".strip()
            group = "" if column == "profit_ratio" else text(market)
            found.append(_Bar(label, size, kind == SHORT, group))
    markets = style.largest(bar.market for bar in found)
    return [bar for bar in found if bar.market in markets], len(found)
