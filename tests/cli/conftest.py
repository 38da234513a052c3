"""A sandbox and the profile `live` that leads to it, and commands that run in this process."""

import json
import sys
from contextlib import closing
from functools import partial
from typing import NamedTuple

import pytest

from ..support.words import unbroken

# Pipes, terminals and signals of POSIX.
collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []


class Ended(NamedTuple):
    """The outcome of a command, and its output."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def said(self):
        """Its stderr as one line, without the usage of the command."""
        return unbroken(self.err)

    @property
    def failure(self):
        """What a command said that a person must act."""
        assert (self.status, self.out) == (3, "")
        return self.said

    @property
    def refusal(self):
        """What a command said that was used in a wrong way."""
        assert (self.status, self.out) == (2, "")
        return self.said


@pytest.fixture(scope="module")
def service(request, tmp_path_factory):
    """One for the tests of a file, whose `SANDBOX` are its options."""
    from ..support.command_line import Service

    folder = tmp_path_factory.mktemp("service")
    with closing(Service(folder, **getattr(request.module, "SANDBOX", {}))) as service:
        yield service


@pytest.fixture
def sandbox(service):
    """That of the service; it has no faults when the test ends."""
    yield service.sandbox
    service.sandbox.faults = None


@pytest.fixture
def sent(service):
    """The requests that the service has received since the test began."""
    before = len(service.sandbox.requests)
    return lambda: service.sandbox.requests[before:]


@pytest.fixture
def boardlot(capfd):
    """Runs a command in this process."""
    from boardlot.cli import main

    def run(*arguments):
        capfd.readouterr()
        status = main(list(map(str, arguments)))
        return Ended(status, *capfd.readouterr())

    return run


@pytest.fixture
def live(service, boardlot, monkeypatch):
    """Runs a command with the profile `live` in this process."""
    monkeypatch.setenv("XDG_CONFIG_HOME", service.environment["XDG_CONFIG_HOME"])
    return partial(boardlot, "--profile", "live")
