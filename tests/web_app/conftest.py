"""No real browser is opened but by the tests that drive one."""

import pytest

from ..support.fixtures import opened, openers, place, server

__all__ = ["opened", "openers", "place", "server"]


@pytest.fixture
def postgres_address():
    """A database of its own."""
    pytest.importorskip("psycopg", reason="the extra postgres")
    from ..support import postgres

    if postgres.folder_of_programs() is None:
        pytest.skip(postgres.REASON)
    with postgres.Postgres() as running:
        yield running.address()
