"""Cases of a test that only wait, such as for the ends of time limits: they all wait at once."""

import itertools
from concurrent.futures import ThreadPoolExecutor


def side_by_side(work, *values):
    """Does `work` with each combination of these values, each in a thread of its own."""
    cases = list(itertools.product(*values))
    with ThreadPoolExecutor(len(cases)) as pool:
        running = [pool.submit(work, *case) for case in cases]
    for case, done in zip(cases, running, strict=True):
        if error := done.exception():
            raise AssertionError(f"the case {case} failed") from error
