"""The results as text, as `results.md` and as a chart."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .harness import Limit, Row, Taken, Target, cores, ratio_of
from .machine import State

SCALES = {"": 1.0, "s": 1.0, "ms": 1e3, "µs": 1e6, "MB": 1e-6, "kB": 1e-3}
MEASURES = {
    "seconds": "",
    "cpu": " of CPU",
    "peak": " of peak memory",
    "size": "",
    "instructions": " of instructions",
}
PEERS = [
    "requests", "httpx", "httpx2", "urllib3", "aiohttp", "uvloop", "pyreqwest", "rnet", "primp",
    "httpr", "orjson", "msgspec", "PyNaCl", "cryptography", "pandas", "polars", "pyarrow",
]  # fmt: skip


def shown(value: float, unit: str) -> str:
    value = 1 / value if unit == "/s" else value * SCALES[unit]
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values: list[float], unit: str) -> str:
    """The best and the worst value of few rounds, or the middle half of many."""
    if len(values) > 9:
        low, _, high = statistics.quantiles(values, n=4)
    else:
        low, high = min(values), max(values)
    low, high = sorted((low, high), reverse=unit == "/s")
    return f"{shown(low, unit)} to {shown(high, unit)}" if low != high else ""


def small(seconds: float) -> str:
    unit = "s" if seconds >= 1 else "ms" if seconds >= 1e-3 else "µs"
    return f"{shown(seconds, unit)} {unit}"


def table(row: Row) -> Iterator[str]:
    """One row of the results, in Markdown."""
    yield f"### {row.title}"
    yield ""
    yield f"{row.work[0].upper()}{row.work[1:]}."
    yield ""
    every = row.taken.values()
    measures = [
        name
        for name in ("cpu", "peak", "instructions")
        if name != row.measure and any(getattr(taken, name) for taken in every)
    ]
    heads = {"cpu": "CPU", "peak": "peak MB", "instructions": "instructions"}
    columns = [row.unit, "rounds", "ratio", *(heads[name] for name in measures)]
    yield f"| | {' | '.join(columns)} |"
    yield "|---|" + "---:|" * len(columns)
    base = row.taken[row.ours]
    for name, taken in row.taken.items():
        middle = taken.median(row.measure)
        ratio = ratio_of(taken, base, row.measure)
        ratio = f"{ratio:.2f}" if ratio is not None else ""
        cells = [shown(middle, row.unit), spread(getattr(taken, row.measure), row.unit), ratio]
        if "cpu" in measures:
            cells.append(small(taken.median("cpu") or 0.0))
        if "peak" in measures:
            cells.append(shown(taken.median("peak") or 0.0, "MB") if taken.peak else "")
        if "instructions" in measures:
            counted = taken.instructions
            middle = shown(taken.median("instructions") or 0.0, "") if counted else ""
            cells.append(f"{middle} ({spread(counted, '')})" if len(counted) > 1 else middle)
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""
    for note in row.notes:
        yield f"{note}"
        yield ""


def verdict(row: Row, target: Target | Limit) -> tuple[str, str, str]:
    """The target, the result, and whether it is met."""
    what = MEASURES[target.measure]
    mine = row.taken.get(target.ours, Taken())
    ours = mine.median(target.measure)
    if isinstance(target, Limit):
        unit = "ms" if target.most >= 1e-3 else "µs"
        if target.measure in {"peak", "size"}:
            unit = "MB" if target.most >= 1e6 else "kB"
        asked = f"{target.ours}: under {target.most * SCALES[unit]:g} {unit}{what}"
        if ours is None:
            return asked, "not measured", ""
        return asked, f"{shown(ours, unit)} {unit}", "yes" if ours < target.most else "**no**"
    theirs = {
        name: value
        for name in target.theirs
        if name in row.taken
        and (value := ratio_of(row.taken[name], mine, target.measure)) is not None
    }
    against = target.theirs[0] if len(target.theirs) == 1 else "the best of its peers"
    asked = f"{target.ours}: {target.factor:g} x {against}{what}"
    if ours is None or not theirs:
        return asked, "not measured", ""
    best = min(theirs, key=theirs.__getitem__)
    seen = theirs[best]
    name = "" if len(target.theirs) == 1 else f" ({best})"
    return asked, f"{seen:.2f} x{name}", "yes" if seen >= target.factor else "**no**"


def machine(state: State) -> Iterator[str]:
    now = datetime.now(timezone.utc)
    yield f"- {now:%Y-%m-%d %H:%M} UTC, boardlot {version('boardlot')}"
    yield f"- {processor()}, {cores()} cores, {platform.system()} {platform.machine()}"
    yield f"- {platform.python_implementation()} {platform.python_version()}"
    yield from (f"- {line}" for line in state.lines())
    for problem in state.problems():
        yield f"- **{problem}**: measured all the same"
    yield f"- load of the machine after: {os.getloadavg()[0]:.1f}"
    yield "- " + ", ".join(f"{name} {release}" for name, release in releases())


def releases() -> Iterator[tuple[str, str]]:
    for name in PEERS:
        with suppress(PackageNotFoundError):
            yield name, version(name)


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def markdown(rows: list[Row], left_out: dict[str, str], quick: bool, state: State) -> str:
    lines = ["# Results", ""]
    if quick:
        lines += ["A quick run: less work in each round, so more noise.", ""]
    lines += [*machine(state), ""]
    lines += ["Medians; how to read them is in [README.md](README.md).", ""]
    lines += ["## Targets", ""]
    lines += ["| Row | Target | Seen | Reached | Reason |", "|---|---|---:|---|---|"]
    for row in rows:
        for target in row.targets:
            cells = [row.title, *verdict(row, target), target.reason]
            lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    for topic, reason in left_out.items():
        lines += [f"Not measured: `{topic}`: {reason}.", ""]
    name = "results-quick" if quick else "results"
    lines += [f"![Ratios to boardlot]({name}.png)", ""]
    if any(row.is_curve for row in rows):
        lines += [f"![How costs grow]({name}-growth.png)", ""]
    lines += ["## Rows", ""]
    for row in rows:
        lines += table(row)
    return "\n".join(lines).rstrip() + "\n"


def curves(rows: list[Row], path: Path) -> None:
    """Draws the cost of a unit of work at each size, as a multiple of the cost at the first
    size."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    rows = [row for row in rows if row.is_curve]
    if not rows:
        return
    columns = min(3, len(rows))
    lines = -(-len(rows) // columns)
    figure, places = plt.subplots(
        lines, columns, figsize=(3 * columns, 2.2 * lines), squeeze=False, layout="constrained"
    )
    for axes in places.flat[len(rows) :]:
        axes.set_visible(False)
    for axes, row in zip(places.flat, rows, strict=False):
        sizes = [int(name.split(" ")[0].replace(",", "")) for name in row.taken]
        also = ["cpu"] if row.measure == "seconds" else []
        for measure, color in zip([row.measure, *also], ["#d9480f", "#868e96"], strict=False):
            values = [taken.median(measure) for taken in row.taken.values()]
            if all(values):
                shown_as = {"seconds": "time", "cpu": "CPU", "size": "memory"}[measure]
                relative = [value / values[0] for value in values]
                axes.plot(sizes, relative, marker="o", markersize=3, color=color, label=shown_as)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.axhline(1.0, color="#ced4da", linewidth=0.6, zorder=0)
        axes.set_title(row.title, fontsize=7)
        axes.tick_params(labelsize=6)
        axes.legend(fontsize=6, frameon=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def chart(rows: list[Row], path: Path) -> None:
    """Draws the peers' times, as multiples of boardlot's, on a logarithmic axis."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    bars: list[tuple[str, str, float] | None] = []
    for row in rows:
        if not row.targets or row.measure != "seconds" or len(row.taken) < 2:
            continue
        for name, taken in row.taken.items():
            ratio = ratio_of(taken, row.taken[row.ours], row.measure)
            if ratio is not None:
                bars.append((row.title, name, max(ratio, 1e-3)))
        bars.append(None)
    figure, axes = plt.subplots(figsize=(8, 0.16 * len(bars) + 1.0))
    title = ""
    labels = []
    places = range(len(bars), 0, -1)
    for place, bar in zip(places, bars, strict=True):
        labels.append(bar[1] if bar else "")
        if bar is None:
            continue
        if bar[0] != title:
            title = bar[0]
            beside = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": 6}
            axes.text(1.02, place, title, **beside)
        color = "#d9480f" if bar[1].startswith("boardlot") else "#868e96"
        axes.barh(place, bar[2] - 1, left=1, color=color, height=0.7)
        axes.plot(bar[2], place, marker="o", markersize=3, color=color)
        # The text is outside of the bar, which begins at 1.
        where, align = (bar[2] / 1.05, "right") if bar[2] < 1 else (bar[2] * 1.05, "left")
        axes.text(where, place, f"{bar[2]:.2f}", va="center", ha=align, fontsize=5)
    axes.axvline(1.0, color="#d9480f", linewidth=0.6)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(list(places), labels, fontsize=5)
    axes.set_xlabel("time as a multiple of boardlot's: to the right is slower", fontsize=7)
    axes.tick_params(axis="x", labelsize=6)
    axes.set_ylim(0, len(bars) + 1)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
