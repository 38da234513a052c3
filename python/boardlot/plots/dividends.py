"""Dividends by year."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, NamedTuple

from boardlot._calls import explained
from boardlot._support.third_party import Axes
from boardlot.plots import style
from boardlot.plots.style import day, number, rows, text

PAID = "Implementation"
PLAN = "Plan"
# The colors repeat with the next marker.
MARKERS = "o^sDvP"


@explained
def dividends(records_or_frame: Any, ax: Axes | None = None) -> Axes:
    """Cash dividends per share, summed over each year of the ex-dividend date.

    One security gets a bar for each year, with planned dividends hatched on top of those paid;
    several get a line each, of what was paid, with a gap at a year without a dividend and a label
    at the height at which it ends: those with the largest sums, as many as there is room for and
    at most 12. Dividends that are paid in different currencies have a panel each, and so do those
    without a currency. The title counts the dividends that are not drawn: of further securities, of
    currencies beyond the 8 with the most, before 1900 or after 2199, planned ones of several
    securities, and any whose `process` is neither of the two known.

    Args:
        records_or_frame: Dividends as `Records` of `dividends` or of `fetch_many("dividends")`
            (or any sequence of the service's dicts), or as a pandas, polars or pyarrow frame of
            them, with the columns `dividend_per_share` and `ex_date`, and optionally `symbol`,
            `currency` and `process`. Dividends without an amount or an ex-dividend date are left
            out.
        ax: The Axes to draw into; `None` makes a new figure, as high as the panels need. The
            panels of several currencies share its area.

    Returns:
        The Axes; of several panels the topmost, with the others in its figure. Years are those of
        the dates in the market's own time zone. Amounts are in each company's reporting currency,
        which the service does not send: `currency` is that of the payment. The axis is
        logarithmic if securities are far apart.

    Raises:
        ImportError: matplotlib is not installed.
        ConfigError: A column is missing, or a date is not valid.

    Example:
        >>> from boardlot import plots
        >>> plots.dividends(client.dividends("HK.00700")).get_ylabel()
        'Cash dividend per share (reporting currency)'
    """
    paid, found, securities = payments(records_or_frame, ax)
    symbols = list(dict.fromkeys(payment.symbol for payment in paid))
    # Dividends without a currency come last.
    currencies = sorted({payment.currency for payment in paid}, key=lambda name: (not name, name))
    ax = style.axes(ax, "dividends", (10, style.figure_height(len(currencies))))

    panels = style.panels(ax, max(1, len(currencies)))
    parts = [[x for x in paid if x.currency == currency] for currency in currencies or [""]]
    for panel, currency, part in zip(panels, currencies or [""], parts, strict=True):
        (_lines if len(symbols) > 1 else _bars)(panel, part, symbols)
        name = _axis(style.label(currency, 20), alone=len(panels) == 1, several=len(symbols) > 1)
        panel.set_ylabel(name, **style.PLAIN)
        style.finish(panel, "", empty=not paid, grid="y")
    if len(symbols) > 1:
        style.spread_values(panels, [[payment.amount for payment in part] for part in parts])
    _years(panels[-1], empty=not paid)
    if len(symbols) > 1:
        for panel, part in zip(panels, parts, strict=True):
            style.label_ends(panel, _ends(panel, part, symbols))
    style.title(ax, dividends_title(paid, found, symbols, securities))
    return ax


def _axis(currency: str, *, alone: bool, several: bool) -> str:
    if alone:
        return f"Cash dividend per share (reporting currency{' of each' if several else ''})"
    return f"Reporting currency\n(paid in {currency})" if currency else "Reporting currency"


def dividends_title(
    paid: Sequence[_Payment], found: int, symbols: Sequence[str], securities: int
) -> str:
    count = style.of_all(len(paid), found, "cash dividend")
    if not any(symbols):
        return count
    of = style.label(symbols[0]) if len(symbols) == 1 else f"{len(symbols)} securities"
    rest = securities - len(symbols)
    not_drawn = f"; not drawn: {rest} further securities" if rest > 0 else ""
    return f"{count} of {of}{not_drawn}"


def _years(ax: Axes, *, empty: bool) -> None:
    from matplotlib import ticker

    if not empty:
        ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins="auto", integer=True))
    ax.set_xlabel("Year of the ex-dividend date (market's own time zone)")


class _Payment(NamedTuple):
    symbol: str
    year: int
    amount: float
    currency: str
    planned: bool


def payments(source: Any, ax: Axes | None) -> tuple[list[_Payment], int, int]:
    """The dividends to draw, with the planned ones of a single security, the number of all, and the
    number of their securities."""
    found, paid = 0, list[_Payment]()
    for amount, ex_date, symbol, currency, process in rows(
        source,
        ("dividend_per_share", "ex_date"),
        optional=("symbol", "currency", "process"),
    ):
        value, when = number(amount), day(ex_date)
        if value is not None and when is not None:
            found += 1
            payment = _Payment(text(symbol), when.year, value, text(currency), process == PLAN)
            if text(process) in ("", PAID, PLAN):
                paid.append(payment)
    drawn = [payment for payment in paid if payment.year in style.YEARS]
    if len({payment.symbol for payment in drawn}) > 1:
        drawn = [payment for payment in drawn if not payment.planned]
    currencies = style.largest(payment.currency for payment in drawn)
    drawn = [payment for payment in drawn if payment.currency in currencies]
    sums: dict[tuple[str, str], float] = {}
    for payment in drawn:
        line = (payment.currency, payment.symbol)
        sums[line] = sums.get(line, 0.0) + payment.amount
    lines = style.drawn_lines(sums, ax)
    shown = [payment for payment in drawn if (payment.currency, payment.symbol) in lines]
    return shown, found, len({symbol for _, symbol in sums})


def _by_year(paid: Sequence[_Payment]) -> dict[int, float]:
    years: dict[int, float] = {}
    for payment in sorted(paid, key=lambda payment: payment.year):
        years[payment.year] = years.get(payment.year, 0.0) + payment.amount
    return years


def _bars(ax: Axes, paid: Sequence[_Payment], _: Sequence[str]) -> None:
    settled = _by_year([payment for payment in paid if not payment.planned])
    planned = _by_year([payment for payment in paid if payment.planned])
    ax.bar(list(settled), list(settled.values()), width=0.72, color=style.BLUE, label=PAID)
    if planned:
        below = [settled.get(year, 0.0) for year in planned]
        look: Any = {"color": ax.get_facecolor(), "edgecolor": style.BLUE, "hatch": "////"}
        amounts = list(planned.values())
        ax.bar(list(planned), amounts, width=0.72, bottom=below, label=PLAN, **look)
        style.legend(ax, loc="upper left", ncols=2)
        ax.margins(y=0.12)


def _lines(ax: Axes, paid: Sequence[_Payment], symbols: Sequence[str]) -> None:
    for index, symbol in enumerate(symbols):
        years = _by_year([payment for payment in paid if payment.symbol == symbol])
        if not years:
            continue
        marker = MARKERS[index // len(style.PALETTE) % len(MARKERS)]
        look: Any = {"color": _color(ax, index), "marker": marker, "markersize": 4}
        span = range(min(years), max(years) + 1)
        ax.plot(span, [years.get(year, nan) for year in span], linewidth=1.4, **look)


def _ends(ax: Axes, paid: Sequence[_Payment], symbols: Sequence[str]) -> list[style.End]:
    ends: list[style.End] = []
    for index, symbol in enumerate(symbols):
        own = [payment for payment in paid if payment.symbol == symbol]
        if own:
            year, last = list(_by_year(own).items())[-1]
            ends.append(style.End(style.label(symbol), year, last, _color(ax, index)))
    return ends


def _color(ax: Axes, index: int) -> str:
    colors = style.palette(ax)
    return colors[index % len(colors)]
