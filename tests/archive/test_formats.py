"""Archives of older formats."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import boardlot as bl
import pytest

from .service import path_of

HK = ("281756", "HK")
FORMAT_1 = (Path(__file__).parent / "format_1.sql").read_text()


@pytest.fixture
def of_format_1(file):
    with sqlite3.connect(file) as connection:
        connection.executescript(FORMAT_1)
    connection.close()
    return file


def test_an_archive_of_format_1_is_read_and_continued(of_format_1, book, client, service):
    with bl.Archive(of_format_1) as archive:
        assert [one["deal_id"] for one in archive.fills(*HK)] == ["1"]
        assert archive.seen("ipos", "hk") == [{"code": "HK.02799"}]
        assert archive.sql("select qty from fills").to_dicts() == [{"qty": 100.0}]
        # Of no service yet, and of no known age.
        book.lists[path_of("ipos", "hk")] = [{"code": "HK.02799"}]
        report = archive.update(client, ipos=["hk"], max_age=timedelta(days=10_000))
        assert report.fresh == set() and not report.errors
        book.put_fills(3, first=2)
        archive.update(client, fills=[HK])
        followed = archive.follow(client, fills=HK, every=0.01)
        # The first one was delivered before.
        assert [next(followed)["deal_id"] for _ in range(3)] == ["2", "3", "4"]
        followed.close()
        rows = archive._database.read("select service from series union select service from lists")
        assert rows == [(client.base_url.rstrip("/"),)]
