"""No real browser is opened but by the tests that drive one."""

import pytest

from ..support.fixtures import login, opened, openers, place, server
from ..support.system import need_postgres

__all__ = ["login", "opened", "openers", "place", "server"]


@pytest.fixture
def postgres_address():
    """A database of its own."""
    need_postgres()
    from ..support import postgres

    with postgres.Postgres() as running:
        yield running.address()
