"""The page "Add an endpoint in five minutes", followed word by word in a copy of the sources."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from boardlot import _core

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "add-an-endpoint.md"
STEP = re.compile(
    r"^(Create|In) `([^`]+)`[^\n]*:\n\n```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FOLDERS = ["crates", "docs", "examples", "python", "src", "tools", "tests"]


class Step(NamedTuple):
    """An edit that the page shows: a new file, or lines of an existing one."""

    creates: bool
    path: str
    language: str
    text: str

    def apply(self, tree):
        file = tree / self.path
        if self.creates:
            assert not file.exists(), f"{self.path} exists"
            file.write_text(self.text, "utf-8")
            return
        before, after = ("".join(self._lines(marks)) for marks in (" -", " +"))
        text = file.read_text("utf-8")
        assert before != after
        assert text.count(before) == 1, f"{self.path} does not have these lines once:\n{before}"
        file.write_text(text.replace(before, after), "utf-8")

    def _lines(self, marks):
        return [line[1:] for line in self.text.splitlines(keepends=True) if line[0] in marks]


def steps():
    return [
        Step(m[1] == "Create", m[2], m[3], m[4]) for m in STEP.finditer(PAGE.read_text("utf-8"))
    ]


def copy_of_sources(folder):
    """A copy of the source tree with the edits of the page."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "*.so", "*.pyd")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for file in [ROOT / "Makefile", *ROOT.glob("*.md"), *ROOT.glob("*.toml"), ROOT / "Cargo.lock"]:
        shutil.copy2(file, folder)
    for step in steps():
        step.apply(folder)
    return folder


def test_every_block_of_the_page_is_a_step_that_applies(tmp_path):
    tree = copy_of_sources(tmp_path)
    text = PAGE.read_text("utf-8")
    assert text.count("\n```") == 2 * (len(steps()) + len(COMMANDS.findall(text)))
    assert {step.language for step in steps() if not step.creates} == {"diff"}
    changed = [str(tree / step.path) for step in steps() if step.path.endswith(".rs")]
    command = ["rustfmt", "--check", "--edition", "2024", "--config-path", str(tree), *changed]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_vector_of_the_page_has_the_form_of_the_others():
    (step,) = [step for step in steps() if step.path.startswith("tests/vectors/")]
    vector = json.loads(step.text)
    other = json.loads((ROOT / "tests/vectors/endpoints/dividends.json").read_text("utf-8"))
    assert vector.keys() == other.keys() and vector["endpoint"] == Path(step.path).stem
    known = {name for case in other["cases"] for name in case}
    assert all(case.keys() <= known for case in vector["cases"])
    assert {"error" in case for case in vector["cases"]} == {True, False}


@pytest.mark.slow  # It compiles the core twice: the tests above are its short form.
@pytest.mark.skipif(not (shutil.which("make") and shutil.which("cargo")), reason="builds the core")
def test_the_page_adds_an_endpoint():
    (commands,) = COMMANDS.findall(PAGE.read_text("utf-8"))
    # The crates that the core depends on are compiled already. A path that stays the same lets the
    # next run overwrite what this one compiles.
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    # Compiled for a few tests only, so without optimization.
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(target),
        "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
    }
    tree = target / "add-an-endpoint"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    copy_of_sources(tree)
    done = subprocess.run(["sh", "-ec", commands], cwd=tree, env=environment, capture_output=True)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    for test in (b"every_endpoint_has_rows", b"no_generated_file_is_stale"):
        assert test + b" ... ok" in done.stdout

    for file, shown, times in (
        ("python/boardlot/_api.py", "def short_interest(", 2),
        ("python/boardlot/_records.py", "class ShortInterestDay(TypedDict", 1),
        ("docs/endpoints.md", "| [`short_interest`](#short_interest) | `GET /api/v1.0/quote/", 1),
    ):
        assert (tree / file).read_text("utf-8").count(shown) == times, file
    # By the generated files and the compiled module of here.
    shutil.copy2(_core.__file__, tree / "python" / "boardlot")
    line = [sys.executable, "-m", "boardlot", "short-interest", "--help"]
    environment = {**os.environ, "PYTHONPATH": str(tree / "python"), "COLUMNS": "100"}
    done = subprocess.run(line, cwd=tree, env=environment, capture_output=True, check=True)
    for part in (b"latest first.", b"SYMBOL", b"--limit", b"--out short.csv"):
        assert part in done.stdout
