"""Promise 49: a program ends as it would without boardlot, whatever its threads and tasks do."""

import sys

import pytest

from ..support.keys import uploaded_key
from .ending import PROGRAMS
from .exits import failed_exits

SANDBOX = {"fills": 120}


@pytest.mark.parametrize("times", [8, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_security_49_a_program_ends(sandbox, tmp_path, program, times):
    arguments = [sandbox.base_url, *map(str, uploaded_key(sandbox, tmp_path))]
    assert failed_exits(sys.executable, program, times, arguments) == []
