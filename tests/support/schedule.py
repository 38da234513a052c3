"""Which process runs which tests: whole files, the longest first.

What the tests of a file share is made once, and no core waits for a long file at the end. The
marker `xdist_group` would not do: with pytest 9.2 and pytest-xdist 3.8 it has no effect.
"""

from itertools import zip_longest

from xdist.scheduler import LoadScopeScheduling

# Folders with one server or cluster for all of their files.
WHOLE = {"tests/archive", "tests/dask"}
# What takes more than some seconds. All else follows in the order in which it was collected.
COMPUTING = [
    "tests/processes/test_entries.py",
    "tests/docs/test_notebooks.py",
    "tests/docs/test_pages.py",
    "tests/security/test_secrets_in_exchanges.py",
    "tests/archive",
    "tests/threads/test_sharing.py",
    "tests/plots/test_names.py",
    "tests/cli/test_resume.py",
    "tests/dask",
    "tests/security/test_key_costs.py",
    "tests/security/test_browser.py",
    "tests/web_app/test_isolation.py",
    "tests/support/test_system.py",
    "tests/delivery/test_delivery.py",
    "tests/security/test_rejected_tokens.py",
    "tests/cli/test_terminal.py",
    "tests/cli/test_output.py",
    "tests/contract/test_date_ranges.py",
    "tests/frames/test_hostile_shapes.py",
    "tests/faults/test_matrix.py",
    "tests/security/test_encryption.py",
    "tests/web_app/test_users.py",
    "tests/cli/test_examples.py",
    "tests/soak/test_soak.py",
    "tests/soak/test_at_once.py",
    "tests/cli/test_output_files.py",
    "tests/login/test_profiles.py",
    "tests/processes/test_exits.py",
    "tests/contract/test_clock_and_ranges.py",
    "tests/types/test_checkers.py",
    "tests/client/test_pytest_plugin.py",
    "tests/docs/test_site.py",
]
WAITING = [
    "tests/processes/test_exit_beside_callbacks.py",
    "tests/security/test_contention.py",
    "tests/security/test_one_refresh.py",
    "tests/security/test_listener.py",
    "tests/transport/test_time_limits.py",
    "tests/delivery/test_orders_of_events.py",
    "tests/transport/test_retries.py",
    "tests/contract/test_behaviour.py",
    "tests/delivery/test_received_rows.py",
    "tests/delivery/test_loop_iterations.py",
    "tests/transport/test_adaptive_throttle.py",
    "tests/security/test_callback.py",
    "tests/transport/test_total_deadline.py",
    "tests/security/test_spellings.py",
    "tests/security/test_login.py",
    "tests/transport/test_stale_connections.py",
    "tests/delivery/test_reentrant.py",
    "tests/security/test_tls.py",
    "tests/processes/test_signals.py",
    "tests/transport/test_rate_limit.py",
]
# In turn: if all processes waited at the same time, the cores would be idle.
FIRST = [unit for pair in zip_longest(COMPUTING, WAITING) for unit in pair if unit]


def unit_of(nodeid):
    """What a test is run with by one process: its file, or its whole folder."""
    file = nodeid.partition("::")[0]
    folder = file.rpartition("/")[0]
    return folder if folder in WHOLE else file


def rank(nodeid):
    """The place of a test's unit in the order of their starts."""
    unit = unit_of(nodeid)
    return FIRST.index(unit) if unit in FIRST else len(FIRST)


class LongestFirst(LoadScopeScheduling):
    """Gives a process the next unit when it has all but finished the last."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        # Its own order is by the number of tests.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid):
        return unit_of(nodeid)
