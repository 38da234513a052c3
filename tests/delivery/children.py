"""Tests that may hang or crash run in a child, which prints a report as JSON or is ended.

`BOARDLOT_TEST_PYTHON` names another interpreter to run them, one that can import boardlot.
"""

import argparse
import faulthandler
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PYTHON = os.environ.get("BOARDLOT_TEST_PYTHON", sys.executable)


class Child(RuntimeError):
    """A child that hung or died, with the stacks of its threads."""


def run_child(module, *, seconds=0.0, grace=30.0, **options):
    """Runs `python -m tests.<module>` and returns what it reports.

    `seconds` are for its work, `grace` is for its start and for ending what it has begun.
    """
    options = {"seconds": seconds, "grace": grace, **options}
    words = [f"--{name}={value}" for name, value in options.items()]
    command = [PYTHON, "-X", "faulthandler", "-m", f"tests.{module}", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as child:
        try:
            out, errors = child.communicate(timeout=seconds + grace + 30)
        except subprocess.TimeoutExpired:
            child.kill()
            out, errors = child.communicate()
    if child.returncode != 0:
        ended = f"{' '.join(words)} ended with {child.returncode}"
        raise Child(f"{ended}\n{out[-2000:]}\n{errors[-6000:]}")
    return json.loads(out.splitlines()[-1])


def needs_libraries_of(words):
    """Skips a test of frames where their library is not there, as on a new kind of CPython."""
    libraries = {"arrow": "pyarrow", "batches": "pyarrow", "pandas": "pandas", "polars": "polars"}
    for word, library in libraries.items():
        if word in words:
            pytest.importorskip(library)


def options_of(*names):
    """The options of a child, which ends itself with all stacks where it takes too long."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--grace", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    for name in names:
        parser.add_argument(f"--{name}", default="")
    options = parser.parse_args()
    faulthandler.dump_traceback_later(options.seconds + options.grace, exit=True)
    return options


def report(**values):
    print(json.dumps(values), flush=True)
