"""Runs a builder while README.md is the page of the package index: `index_page.py maturin ...`.

The page of a version cannot be changed after the upload: its links lead to the version's tag, its
pictures have addresses, and it says how to install a release. maturin reads the page from
README.md, which has its own text again after the command.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from placeholders import ROOT, released, repository
from release_files import version

README = ROOT / "README.md"
# A link or a picture whose target is a file of the repository.
RELATIVE = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")


def page(readme: str, version: str, repository: str) -> str:
    """The README of a version on the index.

    Args:
        repository: The address of the repository, such as `https://github.com/owner/name`.
    """

    def absolute(link: re.Match[str]) -> str:
        picture, text, target = link.groups()
        folder = (ROOT / target.partition("#")[0]).is_dir()
        kind = "raw" if picture else "tree" if folder else "blob"
        return f"{picture}{text}({repository}/{kind}/v{version}/{target})"

    return RELATIVE.sub(absolute, released("README.md", readme))


@contextmanager
def written(file: Path = README) -> Iterator[None]:
    """The file contains the index page within the block, and its own bytes afterwards."""
    before = file.read_bytes()
    text = page(before.decode(), version(), repository())
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
        yield
    finally:
        file.write_bytes(before)


if __name__ == "__main__":
    # Otherwise the signal would end the program before it restores the file.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with written():
        code = subprocess.run(sys.argv[1:], check=False).returncode
    raise SystemExit(code)
