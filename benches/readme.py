"""The README's table, from results.md: `python -m benches.readme`, or a whole `make bench`.

Each line has the usual way to do the work, and the best one that was measured.
"""

from __future__ import annotations

import re
from pathlib import Path

from .harness import ROOT

README = ROOT / "README.md"
RESULTS = ROOT / "benches" / "results.md"
HEAD = "| | boardlot | The usual way | Ratio | The best way | Ratio |"
# The rows, and the usual way of each. Of an import there is no better way.
USUAL = {
    "1,000,000 fills to a typed pandas frame": "orjson + pandas",
    "1,000,000 fills to a typed polars frame": "orjson + polars",
    "1,000,000 fills to a typed Arrow table": "orjson + pyarrow, in batches",
    "100,000 fills over loopback into pandas, ready pages": "requests + orjson + pandas",
    "One request after another": "requests",
    "32 tasks, asyncio": "aiohttp",
    "32 threads": "requests",
    "100,000 fills into a SQLite archive, ready pages": "requests + orjson + sqlite3",
    "1,000,000 stored fills into pandas": "pandas.read_sql",
    "Page of 50 fills": "json",
    "Iterating 1,000,000 rows": "orjson",
    "Ed25519 signature": "pyca/cryptography",
    "RSA-2048 signature": "pyca/cryptography",
    "Import": "httpx",
}
ALONE = {"Import"}
OF_MEMORY = {"1,000,000 fills to a typed pandas frame"}
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
    found = []
    for title, usual in USUAL.items():
        if title not in rows:
            continue
        row = rows[title]
        unit = next(iter(row["boardlot"]))
        of_time = {name: float(cells["ratio"].replace(",", "")) for name, cells in row.items()}
        found.append(line(title, f"{row['boardlot'][unit]} {unit}", of_time, usual))
        if title in OF_MEMORY:
            peak = {name: float(cells["peak MB"].replace(",", "")) for name, cells in row.items()}
            of_memory = {name: held / peak["boardlot"] for name, held in peak.items()}
            held = f"{row['boardlot']['peak MB']} MB"
            found.append(line("the same, peak memory", held, of_memory, usual))
    return found


def line(title: str, own: str, ratios: dict[str, float], usual: str) -> str:
    """One line of the table; without a best way if there is no other."""
    peers = {name: ratio for name, ratio in ratios.items() if not name.startswith("boardlot")}
    best = min(peers, key=peers.__getitem__)
    better = f"{best} | {peers[best]:.2f} x" if title not in ALONE and best != usual else "|"
    return f"| {title} | {own} | {usual} | {peers[usual]:.2f} x | {better} |"


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
