"""No test asks for a time: it waits for events, counts requests, or sets the clock.

A line that has to says why, there or on the line above: `# time: <reason>` (Rust: `// time: ...`).
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = sorted((ROOT / "tests").rglob("*.py"))
RUST = sorted((ROOT / "crates").rglob("tests/**/*.rs"))
CLOCKS = {"monotonic", "perf_counter", "time", "process_time", "thread_time", "monotonic_ns"}
# Calls that wait for an event, and the index of the deadline among their arguments.
WAITS = dict.fromkeys(("join", "wait", "result", "settimeout", "fail_after"), 0)
WAITS |= dict.fromkeys(("get", "wait_for", "wait_until", "communicate"), 1)
WAITS |= dict.fromkeys(("run", "check_output", "check_call"), 99)
SHORTEST = 60.0
EXCUSED = re.compile(r"(#|//) time: \S")


def number(node):
    """The value of a literal number, else None."""
    is_number = isinstance(node, ast.Constant) and type(node.value) in {int, float}
    return float(node.value) if is_number else None


def name_of(function):
    return getattr(function, "attr", getattr(function, "id", None))


def reads_clock(node):
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in CLOCKS
        and getattr(part.func.value, "id", "") == "time"
        for part in ast.walk(node)
    )


def of_python(text):
    """Each place where a test asks for a time: its line and what is wrong there."""
    tree = ast.parse(text)
    # Names of times and of differences between them, by function and in the whole file.
    for scope in ast.walk(tree) if "import time" in text or "time." in text else ():
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        measured = {
            target.id
            for part in ast.walk(scope)
            if isinstance(part, ast.Assign) and reads_clock(part.value)
            for target in part.targets
            if isinstance(target, ast.Name)
        }
        for part in ast.walk(scope):
            if isinstance(part, ast.Compare):
                names = {inner.id for inner in ast.walk(part) if isinstance(inner, ast.Name)}
                if reads_clock(part) or names & measured:
                    yield part.lineno, "compares elapsed times"
    for part in ast.walk(tree):
        if not isinstance(part, ast.Call):
            continue
        name = name_of(part.func)
        if name == "sleep" and not (part.args and number(part.args[0]) == 0):
            yield part.lineno, "sleeps"
        if name in WAITS:
            given = [word.value for word in part.keywords if word.arg in {"timeout", "seconds"}]
            given += part.args[WAITS[name] : WAITS[name] + 1]
            for value in map(number, given):
                if value is not None and 0 < value < SHORTEST:
                    yield part.lineno, f"waits {value:g} s for an event"


def of_rust(text):
    for line_number, line in enumerate(text.splitlines(), 1):
        if re.search(r"thread::sleep\(", line):
            yield line_number, "sleeps"
        if re.search(r"elapsed\(\)\s*[<>]|[<>]=?\s*\w+\.elapsed\(\)", line):
            yield line_number, "compares elapsed times"


@pytest.mark.parametrize(("files", "find"), [(PYTHON, of_python), (RUST, of_rust)])
def test_no_test_asks_for_a_time(files, find):
    assert files
    wrong = []
    for file in files:
        text = file.read_text("utf-8")
        lines = ["", *text.splitlines()]
        for line, what in sorted(set(find(text))):
            if not any(EXCUSED.search(lines[number]) for number in (line - 1, line)):
                wrong.append(f"{file.relative_to(ROOT)}:{line}: {what}")
    assert not wrong, "\n".join(wrong)
