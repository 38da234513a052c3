"""The short form of `tools/nightly/soak`: some seconds of it."""

import gc

from ..support.sandbox_process import Used
from ..support.threads import wait_until
from .soak import soak


def test_64_tasks_with_faults_on_get_the_right_records_or_an_error_and_leave_no_file_open():
    gc.collect()  # What earlier tests have left in this process is not counted.
    soak(1.0, 0.5)  # time: what is made once is made
    gc.collect()
    before = Used.of()
    made = soak(4.0, 0.5)  # time: many operations, each of which is compared
    assert made.wrong == []
    assert made.done.total() > 0 and made.errors.total() > 0

    def is_over():
        gc.collect()
        after = Used.of()
        return after.files <= before.files + 2 and after.memory < before.memory + 100

    # Connections are closed, and memory is returned to the system, in the background.
    wait_until(is_over, "the end of all connections, or of what they took in memory")
