"""Promise 27: nonces never come twice, not after a fork and not in many threads."""

import os
import re

import pytest

from ..support.processes import program, run_python

MAKING = program(__file__, "forked_nonces")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("each", [313, pytest.param(15_625, marks=pytest.mark.slow)])
def test_security_27_nonces_over_forks_and_threads_all_differ(tmp_path, each):
    run_python(MAKING, each, tmp_path, env={"PYTHONWARNINGS": "ignore"}, seconds=900.0)
    made = [line for path in tmp_path.iterdir() for line in path.read_text().split()]
    assert len(set(made)) == len(made) == 65 * each
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", nonce) for nonce in made)
    # 128 bits: each of the first 21 characters takes each of its 64 values, the last one 2 bits.
    for place in range(21):
        assert len({nonce[place] for nonce in made}) == 64
    assert len({nonce[21] for nonce in made}) == 4
