"""Helpers shared by all charts: columns of records or frames as Python values, colours, figures,
axes, and labels that do not overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

from boardlot._support.cell_format import EPOCH, MICROSECONDS, counted
from boardlot._support.extras import needs
from boardlot._support.third_party import Axes, GridSpecBase
from boardlot.errors import ConfigError
from boardlot.records import Records

# The palette of Okabe and Ito without its yellow, which is too pale for lines.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
BLUE, ORANGE = PALETTE[:2]
GREY = "#7f7f7f"
# Below this luminance a background is dark.
DARK = 0.4
# Text from the service is drawn unchanged: neither as math nor as TeX.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
# Labels are cut to this width, so that they leave space for the chart.
LABEL_WIDTH = 40
# Values further apart than this are unreadable on a linear axis.
LINEAR_RATIO = 8.0
# More panels than these are unreadable, and take minutes to draw.
MAX_PANELS = 8
# An axis that reached beyond would show nothing else. Those of matplotlib end at the year 9999.
YEARS = range(1900, 2200)


def axes(ax: Axes | None, name: str, size: tuple[float, float] = (10, 5.5)) -> Axes:
    """The Axes to draw into: the given one, or that of a new figure of this size in inches."""
    with needs("matplotlib", "notebook", f"plots.{name}()"):
        import matplotlib.figure  # noqa: F401
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def palette(ax: Axes) -> tuple[str, ...]:
    """The colours of lines, with white for black if the Axes are dark."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.get_facecolor())
    dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK
    return tuple("#ffffff" if dark and colour == "#000000" else colour for colour in PALETTE)


def finish(
    ax: Axes,
    title: str,
    *,
    empty: bool,
    grid: Literal["both", "x", "y"] = "both",
    pad: float = 6,
) -> None:
    """Set the title, `pad` points above the Axes, a faint grid, and no box."""
    ax.set_title(title, pad=pad, **PLAIN)
    if empty:
        # Without tick labels: a date formatter fails if there are no dates.
        ax.set(xticks=[], xticklabels=[], yticks=[], yticklabels=[])
        look = {"ha": "center", "va": "center", "color": GREY}
        ax.text(0.5, 0.5, "nothing to show", transform=ax.transAxes, **look)  # type: ignore[arg-type]
    ax.grid(axis=grid, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def panels(ax: Axes, count: int, heights: Sequence[float] | None = None) -> list[Axes]:
    """`count` Axes below each other in the area of this one, which becomes the first.

    They share their x axis, which only the last one labels. With relative `heights`, each has an
    x axis of its own.
    """
    if count == 1:
        return [ax]
    figure = ax.figure
    spec = ax.get_subplotspec()
    box = ax.get_position()
    edges = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
    rows: dict[str, Any] = {} if heights is None else {"height_ratios": heights}
    if heights is not None and ax.figure.canvas.figure.get_layout_engine() is None:
        # Space for the labels of the x axes.
        rows["hspace"] = 0.5
    cells: GridSpecBase = (
        figure.add_gridspec(count, 1, **edges, **rows)
        if spec is None
        else spec.subgridspec(count, 1, **rows)
    )
    ax.set_subplotspec(cells[0])
    shared = {} if heights is not None else {"sharex": ax}
    others = [figure.add_subplot(cells[row], **shared) for row in range(1, count)]
    if shared:
        for upper in [ax, *others[:-1]]:
            upper.tick_params(labelbottom=False)
    return [ax, *others]


def largest(groups: Iterable[str]) -> set[str]:
    """As many as there can be panels: those that occur most often."""
    return {group for group, _ in Counter(groups).most_common(MAX_PANELS)}


def of_all(shown: int, found: int, noun: str) -> str:
    """The number of what is shown, for a title, which says so if that is not all."""
    return f"{shown} of {counted(found, noun)}" if shown < found else counted(found, noun)


def utc_axis(ax: Axes) -> None:
    """Dates on the x axis, in UTC, in the shortest form."""
    from matplotlib import dates

    locator = dates.AutoDateLocator(tz=timezone.utc)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = dates.ConciseDateFormatter(locator, tz=timezone.utc)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)


def far_apart(values: Iterable[float]) -> bool:
    """True if values of one panel are unreadable on a linear axis."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) / min(positive) > LINEAR_RATIO


def far_apart_within(values: Iterable[tuple[str, float]]) -> bool:
    """The same for values of several panels, each with the name of its panel."""
    panels: dict[str, list[float]] = {}
    for panel, value in values:
        panels.setdefault(panel, []).append(value)
    return any(map(far_apart, panels.values()))


def spread_values(panels: Sequence[Axes], values: Sequence[Sequence[float]]) -> None:
    """Make the y axes logarithmic, with plain numbers, if the values of a panel are far apart.

    All panels of a chart have the same kind of scale, so that slopes can be compared.
    """
    from matplotlib import ticker

    if not any(map(far_apart, values)):
        return
    for ax in panels:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_minor_formatter(ticker.NullFormatter())
        ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))


def label_ends(ax: Axes, ends: Sequence[tuple[str, float, str]]) -> None:
    """Write labels at the right edge, next to their values on the y axis, without overlaps.

    Args:
        ax: Axes with all data drawn: later changes of its limits would move the values.
        ends: Label, value and colour of each.
    """
    # The scale is known only after the layout, which needs no canvas.
    ax.figure.canvas.figure.draw_without_rendering()
    low, high = ax.get_ylim()
    to_axes = ax.transData + ax.transAxes.inverted()
    wanted = sorted(
        (float(to_axes.transform((0, value))[1]), label, colour) for label, value, colour in ends
    )
    line = 12 * ax.figure.get_dpi() / 72 / ax.get_window_extent().height
    # First upwards from the lowest; then down again if the topmost would leave the chart.
    heights = [height for height, *_ in wanted]
    for index in range(1, len(heights)):
        heights[index] = max(heights[index], heights[index - 1] + line)
    ceiling = 1.0
    for index in reversed(range(len(heights))):
        heights[index] = min(heights[index], ceiling)
        ceiling = heights[index] - line
    for height, (_, label, colour) in zip(heights, wanted, strict=True):
        ax.annotate(
            label,
            (1.0, height),
            xycoords="axes fraction",
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=colour,
            annotation_clip=False,
            **PLAIN,
        )
    ax.set_ylim(low, high)


def legend(ax: Axes, **look: Any) -> None:
    """A legend whose labels are drawn unchanged."""
    for entry in ax.legend(frameon=False, **look).get_texts():
        entry.update(PLAIN)


def drawable(name: str, width: int = LABEL_WIDTH) -> str:
    """The name, cut to the width, or `""` if matplotlib's font lacks one of its characters."""
    shown = _cut(name, width)
    return shown if all(map(_has_glyph, set(shown))) else ""


def label(code: str, width: int = LABEL_WIDTH) -> str:
    """The code as a label, cut to the width, with `?` for characters without a glyph."""
    shown = "".join(char if _has_glyph(char) else "?" for char in _cut(code, width))
    # A legend leaves out labels that begin with an underscore.
    return f" {shown}" if shown.startswith("_") else shown


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


@lru_cache(maxsize=4096)
def _has_glyph(char: str) -> bool:
    try:
        from matplotlib import font_manager
    except ImportError:
        # A browser, which draws the interactive charts, has fonts of its own.
        return True
    file = font_manager.findfont(font_manager.FontProperties())
    return bool(font_manager.get_font(file).get_char_index(ord(char)))


def rows(
    source: Any, names: Sequence[str], *, optional: Sequence[str] = ()
) -> Iterable[tuple[Any, ...]]:
    """The values of these columns, then of the optional ones, which are `None` if absent.

    Raises:
        ConfigError: A column that is not optional is missing.
        ProtocolError: A value of `Records` is not of its field's kind, as in `to_pandas`.
    """
    if isinstance(source, Records):
        # As in a frame, `None` for a declared field that was not sent.
        declared = dict.fromkeys(field.name for field in source.schema)
        source = [{**declared, **row} for row in source.to_dicts(typed=True)]
    elif (columns := getattr(source, "column_names", getattr(source, "columns", None))) is not None:
        # A frame, also one without rows.
        _fields(dict.fromkeys(columns), names, ())
        known = [name for name in (*names, *optional) if name in list(columns)]
        series = [source[name] for name in known]
        values = [one.to_pylist() if hasattr(one, "to_pylist") else one for one in series]
        source = (dict(zip(known, row, strict=True)) for row in zip(*values, strict=True))
    return (_fields(row, names, optional) for row in source)


def units(source: Any) -> dict[str, str]:
    """The declared units of records; the fields of a frame's schema have none."""
    schema = getattr(source, "schema", ())
    fields = (field for field in schema if hasattr(field, "name") and hasattr(field, "unit"))
    return {field.name: field.unit for field in fields}


def time_of(value: Any, unit: str = "us") -> datetime | None:
    """The time in a frame, or the one that the service sent as a count since 1970; in UTC."""
    if isinstance(value, datetime):
        # NaT is a datetime too, the only one that is not equal to itself.
        if value != value:
            return None
        # At the ends of the calendar, UTC may be beyond it.
        with suppress(OverflowError):
            return value.astimezone(timezone.utc) if value.tzinfo else value
        return value.replace(tzinfo=timezone.utc)
    if value in (None, "", 0, "0") or value != value:
        return None
    try:
        return EPOCH + timedelta(microseconds=int(value) * MICROSECONDS[unit])
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(
            f"{str(value)[:64]!r} is not a valid time; expected a datetime, or {unit} since 1970 "
            "up to the year 9999"
        ) from None


def day(value: Any) -> date | None:
    """The date in a frame, or the one that the service sent as `YYYY-MM-DD` or `YYYY/MM/DD`."""
    if isinstance(value, datetime):
        return value.date() if value == value else None
    if isinstance(value, date):
        return value
    if value in (None, "", "--") or value != value:
        return None
    try:
        return date.fromisoformat(str(value).replace("/", "-"))
    except ValueError:
        raise ConfigError(
            f"{value!r} is not a valid date; expected one such as '2026-01-31'"
        ) from None


def number(value: Any) -> float | None:
    """The number in a frame, or the one that the service sent as text; `None` if not finite."""
    if value in (None, "") or value != value:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(
            f"{str(value)[:64]!r} is not a valid number; expected one such as '27.10'"
        ) from None
    return found if isfinite(found) else None


def text(value: Any) -> str:
    """The text, or `""` if there is none."""
    return "" if value is None or value != value else str(value)


def _fields(
    row: Mapping[str, Any], names: Sequence[str], optional: Sequence[str]
) -> tuple[Any, ...]:
    if absent := [name for name in names if name not in row]:
        columns = " and ".join(f"{name!r}" for name in absent)
        raise ConfigError(
            f"needs the column{'' if len(absent) == 1 else 's'} {columns}; found {', '.join(row)}"
        )
    return tuple(row.get(name) for name in (*names, *optional))
