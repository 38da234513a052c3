"""Fixtures that several folders use; their `conftest.py` import them."""

import os
import sys

import pytest


@pytest.fixture(autouse=True)
def opened(tmp_path_factory, monkeypatch):
    """Stands in for every browser; gives a folder with a file for each time one was opened."""
    from .browsers import OPENERS, write_opener

    folder = tmp_path_factory.mktemp("openers")
    noted = folder / "noted"
    noted.mkdir()
    for name in OPENERS:
        write_opener(folder / name, noted, sys.executable)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BROWSER", str(folder / "xdg-open"))
    monkeypatch.setenv("DISPLAY", ":99")
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    return noted


@pytest.fixture
def server():
    """An authorization server that the client gave no reason to complain."""
    from .authorization_server import AuthorizationServer

    with AuthorizationServer() as running:
        yield running
        assert running.complaints == []


@pytest.fixture
def place(tmp_path):
    """Where an encrypted store goes: in a folder that does not exist yet."""
    return tmp_path / "tokens" / "boardlot.tokens"
