"""The files of `python/boardlot` import each other in no circle, and as ARCHITECTURE.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


def package() -> Modules:
    folder = ROOT / "python"
    sources, packages = {"boardlot._core": ""}, []
    for path in folder.glob("boardlot/**/*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
            packages.append(".".join(parts))
        sources[".".join(parts)] = path.read_text("utf-8")
    return Modules(sources, packages)


def room(module: str) -> str:
    """The package or file at the top that a module belongs to; of `_support`, the file itself."""
    _, *parts = [*module.split("."), "boardlot"]
    return ".".join(parts[:2]) if parts[0] == "_support" and len(parts) > 2 else parts[0]


def rules() -> dict[str, set[str]]:
    """The rooms of `python/boardlot` in the table, and those that each may import."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    found: dict[str, set[str]] = {}
    for row in ROW.finditer(text):
        for path in re.findall(r"`python/boardlot/([^`]*)`", row["paths"]):
            name = path.removesuffix(".py").rstrip("/").replace("/", ".") or "boardlot"
            assert name not in found, name
            found[name] = set(re.findall(r"[a-z_.]+", row["allowed"].replace("/", ".")))
    return found


def test_files_do_not_import_each_other_in_a_circle() -> None:
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


def test_only_these_files_load_modules_by_a_name_made_at_run_time() -> None:
    loading = re.compile(r"\bimport_module\(|\b__import__\(|_Module\(\"")
    found = {name for name in package().trees if loading.search(source_of(name))}
    assert found == {"boardlot.cli.application", *BY_NAME}


def source_of(module: str) -> str:
    path = ROOT / "python" / module.replace(".", "/")
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file.read_text("utf-8")
    return ""


def test_packages_import_those_that_the_architecture_allows() -> None:
    modules, allowed = package(), rules()
    assert set(allowed) == {room(name) for name in modules.trees} - {"_core"}
    for name in modules.trees:
        for target in modules.imports(name, typing=False):
            above, below = room(name), room(target)
            assert above == below or below in allowed[above], (
                f"{name} imports {target}: {above} may not import {below}"
            )


def test_the_rules_have_no_circle_and_allow_only_what_is_there() -> None:
    modules, allowed = package(), rules()
    assert cycles(allowed) == []
    used = {name: {room(target) for target in modules.imports(name)} for name in modules.trees}
    for above, rooms in allowed.items():
        needed = set().union(*(used[name] for name in used if room(name) == above))
        assert rooms <= needed, above


FILES = {"p": "", "p.one": "", "p.other": "", "p.inner": "", "p.inner.deep": ""}
CIRCLES = [
    {"p.one": "import p.other", "p.other": "from p import one"},
    {"p.one": "from . import other", "p.other": "from .one import f"},
    {"p.one": "def f():\n    from p.other import g", "p.other": "import p.one as x\nx.f()"},
    {"p.one": "if TYPE_CHECKING:\n    from p.other import T", "p.other": "from p.one import f"},
    # Through what a package re-exports, by a name of it and by an attribute.
    {"p": "from p.other import g", "p.one": "from p import g", "p.other": "from p.one import f"},
    {"p": "from p.other import g", "p.one": "import p as q\nq.g()", "p.other": "import p.one"},
    {"p": "from p.one import f\nf()", "p.one": "from p import missing"},
    {
        "p.inner": "from .deep import f",
        "p.inner.deep": "from p.one import g",
        "p.one": "from p.inner import f",
    },
]
NO_CIRCLES = [
    {"p": "from p.one import f", "p.one": "from p import other", "p.other": ""},
    {"p": "from p.one import f\nfrom p.other import g", "p.one": "from p import g"},
    {"p.one": "from p.other import f", "p.other": "import os.path\nfrom json import dumps"},
    {"p.inner": "from .deep import f", "p.inner.deep": "from p.inner import f"},
]


@pytest.mark.parametrize("sources", CIRCLES)
def test_a_circle_is_found_however_it_is_written(sources: dict[str, str]) -> None:
    modules = Modules({**FILES, **sources}, ["p", "p.inner"])
    assert len(cycles({name: modules.imports(name) for name in modules.trees})) == 1


@pytest.mark.parametrize("sources", NO_CIRCLES)
def test_a_facade_and_a_chain_are_not_circles(sources: dict[str, str]) -> None:
    modules = Modules({**FILES, **sources}, ["p", "p.inner"])
    assert cycles({name: modules.imports(name) for name in modules.trees}) == []


def test_files_are_removed_in_one_way() -> None:
    """By the core, which waits for others that have them open, as Windows requires."""
    for path in (ROOT / "python").glob("boardlot/**/*.py"):
        assert ".unlink(" not in path.read_text("utf-8"), path
