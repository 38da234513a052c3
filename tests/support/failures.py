"""A failure explains itself: seed, worker, load of the machine, and the command that repeats it."""

import os
import shlex

import pytest


class FailureReport:
    """A plugin that ends a run with the commands that repeat its failures."""

    def __init__(self, config):
        self._seed = config.getoption("seed")
        self._failed = {}

    def pytest_report_header(self):
        return f"order of the tests: {self._order()}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        if report.failed:
            # pytest-xdist brings the attributes of a report from the process that ran the test.
            report.machine = f"{worker()}, load {load()}, {os.cpu_count()} processors"
        return report

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self._failed.setdefault(report.nodeid, getattr(report, "machine", "unknown"))

    def pytest_terminal_summary(self, terminalreporter):
        say = terminalreporter.write_line
        if self._failed:
            terminalreporter.section("To repeat")
            say(f"order of the tests: {self._order()}")
            seed = "" if self._seed is None else f" --seed {self._seed}"
            for nodeid, machine in self._failed.items():
                arguments = shlex.quote(f"-n 0{seed} {shlex.quote(nodeid)}")
                say(f"{machine}: make test-python ARGS={arguments}")

    def _order(self):
        return "as written (--seed N shuffles it)" if self._seed is None else f"--seed {self._seed}"


def worker():
    """The worker's name, and the number of all."""
    name = os.environ.get("PYTEST_XDIST_WORKER")
    return f"{name} of {os.environ['PYTEST_XDIST_WORKER_COUNT']}" if name else "one process"


def load():
    """The machine's load, if the system tells it."""
    return " ".join(f"{part:.1f}" for part in os.getloadavg()) if hasattr(os, "getloadavg") else "?"
