"""The lines of `typed_statements.py` that type checkers accept and reject."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATEMENTS = Path(__file__).with_name("typed_statements.py")
LINES = STATEMENTS.read_text("utf-8").splitlines()
WRONG = [number for number, line in enumerate(LINES, 1) if line.endswith("# error")]


def mypy():
    """The lines that mypy reports."""
    # A cache of its own: that of `make check` is for other options.
    options = ["--strict", "--config-file", "", "--cache-dir", str(ROOT / "target" / "mypy")]
    command = [sys.executable, "-m", "mypy", *options, str(STATEMENTS)]
    done = subprocess.run(command, cwd=STATEMENTS.parent, capture_output=True, text=True)
    return set(map(int, re.findall(rf"^{STATEMENTS.name}:(\d+): error", done.stdout, re.MULTILINE)))


def pyright(tmp_path):
    """The lines that pyright reports in strict mode."""
    copy = tmp_path / STATEMENTS.name
    copy.write_text("# pyright: strict\n" + STATEMENTS.read_text("utf-8"), "utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run([*command, str(copy)], cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(done.stdout)["generalDiagnostics"]
    # Counted from 0, below the line with the mode.
    return {one["range"]["start"]["line"] for one in found if one["severity"] == "error"}


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_reject_mistakes_and_nothing_else(checker, tmp_path):
    pytest.importorskip(checker)
    assert sorted(mypy() if checker == "mypy" else pyright(tmp_path)) == WRONG
    assert WRONG
