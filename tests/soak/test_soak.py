"""The short form of `make soak`: some seconds of it."""

import collections
import gc

from ..support.sandbox_process import Used
from .soak import is_right, soak


def test_64_tasks_with_faults_on_get_the_right_records_or_an_error_and_leave_no_file_open():
    gc.collect()  # What earlier tests have left in this process is not counted.
    soak(1.0, 0.5)  # What is made once is made.
    before = Used.of()
    made = soak(4.0, 0.5)
    after = Used.of()
    assert made.wrong == []
    assert made.done.total() > 100 and made.errors.total() > 10
    assert {each.name for each in made.operations} == set(made.done)
    assert after.files <= before.files + 2
    client, sandbox = made.samples[-1]
    assert client.memory < before.memory + 100
    assert max(client.files - before.files, sandbox.files) < 500


def test_a_wrong_record_would_be_found():
    operation = collections.namedtuple("Operation", "name")("dividends")
    rows = [{"code": "HK.00700"}]
    assert is_right((rows, {}), (rows, {}), operation)
    assert not is_right(([], {}), (rows, {}), operation)
