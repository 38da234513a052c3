"""What Cargo does not say of imports: modules and files in no circle, libraries in one module."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = ["src", "crates/client/src", "crates/service/src", "crates/sandbox/src"]
USE = re.compile(r"^ *(pub(?:\(\w+\))? )?use ([\w:{},*\s]+);$", re.MULTILINE)
# The only module of the client that uses these libraries.
LIBRARIES = {"reqwest": "http/", "arrow_array": "decode/"}


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


@pytest.mark.parametrize("folder", CRATES)
def test_neither_modules_nor_their_files_import_each_other_in_a_circle(folder):
    crate = Crate(folder)
    assert len(crate.code) > 20
    files = {module: crate.imports(module) for module in crate.code}
    modules = {module[:1]: set() for module in files}
    for module, targets in files.items():
        modules[module[:1]] |= {target[:1] for target in targets} - {module[:1]}
    TopologicalSorter({module: modules[module] for module in modules if module}).prepare()
    for name in modules:
        within = {
            module: {target for target in targets if target[:1] == name}
            for module, targets in files.items()
            if module[:1] == name
        }
        TopologicalSorter(within).prepare()


def test_libraries_are_used_in_their_modules_only():
    folder = ROOT / "crates/client/src"
    for file in folder.rglob("*.rs"):
        inside, text = file.relative_to(folder).as_posix(), code(file)
        for library, module in LIBRARIES.items():
            if re.search(rf"^ *use {library}\b|[ (<]{library}::", text, re.MULTILINE):
                assert inside.startswith(module), f"{inside} uses {library}"
