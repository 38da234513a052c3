"""IPOs as a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

from boardlot._calls import explained
from boardlot._support.tables.cell_format import counted
from boardlot._support.third_party import Axes
from boardlot.plots import style
from boardlot.plots.style import day, rows, text, units

# Color, marker and name in the legend; in print, the markers distinguish them.
MARKERS = {
    "draw": (style.PALETTE[3], "P", "Retail ballot"),
    "ballot": (style.ORANGE, "D", "Ballot announced"),
    "grey_market": (style.GREY, "s", "Grey market"),
    "listing": (style.PALETTE[2], "*", "Listing"),
}
SUBSCRIPTION = style.PALETTE[4]
DAY = timedelta(days=1)
# More lines than these are unreadable, and take minutes to draw.
MAX_LINES = 100
NAME_WIDTH = 26


@explained
def ipos(records_or_frame: Any, ax: Axes | None = None) -> Axes:
    """A line for each IPO, by market and date: a bar for its subscription, markers for the rest.

    Args:
        records_or_frame: An `IpoCalendar`, or a pandas, polars or pyarrow frame of it, with the
            columns `code`, `event` and `date`, and optionally `market`, `name`, `opens` and
            `closes`; or the `Records` of one market's `ipo_list`.
        ax: The Axes to draw into; `None` makes a new figure, as high as the lines need.

    Returns:
        The Axes, whose x axis has the days of each market's own time zone. A bar has the length of
        the subscription, also if the events were filtered by date. If only one end is known, the
        bar covers that day. Of more than 100 IPOs, the 100 with the latest dates are shown; dates
        before 1900 or after 2199 are not; the title says so.

    Raises:
        ImportError: matplotlib is not installed.
        ConfigError: A column is missing.

    Example:
        >>> from boardlot import plots
        >>> plots.ipos(client.ipo_list("hk")).get_xlabel()
        "Date (each market's own time zone)"
    """
    lines, title = drawn_lines(records_or_frame)
    ax = style.axes(ax, "ipos", (10, 1.6 + 0.25 * max(len(lines), 3)))
    from matplotlib import dates

    for position, line in enumerate(lines):
        _draw(ax, position, line)
    labels = [
        f"{style.drawable(line.name, NAME_WIDTH)}  {style.label(line.code)}".strip()
        for line in lines
    ]
    ax.set_yticks(range(len(lines)), labels, fontsize=8, **style.PLAIN)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    for position in range(1, len(lines)):
        if lines[position].market != lines[position - 1].market:
            ax.axhline(position - 0.5, color=style.GREY, linewidth=0.6, alpha=0.5)
    if lines:
        locator = dates.AutoDateLocator(minticks=5)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        # Otherwise bars would end at the edge of the chart.
        ax.use_sticky_edges = False
        ax.margins(x=0.02)
        _legend(ax, lines)
    ax.set_xlabel("Date (each market's own time zone)")
    style.finish(ax, title, empty=not lines, grid="x", pad=26)
    ax.spines["left"].set_visible(False)
    return ax


def drawn_lines(source: Any) -> tuple[list[_Line], str]:
    """The lines to draw, and the title."""
    found = ipo_lines(source)
    dated = sorted((line for line in found if line.days), key=lambda line: max(line.days.values()))
    codes = {line.code for line in dated[-MAX_LINES:]}
    lines = [line for line in found if line.code in codes]
    beyond = sum(len(line.beyond) for line in found)
    dates = f"; not drawn: {counted(beyond, 'date')} of other centuries" if beyond else ""
    markets = counted(len({line.market for line in lines}), "market")
    return lines, f"{style.of_all(len(lines), len(found), 'IPO')} of {markets}{dates}"


class _Line(NamedTuple):
    market: str
    code: str
    name: str
    days: dict[str, date]
    subscribed: set[date]
    # Dates that are not drawn.
    beyond: set[date]

    @property
    def subscription(self) -> tuple[date, date] | None:
        """The first and last day of the subscription; the same day if only one is known."""
        ends = [self.days[event] for event in ("opening", "closing") if event in self.days]
        ends += self.subscribed
        return (min(ends), max(ends)) if ends else None

    @property
    def marks(self) -> dict[str, datetime]:
        """The times at which the other events are drawn: within their days, and apart on the same
        day.
        """
        places = {}
        for event in MARKERS:
            if event in self.days:
                day = self.days[event]
                shared = [other for other in MARKERS if self.days.get(other) == day]
                part = (shared.index(event) + 1) / (len(shared) + 1)
                places[event] = _midnight(day) + DAY * part
        return places


def _calendar(source: Any) -> Any:
    if "list_timestamp" not in units(source):
        return source
    from boardlot.calendar import IpoCalendar

    prefix = text(source[0].get("code")).partition(".")[0].lower() if source else "hk"
    # A-shares have the prefixes of their exchanges.
    return IpoCalendar.of(prefix if prefix in ("hk", "us", "sg", "my") else "cn", source)


def ipo_lines(source: Any) -> list[_Line]:
    found: dict[str, _Line] = {}
    optional = ("market", "name", "opens", "closes")
    for code, event, when, market, name, opens, closes in rows(
        _calendar(source), ("code", "event", "date"), optional=optional
    ):
        event_day = day(when)
        if event_day is None:
            continue
        new = _Line(text(market), text(code), text(name), {}, set(), set())
        line = found.setdefault(text(code), new)
        # If the calendar was filtered by date, the row with the other end may be gone.
        ends = set(filter(None, map(day, (opens, closes))))
        beyond = {each for each in (event_day, *ends) if each.year not in style.YEARS}
        line.beyond.update(beyond)
        line.subscribed.update(ends - beyond)
        if event_day not in beyond:
            line.days[text(event)] = event_day
    first = {line.code: min(line.days.values(), default=date.max) for line in found.values()}
    return sorted(found.values(), key=lambda line: (line.market, first[line.code]))


def _draw(ax: Axes, position: int, line: _Line) -> None:
    if line.subscription:
        first, last = _midnight(line.subscription[0]), _midnight(line.subscription[1]) + DAY
        ax.barh(position, last - first, left=first, height=0.5, color=SUBSCRIPTION)  # type: ignore[arg-type]
    for event, place in line.marks.items():
        color, marker, _ = MARKERS[event]
        at: Any = place
        size = 70 if marker == "*" else 28
        ax.scatter(at, position, s=size, c=color, marker=marker, zorder=3, linewidths=0)


def _midnight(value: date) -> datetime:
    return datetime.combine(value, time())


def _legend(ax: Axes, lines: Sequence[_Line]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    events = {event for line in lines for event in line.days}
    handles: list[Any] = []
    if any(line.subscription for line in lines):
        handles.append(Patch(color=SUBSCRIPTION, label="Subscription"))
    for event, (color, marker, label) in MARKERS.items():
        if event in events:
            size = 9 if marker == "*" else 5.5
            look: dict[str, Any] = {"marker": marker, "markersize": size, "linestyle": "none"}
            handles.append(Line2D([], [], color=color, label=label, **look))
    # Between title and axes, where there are no lines.
    where: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    style.legend(ax, handles=handles, ncols=len(handles), fontsize=9, **where)
