"""The core's modules import each other as ARCHITECTURE.md says, and their files in no circle."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = ["src", "crates/service/src", "crates/sandbox/src"]
USE = re.compile(r"^ *(pub(?:\(\w+\))? )?use ([^;]+);$", re.MULTILINE)
# The libraries of a part of `src`, and that part.
LIBRARIES = {
    "pyo3": ("py/", "lib.rs"),
    "reqwest": ("http/",),
    "arrow_array": ("decode/", "py/"),
    "boardlot_gated": ("py/",),
}


def code(file):
    """A file without its tests, which may import anything, and without comments."""
    text = file.read_text("utf-8").partition("#[cfg(test)]\nmod tests {")[0]
    return re.sub(r"^ *//.*|^ *(pub )?mod \w+;$", "", text, flags=re.MULTILINE)


def sources(crate):
    """The modules of a crate, as `("http", "plan")`, and their code."""
    found = {}
    for file in (ROOT / crate).rglob("*.rs"):
        inside = file.relative_to(ROOT / crate)
        if not any(part.startswith("tests") or part == "testing.rs" for part in inside.parts):
            parts = inside.with_suffix("").parts
            found[parts[:-1] if parts[-1] in ("mod", "lib") else parts] = code(file)
    return found


def paths(tree):
    """The paths of `a::{b, c as d}`, and the names that they get."""
    tree = re.sub(r"\s+", " ", tree)
    while "{" in tree:
        tree = re.sub(r"([\w:]*)\{([^{}]*)\}", lambda m: prefixed(m[1], m[2]), tree)
    for path in filter(None, map(str.strip, tree.split(","))):
        named, _, alias = path.partition(" as ")
        parts = tuple(part for part in named.split("::") if part not in ("*", "self"))
        yield parts, alias or parts[-1]


def prefixed(prefix, group):
    return ",".join(prefix + part.strip() for part in group.split(",") if part.strip())


class Crate:
    def __init__(self, folder):
        self.code = sources(folder)
        self.exports = {
            module: {name: path for m in USE.finditer(text) if m[1] for path, name in paths(m[2])}
            for module, text in self.code.items()
        }

    def defining(self, module, path):
        """The module that defines what a path names; None if it is not of this crate."""
        if path[0] in ("crate", "self", "super"):
            module = () if path[0] == "crate" else module
            path = path[path[0] != "super" :]
            while path[:1] == ("super",):
                module, path = module[:-1], path[1:]
        elif (*module, path[0]) not in self.code:
            return None
        while path and (*module, path[0]) in self.code:
            module, path = (*module, path[0]), path[1:]
        if path and path[0] in self.exports.get(module, {}):
            return self.defining(module, self.exports[module][path[0]])
        return module or None

    def imports(self, module):
        """The modules that a module uses something of; what it only re-exports does not count."""
        text = self.code[module]
        rest = USE.sub("", text)
        words = set(re.findall(r"\w+", rest))
        used = {tuple(path.split("::")) for path in re.findall(r"\b\w+(?:::\w+)+", rest)}
        for use in USE.finditer(text):
            used |= {path for path, name in paths(use[2]) if not use[1] or name in words}
        return {self.defining(module, path) for path in used} - {None, module}


def rules():
    """For each module of the table, those beside it that it may import."""
    rows = {}
    for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines():
        if row := re.match(r"\| `src/([\w/]+?)(?:/|\.rs)` .* \| ([^|]*) \|$", line):
            rows[tuple(row[1].split("/"))] = row[2]
    tops = {module[0] for module in rows if len(module) == 1}
    for module, allowed in rows.items():
        names = set(re.findall(r"\w+", re.sub(r"\([^)]*\)|all except|–", "", allowed)))
        rows[module] = tops - names - {module[0]} if "all except" in allowed else names
    return rows


@pytest.mark.parametrize("folder", CRATES)
def test_files_of_a_module_do_not_import_each_other_in_a_circle(folder):
    crate = Crate(folder)
    assert len(crate.code) > 20
    TopologicalSorter(
        {
            module: {other for other in crate.imports(module) if other[:1] == module[:1]}
            for module in crate.code
        }
    ).prepare()


def test_each_module_imports_only_those_that_its_row_lists():
    crate, table = Crate("src"), rules()

    def row(module):
        return max((own for own in table if own == module[: len(own)]), key=len)

    for module in filter(None, crate.code):
        for target in crate.imports(module):
            own, other = row(module), row(target)
            # The first part in which the two differ is listed in the row of the first.
            differing = [
                n for n, pair in enumerate(zip(own, other, strict=False)) if len({*pair}) > 1
            ]
            if differing:
                same = differing[0]
                assert other[same] in table[own[: same + 1]], f"{module} imports {target}"


def test_the_table_has_every_module_and_no_circle():
    crate, table = Crate("src"), rules()
    assert set(table) <= set(crate.code)
    assert {module[:1] for module in crate.code if module} <= set(table)
    graph = {module: {(*module[:-1], name) for name in table[module]} for module in table}
    assert set().union(*graph.values()) <= set(table)
    TopologicalSorter(graph).prepare()
    folders = {module[:2] for module in crate.code if module[:1] == ("py",) and len(module) > 2}
    assert folders <= set(table)


def test_libraries_are_used_in_their_modules_only():
    for file in (ROOT / "src").rglob("*.rs"):
        inside, text = file.relative_to(ROOT / "src").as_posix(), code(file)
        for library, allowed in LIBRARIES.items():
            if re.search(rf"^ *use {library}\b|[ (<]{library}::", text, re.MULTILINE):
                assert inside.startswith(allowed), f"{inside} uses {library}"


def test_every_function_that_python_calls_is_gated():
    text = "".join(file.read_text("utf-8") for file in (ROOT / "src" / "py").rglob("*.rs"))
    # The attribute makes them what Python calls.
    assert len(re.findall(r"^ *#\[gated\]$", text, re.M)) > 50
    assert not re.search(r"#\[(?:pyo3::)?py(?:methods|function)", text)
