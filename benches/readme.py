"""Writes the README's table from results.md: `python -m benches.readme`, or a whole `make bench`.

Each line has the usual way to do the work, and the best way that was measured.
"""

from __future__ import annotations

import re
from pathlib import Path

from .harness import ROOT

README = ROOT / "README.md"
RESULTS = ROOT / "benches" / "results.md"
HEAD = "| | boardlot | The usual way | Ratio | The best way | Ratio |"
# The rows, in the order in which they matter to users, and the usual way of each.
USUAL = {
    "2,000 fills to pandas, 50 ms away": "requests + orjson + pandas",
    "1,000,000 fills to a typed pandas frame": "orjson + pandas",
    "One request after another": "requests",
    "32 tasks, asyncio": "aiohttp",
    "Iterating 1,000,000 rows": "orjson",
}
Cells = dict[str, str]


def write(readme: Path = README, results: Path = RESULTS) -> None:
    """Replaces the table in the README."""
    text = readme.read_text("utf-8")
    table = "\n".join([HEAD, "|---|---:|---|---:|---|---:|", *lines(results.read_text("utf-8"))])
    replaced, count = re.subn(rf"{re.escape(HEAD)}\n(\|.*\n)*", lambda _: f"{table}\n", text)
    if count != 1:
        raise RuntimeError(f"{readme} has {count} tables with the head {HEAD}")
    readme.write_text(replaced, "utf-8")


def lines(results: str) -> list[str]:
    rows = measured(results)
    return [line(title, rows[title], usual) for title, usual in USUAL.items() if title in rows]


def line(title: str, row: dict[str, Cells], usual: str) -> str:
    unit, own = next(iter(row["boardlot"].items()))
    ratios = {
        name: float(cells["ratio"].replace(",", ""))
        for name, cells in row.items()
        if not name.startswith("boardlot")
    }
    best = min(ratios, key=ratios.__getitem__)
    beside = [f"{peer} | {ratios[peer]:.2f} x" for peer in (usual, best)]
    return f"| {title} | {own} {unit} | {' | '.join(beside)} |"


def measured(results: str) -> dict[str, dict[str, Cells]]:
    """The cells of each row and contender, by the heads of their columns."""
    rows = {}
    for section in results.split("\n### ")[1:]:
        title, _, rest = section.partition("\n")
        head, *table = [cells(line) for line in rest.splitlines() if line.startswith("|")]
        rows[title] = {name: dict(zip(head[1:], rest, strict=True)) for name, *rest in table[1:]}
    return rows


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


if __name__ == "__main__":
    write()
