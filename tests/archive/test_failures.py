"""Failures of an update are seen: as an error with the report, in the report, and on stderr."""

import asyncio
import pickle

import boardlot as bl
import pytest
from boardlot.cli import main

from ..support.service import response
from .service import HK, PLATE, fills_path, path_of, unavailable

LISTS = {"fills": [HK, ("99", "HK")], "ipos": ["hk", "us"], "plates": [PLATE]}


def fail(book):
    """Two of five lists fail; others come after them."""
    book.put_fills(3, "99", "HK")
    book.lists[path_of("plates", PLATE)] = [{"code": "HK.1"}]
    book.failures[fills_path()] = [unavailable()]
    refused = response({"ret_code": -3, "ret_msg": "no \x1b such market", "data": {}}, 400)
    book.failures[path_of("ipos", "hk")] = [refused]


def expect(archive, report):
    assert not report and list(report.errors) == [("fills", HK), ("ipos", "hk")]
    assert len(report.lists) == 5 and report.new == 4
    assert len(archive.fills("99", "HK")) == 3 and archive.seen("plates", PLATE) == [
        {"code": "HK.1"}
    ]


@pytest.mark.parametrize("is_async", [False, True])
def test_all_lists_are_tried_and_kept_before_an_error_is_raised(
    archive, book, client, service, is_async
):
    fail(book)

    async def update():
        async with bl.AsyncClient(service.base_url, max_retries=0) as async_client:
            return await archive.update(async_client, **LISTS)

    with pytest.raises(bl.ArchiveUpdateError, match=r"^2 of 5 lists failed: fills") as raised:
        asyncio.run(update()) if is_async else archive.update(client, **LISTS)
    error = raised.value
    expect(archive, error.report)
    assert isinstance(error, bl.BoardlotError) and isinstance(error.__cause__, bl.ServiceError)
    assert "later (code -5, HTTP 503)" in str(error) and "ipos hk: " in str(error)
    assert not error.retryable and error.hint
    assert pickle.loads(pickle.dumps(error)).report.new == 4
    # The next one reads what failed.
    assert archive.update(client, **LISTS)


def test_collected_errors_make_the_report_false(archive, book, client):
    fail(book)
    expect(archive, archive.update(client, **LISTS, on_error="collect"))
    assert archive.update(client, **LISTS, on_error="collect")
    with pytest.raises(bl.ConfigError, match="on_error is 'ignore'; expected 'raise' or 'collect'"):
        archive.update(client, **LISTS, on_error="ignore")


def test_an_update_whose_lists_all_failed_is_an_error_that_may_pass(archive, book, client):
    book.failures[fills_path()] = [unavailable()]
    with pytest.raises(bl.ArchiveUpdateError, match=r"^1 of 1 lists failed") as raised:
        archive.update(client, fills=[HK])
    assert raised.value.retryable


def test_the_command_says_each_reason_on_stderr(book, service, file, capfd):
    fail(book)
    book.failures[fills_path()] *= 9
    lists = ["--fills", "281756:HK", "--fills", "99:HK", "--ipos", "hk", "--ipos", "us"]
    line = ["--base-url", service.base_url, "archive", "update", str(file), *lists]
    assert main([*line, "--format", "jsonl"]) == 1
    printed = capfd.readouterr()
    assert len(printed.out.splitlines()) == 4
    reasons = [one for one in printed.err.splitlines() if one.startswith("boardlot: ")]
    assert [reason.split(": ")[1] for reason in reasons] == ["fills 281756 HK", "ipos hk"]
    assert "later (code -5, HTTP 503)" in reasons[0] and "\x1b" not in printed.err
    book.failures.clear()
    assert main(line) == 0


@pytest.mark.parametrize("action", ["update", "follow", "status", "check"])
def test_an_archive_that_ends_with_the_command_is_refused(service, capfd, action):
    fills = ["--fills", "281756:HK"] if action in ("update", "follow") else []
    assert main(["--base-url", service.base_url, "archive", action, ":memory:", *fills]) == 2
    assert "':memory:' is lost when the command ends; expected a file" in capfd.readouterr().err
    assert service.received == []
