"""The files of `python/boardlot` import each other in no circle, and as ARCHITECTURE.md says.

An import counts wherever it is written: at the top, in a function, or for type checkers only. To
import what a package re-exports is to import the module that defines it; the package itself does
not depend on what it only re-exports.
"""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"^\| (?P<paths>`python/boardlot/[^|]*) \| [^|]* \| (?P<allowed>[^|]*) \|$", re.MULTILINE
)
# Modules that a file loads by a name that is made at run time.
BY_NAME = {
    "boardlot": {"boardlot._records", "boardlot.archive.archive"},
    "boardlot._api": {"boardlot.calendar.table"},
}
FILES = sorted((ROOT / "python").glob("boardlot/**/*.py"))


def module_of(path):
    parts = path.relative_to(ROOT / "python").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_of(path): path.read_text("utf-8") for path in FILES} | {
    "boardlot._core": "",
    "boardlot._core._stores": (ROOT / "python/boardlot/_core/_stores.pyi").read_text("utf-8"),
}
TREES = {name: ast.parse(source) for name, source in SOURCES.items()}
PACKAGES = {module_of(path) for path in FILES if path.stem == "__init__"}


def bindings(module):
    """Each name that an import binds, with its node, and the module and the name that it is of."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, node, alias.name, None
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -(node.level - (module in PACKAGES)) or None]
            parts = [*(above if node.level else []), *([node.module] if node.module else [])]
            for alias in node.names:
                yield alias.asname or alias.name, node, ".".join(parts), alias.name


def defining(module, name):
    """The module that defines what a name of a module is; none if it is not of this package."""
    if module not in TREES:
        return None
    if f"{module}.{name}" in TREES:
        return f"{module}.{name}"
    for bound, _, origin, inner in bindings(module) if module in PACKAGES else ():
        if inner == "*" and f"class {name}(" in SOURCES[origin]:
            return origin
        if bound == name and inner is not None:
            return defining(origin, inner)
        if bound == "*" and re.search(rf"^(class|def) {name}\b", SOURCES.get(origin, ""), re.M):
            return origin
    return module


def imports(module, *, typing=True):
    """The modules from which a module uses something; if not `typing`, at run time."""
    tree = TREES[module]
    unseen, used, attributes = set(), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            unseen.update(*(ast.walk(inner) for inner in node.body))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            attributes.add((ast.unparse(node.value), node.attr))
    found = set()
    for bound, node, origin, name in bindings(module):
        only_re_exported = module in PACKAGES and bound not in used
        if only_re_exported or (node in unseen and not typing):
            continue
        base = defining(origin, name) if name else origin
        read = {one for value, one in attributes if value == bound}
        found |= {defining(base, one) for one in read} if read else {base}
    return (found & TREES.keys()) - {module}


def room(module):
    """The package or file at the top that a module belongs to."""
    return [*module.split("."), "boardlot"][1]


def rules():
    """The rows of `python/boardlot` in the table: their rooms, and those that these may import."""
    for row in ROW.finditer((ROOT / "ARCHITECTURE.md").read_text("utf-8")):
        paths = re.findall(r"`python/boardlot/([^`]*)`", row["paths"])
        rooms = {path.removesuffix(".py").rstrip("/") or "boardlot" for path in paths}
        yield rooms, set(re.findall(r"[a-z_]+", row["allowed"]))


def test_files_do_not_import_each_other_in_a_circle():
    from boardlot.cli.application import COMMANDS

    direct = {name: imports(name) for name in TREES}
    commands = {f"boardlot.cli.commands.{file}" for file, _ in COMMANDS.values()}
    direct["boardlot.cli.application"] |= commands
    for name, loaded in BY_NAME.items():
        assert loaded <= set(TREES)
        if name != "boardlot":  # Which only re-exports.
            direct[name] |= loaded
    TopologicalSorter(direct).prepare()


def test_only_these_files_load_modules_by_a_name_made_at_run_time():
    loading = re.compile(r"\bimport_module\(|\b__import__\(|_Module\(\"")
    found = {name for name, source in SOURCES.items() if loading.search(source)}
    assert found == {"boardlot.cli.application", *BY_NAME}


def test_packages_import_those_that_the_architecture_allows_and_no_rule_is_unused():
    rows = list(rules())
    assert sorted(name for rooms, _ in rows for name in rooms) == sorted(
        {room(name) for name in TREES} - {"_core"}
    )
    for rooms, allowed in rows:
        own = [name for name in TREES if room(name) in rooms]
        for name in own:
            found = {room(target) for target in imports(name, typing=False)}
            assert found <= allowed | rooms, f"{name} imports {found - allowed - rooms}"
        assert allowed <= {room(target) for name in own for target in imports(name)}, rooms


def test_files_are_removed_in_one_way():
    """By the core, which waits for others that have them open, as Windows requires."""
    assert [name for name, source in SOURCES.items() if ".unlink(" in source] == []
