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
# The seconds of each file, and the part of them in which it used a processor; `--record-durations`
# writes the file.
DURATIONS = ROOT / "tests" / "durations.json"
# Shorter durations are not recorded. Files that are not recorded come last.
SHORTEST = 2.0


def file_of(nodeid):
    return nodeid.partition("::")[0]


def order(durations):
    """The files, the longest first, those that compute and those that wait in turn.

    If all processes waited at the same time, the cores would be idle. A file computes if it uses a
    processor more than the median file: on a busy machine, all files also wait for a processor.
    """
    longest = sorted(durations, key=lambda file: (-durations[file][0], file))
    usual = statistics.median(share for _, share in durations.values())
    computing = [file for file in longest if durations[file][1] >= usual]
    waiting = [file for file in longest if durations[file][1] < usual]
    return [file for pair in zip_longest(computing, waiting) for file in pair if file]


FIRST = order(json.loads(DURATIONS.read_text("utf-8")))


def shuffled(items, seed):
    """The tests in random order: the files, and the tests of each file."""
    by_file = {}
    for item in items:
        by_file.setdefault(str(item.path), []).append(item)
    draw = random.Random(seed)
    files = sorted(by_file)
    draw.shuffle(files)
    return [item for file in files for item in draw.sample(by_file[file], len(by_file[file]))]


def rank(nodeid):
    """The position of a test's file in the order in which files start."""
    file = file_of(nodeid)
    return FIRST.index(file) if file in FIRST else len(FIRST)


class LongestFirst(LoadScopeScheduling):
    """Gives a process the next file when it has almost finished the last."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        # pytest-xdist's own order is by the number of tests.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid):
        return file_of(nodeid)


class DurationRecorder:
    """A plugin that writes the durations of the files that ran into `DURATIONS`."""

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
        total = self._totals[file_of(report.nodeid)]
        total[0] += report.duration
        total[1] += report.processor_time

    def pytest_sessionfinish(self, session):
        if not hasattr(session.config, "workerinput"):
            recorded = updated(json.loads(DURATIONS.read_text("utf-8")), self._totals)
            lines = (f"{json.dumps(file)}: {json.dumps(recorded[file])}" for file in recorded)
            DURATIONS.write_text("{\n  " + ",\n  ".join(lines) + "\n}\n", "utf-8")


def updated(recorded, totals):
    """The durations with those of a new run, sorted; a duration that is nearly the same stays
    unchanged."""
    recorded = {file: old for file, old in recorded.items() if (ROOT / file).exists()}
    for file, (seconds, used) in totals.items():
        share = round(min(1.0, used / max(seconds, 0.01)), 1)
        old_seconds, old_share = recorded.get(file, (0.0, 0.0))
        if seconds < SHORTEST:
            recorded.pop(file, None)
        elif abs(seconds - old_seconds) > old_seconds / 4 or abs(share - old_share) > 0.2:
            recorded[file] = [round(seconds), share]
    return dict(sorted(recorded.items()))


def processor_time():
    """The seconds in which this process and its children used a processor."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
