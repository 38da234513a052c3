"""Plots what `make simulate PLOT=FILE` has written, into docs/pictures/fleet.png."""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

OUT = Path(__file__).parent.parent / "docs/pictures/fleet.png"
NAMES = ["slow", "half 503", "429", "429, Retry-After", "restart", "3 times the capacity"]
WINDOW = 10


def main(file: str, begin: int, end: int) -> None:
    """Draws the goodput of each scenario, for boardlot and for plain backoff."""
    runs = {}
    for line in Path(file).read_text().splitlines():
        run = json.loads(line)
        pages = run["pages"]
        means = [sum(pages[i : i + WINDOW]) / WINDOW for i in range(len(pages) - WINDOW)]
        runs.setdefault((run["kind"], run["name"]), means)
    figure, axes = plt.subplots(2, 3, figsize=(11, 5.2), sharex=True, layout="constrained")
    for axis, name in zip(axes.flat, NAMES, strict=True):
        axis.axvspan(begin / 60, end / 60, color="#eeeeee")
        for kind, label, colour in (
            ("Plain", "plain exponential backoff", "#d97706"),
            ("Logins", "boardlot", "#1d4ed8"),
        ):
            means = runs[kind, name]
            axis.plot([i / 60 for i in range(len(means))], means, color=colour, label=label)
        axis.set_title(name, fontsize=10)
        axis.set_ylim(0)
    for axis in axes[1]:
        axis.set_xlabel("minutes")
    for axis in axes[:, 0]:
        axis.set_ylabel("pages per second")
    axes.flat[0].legend(fontsize=8)
    figure.savefig(OUT, dpi=110)
    print(OUT)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
