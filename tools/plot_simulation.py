"""Plots the file that `PLOT=FILE tools/nightly/simulate` has written, into
docs/pictures/fleet.png."""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

OUT = Path(__file__).parent.parent / "docs/pictures/fleet.png"
NAMES = ["slow", "half 503", "429", "429, Retry-After", "restart", "3 times the capacity"]
WINDOW = 10
# After this many seconds, each page has come in time or has not.
SETTLED = 10


def main(file: str, begin: int, end: int) -> None:
    """Draws the goodput of each scenario, for boardlot and for plain backoff."""
    runs = {}
    for line in Path(file).read_text().splitlines():
        run = json.loads(line)
        shares = [
            100 * sum(run["in_time"][i : i + WINDOW]) / sum(run["wanted"][i : i + WINDOW])
            for i in range(len(run["wanted"]) - WINDOW - SETTLED)
        ]
        runs.setdefault((run["kind"], run["name"]), shares)
    figure, axes = plt.subplots(6, 1, figsize=(3.8, 14.4), sharex=True, layout="constrained")
    for axis, name in zip(axes.flat, NAMES, strict=True):
        axis.axvspan(begin / 60, end / 60, color="#eeeeee")
        for kind, label, color in (
            ("Plain", "plain exponential backoff", "#d97706"),
            ("Logins", "boardlot", "#1d4ed8"),
        ):
            shares = runs[kind, name]
            axis.plot([i / 60 for i in range(len(shares))], shares, color=color, label=label)
        axis.set_title(name, fontsize=10)
        axis.set_ylim(0)
        axis.set_ylabel("% received in time")
    axes.flat[-1].set_xlabel("minutes")
    axes.flat[0].legend(fontsize=8)
    figure.savefig(OUT, dpi=110)
    print(OUT)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
