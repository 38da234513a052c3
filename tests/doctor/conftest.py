"""A sandbox, an authority, and no proxy of the environment."""

import os

import boardlot as bl
import pytest

from ..support.certificates import Authority


@pytest.fixture(autouse=True)
def no_proxy_of_the_environment(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7) as sandbox:
        yield sandbox


@pytest.fixture
def authority():
    return Authority()
