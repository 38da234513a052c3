"""Fixtures that several folders use; their `conftest.py` import them."""

import itertools
import os

import pytest


@pytest.fixture(scope="session")
def openers(tmp_path_factory):
    """A folder of programs in place of every browser, written once."""
    from .browsers import write_openers

    folder = tmp_path_factory.mktemp("openers")
    write_openers(folder / "programs")
    return folder


NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def opened(openers, monkeypatch):
    """Replaces every browser; returns a folder with a file for each time one was opened."""
    # The programs write beside the path that they were started by: each test has a path of its own.
    folder = openers / str(next(NUMBERS))
    folder.symlink_to(openers / "programs")
    noted = folder.with_suffix(".noted")
    noted.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BROWSER", str(folder / "xdg-open"))
    monkeypatch.setenv("DISPLAY", ":99")
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    return noted


@pytest.fixture
def server():
    """The OAuth endpoints of a service."""
    from .authorization_server import AuthorizationServer

    with AuthorizationServer() as running:
        yield running


@pytest.fixture
def place(tmp_path):
    """The path of an encrypted store, in a folder that does not exist yet."""
    return tmp_path / "tokens" / "boardlot.tokens"


@pytest.fixture
def login(server):
    """A login that waits for its callback: at the end of the test, the real callback still logs
    in."""
    from .logins import begin, finish_for_real, waiting

    flow = begin(server)
    waits = waiting(flow)
    yield flow
    assert server.counts["authorization_code"] == 0
    finish_for_real(server, flow, waits)
