"""The password of an address is in no variable that a crash reporter could show."""

import contextlib
import json
import os
from pathlib import Path

import boardlot as bl
import pytest

from ..support.secret_search import variables_with
from .service import HK

pytest.importorskip("psycopg")

PASSWORD = "c4nary"
ADDRESSES = [
    address.replace("s3cret", PASSWORD)
    for address in json.loads(Path(__file__).with_name("addresses.json").read_text())
    if "s3cret" in address
] + [
    f"postgresql+psycopg://user:{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://user:{PASSWORD}@127.0.0.1:1/db?unknown=1",
    f"postgresql://user:{PASSWORD}@127.0.0.1:1/db?connect_timeout=x",
    f"postgresql://user:{PASSWORD}\ud800@127.0.0.1:1/db",
    f"postgresql://user:{PASSWORD}\0@127.0.0.1:1/db",
    f"sqlite:///{PASSWORD}",
]  # fmt: skip


def shown(error):
    return variables_with(PASSWORD, error)


def failure(call):
    with pytest.raises((bl.BoardlotError, TypeError, StopIteration)) as raised:
        call()
    return raised.value


def opened(address):
    return failure(lambda: bl.Archive(address))


def with_keyword(address):
    return failure(lambda: bl.Archive(target=address, wait=1.0))


def with_a_wrong_wait(address):
    return failure(lambda: bl.Archive(address, wait=-1))


def with_too_many_arguments(address):
    return failure(lambda: bl.Archive(address, 5))


def with_a_wrong_keyword(address):
    return failure(lambda: bl.Archive(address, timeout=5))


def as_bytes(address):
    return failure(lambda: bl.Archive(address.encode(errors="replace")))


WAYS = [opened, with_keyword, with_a_wrong_wait, with_too_many_arguments, with_a_wrong_keyword,
        as_bytes]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_frame_has_the_password_of_an_archive_that_cannot_be_opened(way, address):
    assert shown(way(address)) == []


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_frame_has_the_password_of_the_database_of_a_limit(address, service):
    def use():
        limit = bl.RateLimit(5, name="one", database=address)
        with bl.Client(service.base_url, rate_limit=limit, timeout=5.0) as client:
            client.dividends("HK.00700")

    assert shown(failure(use)) == []


def test_no_frame_has_the_password_of_an_archive_whose_server_ends(
    address, terminate, book, client, monkeypatch, tmp_path
):
    book.put_fills(3)
    address = address.replace("boardlot@", f"boardlot:{PASSWORD}@")
    with bl.Archive(address) as archive:
        archive.update(client, fills=[HK])
        terminate()
        monkeypatch.setattr("psycopg.connect", refuse)
        uses = [
            lambda: archive.update(client, fills=[HK]),
            lambda: archive.fills(*HK).all(),
            lambda: archive.sql("select 1"),
            lambda: archive.export("fills", tmp_path / "fills.parquet"),
            lambda: archive.backup(tmp_path / "backup.db"),
            lambda: next(archive.follow(client, fills=HK, name="\0")),
        ]
        for use in uses:
            assert shown(failure(use)) == []
    assert shown(failure(lambda: archive.fills(*HK).all())) == []
    for value in (archive, archive._database, vars(archive), vars(archive._database)):
        assert PASSWORD not in repr(value)


def refuse(conninfo, **options):
    import psycopg

    raise psycopg.OperationalError("connection refused")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_a_password_is_used_all_the_same(address, connection, book, client):
    connection.execute("drop role if exists keyed")
    connection.execute(f"create role keyed login superuser password '{PASSWORD}'")
    given = address.replace("boardlot@", f"keyed:{PASSWORD}@")
    with bl.Archive(given) as archive, contextlib.closing(archive):
        assert archive.update(client, fills=[HK]).new == 0
