"""Which worker runs which tests."""

import pytest

pytest.importorskip("xdist")
from .processes import ROOT
from .schedule import FIRST, WHOLE, rank, unit_of


def test_every_unit_that_is_named_is_there():
    for unit in [*FIRST, *WHOLE]:
        assert (ROOT / unit).is_dir() if unit in WHOLE else (ROOT / unit).is_file(), unit
    assert len(set(FIRST)) == len(FIRST)


def test_the_tests_of_a_file_and_of_a_whole_folder_stay_together():
    assert unit_of("tests/cli/test_rows.py::test_a[x::y/z]") == "tests/cli/test_rows.py"
    assert unit_of("tests/dask/test_frames.py::test_b") == "tests/dask"
    assert unit_of("tests/dask/test_parquet.py::TestC::test_d") == "tests/dask"


def test_the_longest_start_first_and_all_others_in_their_order():
    others = ["tests/z/test_z.py::test_z", "tests/a/test_a.py::test_a"]
    nodeids = [*others, f"{FIRST[1]}::test_b", f"{FIRST[0]}::test_a"]
    assert sorted(nodeids, key=rank) == [nodeids[3], nodeids[2], *others]
