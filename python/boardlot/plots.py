"""Charts of records, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from boardlot.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["fills"]

# Blue and orange stay apart for every kind of colour vision, and on paper by the markers.
SIDES = {"BUY": ("#0072b2", "^"), "SELL": ("#d55e00", "v")}
OTHER_SIDES = ("#7f7f7f", "o")
COLUMNS = ("code", "trd_side", "create_time", "price")
MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
# Codes beyond these share the chart without a label of their own.
LABELLED_CODES = 12
# Prices further apart than this are unreadable on a linear axis.
LINEAR_RATIO = 8.0


def fills(records_or_frame: Any, ax: Axes | None = None) -> Axes:
    """Prices of fills against time: a line for each code, a marker for each fill by its side.

    Args:
        records_or_frame: Fills as `Records` (or any sequence of the service's dicts), or as a
            pandas or polars DataFrame of them, with the columns `code`, `trd_side`, `price` and
            `create_time`.
        ax: Where to draw; `None` makes a new figure.

    Returns:
        The Axes. Its time axis is in UTC; its price axis is in each code's trading currency,
        which the service does not tell, and is logarithmic where prices lie far apart.

    Raises:
        ImportError: matplotlib is not installed.
        ConfigError: There is no such column.
    """
    try:
        from matplotlib import dates, ticker
    except ImportError as missing:
        raise ImportError(
            "plots.fills() needs matplotlib: pip install 'boardlot[notebook]'", name=missing.name
        ) from missing
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(10, 5.5), layout="constrained")

    points = _points(records_or_frame)
    codes = _by_code(points)
    for _, part in codes:
        ax.plot(
            [point[2] for point in part],  # type: ignore[arg-type]
            [point[3] for point in part],
            color="#999999",
            linewidth=0.7,
            alpha=0.8,
            zorder=1,
            label="_line",  # A leading underscore keeps it out of the legend.
        )
    size = 26 if len(points) < 300 else 12
    for side in sorted({point[1] for point in points}):
        chosen = [point for point in points if point[1] == side]
        colour, marker = SIDES.get(side, OTHER_SIDES)
        ax.scatter(
            [point[2] for point in chosen],  # type: ignore[arg-type]
            [point[3] for point in chosen],
            s=size,
            c=colour,
            marker=marker,
            alpha=0.75,
            linewidths=0,
            label=f"{side} ({len(chosen):,})",
            zorder=2,
        )

    prices = [point[3] for point in points if point[3] > 0]
    if prices and max(prices) / min(prices) > LINEAR_RATIO:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_minor_formatter(ticker.NullFormatter())
        ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    locator = dates.AutoDateLocator(tz=timezone.utc)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = dates.ConciseDateFormatter(locator, tz=timezone.utc)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel("Time of the fill (UTC)")
    unit = _units(records_or_frame).get("price") or "trading currency of each code"
    ax.set_ylabel(f"Price ({unit})")
    ax.set_title(f"{len(points):,} fills of {len(codes)} code{'' if len(codes) == 1 else 's'}")
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    if points:
        ax.legend(frameon=False, loc="upper left", ncols=4, bbox_to_anchor=(0, 1.0))
        _label_codes(ax, codes)
    return ax


Point = tuple[str, str, datetime, float]


def _points(source: Any) -> list[Point]:
    """Code, side, time and price of each fill; fills without a time or a price are left out."""
    rows: Iterable[tuple[Any, ...]]
    if hasattr(source, "columns"):
        absent = [name for name in COLUMNS if name not in source.columns]
        if absent:
            raise ConfigError(f"the frame has no column {', '.join(absent)}")
        rows = zip(*(list(source[name]) for name in COLUMNS), strict=True)
        unit = 1
    else:
        unit = MICROS.get(_units(source).get("create_time", "us"), 1)
        rows = (tuple(_field(row, name) for name in COLUMNS) for row in source)
    points = []
    for code, side, time, price in rows:
        moment = _moment(time, unit)
        # NaN and NaT are the only values that differ from themselves.
        if moment is None or moment != moment or price in (None, "") or price != price:
            continue
        points.append((str(code), str(side), moment, float(price)))
    return points


def _field(row: Mapping[str, Any], name: str) -> Any:
    if name not in row:
        raise ConfigError(f"a fill has no field {name}: {', '.join(row)}")
    return row[name]


def _moment(value: Any, micros: int) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    if not value:
        return None
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=int(value) * micros)


def _by_code(points: list[Point]) -> list[tuple[str, list[Point]]]:
    """The fills of each code by their time, the code with the most of them first."""
    codes: dict[str, list[Point]] = {}
    for point in points:
        codes.setdefault(point[0], []).append(point)
    for part in codes.values():
        part.sort(key=lambda point: point[2])
    return sorted(codes.items(), key=lambda item: (-len(item[1]), item[0]))


def _units(source: Any) -> dict[str, str]:
    """The declared units of records; frames have none, though polars' have a `schema` as well."""
    schema = () if hasattr(source, "columns") else getattr(source, "schema", None) or ()
    return {field.name: field.unit for field in schema}


def _label_codes(ax: Axes, codes: list[tuple[str, list[Point]]]) -> None:
    """Write each code beside its last fill, at the right edge, no two over each other."""
    ax.margins(y=0.12)
    # The scale of the axes is only known once they are laid out; no canvas is needed for that.
    ax.figure.canvas.figure.draw_without_rendering()
    low, high = ax.get_ylim()
    wanted = []
    for code, part in codes[:LABELLED_CODES]:
        place = float(
            ax.transAxes.inverted().transform(ax.transData.transform((0, part[-1][3])))[1]
        )
        wanted.append((place, code))
    wanted.sort()
    line = 12 * ax.figure.get_dpi() / 72 / ax.get_window_extent().height
    top = -1.0
    for place, code in wanted:
        top = max(place, top + line)
        ax.annotate(
            code,
            (1.0, top),
            xycoords="axes fraction",
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            annotation_clip=False,
        )
    ax.set_ylim(low, high)
