"""Writes the docstrings of the compiled module into its stub, where type checkers look for them.

Docstrings are written once, as doc comments in `src/`; `make stubs` copies them, and a test fails
if the stub has others.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from boardlot import _core

STUB = Path(__file__).parents[1] / "python" / "boardlot" / "_core.pyi"
Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# The end of a definition without a body.
NO_BODY = re.compile(r"\s*\.\.\.\s*$")


def completed(text: str) -> str:
    """A file of the stub with the docstring of every public definition and member."""
    lines = text.splitlines()
    # Inserts from the end, so that line numbers before each insertion stay right.
    for node, docstring in sorted(documented(ast.parse(text)), key=lambda one: -one[0].lineno):
        _write(lines, node, docstring)
    return "\n".join(lines) + "\n"


def documented(stub: ast.Module) -> Iterator[tuple[Documented, str]]:
    """Yields everything public in a file of the stub, with its docstring in the compiled module."""
    for node in _definitions(stub.body):
        thing = getattr(_core, node.name)
        yield node, _docstring_of(thing)
        if isinstance(node, ast.ClassDef):
            for member in _definitions(node.body):
                yield member, _docstring_of(getattr(thing, member.name))


def _definitions(body: list[ast.stmt]) -> Iterator[Documented]:
    """The public definitions of a body: the first of several overloads, and the getter of a
    property."""
    seen: set[str] = set()
    for node in body:
        if isinstance(node, Documented) and not node.name.startswith("_") and node.name not in seen:
            seen.add(node.name)
            yield node


def _docstring_of(thing: object) -> str:
    docstring = inspect.getdoc(thing)
    if not docstring:
        raise ValueError(f"{thing!r} has no docstring: write one in src/")
    return docstring


def _write(lines: list[str], node: Documented, docstring: str) -> None:
    first = node.body[0]
    indent = " " * (node.col_offset + 4)
    raw = "r" if "\\" in docstring else ""
    end = "\n" if "\n" in docstring else ""
    quoted = f'{raw}"""{docstring}{end}"""'
    block = textwrap.indent(quoted, indent, lambda line: bool(line.strip())).splitlines()
    if ast.get_docstring(node) is not None:
        lines[first.lineno - 1 : first.end_lineno] = block
    elif isinstance(first, ast.Expr):
        lines[first.lineno - 1] = NO_BODY.sub("", lines[first.lineno - 1])
        lines[first.lineno : first.lineno] = block
    else:
        decorators = getattr(first, "decorator_list", [])
        place = min([first.lineno, *(decorator.lineno for decorator in decorators)]) - 1
        lines[place:place] = [*block, ""]


if __name__ == "__main__":
    STUB.write_text(completed(STUB.read_text("utf-8")), "utf-8")
