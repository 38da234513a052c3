"""Profit, loss or market value of simulated positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from boardlot.errors import ConfigError
from boardlot.plots import style
from boardlot.plots.rows import number, rows, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["positions"]

VALUES = {
    "profit_ratio": ("P&L ratio (%)", "{:+,.2f} %"),
    "profit": ("P&L (trading currency of each position)", "{:+,.2f}"),
    "mv": ("Market value (trading currency of each position)", "{:,.2f}"),
}
SHORT = 1
# More bars than these are unreadable.
MAX_BARS = 40


def positions(
    records_or_frame: Any,
    ax: Axes | None = None,
    *,
    value: Literal["profit_ratio", "profit", "mv"] = "profit_ratio",
) -> Axes:
    """A bar for each position, the largest value at the top; short positions are hatched.

    Args:
        records_or_frame: Positions as `Records` (or any sequence of the service's dicts), or as a
            pandas, polars or pyarrow frame of them, with the column `symbol` and that of `value`,
            and optionally `stock_name` and `pstn_type`. Positions without a value are left out.
        ax: The Axes to draw into; `None` makes a new figure, as high as the bars need.
        value: The column to show. `profit` and `mv` are in each position's own currency, which
            the service does not send: compare them only within one market
            (`sim_positions(..., market=...)`).

    Returns:
        The Axes, with the unit on its x axis. Of more than 40 positions, the 40 with the largest
        absolute values are shown, and the title says so.

    Raises:
        ImportError: matplotlib is not installed.
        ConfigError: A column is missing, or `value` is not one of the three.

    Example:
        >>> from boardlot import plots
        >>> positions = client.sim_positions(sandbox.accounts["sim"][0])
        >>> plots.positions(positions).get_xlabel()
        'P&L ratio (%)'
    """
    if value not in VALUES:
        raise ConfigError(f"value is {value!r}; expected one of {', '.join(VALUES)}")
    bars = _bars(records_or_frame, value)
    shown = sorted(
        sorted(bars, key=lambda bar: -abs(bar.value))[:MAX_BARS], key=lambda bar: bar.value
    )
    ax = style.axes(ax, "positions", (9, 1.4 + 0.27 * max(len(shown), 3)))
    drawn = ax.barh(
        range(len(shown)),
        [bar.value for bar in shown],
        height=0.72,
        color=[style.BLUE if bar.value >= 0 else style.ORANGE for bar in shown],
    )
    for patch, bar in zip(drawn, shown, strict=True):
        if bar.short:
            patch.set(hatch="////", edgecolor="white", linewidth=0)
    unit, form = VALUES[value]
    ax.bar_label(drawn, [form.format(bar.value) for bar in shown], padding=4, fontsize=8)
    ax.set_yticks(range(len(shown)), [bar.label for bar in shown], fontsize=9, **style.PLAIN)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_formatter("{x:,.10g}")
    ax.axvline(0, color="black", linewidth=0.8)
    # Space for the numbers next to the longest bars.
    ax.margins(x=0.18, y=0.02)
    ax.set_xlabel(unit)
    some = f"{len(shown)} of " if len(shown) < len(bars) else ""
    hatched = ", short ones hatched" if any(bar.short for bar in shown) else ""
    count = f"{len(bars):,} position{'' if len(bars) == 1 else 's'}"
    style.finish(ax, f"{some}{count}{hatched}", empty=not shown, grid="x")
    ax.spines["left"].set_visible(False)
    return ax


class _Bar(NamedTuple):
    label: str
    value: float
    short: bool


def _bars(source: Any, column: str) -> list[_Bar]:
    bars = []
    for symbol, value, name, kind in rows(
        source, ("symbol", column), optional=("stock_name", "pstn_type")
    ):
        size = number(value)
        if size is not None:
            label = f"{style.drawable(text(name), 24)}  {style.label(text(symbol))}".strip()
            bars.append(_Bar(label, size, kind == SHORT))
    return bars
