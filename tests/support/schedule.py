"""Assigns tests to processes: whole files, the longest first, by recorded durations.

Fixtures that the tests of a file share are made once, and no core waits for a long file at the end.
The marker `xdist_group` would not do: with pytest 9.2 and pytest-xdist 3.8 it has no effect.
"""

import collections
import json
import os
import random
import statistics
from itertools import zip_longest
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[2]
# The seconds of each unit, and the part of them in which it used a processor; `--record-durations`
# writes the file.
DURATIONS = ROOT / "tests" / "durations.json"
# Shorter durations are not recorded. Files that are not recorded come last.
SHORTEST = 2.0
# Folders with one server for all of their files.
WHOLE = {"tests/archive"}


def unit_of(nodeid):
    """The unit that one process runs a test with: its file, or its whole folder."""
    file = nodeid.partition("::")[0]
    folder = file.rpartition("/")[0]
    return folder if folder in WHOLE else file


def order(durations):
    """The units, the longest first, those that compute and those that wait in turn.

    If all processes waited at the same time, the cores would be idle. A unit computes if it uses a
    processor more than the median unit: on a busy machine, all units also wait for a processor.
    """
    longest = sorted(durations, key=lambda unit: (-durations[unit][0], unit))
    usual = statistics.median(share for _, share in durations.values())
    computing = [unit for unit in longest if durations[unit][1] >= usual]
    waiting = [unit for unit in longest if durations[unit][1] < usual]
    return [unit for pair in zip_longest(computing, waiting) for unit in pair if unit]


FIRST = order(json.loads(DURATIONS.read_text("utf-8")))


def shuffled(items, seed):
    """The tests in random order: units, the files of each, and the tests of each file."""
    by_file = {}
    for item in items:
        by_file.setdefault((unit_of(item.nodeid), str(item.path)), []).append(item)
    draw = random.Random(seed)
    units = sorted({unit for unit, _ in by_file})
    draw.shuffle(units)
    files = sorted(by_file)
    draw.shuffle(files)
    files.sort(key=lambda file: units.index(file[0]))
    return [item for file in files for item in draw.sample(by_file[file], len(by_file[file]))]


def rank(nodeid):
    """The position of a test's unit in the order in which units start."""
    unit = unit_of(nodeid)
    return FIRST.index(unit) if unit in FIRST else len(FIRST)


class LongestFirst(LoadScopeScheduling):
    """Gives a process the next unit when it has almost finished the last."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        # pytest-xdist's own order is by the number of tests.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid):
        return unit_of(nodeid)


class DurationRecorder:
    """A plugin that writes the durations of the units that ran into `DURATIONS`."""

    def __init__(self):
        self._totals = collections.defaultdict(lambda: [0.0, 0.0])
        self._used = processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        # pytest-xdist brings the attributes of a report from the process that ran the test.
        report.processor_time, self._used = processor_time() - self._used, processor_time()
        return report

    def pytest_runtest_logreport(self, report):
        total = self._totals[unit_of(report.nodeid)]
        total[0] += report.duration
        total[1] += report.processor_time

    def pytest_sessionfinish(self, session):
        if not hasattr(session.config, "workerinput"):
            recorded = updated(json.loads(DURATIONS.read_text("utf-8")), self._totals)
            lines = (f"{json.dumps(unit)}: {json.dumps(recorded[unit])}" for unit in recorded)
            DURATIONS.write_text("{\n  " + ",\n  ".join(lines) + "\n}\n", "utf-8")


def updated(recorded, totals):
    """The durations with those of a new run, sorted; a duration that is nearly the same stays
    unchanged."""
    recorded = {unit: old for unit, old in recorded.items() if (ROOT / unit).exists()}
    for unit, (seconds, used) in totals.items():
        share = round(min(1.0, used / max(seconds, 0.01)), 1)
        old_seconds, old_share = recorded.get(unit, (0.0, 0.0))
        if seconds < SHORTEST:
            recorded.pop(unit, None)
        elif abs(seconds - old_seconds) > old_seconds / 4 or abs(share - old_share) > 0.2:
            recorded[unit] = [round(seconds), share]
    return dict(sorted(recorded.items()))


def processor_time():
    """The seconds in which this process and its children used a processor."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
