"""A pytest fixture: the whole service in this process, fresh for each test.

Installed with the package; use it by its name:

    def test_fills(boardlot_sandbox):
        client = boardlot_sandbox.client()
        ...
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from boardlot import Sandbox

__all__ = ["boardlot_sandbox"]


@pytest.fixture(scope="session")
def _boardlot_server() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def boardlot_sandbox(_boardlot_server: Sandbox) -> Iterator[Sandbox]:
    """A running `boardlot.Sandbox` of seed 0 in its first state.

    The server is started once a session; before each test its state is reset, the requests it
    noted are forgotten and its faults are switched off. Keys and tokens of another test do not
    work any more: make the client inside the test, by `boardlot_sandbox.client()`.
    """
    _boardlot_server.faults = None
    _boardlot_server.reset()
    yield _boardlot_server
    _boardlot_server.faults = None
