"""The files of `python/boardlot` import each other in no circle, and as ARCHITECTURE.md says."""

import re
from pathlib import Path

from .python_imports import Modules, cycles

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"^\| (?P<paths>`python/boardlot/[^|]*) \| [^|]* \| (?P<allowed>[^|]*) \|$", re.MULTILINE
)
# What a file loads by a name that is made at run time.
BY_NAME = {
    "boardlot": {"boardlot._records", "boardlot.archive.archive"},
    "boardlot._api": {"boardlot.calendar.table"},
}


def package():
    folder = ROOT / "python"
    sources, packages = {"boardlot._core": ""}, []
    for path in folder.glob("boardlot/**/*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
            packages.append(".".join(parts))
        sources[".".join(parts)] = path.read_text("utf-8")
    return Modules(sources, packages)


def room(module):
    """The package or file at the top that a module belongs to; of `_support`, the file itself."""
    _, *parts = [*module.split("."), "boardlot"]
    return ".".join(parts[:2]) if parts[0] == "_support" and len(parts) > 2 else parts[0]


def rules():
    """The rooms of `python/boardlot` in the table, and those that each may import."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    found = {}
    for row in ROW.finditer(text):
        for path in re.findall(r"`python/boardlot/([^`]*)`", row["paths"]):
            name = path.removesuffix(".py").rstrip("/").replace("/", ".") or "boardlot"
            assert name not in found, name
            found[name] = set(re.findall(r"[a-z_.]+", row["allowed"].replace("/", ".")))
    return found


def test_files_do_not_import_each_other_in_a_circle():
    from boardlot.cli.application import COMMANDS

    modules = package()
    direct = {name: modules.imports(name) for name in modules.trees}
    commands = {f"boardlot.cli.commands.{file}" for file, _ in COMMANDS.values()}
    direct["boardlot.cli.application"] |= commands
    for name, loaded in BY_NAME.items():
        assert loaded <= set(modules.trees)
        if name != "boardlot":  # Which only re-exports.
            direct[name] |= loaded
    assert cycles(direct) == []


def test_only_these_files_load_modules_by_a_name_made_at_run_time():
    loading = re.compile(r"\bimport_module\(|\b__import__\(|_Module\(\"")
    found = {name for name in package().trees if loading.search(source_of(name))}
    assert found == {"boardlot.cli.application", *BY_NAME}


def source_of(module):
    path = ROOT / "python" / module.replace(".", "/")
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file.read_text("utf-8")
    return ""


def test_packages_import_those_that_the_architecture_allows():
    modules, allowed = package(), rules()
    assert set(allowed) == {room(name) for name in modules.trees} - {"_core"}
    for name in modules.trees:
        for target in modules.imports(name, typing=False):
            above, below = room(name), room(target)
            assert above == below or below in allowed[above], (
                f"{name} imports {target}: {above} may not import {below}"
            )


def test_the_rules_have_no_circle_and_allow_only_what_is_there():
    modules, allowed = package(), rules()
    assert cycles(allowed) == []
    used = {name: {room(target) for target in modules.imports(name)} for name in modules.trees}
    for above, rooms in allowed.items():
        needed = set().union(*(used[name] for name in used if room(name) == above))
        assert rooms <= needed, above


def test_files_are_removed_in_one_way():
    """By `crash_safe.remove`, but for locks: they are open, and only some systems remove them."""
    uses = {
        path.name: path.read_text("utf-8").count(".unlink(")
        for path in (ROOT / "python").glob("boardlot/**/*.py")
    }
    assert {name for name, count in uses.items() if count} == {"resume.py", "files.py"}
    assert uses["resume.py"] == 1
