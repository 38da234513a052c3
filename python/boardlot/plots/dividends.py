"""Dividends by year."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from boardlot.plots import looks
from boardlot.plots.rows import day, number, rows, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["dividends"]

PLAN = "Plan"
# The colours repeat with the next marker.
MARKERS = "o^sDvP"
# Symbols beyond these share the chart without a label of their own.
LABELLED_SYMBOLS = 12


def dividends(records_or_frame: Any, ax: Axes | None = None) -> Axes:
    """Cash dividends per share, summed over each year of the ex-dividend date.

    One security gets a bar for each year, planned dividends hatched on top of those paid; several
    get a line each.

    Args:
        records_or_frame: Dividends as `Records` of `dividends` or of `fetch_many("dividends")`
            (or any sequence of the service's dicts), or as a pandas, polars or pyarrow frame of
            them, with the columns `dividend_per_share` and `ex_date`; `symbol`, `currency` and
            `process` where they are there. Dividends without an amount or an ex-dividend date
            are left out.
        ax: Where to draw; `None` makes a new figure.

    Returns:
        The Axes. Its years are those of the dates in the market's own time zone; its amounts are
        in the reporting currency, named where the records tell it, and are on a logarithmic
        axis where securities lie far apart.

    Raises:
        ImportError: matplotlib is not installed.
        ConfigError: There is no such column, or a date is none.

    Example:
        >>> from boardlot import plots
        >>> plots.dividends(client.dividends("HK.00700")).get_ylabel()
        'Cash dividend per share (HKD)'
    """
    ax = looks.axes(ax, "dividends")
    from matplotlib import ticker

    paid = _payments(records_or_frame)
    symbols = list(dict.fromkeys(payment.symbol for payment in paid))
    if len(symbols) > 1:
        _lines(ax, paid, symbols)
    else:
        _bars(ax, paid)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, nbins=12))
    ax.set_xlabel("Year of the ex-dividend date (market's own time zone)")
    currencies = {payment.currency for payment in paid}
    unit = "reporting currency"
    if len(currencies) == 1 and currencies != {""}:
        unit = next(iter(currencies))
    elif len(symbols) > 1:
        unit = "reporting currency of each"
    ax.set_ylabel(f"Cash dividend per share ({unit})")
    whose = f" of {len(symbols)} securities" if len(symbols) > 1 else f" of {''.join(symbols)}"
    count = f"{len(paid):,} dividend{'' if len(paid) == 1 else 's'}"
    looks.finish(ax, count + (whose if any(symbols) else ""), empty=not paid, grid="y")
    if len(symbols) > 1:
        looks.label_ends(ax, _ends(paid, symbols))
    return ax


class _Payment(NamedTuple):
    symbol: str
    year: int
    amount: float
    currency: str
    planned: bool


def _payments(source: Any) -> list[_Payment]:
    paid = []
    for amount, ex_date, symbol, currency, process in rows(
        source,
        ("dividend_per_share", "ex_date"),
        optional=("symbol", "currency", "process"),
    ):
        value, when = number(amount), day(ex_date)
        if value is not None and when is not None:
            payment = _Payment(text(symbol), when.year, value, text(currency), process == PLAN)
            paid.append(payment)
    return paid


def _by_year(paid: Sequence[_Payment]) -> dict[int, float]:
    years: dict[int, float] = {}
    for payment in sorted(paid, key=lambda payment: payment.year):
        years[payment.year] = years.get(payment.year, 0.0) + payment.amount
    return years


def _bars(ax: Axes, paid: Sequence[_Payment]) -> None:
    settled = _by_year([payment for payment in paid if not payment.planned])
    planned = _by_year([payment for payment in paid if payment.planned])
    ax.bar(
        list(settled), list(settled.values()), width=0.72, color=looks.BLUE, label="Implementation"
    )
    if planned:
        below = [settled.get(year, 0.0) for year in planned]
        look: dict[str, Any] = {"color": "white", "edgecolor": looks.BLUE, "hatch": "////"}
        amounts = list(planned.values())
        ax.bar(list(planned), amounts, width=0.72, bottom=below, label=PLAN, **look)
        ax.legend(frameon=False, loc="upper left", ncols=2)
        ax.margins(y=0.12)


def _lines(ax: Axes, paid: Sequence[_Payment], symbols: Sequence[str]) -> None:
    for number_, symbol in enumerate(symbols):
        years = _by_year([payment for payment in paid if payment.symbol == symbol])
        look: dict[str, Any] = {
            "color": _colour(number_),
            "marker": MARKERS[number_ // len(looks.PALETTE) % len(MARKERS)],
        }
        ax.plot(list(years), list(years.values()), markersize=4, linewidth=1.4, **look)
    looks.spread_values(ax, (payment.amount for payment in paid))


def _ends(paid: Sequence[_Payment], symbols: Sequence[str]) -> list[tuple[str, float, str]]:
    ends = []
    for place, symbol in enumerate(symbols[:LABELLED_SYMBOLS]):
        own = [payment for payment in paid if payment.symbol == symbol]
        currency = f" ({own[0].currency})" if own[0].currency else ""
        ends.append((symbol + currency, list(_by_year(own).values())[-1], _colour(place)))
    return ends


def _colour(place: int) -> str:
    return looks.PALETTE[place % len(looks.PALETTE)] if place < LABELLED_SYMBOLS else looks.GREY
