"""Which worker runs which tests, and what is recorded of their durations."""

import json

import pytest

pytest.importorskip("xdist")
from .schedule import DURATIONS, FIRST, ROOT, WHOLE, order, rank, unit_of, updated


def test_every_unit_that_is_recorded_is_there_once_in_its_order():
    text = DURATIONS.read_text("utf-8")
    recorded = json.loads(text)
    for unit in {*recorded, *WHOLE}:
        assert (ROOT / unit).is_dir() if unit in WHOLE else (ROOT / unit).is_file(), unit
    assert list(recorded) == sorted(recorded) and text.count("\n") == len(recorded) + 2
    assert sorted(FIRST) == list(recorded)


def test_the_tests_of_a_file_and_of_a_whole_folder_stay_together():
    assert unit_of("tests/cli/test_rows.py::test_a[x::y/z]") == "tests/cli/test_rows.py"
    assert unit_of("tests/dask/test_frames.py::test_b") == "tests/dask"
    assert unit_of("tests/dask/test_parquet.py::TestC::test_d") == "tests/dask"


def test_the_longest_start_first_computing_and_waiting_in_turn_and_all_others_after_them():
    durations = {"a": [5, 0.9], "b": [60, 0.8], "c": [9, 0.1], "d": [7, 0.5], "e": [70, 0.0]}
    assert order(durations) == ["b", "e", "d", "c", "a"]
    others = ["tests/z/test_z.py::test_z", "tests/a/test_a.py::test_a"]
    nodeids = [*others, f"{FIRST[1]}::test_b", f"{FIRST[0]}::test_a"]
    assert sorted(nodeids, key=rank) == [nodeids[3], nodeids[2], *others]


def test_a_duration_is_replaced_if_it_is_another_one_and_a_short_one_is_not_recorded():
    names = ["test_schedule.py", "test_system.py", "test_service.py"]
    one, two, three = (f"tests/support/{name}" for name in names)
    recorded = {two: [10, 0.5], one: [20, 0.9], "tests/gone.py": [9, 0.1]}
    totals = {one: [24.0, 22.0], two: [13.0, 1.3], three: [4.4, 4.4]}
    assert updated(recorded, totals) == {one: [20, 0.9], three: [4, 1.0], two: [13, 0.1]}
    assert updated(recorded, {two: [1.9, 1.0]}) == {one: [20, 0.9]}
