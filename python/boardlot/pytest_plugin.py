"""A pytest fixture: the whole service in this process, fresh for each test.

Installed with the package; use it by its name:

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
        "boardlot_sandbox(**options): a sandbox of its own for this test, with these options of "
        "boardlot.Sandbox.",
    )


@pytest.fixture(scope="session")
def _boardlot_server() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def boardlot_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A running `boardlot.Sandbox` in its first state.

    Without options it is of seed 0, and one server serves the whole session: before each test its
    state is reset, the requests it noted are forgotten and its faults are switched off. Keys and
    tokens of another test do not work any more: make the client inside the test, by
    `boardlot_sandbox.client()`.

    Options come by the marker of the same name, `@pytest.mark.boardlot_sandbox(seed=7)`, on a
    test, a class or a module (`pytestmark`), the nearest one winning. They are those of
    `boardlot.Sandbox`, and make a server for this test alone.
    """
    marker = request.node.get_closest_marker("boardlot_sandbox")
    if marker is not None:
        with Sandbox(*marker.args, **marker.kwargs) as sandbox:
            yield sandbox
        return
    shared: Sandbox = request.getfixturevalue("_boardlot_server")
    shared.faults = None
    shared.reset()
    yield shared
    shared.faults = None
