"""Prints the section of CHANGELOG.md on a version: `release_notes.py 0.1.0`.

The release workflow makes GitHub's release notes of the output. The heading is
`## 0.1.0 (2027-01-31)`.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(changelog: str, version: str) -> str:
    """The section of a version, without its heading.

    Raises:
        ValueError: There is no section with a date, or the section is empty.
    """
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    _, *after = re.split(heading, changelog, maxsplit=1, flags=re.MULTILINE)
    section = re.split(r"^## ", after[0], maxsplit=1, flags=re.MULTILINE)[0] if after else ""
    if not section.strip():
        raise ValueError(f"CHANGELOG.md has nothing under a heading '## {version} (YYYY-MM-DD)'")
    return section.strip() + "\n"


if __name__ == "__main__":
    try:
        text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), sys.argv[1])
    except ValueError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(text)
