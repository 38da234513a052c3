"""Helpers shared by all charts: columns of records or frames as Python values, colors, figures,
axes, and labels that do not overlap."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from math import isfinite
from typing import Any, Literal, NamedTuple

from boardlot._support.extras import needs
from boardlot._support.tables.cell_format import EPOCH, MICROSECONDS, counted
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
# More lines than these are a gray wall; this many have room for a label each.
MAX_LINES = 12
# The height of a panel that each line needs, in points, and the part of the Axes that has panels.
ROOM_OF_A_LINE, PANELS_PART = 24.0, 0.85
# Sizes of the labels of lines, in points.
LABEL_SIZE, LINE_HEIGHT, LABEL_GAP = 9, 12.0, 6.0
# The part of the figure's width that labels beside each other may have.
LABELS_PART = 0.4
DASHES = ("-", "--", "-.")
# An axis that reached beyond these years would show nothing else. The axes of matplotlib end at the
# year 9999.
YEARS = range(1900, 2200)


def axes(ax: Axes | None, name: str, size: tuple[float, float] = (10, 5.5)) -> Axes:
    """The Axes to draw into: the given one, or that of a new figure of this size in inches."""
    with needs("matplotlib", "notebook", f"plots.{name}()"):
        import matplotlib.axes
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    elif not isinstance(ax, matplotlib.axes.Axes):
        raise ConfigError(
            f"ax is of type {type(ax).__name__}; expected one Axes of matplotlib, such as that of "
            "`figure, ax = plt.subplots()`",
            hint="Pass one Axes of an array: axes[0]."
            if hasattr(ax, "shape")
            else "Pass other arguments by name, as in plots.positions(positions, value='profit').",
        )
    return ax


def palette(ax: Axes) -> tuple[str, ...]:
    """The colors of lines, with white for black if the Axes are dark."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.get_facecolor())
    dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK
    return tuple("#ffffff" if dark and color == "#000000" else color for color in PALETTE)


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


def title(ax: Axes, text: str) -> None:
    """The title, broken into lines that the figure has room for."""
    figure = ax.figure
    figure.canvas.figure.draw_without_rendering()
    area, page = ax.get_window_extent(), figure.canvas.figure.bbox
    middle = (area.x0 + area.x1) / 2
    inches = 2 * min(middle - page.x0, page.x1 - middle) / figure.get_dpi()
    # At 12 points, some 10 characters an inch.
    lines = textwrap.wrap(text, max(20, int(inches * 10))) if text.isprintable() else [text]
    ax.set_title("\n".join(lines), pad=6, **PLAIN)


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
    """The values that occur most often, one for each panel."""
    return {group for group, _ in Counter(groups).most_common(MAX_PANELS)}


def drawn_lines(weights: Mapping[tuple[str, str], float], ax: Axes | None) -> set[tuple[str, str]]:
    """The lines to draw, of these panels and names: in each panel the largest, as many as have room
    for their labels in the Axes, or in a figure as high as `figure_height`."""
    panels = {panel for panel, _ in weights}
    if ax is None:
        room = figure_height(len(panels)) * 72 * 0.75
    else:
        room = ax.get_window_extent().height * 72 / ax.figure.get_dpi()
    most = int(PANELS_PART * room / max(1, len(panels)) / ROOM_OF_A_LINE)
    most = max(2, min(MAX_LINES, most))
    drawn: set[tuple[str, str]] = set()
    for panel in panels:
        own = [line for line in weights if line[0] == panel]
        drawn.update(sorted(own, key=lambda line: (-weights[line], line))[:most])
    return drawn


def figure_height(panels: int) -> float:
    """The height in inches of a figure with this many panels."""
    return 5.5 if panels < 2 else 1.2 + 2.4 * panels


def of_all(shown: int, found: int, noun: str) -> str:
    """A count for a title, which says so if not all are shown."""
    return f"{shown} of {counted(found, noun)}" if shown < found else counted(found, noun)


def utc_axis(ax: Axes) -> None:
    """Dates on the x axis, in UTC, in the shortest form."""
    from matplotlib import dates

    inches = ax.get_window_extent().width / ax.figure.get_dpi()
    most = max(3, int(inches * 1.6))
    locator = dates.AutoDateLocator(  # type: ignore[no-untyped-call]
        tz=timezone.utc, minticks=2, maxticks=most
    )
    ax.xaxis.set_major_locator(locator)
    formatter = dates.ConciseDateFormatter(locator, tz=timezone.utc)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)


def far_apart(values: Iterable[float]) -> bool:
    """True if values of one panel are unreadable on a linear axis."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) / min(positive) > LINEAR_RATIO


def far_apart_within(values: Iterable[tuple[str, float]]) -> bool:
    """True if values of any panel are unreadable on a linear axis; each has its panel's name."""
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


class End(NamedTuple):
    """The end of a line: its label, where it is in data coordinates, and its color."""

    label: str
    x: Any
    y: float
    color: str


def label_ends(ax: Axes, ends: Sequence[End]) -> None:
    """Write a label at the right edge for each line, at the height at which the line ends.

    Labels that would overlap are written beside each other, and a dotted rule leads from the end of
    a line to its label. If so many lines end close together that the chart had no room beside their
    labels, the labels are below each other, in the order of the ends.

    Args:
        ax: Axes with all data drawn: later changes of their limits would move the lines.
        ends: The ends of the lines.
    """
    from matplotlib.text import Text
    from matplotlib.transforms import blended_transform_factory, offset_copy

    # The scale is known only after the layout, which needs no canvas.
    figure = ax.figure
    figure.canvas.figure.draw_without_rendering()
    limits = ax.get_ylim()
    edge = blended_transform_factory(ax.transAxes, ax.transData)
    # The right edges of the labels placed so far, in points from the edge, with their heights.
    placed: list[tuple[float, float, float]] = []
    texts: list[Text] = []
    points = 72 / figure.get_dpi()
    heights = [float(ax.transData.transform((0.0, end.y))[1]) * points for end in ends]
    ordered = sorted(zip(ends, heights, strict=True), key=lambda pair: -pair[1])
    for end, height in ordered:
        # Also the label of a line that ends before the edge keeps clear of it.
        beside = [right for right, low, high in placed if low < height < high]
        left = max(beside, default=LABEL_GAP)
        place = offset_copy(edge, figure.canvas.figure, x=left, y=0, units="points")
        texts.append(_label_end(ax, end, end.y, place))
        width = Text.get_window_extent(texts[-1]).width * points
        placed.append((left + width + LABEL_GAP, height - LINE_HEIGHT, height + LINE_HEIGHT))
    right = max((right for right, _, _ in placed), default=0.0)
    if right > LABELS_PART * figure.canvas.figure.bbox.width * points:
        for text in texts:
            text.remove()
        area = ax.get_window_extent()
        page = figure.canvas.figure
        place = offset_copy(ax.transAxes, page, x=3 * LABEL_GAP, y=0, units="points")
        room = area.height * points
        wanted = [height - area.y0 * points for _, height in ordered]
        for (end, _), height in zip(ordered, _below_each_other(wanted, room), strict=True):
            _label_end(ax, end, height / room, place)
    ax.set_ylim(*limits)


def _label_end(ax: Axes, end: End, y: float, place: Any) -> Any:
    """The label of a line at the right edge of the Axes, at this height of the coordinates."""
    return ax.annotate(
        end.label,
        xy=(end.x, end.y),
        xytext=(1.0, y),
        textcoords=place,
        va="center",
        fontsize=LABEL_SIZE,
        color=end.color,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-", "linestyle": ":", "linewidth": 0.8, "color": end.color,
            "alpha": 0.7, "shrinkA": 1, "shrinkB": 0, "relpos": (0.0, 0.5),
        },
        **PLAIN,
    )  # fmt: skip


def _below_each_other(heights: Sequence[float], room: float) -> list[float]:
    """The heights from the top, moved apart by a line each, and no lower than 0."""
    moved: list[float] = []
    for height in heights:
        moved.append(min([height, *(above - LINE_HEIGHT for above in moved[-1:])]))
    lowest = 0.0
    for index in reversed(range(len(moved))):
        moved[index] = max(moved[index], lowest)
        lowest = moved[index] + LINE_HEIGHT
    return moved


def legend(ax: Axes, **look: Any) -> None:
    """A legend whose labels are drawn unchanged."""
    for entry in ax.legend(frameon=False, **look).get_texts():
        entry.update(PLAIN)


def make_room_for_legend(ax: Axes) -> None:
    """Raise the upper limit of the y axis, so that no data is behind the legend at the top."""
    ax.figure.canvas.figure.draw_without_rendering()
    legend = ax.get_legend()
    if legend is None:
        return
    part = min(0.6, legend.get_window_extent().height / ax.get_window_extent().height + 0.1)
    scale = ax.yaxis.get_transform()
    low, high = (float(scale.transform(value)) for value in ax.get_ylim())
    top = low + (high - low) / (1 - part)
    ax.set_ylim(top=float(scale.inverted().transform(top)))


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
    from matplotlib import font_manager

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
        index = getattr(getattr(source, "index", None), "names", ())
        if found := [name for name in names if name not in columns and name in index]:
            raise ConfigError(f"{found[0]!r} is the index of the frame: pass frame.reset_index()")
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
    if not isinstance(row, Mapping):
        kind = type(row).__name__
        raise ConfigError(f"the chart needs Records, or a frame of them; found a {kind} as a row")
    if absent := [name for name in names if name not in row]:
        columns = " and ".join(f"{name!r}" for name in absent)
        raise ConfigError(
            f"the chart needs the column{'' if len(absent) == 1 else 's'} {columns}; the data has "
            f"{', '.join(map(str, row))}"
        )
    return tuple(row.get(name) for name in (*names, *optional))
