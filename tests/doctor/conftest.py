"""A sandbox, an authority, and no proxy of the environment."""

import os

import pytest

from ..support.certificates import Authority


@pytest.fixture(autouse=True)
def no_proxy_of_the_environment(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def authority():
    return Authority()
