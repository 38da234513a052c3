"""Fills: each once, its newest version, whatever happens between and during updates."""

import asyncio
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qsl

import boardlot as bl
import pytest
from boardlot.archive.fills import FillStore
from boardlot.archive.lists import Series

from .service import DAY, HOUR, fill, fills_path, serve, unavailable

HK = [("281756", "HK")]


def fill_requests(service):
    return [one for one in service.received if one.path.endswith("fills_history")]


def asked(received):
    return dict(parse_qsl(received.query, keep_blank_values=True))


def test_stored_fills_are_those_of_the_service_in_its_order(archive, book, client):
    expected = book.put_fills(120)
    report = archive.update(client, fills=HK)
    assert report.lists[("fills", ("281756", "HK"))].new == 120
    assert archive.fills("281756", "HK") == expected
    assert (
        archive.fills(281756, "HK")
        .to_pandas()
        .equals(client.fills_history("281756", "HK").to_pandas())
    )
    assert archive.gaps("281756", "HK") == []


def test_updates_end_before_the_services_time_which_they_share_with_other_calls(
    archive, book, client
):
    book.put_fills(3)
    late, respond = [], book._fills

    def fills(received):
        late.append(book.now() - int(asked(received)["end"]))
        return respond(received)

    book._fills = fills
    for _ in range(5):
        archive.update(client, fills=HK)
        list(client.fills_history("281756", "HK"))
    assert len(late) == 10 and min(late) > 0, late


def test_the_time_is_requested_once_by_updates_that_follow_each_other(
    archive, book, service, client
):
    for _ in range(3):
        archive.update(client, fills=HK)
    assert sum(one.path.endswith("/server-time") for one in service.received) == 1


def test_the_text_of_the_service_is_kept_with_unknown_fields_and_every_digit(archive, book, client):
    odd = fill(
        1,
        book.now() - HOUR,
        price="0.10000000000000000001",
        big=9007199254740993,
        new={"a": [1.50]},
    )
    book.fills[("281756", "HK")] = [odd]
    archive.update(client, fills=HK)
    stored = archive.fills("281756", "HK")
    assert stored == [odd]
    assert stored[0]["big"] == 9007199254740993
    ((text,),) = archive.sql("select record from fills")
    assert '"new": {"a": [1.5]}' in text or '"new":{"a":[1.5]}' in text


def test_an_update_with_nothing_new_reads_the_overlap_only(archive, book, client, service):
    book.put_fills(60, step=DAY)
    archive.update(client, fills=HK)
    before = len(service.received)
    report = archive.update(client, fills=HK, overlap=timedelta(days=3))
    # One page: the service's clock is known already.
    assert len(service.received) - before == 1
    newest = book.expected()[0]["updated_time"]
    assert int(asked(service.received[-1])["start"]) == newest - 3 * DAY
    assert (report.new, report.changed, report.unchanged) == (0, 0, 4)


def test_an_amended_fill_replaces_and_an_older_version_does_not(archive, book, client):
    book.put_fills(3)
    archive.update(client, fills=HK)
    served = book.fills[("281756", "HK")]
    served[1] = {**served[1], "qty": "700", "updated_time": book.now() - 1}
    report = archive.update(client, fills=HK)
    assert (report.new, report.changed, report.unchanged) == (0, 1, 2)
    assert archive.fills("281756", "HK") == book.expected()
    amended = served[1]
    served[1] = {**served[1], "qty": "1", "updated_time": served[1]["updated_time"] - HOUR}
    archive.update(client, fills=HK)
    assert amended in list(archive.fills("281756", "HK"))
    assert len(archive.fills("281756", "HK")) == 3


def test_a_late_fill_within_the_overlap_arrives(archive, book, client):
    book.put_fills(5, step=DAY)
    archive.update(client, fills=HK)
    book.fills[("281756", "HK")].append(fill(99, book.now() - 3 * DAY - 5))
    assert archive.update(client, fills=HK).new == 1
    assert archive.fills("281756", "HK") == book.expected()


def test_accounts_and_markets_with_the_same_ids_do_not_mix(archive, book, client):
    pairs = [("281756", "HK"), ("281756", "US"), ("99", "HK")]
    for account, market in pairs:
        book.put_fills(3, account, market)
        for one in book.fills[(account, market)]:
            one["stock_name"] = f"{account} {market}"
    archive.update(client, fills=pairs)
    for account, market in pairs:
        assert archive.fills(account, market) == book.expected(account, market)
        assert {one["stock_name"] for one in archive.fills(account, market)} == {
            f"{account} {market}"
        }
    assert archive.fills("99", "US") == []


def test_fills_are_filtered_by_code_and_by_time_including_both_ends(archive, book, client):
    book.put_fills(10, step=DAY)
    for one in book.fills[("281756", "HK")][:4]:
        one["code"] = "HK.00005"
    archive.update(client, fills=HK)
    assert [one["code"] for one in archive.fills("281756", "HK", code="HK.00005")] == [
        "HK.00005"
    ] * 4
    times = [one["updated_time"] for one in book.expected()]
    between = archive.fills("281756", "HK", start=times[6], end=times[2])
    assert [one["updated_time"] for one in between] == times[2:7]
    moment = datetime.fromtimestamp(times[0] / 1e6, timezone.utc) - timedelta(hours=12)
    assert len(archive.fills("281756", "HK", end=moment)) == 9


def test_an_interrupted_update_continues_after_the_last_stored_page(archive, book, client, service):
    expected = book.put_fills(230)
    book.failures[fills_path()] = [None, None, unavailable()]
    report = archive.update(client, fills=HK)
    assert isinstance(report.errors[("fills", ("281756", "HK"))], bl.ServiceError)
    # A reader sees complete updates only.
    assert archive.fills("281756", "HK") == []
    assert len(archive.gaps("281756", "HK")) == 1
    before = len(fill_requests(service))
    report = archive.update(client, fills=HK)
    assert not report.errors
    assert archive.fills("281756", "HK") == expected
    assert archive.gaps("281756", "HK") == []
    assert asked(fill_requests(service)[before])["page_flag"] == "100"


def test_a_forgotten_cursor_starts_the_range_again(archive, book, client):
    from ..support.service import response

    expected = book.put_fills(130)
    book.failures[fills_path()] = [None, unavailable()]
    archive.update(client, fills=HK)
    book.failures[fills_path()] = [response({"s": "error", "errcode": -3, "errmsg": "page_flag"})]
    assert not archive.update(client, fills=HK).errors
    assert archive.fills("281756", "HK") == expected


def test_a_reader_sees_the_fills_as_before_until_the_update_is_complete(target, book, client):
    with bl.Archive(target) as archive, bl.Archive(target) as reader:
        book.put_fills(120)
        archive.update(client, fills=HK)
        before = book.expected()
        book.put_fills(100, first=500)
        book.fills[("281756", "HK")][0] = {**before[-1], "qty": "5", "updated_time": book.now() - 1}
        seen = []
        book.before_page = lambda page: seen.append(list(reader.fills("281756", "HK")))
        archive.update(client, fills=HK)
        assert len(seen) >= 3
        assert all(one == before for one in seen)
        assert reader.fills("281756", "HK") == book.expected()


def test_one_failing_list_does_not_stop_the_others(archive, book, client):
    book.put_fills(3)
    book.put_fills(2, "99", "HK")
    book.failures[fills_path("99")] = [unavailable()]
    report = archive.update(client, fills=[("99", "HK"), *HK])
    assert list(report.errors) == [("fills", ("99", "HK"))]
    assert len(archive.fills("281756", "HK")) == 3
    assert "99 HK" in str(report)
    assert "later (code -5, HTTP 503)" in str(report)


def test_since_reaches_back_and_gaps_list_what_was_not_read(archive, book, client, service):
    book.put_fills(200, step=DAY)
    archive.update(client, fills=HK, since=book.now() - 10 * DAY)
    assert len(archive.fills("281756", "HK")) in (9, 10)
    archive.update(client, fills=HK, since=book.now() - 150 * DAY)
    assert len(archive.fills("281756", "HK")) in (149, 150)
    assert archive.gaps("281756", "HK") == []
    before = len(fill_requests(service))
    archive.update(client, fills=HK, since=book.now() - 149 * DAY)
    # What was read before is not read again.
    assert len(fill_requests(service)) - before == 1


def test_a_since_after_what_was_read_leaves_a_gap(archive, book, client, service):
    archive.update(client, fills=HK)
    start = book.now() + HOUR
    book.ahead = 2 * 3600.0
    # A client that has not read the service's clock of two hours ago.
    with bl.Client(service.base_url, max_retries=0) as later:
        archive.update(later, fills=HK, since=start)
        ((first, last),) = archive.gaps("281756", "HK")
        assert timedelta(minutes=59) < last - first < timedelta(minutes=61)
        archive.update(later, fills=HK, since="2026-01-01")
    assert archive.gaps("281756", "HK") == []


@pytest.mark.parametrize("ahead", [-5 * 3600.0, 5 * 3600.0])
def test_the_service_s_clock_decides_what_is_now(ahead, file):
    with (
        serve(ahead=ahead) as service,
        bl.Client(service.base_url) as client,
        bl.Archive(file) as archive,
    ):
        expected = service.book.put_fills(5, step=1000)
        archive.update(client, fills=HK)
        assert archive.fills("281756", "HK") == expected


def test_an_async_client_is_awaited_and_stores_the_same(archive, book, service):
    expected = book.put_fills(130)

    async def update():
        async with bl.AsyncClient(service.base_url) as client:
            return await archive.update(client, fills=HK, ipos=["hk"])

    assert asyncio.run(update()).new == 130
    assert archive.fills("281756", "HK") == expected


def test_a_bar_is_drawn_while_an_update_runs(file, book, client, service, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr("boardlot._support.progress.DELAY", 0.0)
    book.put_fills(60)

    async def update(archive):
        async with bl.AsyncClient(service.base_url) as awaited:
            return await archive.update(awaited, fills=HK, progress=True)

    with bl.Archive(file) as archive:
        assert archive.update(client, fills=HK, progress=True).new == 60
        assert "archive" in capsys.readouterr().err
        assert asyncio.run(update(archive)).unchanged == 60
        assert "archive" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        {"fills": ["281756"]},
        {"fills": ("281756", "HK")},
        {"fills": "281756"},
        {"ipos": "hk"},
        {"ipos": ["xx"]},
        {"dividends": ["../secret"]},
        {"plates": ["HK.1"]},
        {"futures": ["HK." + "x" * 32]},
        {"since": datetime(2026, 1, 1)},
        {"overlap": timedelta(days=-1)},
        {"overlap": 7},
        {"sim_orders": [None]},
    ],
)
def test_invalid_arguments_are_rejected_before_anything_is_sent(arguments, file, client, service):
    with bl.Archive(file) as archive:
        with pytest.raises(bl.ConfigError):
            archive.update(client, **{"fills": [("1", "HK")], **arguments})
        assert service.received == []
        with pytest.raises(bl.ConfigError, match="expected a Client"):
            archive.update(service, fills=HK)


def test_a_start_in_the_future_is_rejected_and_hides_nothing(archive, book, client):
    with pytest.raises(bl.ConfigError, match="in the future"):
        archive.update(client, fills=HK, since=book.now() + DAY)
    book.put_fills(3)
    assert archive.update(client, fills=HK).new == 3
    assert archive.gaps("281756", "HK") == []


def test_a_series_that_was_read_into_the_future_still_gets_what_is_new(archive, book, client):
    ahead = book.now() + 30 * DAY
    FillStore(archive._database, Series("281756", "HK")).publish(ahead, ahead + 1, ahead, True)
    book.put_fills(3)
    assert archive.update(client, fills=HK).new == 3
