"""Servers and roles of PostgreSQL that may less than an owner: they read, or say what they lack."""

import os

import boardlot as bl
import pytest

from . import service as archive_service

ACCOUNT, MARKET = archive_service.HK
# The rights of a role that may only read.
READS = (
    "grant usage on schema boardlot_archive to {}",
    "grant select on all tables in schema boardlot_archive to {}",
)


@pytest.fixture(scope="module")
def standby(postgres):
    from ..support.postgres import Standby

    with Standby(postgres) as running:
        yield running


@pytest.fixture
def filled(address, book, client):
    """The address of an archive with three fills."""
    book.put_fills(3)
    with bl.Archive(address) as archive:
        archive.update(client, fills=[archive_service.HK])
    return address


def role(connection, name, *rights):
    """Creates a role of this database that may log in and has these rights."""
    connection.execute(f"drop role if exists {name}")
    connection.execute(f"create role {name} login")
    for right in rights:
        connection.execute(right.format(name))


@pytest.fixture
def roles(connection):
    """Makes roles, which are the server's, and removes them."""
    made = []

    def make(name, *rights):
        made.append(name)
        role(connection, name, *rights)

    yield make
    for name in made:
        connection.execute(f"drop owned by {name}")
        connection.execute(f"drop role {name}")


def as_role(address, name):
    return address.replace("boardlot@", f"{name}@")


def test_who_may_only_read_opens_an_archive_whose_views_are_older(filled, connection, roles):
    roles("only_reads", *READS)
    connection.execute("update boardlot_archive.archive_views set digest = 'older'")
    with bl.Archive(as_role(filled, "only_reads")) as archive:
        assert len(archive.sql("select * from fills")) == 3


def test_a_standby_is_read_and_not_written(standby, filled, book, client):
    standby.wait_until_it_has(filled)
    with bl.Archive(standby.of(filled)) as archive:
        fills = archive.fills(ACCOUNT, MARKET).all()
        assert len(fills) == 3
        assert archive.sql("select count(*) as n from fills").to_dicts() == [{"n": 3}]
        book.put_fills(2)
        with pytest.raises(bl.StoreError) as caught:
            archive.update(client, fills=[archive_service.HK])
        assert "standby" in caught.value.hint and not caught.value.retryable
    # Data of an update on the primary arrive here.
    with bl.Archive(filled) as archive:
        archive.update(client, fills=[archive_service.HK])
        expected = archive.fills(ACCOUNT, MARKET).all()
    standby.wait_until_it_has(filled)
    with bl.Archive(standby.of(filled)) as archive:
        assert archive.fills(ACCOUNT, MARKET).all() == expected


def test_a_role_that_may_only_read_reads(filled, roles, connection, client):
    roles(
        "reader",
        *READS,
    )
    with bl.Archive(as_role(filled, "reader")) as archive:
        assert len(archive.fills(ACCOUNT, MARKET).all()) == 3
        with pytest.raises(bl.StoreError) as caught:
            archive.update(client, fills=[archive_service.HK])
    assert "permissions of the database user" in caught.value.hint


def test_a_role_that_may_make_no_schema_gets_an_error_that_says_so(address, roles, book, client):
    roles("newcomer")
    book.put_fills(3)
    with (
        pytest.raises(bl.StoreError) as caught,
        bl.Archive(as_role(address, "newcomer")) as archive,
    ):
        archive.update(client, fills=[archive_service.HK])
    assert "permissions of the database user" in caught.value.hint
    assert "permission denied" in str(caught.value)


def test_a_role_with_a_schema_of_its_own_needs_no_right_to_make_one(
    address, roles, connection, book, client
):
    roles("owner", "create schema boardlot_archive authorization {}")
    book.put_fills(3)
    with bl.Archive(as_role(address, "owner")) as archive:
        archive.update(client, fills=[archive_service.HK])
        assert len(archive.fills(ACCOUNT, MARKET).all()) == 3


def test_a_password_is_read_from_the_file_of_libpq(postgres, filled, roles, tmp_path, monkeypatch):
    """With such a file, no address needs a password."""
    roles(
        "careful",
        "alter role {} password 'of the file'",
        *READS,
    )
    postgres.ask_for_password("careful")
    file = tmp_path / "pgpass"
    file.touch(mode=0o600)
    monkeypatch.setenv("PGPASSFILE", os.fspath(file))
    with pytest.raises(bl.StoreError, match="password"):
        bl.Archive(as_role(filled, "careful"))
    file.write_text("127.0.0.1:*:*:careful:of the file\n")
    with bl.Archive(as_role(filled, "careful")) as archive:
        assert len(archive.fills(ACCOUNT, MARKET).all()) == 3
