"""Runs type checkers on the package and on every example of the documentation.

mypy and pyright, both strict, check the Python blocks of the README and the docs, each page as one
module, `examples/`, and `typed_statements.py`; pyright also checks that everything that the package
exports has a complete type. `make check-quick` runs it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "python/boardlot/SKILL.md")),
    # The notebooks are left out: no type checker reads them.
    *sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("api/*.md")]),
]
BIN = Path(sys.executable).parent
# With this path, the environment's tools find its packages.
ENVIRONMENT = {**os.environ, "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]])}
FOLDER = ROOT / "target" / "examples"
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
AWAITS = re.compile(r"^(?:async (?:with|for)|[^#\n]*\bawait) ", re.MULTILINE)
# A block may use a name of an earlier block for something else, and may not use every name that it
# shows.
MYPY = ["--strict", "--allow-redefinition-new", "--local-partial-types", "--pretty"]
PYRIGHT = {
    "typeCheckingMode": "strict",
    "reportUnusedVariable": False,
    "reportUnusedImport": False,
    "reportUnusedFunction": False,
    "reportUnusedClass": False,
}
# The return types of these libraries, or of parts of them, are unknown in any example.
UNTYPED = re.compile(r"^\s*(?:import|from) (?:dask|distributed|matplotlib|pyarrow)\b", re.MULTILINE)
LENIENT = [
    '# mypy: disable-error-code="import-untyped, no-untyped-call"',
    "# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false,"
    " reportUnknownArgumentType=false, reportUnknownVariableType=false, reportArgumentType=false",
]


def module(page: Path) -> str:
    """The blocks of a page as one module whose lines have the numbers of the page's."""
    text = page.read_text("utf-8")
    lines = [""] * (text.count("\n") + 1)
    for match in BLOCK.finditer(text):
        first = text.count("\n", 0, match.start(2))
        source = textwrap.dedent(match[2]).splitlines()
        lines[first : first + len(source)] = source
    source = "\n".join(lines)
    # Replaces the page's heading and the empty line below it.
    head = LENIENT if UNTYPED.search(source) else []
    below = lines[len(head) :]
    if AWAITS.search(source):
        # `await` is allowed at the top level of a page, but not of a module.
        below = ["async def page() -> None:", textwrap.indent("\n".join(below[1:]), "    ")]
    return "\n".join([*head, *below])


def write_examples() -> Iterator[Path]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        source = module(page)
        if source.strip():
            path = FOLDER / (
                re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix(""))) + ".py"
            )
            path.write_text(source, "utf-8")
            yield path
    yield from sorted((ROOT / "examples").glob("**/*.py"))
    yield Path(__file__).with_name("typed_statements.py")


def run(*command: str | Path) -> int:
    """The exit status of a tool of this environment."""
    return subprocess.run([*map(str, command)], env=ENVIRONMENT, cwd=ROOT, check=False).returncode


def unknown_types() -> int:
    """Returns 1 if something that the package exports has no known type.

    The types of pandas and polars are left to these libraries. Some of our classes have a base in
    Ray or Spark: of these modules, nothing is known if the engines are not installed.
    """
    engines = "".join(map(str, (ROOT / "target/engines/venv").glob("lib/python*/site-packages")))
    command = [BIN / "pyright", "--verifytypes", "boardlot", "--ignoreexternal", "--outputjson"]
    environment = {**ENVIRONMENT, "PYTHONPATH": engines}
    said = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False)
    symbols = json.loads(said.stdout)["typeCompleteness"]["symbols"]
    assert symbols, said.stdout
    bases = () if engines else ("boardlot.ray.", "boardlot.spark.")
    unknown = [
        symbol
        for symbol in symbols
        if not symbol["isTypeKnown"] and not symbol["name"].startswith(bases)
    ]
    for symbol in unknown:
        for one in symbol["diagnostics"]:
            print(f"{symbol['name']}: {one['message']}", file=sys.stderr)
    print(f"{len(symbols) - len(unknown)} of {len(symbols)} names have a known type")
    return int(bool(unknown))


def main() -> int:
    examples = list(write_examples())
    for stale in set(FOLDER.glob("*.py")) - set(examples):
        stale.unlink()
    config = FOLDER / "pyrightconfig.json"
    # An example of several files is run from its folder.
    folders = sorted({str(path.parent) for path in examples if path.parent != FOLDER})
    files = [os.path.relpath(path, FOLDER) for path in examples]
    config.write_text(json.dumps({**PYRIGHT, "include": files, "extraPaths": folders}))
    return max(
        run("mypy", "--config-file", "", *MYPY, *examples),
        run("pyright", "--project", config),
        unknown_types(),
    )


if __name__ == "__main__":
    sys.exit(main())
