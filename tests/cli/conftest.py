"""A sandbox and the profile `live` that leads to it, for the tests that ask for them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..support.command_line import Service


@pytest.fixture(scope="module")
def service(request: Any, tmp_path_factory: Any) -> "Iterator[Service]":
    """One for the tests of a file, whose `SANDBOX` are its options."""
    from ..support.command_line import Service

    options = getattr(request.module, "SANDBOX", {})
    service = Service(tmp_path_factory.mktemp("service"), **options)
    yield service
    service.close()


@pytest.fixture
def live(service: "Service", monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The beginning of a command line that runs in this process."""
    monkeypatch.setenv("XDG_CONFIG_HOME", service.environment["XDG_CONFIG_HOME"])
    return ["--profile", "live"]
