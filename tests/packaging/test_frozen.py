"""Frozen applications have the modules that compiled code or a name made at run time imports.

A freezer follows the imports that it finds in Python; `boardlot._support.freezers` has the others.
What runs PyInstaller is marked `slow`.
"""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from boardlot._support import freezers
from boardlot.cli.application import COMMANDS

from ..support.processes import program

ROOT = Path(__file__).parents[2]
IMPORT = re.compile(r"^    import ([a-zA-Z_.]+)$", re.MULTILINE)
# `import(py, "module")`, and that of a value that is kept.
IN_RUST = re.compile(r'\bimport\(\s*\w+(?:\.py\(\))?,\s*"([a-zA-Z_.]+)"')
APPLICATION = program(__file__, "frozen_application")
# Large, and not needed.
HEAVY = ["pandas", "polars", "pyarrow", "duckdb", "numpy", "matplotlib"]
HEAVY += ["IPython", "dask", "tornado"]


def listed(function):
    return {*IMPORT.findall(inspect.getsource(function))}


def test_the_modules_that_the_core_imports_are_listed():
    found = set()
    for path in (ROOT / "src").rglob("*.rs"):
        found |= {*IN_RUST.findall(path.read_text("utf-8"))}
    assert len(found) > 20
    # Those are always there.
    assert found - {"boardlot", "boardlot._core"} == listed(freezers.imported_by_the_core)


def test_the_commands_are_listed():
    modules = {f"boardlot.cli.commands.{module}" for module, _ in COMMANDS.values()}
    assert modules | {"boardlot.cli.commands.endpoints"} == listed(freezers.commands)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["--onedir", "--onefile"])
def test_a_frozen_application_does_what_the_script_does(tmp_path, form):
    pytest.importorskip("PyInstaller")
    script = tmp_path / "app.py"
    script.write_text(APPLICATION)
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR", form]
    excluded = [f"--exclude-module={name}" for name in HEAVY]
    subprocess.run([*command, *excluded, "app.py"], cwd=tmp_path, check=True)
    frozen = tmp_path / "dist" / ("app/app" if form == "--onedir" else "app")

    def printed(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for arguments in ([], ["--version"], ["keygen", "--help"], ["fills", "--help"]):
        right = printed(sys.executable, script, *arguments)
        assert printed(frozen, *arguments).replace("app ", "app.py ") == right
