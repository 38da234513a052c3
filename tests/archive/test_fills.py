"""An archive has each fill once, in its newest version, whatever happens between and during
updates."""

import sqlite3
import warnings
from contextlib import closing
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qsl

import boardlot as bl
import pytest
from boardlot import _core
from boardlot.archive import fills, update

from ..support.service import response
from .service import DAY, HK, HOUR, PLATE, fill, fills_path, ids, path_of, unavailable


def fill_requests(service):
    return [one for one in service.received if one.path.endswith("fills_history")]


def asked(received):
    return dict(parse_qsl(received.query, keep_blank_values=True))


def test_the_text_of_the_service_is_kept_with_unknown_fields_and_every_digit(archive, book, client):
    odd = fill(1, book.now() - HOUR, price="0.10000000000000000001", new={"a": [1.50]})
    odd["big"] = 9007199254740993
    book.fills[HK] = [odd]
    archive.update(client, fills=[HK])
    stored = archive.fills(*HK).all()
    assert stored == [odd]
    assert stored[0]["big"] == 9007199254740993
    ((text,),) = archive.sql("select record from fills")
    assert '"new": {"a": [1.5]}' in text or '"new":{"a":[1.5]}' in text


def test_an_update_with_nothing_new_reads_the_overlap_only(archive, book, client, service):
    book.put_fills(60, step=DAY)
    archive.update(client, fills=[HK])
    before = len(fill_requests(service))
    report = archive.update(client, fills=[HK], overlap=timedelta(days=3))
    # One page is requested; the service's clock may be requested, too.
    (request,) = fill_requests(service)[before:]
    newest = book.expected()[0]["updated_time"]
    assert int(asked(request)["start"]) == newest - 3 * DAY
    assert (report.new, report.changed, report.unchanged) == (0, 0, 4)


def test_an_interrupted_update_continues_after_the_last_stored_page(archive, book, client, service):
    expected = book.put_fills(230)
    book.failures[fills_path()] = [None, None, unavailable()]
    report = archive.update(client, fills=[HK], on_error="collect")
    assert isinstance(report.errors[("fills", HK)], bl.ServiceError)
    # A reader sees complete updates only.
    assert archive.fills(*HK).all() == []
    assert archive._database.read("select count(*) from fill_versions") == [(100,)]
    assert len(archive.gaps(*HK)) == 1
    before = len(fill_requests(service))
    report = archive.update(client, fills=[HK])
    assert not report.errors
    assert archive.fills(*HK).all() == expected
    assert archive.gaps(*HK) == []
    assert asked(fill_requests(service)[before])["page_flag"] == "100"


def test_an_update_that_is_interrupted_twice_reads_no_page_again(archive, book, client, service):
    book.page = 20
    expected = book.put_fills(80, step=DAY)
    for failures in ([None, None, unavailable()], [unavailable()]):
        book.failures[fills_path()] = failures
        assert not archive.update(client, fills=[HK], on_error="collect")
    before = len(fill_requests(service))
    archive.update(client, fills=[HK])
    assert archive.fills(*HK).all() == expected
    # Two pages are left, and the overlap is one more.
    positions = [asked(request)["page_flag"] for request in fill_requests(service)[before:]]
    assert positions == ["40", "60", ""]


def test_a_forgotten_cursor_starts_the_range_again(archive, book, client):
    expected = book.put_fills(130)
    book.failures[fills_path()] = [None, unavailable()]
    archive.update(client, fills=[HK], on_error="collect")
    book.failures[fills_path()] = [response({"s": "error", "errcode": -3, "errmsg": "page_flag"})]
    assert not archive.update(client, fills=[HK]).errors
    assert archive.fills(*HK).all() == expected


def test_a_reader_sees_the_fills_as_before_until_the_update_is_complete(
    target, book, client, monkeypatch
):
    # Each page is stored when it was read.
    monkeypatch.setattr(update, "FILLS", 1)
    stored = "select count(*) from fill_versions"
    with bl.Archive(target) as archive, bl.Archive(target) as reader:
        book.put_fills(120)
        archive.update(client, fills=[HK])
        before = book.expected()
        book.put_fills(100, first=500)
        book.fills[HK][0] = {**before[-1], "qty": "5", "updated_time": book.now() - 1}
        seen, counts, changes, history = [], [], set(), "select count(*) as n from fills_history"

        def look(page):
            seen.append(list(reader.fills(*HK).all()))
            changes.add(len(reader.changes("fills", HK)))
            changes.add(reader.sql(history).to_dicts()[0]["n"])
            counts.append(reader._database.read(stored)[0][0])

        book.before_page = look
        archive.update(client, fills=[HK])
        assert len(seen) >= 3 and counts[-1] > counts[0] == 120
        assert changes == {120}
        assert all(one == before for one in seen)
        assert reader.fills(*HK).all() == book.expected()


def test_since_reaches_back_and_gaps_list_what_was_not_read(archive, book, client, service):
    book.put_fills(200, step=DAY)
    archive.update(client, fills=[HK], start=book.now() - 10 * DAY)
    assert len(archive.fills(*HK).all()) in (9, 10)
    archive.update(client, fills=[HK], start=book.now() - 150 * DAY)
    assert len(archive.fills(*HK).all()) in (149, 150)
    assert archive.gaps(*HK) == []
    before = len(fill_requests(service))
    archive.update(client, fills=[HK], start=book.now() - 149 * DAY)
    # Pages that were read before are not read again.
    assert len(fill_requests(service)) - before == 1


@pytest.mark.parametrize(
    "arguments",
    [
        *({"fills": ["281756"]}, {"fills": HK}, {"fills": "281756"}, {"ipos": "hk"}),
        *({"ipos": ["xx"]}, {"dividends": ["../secret"]}, {"sim_orders": [None]}),
        *({"start": datetime(2026, 1, 1)}, {"overlap": timedelta(days=-1)}, {"overlap": 7}),
    ],
)
def test_invalid_arguments_are_rejected_before_anything_is_sent(arguments, file, client, service):
    with bl.Archive(file) as archive:
        with pytest.raises(bl.ConfigError):
            archive.update(client, **{"fills": [("1", "HK")], **arguments})
        assert service.received == []
        with pytest.raises(bl.ConfigError, match="expected a Client"):
            archive.update(service, fills=[HK])


def test_a_start_in_the_future_is_rejected_and_hides_nothing(archive, book, client):
    with pytest.raises(bl.ConfigError, match="in the future"):
        archive.update(client, fills=[HK], start=book.now() + DAY)
    book.put_fills(3)
    assert archive.update(client, fills=[HK]).new == 3
    assert archive.gaps(*HK) == []


def put_another_before(book, number):
    """A new fill moves all others by one: the last one of a page is the first one of the next."""
    newest = book.expected()[0]["updated_time"]
    book.fills[HK].append(fill(number, newest + 1))


@pytest.mark.parametrize("at_once", [1, 1_000])
def test_a_fill_that_comes_on_two_pages_counts_once(at_once, archive, book, client, monkeypatch):
    monkeypatch.setattr(update, "FILLS", at_once)
    book.put_fills(160)
    book.before_page = lambda page: page == 1 and put_another_before(book, 900)
    report = archive.update(client, fills=[HK])
    assert (report.new, report.changed) == (160, 0)
    book.before_page = lambda page: page == 1 and put_another_before(book, 901)
    report = archive.update(client, fills=[HK])
    assert (report.new, report.changed) == (1, 0)
    book.before_page = None
    assert archive.update(client, fills=[HK]).new == 1
    assert archive.fills(*HK).all() == book.expected()


@pytest.mark.filterwarnings("ignore:.*and none of these there")
def test_fills_are_read_in_parts_in_the_order_of_the_service(archive, book, client, monkeypatch):
    book.put_fills(40)
    now = book.now()
    served = book.fills[HK]
    for place, one in enumerate(served):
        # Several fills have the same time, some of them are amended, and some have no time.
        one["updated_time"] = now - 10**6 * (place // 7)
        one["code"] = f"HK.0000{place % 3}"
    archive.update(client, fills=[HK])
    served[5] = {**served[5], "qty": "5", "updated_time": now + 1}
    served[17] = {**served[17], "qty": "17", "updated_time": served[17]["updated_time"] + 1}
    archive.update(client, fills=[HK])
    whole = list(archive.fills(*HK).all())
    assert sorted(whole, key=str) == sorted(served, key=str)
    times = [one["updated_time"] for one in whole]
    assert times == sorted(times, reverse=True)
    for at_once in (1, 3, 39, 40, 41):
        monkeypatch.setattr(fills, "AT_ONCE", at_once)
        assert archive.fills(*HK).all() == whole
        for code in ("HK.00001", "HK.99999"):
            expected = [one for one in whole if one["code"] == code]
            assert archive.fills(*HK, code=code).all() == expected
        for start, end in ((times[30], times[3]), (times[20] + 1, None), (None, times[20] - 1)):
            expected = [
                one for one in whole if (start or 0) <= one["updated_time"] <= (end or times[0])
            ]
            assert archive.fills(*HK, start=start, end=end).all() == expected
    assert archive.fills(*HK, start=times[0] + 10**6, end=times[0] + 2 * 10**6).all() == []
    moment = datetime.fromtimestamp(times[20] / 1e6, timezone.utc)
    assert archive.fills(*HK, start=moment).all() == archive.fills(*HK, start=times[20]).all()
    with pytest.raises(bl.ConfigError, match="expected a time not before start"):
        archive.fills(*HK, start="2026-02-02", end="2026-02-01").all()


def test_a_newer_version_on_a_later_page_counts_with_its_time_and_code(
    archive, book, client, monkeypatch
):
    monkeypatch.setattr(update, "FILLS", 1)
    book.page, book.order = 1, list
    at = book.now() - HOUR
    newer = fill(1, at + 1, code="HK.00001")
    book.fills[HK] = [fill(1, at), newer, fill(2, at)]
    archive.update(client, fills=[HK])
    assert archive.fills(*HK, start=at + 1).all() == [newer]
    assert archive.fills(*HK, code="HK.00001").all() == [newer]


def test_each_change_of_a_fill_has_the_time_at_which_it_was_read(archive, book, client):
    book.put_fills(2)
    archive.update(client, fills=[HK])
    served = book.fills[HK]
    served[0] = {**served[0], "qty": "5", "updated_time": book.now() - 2}
    served.append(fill(3, book.now() - 1))
    archive.update(client, fills=[HK])
    changes = archive.changes("fills", HK)
    assert [one["change"] for one in changes] == ["new", "new", "changed", "new"]
    seen = [one["seen_at"] for one in changes]
    # The client knows the service's time to the millisecond.
    assert seen[0] == seen[1] <= seen[2] + 1000 and seen[2] == seen[3]
    assert all(abs(at - book.now()) < HOUR for at in seen)


def test_fills_from_before_the_first_update_are_said_to_be_missing(archive, book, client):
    book.put_fills(10)
    archive.update(client, fills=[HK], start="2026-11-01")
    with pytest.warns(UserWarning, match="from 2026-11-01T00:00:00Z on; update") as caught:
        archive.fills(*HK, start="2026-10-31")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        archive.fills(*HK, start="2026-11-01")
        archive.fills(*HK)


def test_fills_with_an_invalid_time_are_stored_and_come_last(archive, book, client):
    valid = fill(1, book.now() - 10**6)
    times = [None, "", "soon", -5, 1.5, "1e-9", True, [1], "9" * 20, " 1", "\u0661"]
    odd = [{**valid, "deal_id": f"odd {n}", "updated_time": t} for n, t in enumerate(times)]
    text = {**valid, "deal_id": "text", "updated_time": str(valid["updated_time"] - 1)}
    without = {name: value for name, value in valid.items() if name != "updated_time"}
    sent = [*odd, {**without, "deal_id": "none"}, text, {**without, "deal_id": None}, valid]
    book.fills[HK], book.order = sent, list
    # Otherwise the service would leave out fills without a time.
    book.in_range = lambda one, start, end: True
    assert archive.update(client, fills=[HK]).new == len(sent)
    assert archive.fills(*HK).all() == [
        valid,
        text,
        *[one for one in sent if one not in (valid, text)],
    ]
    assert archive.update(client, fills=[HK]).unchanged == len(sent)


def test_a_read_is_of_one_moment(target, book, client, monkeypatch):
    monkeypatch.setattr(fills, "AT_ONCE", 10)
    book.put_fills(40)
    with bl.Archive(target) as archive, bl.Archive(target) as reader:
        archive.update(client, fills=[HK])
        before = ids(book.expected())
        parts = fills.FillStore(reader._database, update.Series(*HK)).texts()
        first = next(parts)
        # The oldest fill is now the newest.
        served = book.fills[HK]
        served[0] = {**served[0], "updated_time": book.now() - 1}
        archive.update(client, fills=[HK])
        rows = update.Series(*HK).rows([first, *parts])
        assert ids(rows.dicts()) == before
        assert reader.fills(*HK).all() == book.expected()


def test_a_record_that_cannot_be_read_leaves_no_transaction_open(kept, file, client, monkeypatch):
    monkeypatch.setattr(fills, "AT_ONCE", 1)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        assert connection.execute("update fill_versions set record = '{'").rowcount > 0
    with pytest.raises(bl.BoardlotError) as caught:
        kept.fills(*HK).all()
    # The exception still exists, and with it the frames that it passed.
    assert caught.value.__traceback__ is not None
    kept.update(client, fills=[HK])


def test_a_text_is_freed_by_the_thread_that_reads_not_by_the_one_that_scans():
    """The scanning thread would use a lock of PyO3, which a child forked at that moment finds
    held."""
    freed = []

    class Text(bytes):
        def __del__(self):
            freed.append(bytes(self))

    def texts():
        yield Text(b'{"deal_id":"1"}')
        # The first text is scanned, and objects that other threads gave up are freed when a call
        # begins.
        for _ in range(3_000):
            _core._micros("at", "2026-01-01")
        assert freed == []
        yield Text(b'{"deal_id":"2"}')

    arguments = [("acc_id", "281756"), ("trd_market", "HK")]
    assert len(_core._stored_records("fills_history", arguments, texts())) == 2
    assert len(freed) == 2


@pytest.mark.parametrize("name", ["fills", "plates"])
def test_an_update_without_its_lock_stores_nothing(name, file, book, client):
    """Another program may have removed the file of the lock, so that another update may write."""
    book.put_fills(3)
    book.lists[path_of("plates", PLATE)] = [{"code": "HK.1"}]
    lists = {name: [HK if name == "fills" else PLATE]}
    with bl.Archive(file) as archive:
        archive.update(client, **lists)
        book.put_fills(1, first=4)
        book.lists[path_of("plates", PLATE)] = [{"code": "HK.2"}]

        def remove(received):
            if received.path in (fills_path(), path_of("plates", PLATE)):
                for lock in file.parent.glob(".*.lock"):
                    lock.unlink()

        book.before = remove
        with pytest.raises(bl.StoreError, match="was removed during an update") as caught:
            archive.update(client, **lists)
        assert caught.value.retryable
        assert archive._database.read("select count(*) from fill_versions") in ([(3,)], [(0,)])
        assert archive._database.read("select count(*) from versions") in ([(1,)], [(0,)])
        book.before = None
        assert archive.update(client, **lists).new == 1


def refused():
    return response({"ret_code": -1200, "err_msg": "no such account"})


def test_an_account_that_was_mistyped_leaves_nothing(archive, book, client):
    book.failures[fills_path("28175")] = [refused(), unavailable()]
    report = archive.update(client, fills=[("28175", "HK")], on_error="collect")
    assert not report.errors["fills", ("28175", "HK")].retryable
    assert archive.status() == [] == archive.check(unread=timedelta(0))
    # After an outage, the account is one that is still to be read.
    archive.update(client, fills=[("28175", "HK")], on_error="collect")
    assert [row["key"] for row in archive.status()] == ["28175 HK"]
    assert {one.kind for one in archive.check()} == {"gap", "unread"}


def test_fills_that_were_read_stay_when_the_account_is_refused_later(archive, book, client):
    expected = book.put_fills(3)
    archive.update(client, fills=[HK])
    book.failures[fills_path()] = [refused()]
    assert not archive.update(client, fills=[HK], on_error="collect")
    assert archive.fills(*HK).all() == expected and len(archive.status()) == 1


def test_a_start_in_the_future_is_shown_as_it_was_written(archive, client):
    tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).replace(microsecond=0)
    for start, shown in ((tomorrow.date().isoformat(), None), (tomorrow, tomorrow)):
        with pytest.raises(bl.ConfigError) as caught:
            archive.update(client, fills=[HK], start=start)
        expected = f"{start}T00:00:00Z" if shown is None else f"{shown:%Y-%m-%dT%H:%M:%SZ}"
        said = str(caught.value)
        assert said.startswith(f"start is {expected}, which is in the future; expected at most ")
        assert "." not in said
