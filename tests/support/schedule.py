"""Which process runs which tests: whole files, the longest first.

What the tests of a file share is made once, and no core waits for a long file at the end. The
marker `xdist_group` would not do: with pytest 9.2 and pytest-xdist 3.8 it has no effect.
"""

from xdist.scheduler import LoadScopeScheduling

# Folders with one server or cluster for all of their files.
WHOLE = {"tests/archive", "tests/dask"}
# What takes more than some seconds; all else follows in the order in which it was collected.
LONGEST = [
    "tests/docs/test_pages.py",
    "tests/docs/test_notebooks.py",
    "tests/threads/test_sharing.py",
    "tests/plots/test_names.py",
    "tests/types/test_checkers.py",
    "tests/dask",
    "tests/archive",
    "tests/security/test_contention.py",
    "tests/security/test_browser.py",
    "tests/delivery/test_delivery.py",
    "tests/delivery/test_received_rows.py",
    "tests/contract/test_clock_and_ranges.py",
    "tests/faults/test_matrix.py",
    "tests/frames/test_hostile_shapes.py",
    "tests/processes/test_exits.py",
    "tests/cli/test_resume.py",
    "tests/cli/test_examples.py",
    "tests/cli/test_output.py",
    "tests/cli/test_terminal.py",
    "tests/client/test_pytest_plugin.py",
    "tests/docs/test_site.py",
    "tests/security/test_one_refresh.py",
    "tests/contract/test_behaviour.py",
    "tests/transport/test_time_limits.py",
]


def unit_of(nodeid):
    """What a test is run with by one process: its file, or its whole folder."""
    file = nodeid.partition("::")[0]
    folder = file.rpartition("/")[0]
    return folder if folder in WHOLE else file


def rank(nodeid):
    """The place of a test's unit in the order of their starts."""
    unit = unit_of(nodeid)
    return LONGEST.index(unit) if unit in LONGEST else len(LONGEST)


class LongestFirst(LoadScopeScheduling):
    """Gives a process the next unit when it has all but finished the last."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        # Its own order is by the number of tests.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid):
        return unit_of(nodeid)
