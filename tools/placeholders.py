"""Lists what the first publisher has to fill in: `placeholders.py` fails while there is any.

Addresses of the project, and the hash of the source archive in the recipe for conda-forge.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACEHOLDER = re.compile(r"example\.com/boardlot|boardlot\.example\.com|0{64}")
# The recipe's hash is known only once the archive is published: it is not part of the release.
AFTERWARDS = "tools/conda/recipe.yaml"


def placeholders() -> dict[str, list[str]]:
    """The files of the repository with a placeholder, and their lines with one."""
    outside = [":!tests", ":!CONTRIBUTING.md", ":!tools/placeholders.py"]
    command = ["git", "grep", "-I", "-E", "--line-number", "-e", PLACEHOLDER.pattern]
    done = subprocess.run(
        [*command, "--", ".", *outside], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode > 1:
        raise OSError(done.stderr)
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, number, text = line.split(":", 2)
        found.setdefault(name, []).append(f"{number}: {text.strip()}")
    return found


if __name__ == "__main__":
    left = {name: lines for name, lines in placeholders().items() if name != AFTERWARDS}
    for name, lines in left.items():
        for line in lines:
            print(f"{name}:{line}")
    if left:
        raise SystemExit('fill these in first: see "A release" in CONTRIBUTING.md')
