"""A pytest fixture: the whole service in this process, new for each test.

It is installed with the package; use it by its name:

    def test_fills(boardlot_sandbox):
        client = boardlot_sandbox.client()
        ...

The marker of the same name takes the options of `boardlot.Sandbox`:

    @pytest.mark.boardlot_sandbox(seed=7, fills=100)
    def test_few_fills(boardlot_sandbox):
        ...
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from boardlot import Sandbox

__all__ = ["boardlot_sandbox"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "boardlot_sandbox(**options): the options of boardlot.Sandbox for this test's sandbox.",
    )


@pytest.fixture
def boardlot_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A running `boardlot.Sandbox` for this test alone, on a free port.

    The next test does not see a test's changes to its sandbox (faults, a port, `with`, `close()`).
    Make the client inside the test, with `boardlot_sandbox.client()`: the sandbox does not know
    the keys and tokens of another test.

    The marker of the same name, `@pytest.mark.boardlot_sandbox(seed=7)`, on a test, a class or a
    module (`pytestmark`), sets options; the nearest one wins. They are those of
    `boardlot.Sandbox`; without a marker its defaults apply.
    """
    marker = request.node.get_closest_marker("boardlot_sandbox")
    # A server starts in milliseconds: sharing one would save little and couple the tests.
    args, kwargs = ((), {}) if marker is None else (marker.args, marker.kwargs)
    with Sandbox(*args, **kwargs) as sandbox:
        yield sandbox
