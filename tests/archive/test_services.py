"""Two services, clocks that are set, ids that say nothing, and counts that add up."""

from datetime import timedelta

import boardlot as bl
import pytest
from boardlot.archive import locks, update as updating

from .service import DAY, HK, HOUR, PLATE, fill, path_of, serve, take


@pytest.fixture
def other():
    with serve() as running:
        running.book.put_fills(3)
        with bl.Client(running.base_url, max_retries=0) as client:
            yield client


def test_security_54_lists_of_another_service_are_refused(archive, book, client, other, service):
    book.fills[HK] = [fill(1, book.now() - 1, stock_name="live")]
    book.lists[path_of("plates", PLATE)] = [{"code": "HK.00001"}]
    archive.update(client, fills=[HK], plates=[PLATE])
    for lists in ({"fills": [HK]}, {"plates": [PLATE]}, {"ipos": ["hk"], "fills": [HK]}):
        with pytest.raises(bl.ConfigError, match=f"is of the service {client.base_url}; "):
            archive.update(other, **lists)
    with pytest.raises(bl.ConfigError, match="of the service"):
        archive.get(other, "plates", PLATE, max_age=timedelta(days=1))
    with pytest.raises(bl.ConfigError, match="of the service"):
        next(archive.follow(other, fills=HK))
    # Nothing was sent or stored.
    assert archive.fills(*HK).all() == book.expected()
    with pytest.warns(UserWarning, match="has no update of ipos hk"):
        assert archive.changes("ipos", "hk") == []


@pytest.mark.parametrize(("name", "key"), [("fills", HK), ("plates", PLATE)])
def test_security_54_a_list_that_two_services_fill_at_once_is_of_the_first_one(
    name, key, archive, book, client, other, monkeypatch
):
    book.fills[HK] = [fill(1, book.now() - 1, stock_name="live")]
    book.lists[path_of("plates", PLATE)] = [{"code": "HK.00001"}]
    try_for = locks.Lock.try_for

    def after_another_update(lock, wait):
        monkeypatch.setattr(locks.Lock, "try_for", try_for)
        archive.update(client, **{name: [key]})
        return try_for(lock, wait)

    # The update of the other service has begun, and waits for its lock.
    monkeypatch.setattr(locks.Lock, "try_for", after_another_update)
    with pytest.raises(bl.ConfigError, match=f"is of the service {client.base_url}; "):
        archive.update(other, **{name: [key]})
    if name == "fills":
        assert archive.fills(*HK).all() == book.expected()
    else:
        assert archive.seen(name, key) == book.lists[path_of(name, key)]


def test_other_lists_may_be_of_another_service(archive, book, client, other):
    archive.update(client, ipos=["hk"])
    assert archive.update(other, fills=[HK]).new == 3


@pytest.mark.parametrize("ahead", [300.0, -300.0, 7200.0])
def test_a_follower_delivers_at_once_what_the_service_has_after_its_clock_was_set(
    ahead, file, book, client, service
):
    book.put_fills(3)
    with bl.Archive(file) as archive:
        followed = archive.follow(client, fills=HK, every=0.05)
        assert len(take(followed, 3)) == 3
        book.ahead = ahead
        book.fills[HK].append(fill(4, book.now() - 1000))
        assert next(followed)["deal_id"] == "4"
        assert archive.gaps(*HK) == []
        followed.close()


def test_what_was_read_ahead_of_the_service_is_not_covered(archive, book, client):
    book.put_fills(3)
    followed = archive.follow(client, fills=HK, every=0.05)
    take(followed, 3)
    book.fills[HK].append(fill(4, book.now() - 1))
    assert next(followed)["deal_id"] == "4"
    ((_, end),) = archive._database.read("select start_at, end_at from coverage")
    assert end <= book.now()
    followed.close()


@pytest.mark.parametrize(("at_once", "first"), [(7, 0), (1, 20), (1_000, 90)])
def test_counts_add_up_and_of_two_versions_the_newer_one_counts(
    at_once, first, archive, book, client, monkeypatch
):
    monkeypatch.setattr(updating, "FILLS", at_once)
    if first:
        book.put_fills(first, step=1000)
        report = archive.update(client, fills=[HK])
        assert (report.new, report.unchanged) == (first, 0)
    book.put_fills(10, first=1000, step=1000)
    served = book.fills[HK]
    changed = min(first, 3)
    for place in range(changed):
        # The older version is listed, too, after the newer one.
        newer = served[place]["updated_time"] + 1
        served.append({**served[place], "qty": "7", "updated_time": newer})
    report = archive.update(client, fills=[HK])
    assert (report.new, report.changed) == (10, changed)
    assert sum(one["qty"] == "7" for one in archive.fills(*HK).all()) == changed
    assert len(archive.fills(*HK).all()) == first + 10


def test_an_older_version_that_is_listed_later_does_not_count(archive, book, client):
    before = book.put_fills(3)
    archive.update(client, fills=[HK])
    served = book.fills[HK]
    served[1] = {**served[1], "qty": "7", "updated_time": served[1]["updated_time"] - 1}
    report = archive.update(client, fills=[HK])
    assert (report.new, report.changed, report.unchanged) == (0, 0, 3)
    assert archive.fills(*HK).all() == before


def test_fills_without_an_id_are_kept_apart(archive, book, client):
    now = book.now()
    odd = [fill(0, now - n, deal_id=one, qty=str(n)) for n, one in enumerate(["", "", None, ""])]
    book.fills[HK], book.order = odd, list
    report = archive.update(client, fills=[HK])
    assert (report.new, report.unchanged) == (4, 0)
    assert archive.fills(*HK).all() == odd
    assert archive.update(client, fills=[HK]).unchanged == 4


def test_gaps_and_fills_with_two_contents_and_one_time(archive, book, client, service):
    book.put_fills(3)
    archive.update(client, fills=[HK])
    served = book.fills[HK]
    served[0] = {**served[0], "qty": "5"}
    archive.update(client, fills=[HK])
    ((found),) = archive.check()
    assert (found.kind, found.list, found.key) == ("twice", "fills", "281756 HK")
    assert '["1"]' in found.text and "2 contents" in str(found)
    store = updating.FillStore(archive._database, updating.Series(*HK))
    store.begin(book.now() + HOUR, book.now() + DAY)
    store.publish(book.now() + HOUR, book.now() + DAY, book.now(), True)
    assert [one.kind for one in archive.check()] == ["gap", "twice"]
