"""The crates of a wheel for one system: the crates that it contains, and all crates that are
compiled.

The lists come from `cargo tree`, which knows the features of this build. `cargo metadata` names
more crates, which an optional feature of a dependency would need.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LINE = re.compile(r"(\d+)\|(\S+) v(\S+)( .*)?")


class Crate(NamedTuple):
    """A crate in one version."""

    name: str
    version: str


# Each crate with the crates that it depends on.
Tree = dict[Crate, set[Crate]]


def host() -> str:
    """The system that rustc compiles for by itself."""
    said = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    (found,) = re.findall(r"^host: (.+)$", said, re.MULTILINE)
    return str(found)


def linked(target: str, *, offline: bool = False) -> Tree:
    """The crates that the extension module contains."""
    return _tree(target, "normal", macros=False, offline=offline)


def compiled(target: str, *, offline: bool = False) -> Tree:
    """The crates that the module contains, and the macros and build scripts that run while it is
    compiled."""
    return _tree(target, "normal,build", macros=True, offline=offline)


def _tree(target: str, edges: str, *, macros: bool, offline: bool) -> Tree:
    how = ["--locked", "--package=boardlot", f"--target={target}", f"--edges={edges}"]
    form = ["--prefix=depth", "--no-dedupe", "--format=|{p}"]
    command = ["cargo", "tree", *how, *form, *(["--offline"] if offline else [])]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tree: Tree = {}
    parents: list[Crate] = []
    macro_at: int | None = None
    for line in said.splitlines():
        found = LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"`cargo tree` is expected to print crates, and printed {line!r}")
        depth, crate = int(found[1]), Crate(found[2], found[3])
        if macro_at is not None and depth > macro_at:
            continue
        macro_at = None
        if not macros and "(proc-macro)" in (found[4] or ""):
            macro_at = depth
            continue
        del parents[depth:]
        if parents:
            tree[parents[-1]].add(crate)
        tree.setdefault(crate, set())
        parents.append(crate)
    return tree
