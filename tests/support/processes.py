"""Child processes: code given as text, and modules of the tests that may hang or crash."""

import argparse
import contextlib
import faulthandler
import json
import os
import signal
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PYTHON = os.environ.get("BOARDLOT_TEST_PYTHON", sys.executable)


def python(code, *args, env=None, **options):
    """A child that runs `code`; its pipes are text."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
    environment = {**os.environ, **(env or {})}
    # In the C locale, a child writes undecodable text as its original bytes.
    return subprocess.Popen(
        command, env=environment, text=True, errors="backslashreplace", cwd=ROOT, **options
    )


def program(test, name):
    """The code of `programs/NAME.py` beside a test, which a child runs."""
    return (Path(test).parent / "programs" / f"{name}.py").read_text("utf-8")


def run_python(code, *args, env=None, seconds=60.0, status=0):
    """Runs a child to its end; returns stdout and stderr."""
    with python(code, *args, env=env, stderr=subprocess.PIPE) as child:
        try:
            out, err = child.communicate(timeout=seconds)
        finally:
            child.kill()
    assert child.returncode == status, f"status {child.returncode}\n{out}\n{err}"
    return out, err


def run_child(module, *, seconds=0.0, grace=180.0, **options):
    """Runs `python -m tests.<module>` and returns what it reports.

    `seconds` are for its work, and `grace` is for its start and for ending its work.
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


class Child(RuntimeError):
    """A child that hung or died, with the stacks of its threads."""


@contextlib.contextmanager
def full_disk(size):
    """Keeps files of this process from growing beyond `size` bytes, as on a full disk (POSIX)."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def forked(work, fork=None):
    """Forks a child that does `work` and ends; returns its id."""
    child = (fork or os.fork)()
    if child == 0:
        signal.alarm(240)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


LIBRARIES = {"arrow": "pyarrow", "batches": "pyarrow", "pandas": "pandas", "polars": "polars"}


def has_libraries_of(words):
    """True if the frame libraries are installed; for a new kind of CPython they may not exist."""
    return all(find_spec(library) for word, library in LIBRARIES.items() if word in words)


def options_of(*names):
    """The options of a child, which prints all stacks and ends if it takes too long."""
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
