"""Verifying finds fills that are missing, changed, gone, back and unlisted, and no fill is gone by
mistake."""

import asyncio
from datetime import timedelta
from urllib.parse import parse_qsl

import boardlot as bl
import pytest
from boardlot import _core
from boardlot.archive import verify

from ..support.paged_service import page
from .service import DAY, HK, HOUR, fill, fills_path, followed, ids, take, unavailable
from .verifying import check

# An account may have no fill.
pytestmark = pytest.mark.filterwarnings("ignore:.*and none of these there")
EMPTY = page("fills_history", [], None)
# The first one meets a store that leaves out some fills, the other one a verification that does not
# read again what came since it began.
SHORT = [1, 7]
SEEDS = [
    *SHORT,
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12) if seed not in SHORT),
]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """After each part a verification pauses for writers in other processes; here are none."""
    monkeypatch.setattr(verify, "WAIT", 0.0)


def verified(archive, client, **options):
    return archive.verify(client, fills=[HK], **options).lists["fills", HK]


@pytest.fixture
def filled(archive, book, client):
    """An archive with a hundred fills of a hundred days."""
    now = book.now()
    book.fills[HK] = [fill(n, now - n * DAY) for n in range(1, 101)]
    archive.update(client, fills=[HK], start="2020-01-01")
    return archive


def served(book, number):
    return next(n for n, one in enumerate(book.fills[HK]) if one["deal_id"] == str(number))


def changes(archive):
    return [(one["change"], one["deal_id"], one["qty"]) for one in archive.changes("fills", HK)]


def test_a_fill_that_a_first_read_missed_is_added(archive, book, client):
    """A fill that is removed meanwhile moves the others up by one, past the end of a page."""
    now = book.now()
    book.fills[HK] = [fill(n, now - n * DAY) for n in range(1, 201)]

    def remove(number):
        if number == 2:
            del book.fills[HK][0]
            book.before_page = None

    book.before_page = remove
    archive.update(client, fills=[HK], start="2020-01-01")
    missed = set(ids(book.fills[HK])) - set(ids(archive.fills(*HK).all()))
    assert len(missed) == 1 and archive.gaps(*HK) == archive.check() == []
    counts = verified(archive, client)
    assert (counts.new, counts.gone, counts.unchanged) == (1, 1, 198)
    assert archive.fills(*HK).all() == book.expected()


@pytest.mark.parametrize("later", [-HOUR, 0, HOUR])
def test_a_fill_is_corrected_also_to_an_older_version(filled, book, client, later):
    place = served(book, 30)
    before = book.fills[HK][place]
    after = {**before, "qty": "7", "updated_time": before["updated_time"] + later}
    book.fills[HK][place] = after
    counts = verified(filled, client)
    assert (counts.changed, counts.gone, counts.new, counts.unchanged) == (1, 0, 0, 99)
    assert filled.fills(*HK).all() == book.expected()
    assert changes(filled)[-1] == ("changed", "30", "7")


def test_what_is_gone_leaves_fills_and_stays_in_its_history(filled, book, client, tmp_path):
    del book.fills[HK][served(book, 40)]
    assert verified(filled, client).gone == 1
    assert "40" not in ids(filled.fills(*HK).all())
    assert "40" not in set(filled.fills(*HK).to_pandas()["deal_id"])
    ((count, quantity),) = filled.sql("select count(*), sum(qty) from fills")
    assert (count, quantity) == (99, 9_900)
    assert filled.export("fills", tmp_path / "fills.parquet") == 99
    assert filled.export("fills", tmp_path / "all.parquet", history=True) == 101
    assert filled.status()[0]["records"] == 99
    assert changes(filled)[-1] == ("gone", "40", "100")
    query = "select deal_id, change, seen_at from fills_history where change <> 'new'"
    ((deal_id, change, seen_at),) = filled.sql(query)
    assert (deal_id, change) == ("40", "gone")
    last = filled.changes("fills", HK).to_pandas().iloc[-1]
    assert str(last["seen_at"]) == str(seen_at) and last["change"] == "gone"


def test_a_fill_that_is_back_is_so(filled, book, client):
    removed = book.fills[HK].pop(served(book, 3))
    assert verified(filled, client).gone == 1
    book.fills[HK].append(removed)
    # An update finds it as well as `verify` does.
    report = filled.update(client, fills=[HK])
    assert (report.back, report.new, report.changed) == (1, 0, 0)
    del book.fills[HK][-1]
    assert verified(filled, client).gone == 1
    book.fills[HK].append({**removed, "qty": "5"})
    assert verified(filled, client).back == 1
    assert changes(filled)[-4:] == [
        ("gone", "3", "100"), ("back", "3", "100"), ("gone", "3", "100"), ("back", "3", "5"),
    ]  # fmt: skip
    assert filled.fills(*HK).all() == book.expected()


def test_an_empty_response_marks_nothing_unless_it_is_accepted(filled, book, client):
    book.fills[HK] = []
    with pytest.raises(bl.ArchiveUpdateError, match="no longer lists 100; none of them") as error:
        verified(filled, client)
    assert "accept_gone=True" in error.value.hint and not error.value.retryable
    assert len(filled.fills(*HK)) == 100
    report = filled.verify(client, fills=[HK], on_error="collect")
    assert not report and not report.gone
    assert verified(filled, client, accept_gone=True).gone == 100
    assert len(filled.fills(*HK)) == 0


@pytest.mark.parametrize("gone", [10, 11])
def test_more_than_ten_are_not_gone_unless_that_is_accepted(filled, book, client, gone):
    book.fills[HK] = [one for one in book.fills[HK] if not 0 < int(one["deal_id"]) - 20 <= gone]
    if gone > 10:
        with pytest.raises(bl.ArchiveUpdateError, match=f"of the 100 fills .* lists {gone};"):
            verified(filled, client)
        assert len(filled.fills(*HK)) == 100
    assert verified(filled, client, accept_gone=gone > 10).gone == gone
    assert filled.fills(*HK).all() == book.expected()


def test_fills_that_are_older_than_all_that_is_listed_are_kept(filled, book, client):
    """The service does not document how long it lists a fill."""
    book.fills[HK] = book.fills[HK][:95]
    counts = verified(filled, client)
    assert (counts.unlisted, counts.gone, counts.unchanged) == (5, 0, 95)
    assert len(filled.fills(*HK)) == 100
    counts = verified(filled, client, start="2020-01-01")
    assert (counts.unlisted, counts.gone) == (0, 5)
    assert filled.fills(*HK).all() == book.expected()


def test_a_fill_with_the_time_of_the_oldest_one_is_gone(filled, book, client):
    book.fills[HK].append(fill(101, book.fills[HK][-1]["updated_time"]))
    assert verified(filled, client).new == 1
    del book.fills[HK][-1]
    counts = verified(filled, client)
    assert (counts.unlisted, counts.gone) == (0, 1)
    assert filled.fills(*HK).all() == book.expected()


def test_an_empty_response_among_others_hides_nothing(filled, book, client):
    """Each request in turn gets an empty response."""
    asked = []

    def before(received):
        if received.path.endswith("fills_history"):
            asked.append(received)
            if len(asked) == place:
                book.failures[received.path] = [EMPTY]

    book.before = before
    place = 0
    verified(filled, client)
    for number in range(1, len(asked) + 3):
        asked, place = [], number
        assert verified(filled, client).gone == 0
        assert filled.fills(*HK).all() == book.expected()
    # The second of these two fills is gone.
    del book.fills[HK][served(book, 50)]
    for number in range(1, 9):
        asked, place = [], number
        filled.verify(client, fills=[HK], on_error="collect")
        found = set(ids(filled.fills(*HK).all()))
        assert set(ids(book.fills[HK])) <= found <= {*ids(book.fills[HK]), "50"}


@pytest.mark.parametrize("amended", [False, True])
def test_an_empty_response_to_a_later_read_makes_no_fill_gone(filled, book, client, amended):
    """The first response leaves out a fill, which is listed at its own time; or the fill is amended
    after the verification began, and is listed among the fills since then."""
    place = served(book, 50)
    left_out = book.fills[HK][place]
    empty = []

    def before(received):
        if not received.path.endswith("fills_history") or empty:
            return
        asked = dict(parse_qsl(received.query))
        start, end = int(asked["start"]), int(asked["end"])
        if amended and book.fills[HK][place] is left_out:
            book.fills[HK][place] = {**left_out, "qty": "7", "updated_time": book.now()}
        # The first response for the range of the fill, and then an empty one, to the second read of
        # its time, or to the read of all fills until a future time.
        of_fill = start <= left_out["updated_time"] <= end
        if end > book.now() + HOUR if amended else of_fill and responses:
            empty.append(received)
            book.failures[received.path] = [EMPTY]
        elif of_fill and not amended:
            found = [one for one in book.expected() if book.in_range(one, start, end)]
            found.remove(left_out)
            responses.append(found)
            book.failures[received.path] = [page("fills_history", found, None)]

    responses, book.before = [], before
    assert verified(filled, client).gone == 0
    assert empty and filled.fills(*HK).all() == book.expected()


def test_a_fill_that_moves_to_a_page_that_was_read_is_not_gone(filled, book, client):
    """A corrected fill that the archive does not know is among more fills of one time than fit on a
    page."""
    now = book.now()
    at = now - 50 * DAY - HOUR
    block = [fill(n, at) for n in range(1000, 1120)]
    moved = block[69]
    book.fills[HK] += [*block[:69], {**moved, "updated_time": now - 2 * DAY}, *block[70:]]
    verified(filled, client)
    book.fills[HK][served(book, 1069)] = moved

    def remove(number):
        """Removes a fill, which moves the first fill of the second page to the end of the first
        page."""
        if number == 1:
            del book.fills[HK][served(book, 1119)]
            book.before_page = None

    book.before_page = remove
    counts = verified(filled, client)
    assert (counts.gone, counts.changed) == (1, 1)
    assert sorted(ids(filled.fills(*HK).all())) == sorted(ids(book.fills[HK]))
    assert ("gone", "1069", "100") not in changes(filled)


def test_only_what_an_update_has_read_is_verified(archive, client):
    with pytest.raises(bl.ConfigError, match="has no update of fills 281756 HK"):
        archive.verify(client, fills=[HK])
    for wrong in ({"accept_gone": 1}, {"on_error": "x"}, {"start": "2999-01-01"}):
        with pytest.raises(bl.ConfigError):
            archive.verify(client, fills=[HK], **wrong)
    assert str(archive.verify(client)) == "nothing to update"


def test_an_earlier_start_is_read_and_covered(archive, book, client, monkeypatch):
    # The ranges of two parts adjoin.
    monkeypatch.setattr(verify, "FILLS", 100)
    now = book.now()
    book.fills[HK] = [fill(n, now - n * DAY) for n in range(1, 400)]
    archive.update(client, fills=[HK])
    assert len(archive.fills(*HK)) < 100
    assert verified(archive, client, start="2020-01-01").new > 300
    assert archive.fills(*HK).all() == book.expected()
    assert archive.gaps(*HK) == []
    ((first, _),) = archive._database.read("select start_at, end_at from coverage")
    assert first == _core._micros("start", "2020-01-01")


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_fills_that_an_archive_lacks_are_read_in_parts(file, book, client, count, monkeypatch):
    """The fills are not held in memory at once, and others may write in between."""
    monkeypatch.setattr(verify, "FILLS", count // 5)
    now = book.now()
    locks = []
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
        book.fills[HK] = [fill(n, now - n * 10**6) for n in range(1, count + 1)]
        database, lock = archive._database, type(archive._database).lock
        archive._database.lock = lambda name: locks.append(name) or lock(database, name)
        assert verified(archive, client).new == count
        assert archive.fills(*HK).all() == book.expected()
    assert len(locks) >= 5


def test_an_interrupted_update_is_finished_first(archive, book, client):
    now = book.now()
    book.fills[HK] = [fill(n, now - n * HOUR) for n in range(1, 1_500)]
    archive.update(client, fills=[HK])
    # Fills of a time that is read again come first, and then an error.
    book.fills[HK] = [{**one, "qty": "7"} for one in book.fills[HK]]
    book.failures[fills_path()] = [*[None] * 25, unavailable()]
    report = archive.update(client, fills=[HK], overlap=timedelta(days=80), on_error="collect")
    assert not report
    verified(archive, client)
    assert archive.fills(*HK).all() == book.expected()


def test_a_follower_of_changes_gets_those_that_are_gone_and_back(filled, book, client):
    follower = filled.follow(client, fills=HK, every=0.01, name="changes", changes=True)
    assert {one["change"] for one in take(follower, 100)} == {"new"}
    assert len(followed(filled, client, 100, name="plain")) == 100
    removed = book.fills[HK].pop(served(book, 60))
    verified(filled, client)
    one = next(follower)
    assert (one["change"], one["deal_id"]) == ("gone", "60") and one["seen_at"] > 0
    book.fills[HK].append(removed)
    verified(filled, client)
    assert next(follower)["change"] == "back"
    follower.close()
    # For other followers it is the same fill; the last fill comes again, because it was not
    # received.
    book.fills[HK].append(fill(1000, book.now()))
    assert followed(filled, client, 2, name="plain") == ["1", "1000"]
    # A follower that has not received the fill gets it.
    assert sorted(followed(filled, client, 101, name="late")) == sorted(ids(book.fills[HK]))


def test_a_fill_that_is_back_comes_again_only_if_its_content_differs(filled, book, client):
    """The fill is the last one that the follower has received, in its second version."""
    newest = served(book, 1)
    book.fills[HK][newest] = {**book.fills[HK][newest], "qty": "7", "updated_time": book.now() - 2}
    filled.update(client, fills=[HK])
    book.fills[HK].append(fill(1000, book.now() - 1))
    assert followed(filled, client, 101)[-2:] == ["1", "1000"]
    removed = book.fills[HK].pop(newest)
    assert verified(filled, client).gone == 1
    book.fills[HK].append(removed)
    assert verified(filled, client).back == 1
    book.fills[HK].append(fill(1001, book.now() - 1))
    assert followed(filled, client, 2) == ["1000", "1001"]
    book.fills[HK].remove(removed)
    assert verified(filled, client).gone == 1
    book.fills[HK].append({**removed, "qty": "8"})
    assert verified(filled, client).back == 1
    assert followed(filled, client, 2) == ["1001", "1"]


def test_verify_is_awaited_with_an_async_client(filled, book, service):
    del book.fills[HK][served(book, 40)]

    async def work():
        async with bl.AsyncClient(service.base_url) as client:
            return await filled.verify(client, fills=[HK])

    assert asyncio.run(work()).gone == 1


@pytest.mark.filterwarnings("ignore:.*has no update of")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_existing_fill_is_hidden_and_at_rest_the_archive_equals_the_service(
    seed, target, service
):
    check(seed, target, service)
