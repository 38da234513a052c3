"""The files of `python/boardlot` import each other in no circle, and as ARCHITECTURE.md says.

An import counts wherever it is written: at the top, in a function, or for type checkers only. What
`boardlot` itself re-exports is for the most part of `_api.py`, so to import that is to import this.
"""

import json
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "python/boardlot/"
ROW = re.compile(
    r"^\| (?P<paths>`python/boardlot/[^|]*) \| [^|]* \| (?P<allowed>[^|]*) \|$", re.MULTILINE
)
# Files that a file loads by a name that is made at run time.
BY_NAME = {
    "__init__.py": {"archive/archive.py", "calendar/__init__.py"},
    # Of other libraries.
    "auth/httpx_auth.py": set(),
}


# A list of imports for programs that read it; nothing runs them.
FREEZERS = "_support/freezers.py"


def short(path):
    """A path in the package; the stub is the compiled module."""
    return re.sub(r"^_core.pyi$", "_core", path.removeprefix(PACKAGE))


SOURCES = {
    short(path.relative_to(ROOT).as_posix()): path.read_text("utf-8")
    for path in (ROOT / PACKAGE).rglob("*.py")
    if short(path.relative_to(ROOT).as_posix()) != FREEZERS
}


def imports(typing, of_package):
    """The files that each file imports, if not `typing`, at run time; `of_package` are those that
    are imported with what `boardlot` itself re-exports."""
    option = f"--{'' if typing else 'no-'}type-checking-imports"
    command = [sys.executable, "-m", "ruff", "analyze", "graph", option, PACKAGE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    graph = {}
    for file, found in json.loads(done.stdout).items():
        names = {*map(short, found)} - {FREEZERS}
        names = (names | of_package if "__init__.py" in names else names) - {"__init__.py"}
        # The types of the compiled module's arguments are no imports.
        if short(file) == FREEZERS:
            continue
        graph[short(file)] = set() if short(file) == "_core" else names - {short(file)}
    assert len(graph) > 90
    return graph


def room(file):
    """The package or file at the top that a file belongs to; of `_support`, each tenant's own."""
    first, *others = file.split("/")
    is_tenant = first == "_support" and len(others) > 1
    return f"{first}/{others[0]}" if is_tenant else first.removesuffix(".py")


def test_files_do_not_import_each_other_in_a_circle():
    from boardlot.cli.application import COMMANDS

    for typing, of_package in ((False, {"_api.py"}), (True, set())):
        direct = imports(typing, of_package)
        del direct["__init__.py"]
        direct["cli/application.py"] |= {f"cli/commands/{file}.py" for file, _ in COMMANDS.values()}
        assert set().union(*direct.values()) <= {*direct}
        TopologicalSorter(direct).prepare()


def test_only_these_files_load_modules_by_a_name_made_at_run_time():
    loading = re.compile(r"\bimport_module\(|\b__import__\(")
    found = {name for name, source in SOURCES.items() if loading.search(source)}
    assert found == {"cli/application.py", *BY_NAME}
    assert set().union(*BY_NAME.values()) <= {*SOURCES}


def test_packages_import_those_that_the_architecture_allows_and_no_rule_is_unused():
    at_run_time, direct = (imports(typing, {"_api.py"}) for typing in (False, True))
    named = {"_core"}
    for row in ROW.finditer((ROOT / "ARCHITECTURE.md").read_text("utf-8")):
        paths = re.findall(r"`python/boardlot/([^`]*)`", row["paths"])
        rooms = {path.removesuffix(".py").rstrip("/") or "__init__" for path in paths}
        allowed = set(re.findall(r"[a-z_/]+", row["allowed"]))
        named |= rooms
        own = [file for file in direct if room(file) in rooms]
        for file in own:
            found = {room(target) for target in at_run_time[file]}
            assert found <= allowed | rooms, f"{file} imports {found - allowed - rooms}"
        assert allowed <= {room(target) for file in own for target in direct[file]}, rooms
    assert {room(file) for file in direct} == named


def test_files_are_removed_in_one_way():
    """By the core, which waits for others that have them open, as Windows requires."""
    assert [name for name, source in SOURCES.items() if ".unlink(" in source] == []
