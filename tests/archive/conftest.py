"""A service, clients of it, and archives in both databases."""

import boardlot as bl
import pytest

from ..support.system import need_postgres
from . import service as archive_service


@pytest.fixture
def service():
    with archive_service.serve() as running:
        yield running


@pytest.fixture
def book(service):
    return service.book


@pytest.fixture
def client(service):
    with bl.Client(service.base_url, max_retries=0, timeout=20.0) as made:
        yield made


@pytest.fixture(scope="session")
def postgres():
    """A server for all files that this process runs."""
    need_postgres()
    from ..support import postgres as server

    with server.Postgres() as running:
        yield running


@pytest.fixture(scope="session")
def emptied(postgres):
    """Archives in databases, which a test left and which were emptied."""
    from .emptied import Emptied

    return Emptied(postgres)


@pytest.fixture
def address(request, postgres):
    """The address of an empty database; of an archive without data for a test of `archive`."""
    if "archive" in request.fixturenames:
        emptied = request.getfixturevalue("emptied")
        address = emptied.address()
        yield address
        emptied.spare(address)
    else:
        address = postgres.address()
        yield address
        postgres.spare(address)


@pytest.fixture
def connection(address):
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


@pytest.fixture
def terminate(connection):
    """Returns a function that terminates all connections to the database but its own."""
    return lambda: connection.execute(
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )


@pytest.fixture
def file(tmp_path):
    """The path of a SQLite archive."""
    return tmp_path / "archive.db"


@pytest.fixture
def kept(file, book, client):
    """An archive in SQLite that has three fills."""
    book.put_fills(3)
    with bl.Archive(file) as archive:
        archive.update(client, fills=[archive_service.HK])
        yield archive


@pytest.fixture(params=["sqlite", "postgres"])
def target(request):
    """The location for a new archive: a path, or the address of a new database."""
    name = "file" if request.param == "sqlite" else "address"
    return str(request.getfixturevalue(name))


@pytest.fixture
def archive(target):
    with bl.Archive(target) as opened:
        yield opened


@pytest.fixture
def store(target, tmp_path):
    from .stores import PostgresStore, Store

    return (PostgresStore if "://" in target else Store)(target, tmp_path)
